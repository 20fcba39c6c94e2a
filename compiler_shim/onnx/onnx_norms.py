"""Normalizations of rows, groups of channels, or by constants: by integers, or else in float32."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_float import real_of, settle
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_real import Real
from dlasim.compiler_shim.onnx.onnx_values import (
    Array,
    Known,
    NoIntegerFormError,
    OnnxActivation,
    RefusedError,
    Shape,
    plain,
)
from dlasim.compiler_shim.operators.reduction import no_integer_normalization

_EPSILON = 1e-5
_OF_ROWS = ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")


def layers_in_integers(converter: Converter, node: OnnxNode) -> Known:
    """LayerNormalization and RMSNormalization."""
    shape, axis = converter.exact(node).shape, node.attributes.get("axis", -1)
    if not shape or not -len(shape) <= axis < len(shape) or any(node.outputs[1:]):
        raise NoIntegerFormError("its axis and outputs are refused")
    rows = (prod(shape[:axis]), prod(shape[axis:]))
    parameters = _parameters(converter, node, rows[1])
    return _in_integers(converter, node, rows, parameters, 1, node.kind == "LayerNormalization")


def channels_in_integers(converter: Converter, node: OnnxNode) -> Known:
    """InstanceNormalization and GroupNormalization, whose factors are those of channels."""
    shape = converter.exact(node).shape
    if len(shape) < 3:
        raise NoIntegerFormError("it needs three dimensions")
    groups = node.attributes.get("num_groups", 0) if node.kind == "GroupNormalization" else shape[1]
    if groups < 1 or shape[1] % groups:
        raise NoIntegerFormError("its groups do not fit")
    rows = (shape[0] * groups, prod(shape[1:]) // groups)
    parameters = _parameters(converter, node, shape[1], groups)
    return _in_integers(converter, node, rows, parameters, prod(shape[2:]), is_centred=True)


def _parameters(converter: Converter, node: OnnxNode, count: int, groups: int = 1) -> list[Array]:
    """Factors and offsets, of which there must be so many, or one for each of some groups."""
    found = [
        np.asarray(converter.constant(node, place).real, np.float32)
        for place in (1, 2)
        if place == 1 or converter.has(node, place)
    ]
    if any(numbers.size not in (count, groups) or not np.isfinite(numbers).all() for numbers in found):
        raise NoIntegerFormError("its factors are not those of channels")
    return [np.repeat(each, count // each.size) for each in (*found, np.zeros(count, np.float32))][:2]


def _in_integers(
    converter: Converter,
    node: OnnxNode,
    rows: Shape,
    parameters: Sequence[Array],
    repeat: int,
    is_centred: bool,
) -> Known:
    target, name = converter.optional_target(node), node.outputs[0]
    value, epsilon = converter.exact(node), node.attributes.get("epsilon", _EPSILON)
    if target is None:
        raise NoIntegerFormError("no QuantizeLinear reads its result")
    scales = value.quantization.scale, target.scale
    real = [numbers.astype(np.float64) for numbers in parameters]
    if reason := no_integer_normalization(rows[1], epsilon, scales, real):
        raise NoIntegerFormError(reason)
    order, shape = plain(len(value.shape)), value.shape
    flat = converter.reshape(converter.ordered(value, order, name), rows, name)
    constants = [converter.builder.constant(f"{name[:60]}/constant", numbers) for numbers in parameters]
    number = converter.emit(
        "NORMALIZATION", [flat, *constants], target, name,
        epsilon=float(epsilon), is_centred=is_centred, repeat=repeat,
    )  # fmt: skip
    result = OnnxActivation(number, rows, plain(2), target)
    number = converter.reshape(result, shape, f"{name}/shape")
    return OnnxActivation(number, shape, order, target)


def layer_normalization(converter: Converter, node: OnnxNode) -> Known:
    """LayerNormalization, and those that keep the average: RMSNormalization, SimplifiedLayerNormalization."""
    given = real_of(converter, node)
    rank, axis = len(given.shape), node.attributes.get("axis", -1)
    if not -rank <= axis < rank or (len(node.outputs) > 1 and any(node.outputs[1:])):
        raise RefusedError(
            f"its axis must be from {-rank} to {rank - 1} (got {axis}), and it must have one output"
        )
    epsilon = node.attributes.get("epsilon", _EPSILON)
    found = given.normalized(range(axis % rank, rank), epsilon, node.kind == "LayerNormalization")
    found = found * real_of(converter, node, 1)
    return settle(converter, node, found + real_of(converter, node, 2) if converter.has(node, 2) else found)


def instance_normalization(converter: Converter, node: OnnxNode) -> Known:
    """InstanceNormalization: of each channel by itself."""
    given = real_of(converter, node)
    axes = range(2, len(given.shape))
    found = given.normalized(axes, node.attributes.get("epsilon", _EPSILON))
    return settle(converter, node, _per_channel(converter, node, found))


def group_normalization(converter: Converter, node: OnnxNode) -> Known:
    """GroupNormalization, whose factors are those of channels (opset 21) or of groups (18)."""
    given, groups = real_of(converter, node), node.attributes.get("num_groups", 0)
    shape = given.shape
    if len(shape) < 3 or groups < 1 or shape[1] % groups:
        raise RefusedError(f"{groups} groups do not fit an input of shape {list(shape)}")
    split = given.reshaped((shape[0], groups, prod(shape[1:]) // groups))
    found = split.normalized([2], node.attributes.get("epsilon", _EPSILON))
    factor = real_of(converter, node, 1)
    if factor.shape == (groups,) and groups != shape[1]:
        found = found * factor.reshaped((groups, 1)) + real_of(converter, node, 2).reshaped((groups, 1))
        return settle(converter, node, found.reshaped(shape))
    return settle(converter, node, _per_channel(converter, node, found.reshaped(shape)))


def batch_normalization(converter: Converter, node: OnnxNode) -> Known:
    """BatchNormalization."""
    given = real_of(converter, node)
    mean, variance = (_column(real_of(converter, node, place), given.shape) for place in (3, 4))
    found = (given - mean) * (variance + node.attributes.get("epsilon", _EPSILON)).computed("RSQRT")
    return settle(converter, node, _per_channel(converter, node, found))


def length_normalization(converter: Converter, node: OnnxNode) -> Known:
    """LpNormalization: divided by the sum of sizes, or by the root of that of squares."""
    given = real_of(converter, node)
    rank, axis = len(given.shape), node.attributes.get("axis", -1)
    if not -rank <= axis < rank:
        raise RefusedError(f"its axis must be from {-rank} to {rank - 1} (got {axis})")
    if node.attributes.get("p", 2) == 1:
        size = given.computed("ABS").reduced("SUM", [axis % rank])
    else:
        size = (given * given).reduced("SUM", [axis % rank]).computed("SQRT")
    return settle(converter, node, given / size)


def _per_channel(converter: Converter, node: OnnxNode, value: Real) -> Real:
    factor, offset = (_column(real_of(converter, node, place), value.shape) for place in (1, 2))
    return value * factor + offset


def _column(value: Real, shape: Sequence[int]) -> Real:
    """A number for each channel, beside images of them."""
    if len(shape) < 2 or value.shape != (shape[1],):
        raise RefusedError(f"its parameters do not fit {list(shape)}")
    return value.reshaped((shape[1], *(1 for _ in shape[2:])))


IN_INTEGERS = {
    **dict.fromkeys(_OF_ROWS, layers_in_integers),
    **dict.fromkeys(("GroupNormalization", "InstanceNormalization"), channels_in_integers),
}
NORMALIZATIONS = {
    **dict.fromkeys(_OF_ROWS, layer_normalization),
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "LpNormalization": length_normalization,
}
