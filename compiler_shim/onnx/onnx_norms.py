"""Normalizations, in float32: of rows, groups of channels, or by constants."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_float import real_of, settle
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_real import Real
from dlasim.compiler_shim.onnx.onnx_values import RefusedError

_EPSILON = 1e-5


def layer_normalization(converter: Converter, node: OnnxNode) -> None:
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
    settle(converter, node, found + real_of(converter, node, 2) if converter.has(node, 2) else found)


def instance_normalization(converter: Converter, node: OnnxNode) -> None:
    """InstanceNormalization: of each channel by itself."""
    given = real_of(converter, node)
    axes = range(2, len(given.shape))
    found = given.normalized(axes, node.attributes.get("epsilon", _EPSILON))
    settle(converter, node, _per_channel(converter, node, found))


def group_normalization(converter: Converter, node: OnnxNode) -> None:
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
        settle(converter, node, found.reshaped(shape))
        return
    settle(converter, node, _per_channel(converter, node, found.reshaped(shape)))


def batch_normalization(converter: Converter, node: OnnxNode) -> None:
    """BatchNormalization."""
    given = real_of(converter, node)
    mean, variance = (_column(real_of(converter, node, place), given.shape) for place in (3, 4))
    found = (given - mean) * (variance + node.attributes.get("epsilon", _EPSILON)).computed("RSQRT")
    settle(converter, node, _per_channel(converter, node, found))


def length_normalization(converter: Converter, node: OnnxNode) -> None:
    """LpNormalization: divided by the sum of sizes, or by the root of that of squares."""
    given = real_of(converter, node)
    rank, axis = len(given.shape), node.attributes.get("axis", -1)
    if not -rank <= axis < rank:
        raise RefusedError(f"its axis must be from {-rank} to {rank - 1} (got {axis})")
    if node.attributes.get("p", 2) == 1:
        size = given.computed("ABS").reduced("SUM", [axis % rank])
    else:
        size = (given * given).reduced("SUM", [axis % rank]).computed("SQRT")
    settle(converter, node, given / size)


def _per_channel(converter: Converter, node: OnnxNode, value: Real) -> Real:
    factor, offset = (_column(real_of(converter, node, place), value.shape) for place in (1, 2))
    return value * factor + offset


def _column(value: Real, shape: Sequence[int]) -> Real:
    """A number for each channel, beside images of them."""
    if len(shape) < 2 or value.shape != (shape[1],):
        raise RefusedError(f"its parameters do not fit {list(shape)}")
    return value.reshaped((shape[1], *(1 for _ in shape[2:])))


NORMALIZATIONS = {
    **dict.fromkeys(
        ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"), layer_normalization
    ),
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "LpNormalization": length_normalization,
}
