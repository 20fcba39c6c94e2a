"""Operators of two operands, products of activations, and Softmax."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_convolution import fully_connected, scaled_channels
from dlasim.compiler_shim.onnx.onnx_functions import FUNCTIONS
from dlasim.compiler_shim.onnx.onnx_pieces import axis_of
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_values import (
    Array,
    Known,
    NoIntegerFormError,
    OnnxActivation,
    OnnxConstant,
    Order,
    RefusedError,
    Shape,
    moved,
    plain,
)

_FUNCTIONS = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power,
              "Max": np.maximum, "Min": np.minimum}  # fmt: skip
_KINDS = {"Add": "ADD", "Sub": "SUB", "Mul": "MUL"}
_SOFTMAX = Quantization((1 / 256,), (-128,))
_FINE_SOFTMAX = Quantization((1 / 65536,), (-32768,))
_NEARLY = 1e-3  # of a step: how far a constant may be from its 8 bits


def table_of(converter: Converter, node: OnnxNode) -> Known:
    """A function of each element: part of a table of 256, so that a chain of them rounds once."""
    value = converter.activation(node)
    with np.errstate(all="ignore"):
        if node.kind == "Clip":
            curve = np.clip(value.real, *converter.limits(node))
        else:
            curve = FUNCTIONS[node.kind](value.real, node.attributes)
    return replace(value, curve=np.asarray(curve, np.float32))


def binary(converter: Converter, node: OnnxNode) -> Known:
    """Add, Sub, Mul, Div, Pow, Max, Min: of two tensors, or as a function of one."""
    if len(node.inputs) != 2:
        raise NoIntegerFormError(f"it has {len(node.inputs)} operands; only 2 are supported")
    first, second = (converter.known(node, position) for position in (0, 1))
    shapes = [first.shape, second.shape]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise RefusedError(f"shapes {list(shapes[0])} and {list(shapes[1])} do not match") from None
    curve = _composed(converter, node, first, second, shape)
    if curve is not None:
        return curve
    result = _of_channels(converter, node, first, second, shape)
    if result is not None:
        return result
    if node.kind not in _KINDS:
        raise NoIntegerFormError("one operand must be a single number, or one for each channel")
    return _elementwise(converter, node, first, second, shape)


def _of_channels(
    converter: Converter, node: OnnxNode, first: Known, second: Known, shape: Shape
) -> Known | None:
    """The result where one operand is a real number for each index of a dimension: of a convolution with
    those, which keeps their precision."""
    value, constant = (first, second) if isinstance(second, OnnxConstant) else (second, first)
    if not isinstance(value, OnnxActivation) or not isinstance(constant, OnnxConstant):
        return None
    sizes = (1,) * (len(shape) - constant.data.ndim) + constant.data.shape
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    is_exact = constant.quantization is not None and not constant.quantization.per_channel
    if value.shape != shape or len(axes) != 1 or axes[0] == 0 or (is_exact and node.kind in _KINDS):
        return None
    is_first = value is first
    value = converter.exact(node, 0 if is_first else 1)
    with np.errstate(all="ignore"):
        line = _line(node.kind, constant.real.astype(np.float64).ravel(), is_first)
    if line is None or not np.isfinite(line).all():
        return None
    rank, axis = len(shape), axes[0]
    order = [0, axis, *(other for other in range(1, rank) if other != axis)]
    turned = moved(converter.with_reshape(value, node.outputs[0]), order)
    result = scaled_channels(converter, node, turned, *line, converter.target(node))
    return converter.store(node, moved(result, [order.index(place) for place in range(rank)]))


def _line(kind: str, numbers: Array, is_first: bool) -> tuple[Array, Array] | None:
    """Factors and offsets by which an operator with such numbers is a line; None if it is none."""
    ones, zeros = np.ones_like(numbers), np.zeros_like(numbers)
    lines = {
        "Add": (ones, numbers),
        "Sub": (ones, -numbers) if is_first else (-ones, numbers),
        "Mul": (numbers, zeros),
        "Div": (1 / numbers, zeros) if is_first else None,
    }
    return lines.get(kind)


def _composed(
    converter: Converter, node: OnnxNode, first: Known, second: Known, shape: Shape
) -> OnnxActivation | None:
    """The result where it depends on one element only: of an operand and a number, or of one tensor twice."""
    function = _FUNCTIONS[node.kind]
    with np.errstate(all="ignore"):
        for value, other, is_first in ((first, second, True), (second, first, False)):
            if not isinstance(value, OnnxActivation) or value.shape != shape or value.dtype != "int8":
                continue
            if isinstance(other, OnnxConstant) and other.data.size == 1:
                operand: Array = other.real.astype(np.float32).ravel()
            elif (
                isinstance(other, OnnxActivation)
                and other.dtype == "int8"
                and other.number == value.number
                and (value.shape, value.order, value.source) == (other.shape, other.order, other.source)
            ):
                operand = other.real
            else:
                continue
            pair = (value.real, operand) if is_first else (operand, value.real)
            return replace(value, curve=np.asarray(function(*pair), np.float32))
    return None


def _elementwise(converter: Converter, node: OnnxNode, first: Known, second: Known, shape: Shape) -> Known:
    name = node.outputs[0]
    if any(isinstance(value, OnnxActivation) and value.dtype != "int8" for value in (first, second)):
        raise NoIntegerFormError("its operand is not of 8 bits")
    target = converter.target(node)
    computed = [value for value in (first, second) if isinstance(value, OnnxActivation)]
    whole = max(computed, key=lambda value: prod(value.shape))
    whole = converter.extended(whole, len(shape), name)
    numbers = []
    for place, value in enumerate((first, second)):
        if isinstance(value, OnnxConstant):
            numbers.append(_operand(converter, value, whole.order, f"{name}/operand {place}"))
            continue
        if not isinstance(value, OnnxActivation) or value.curve is not None or value.dtype != "int8":
            raise NoIntegerFormError(f"its input {node.inputs[place][:60]} is not quantized")
        value = converter.extended(value, len(shape), f"{name}/operand {place}")
        numbers.append(converter.ordered(value, whole.order, f"{name}/operand {place}").number)
    number = converter.finish(node, _KINDS[node.kind], numbers, target, True)
    result = OnnxActivation(number, tuple(shape), whole.order, target.quantization)
    return converter.store(node, result)


def _operand(converter: Converter, value: OnnxConstant, order: Order, name: str) -> int:
    """A constant as int8, its dimensions in the order of the other operand."""
    found, data = value.quantization, value.data
    if found is not None and data.dtype == np.uint8 and not found.per_channel:
        data = (data.astype(np.int16) - 128).astype(np.int8)
        found = Quantization(found.scales, (found.zero_point - 128,))
    if found is None or found.per_channel or data.dtype != np.int8:
        real = value.real.astype(np.float64)
        if not np.isfinite(real).all():
            raise NoIntegerFormError("a constant operand is not finite")
        scale = float(np.float32(np.abs(real).max(initial=0) / 127)) or 1.0
        data, found = np.rint(real / scale).astype(np.int8), Quantization((scale,), (0,))
        if np.abs(data * scale - real).max(initial=0) > _NEARLY * scale:
            raise NoIntegerFormError("8 bits do not suffice for a constant operand")
    data = data.reshape((1,) * (len(order) - data.ndim) + data.shape).transpose(order)
    return converter.eight_bits(name, np.ascontiguousarray(data), found)


def product(converter: Converter, node: OnnxNode) -> Known:
    """MatMul: with weights, or of two activations."""
    if isinstance(converter.value(node, 1), OnnxConstant):
        return fully_connected(converter, node)
    first, second, name = converter.exact(node, 0), converter.exact(node, 1), node.outputs[0]
    rank = len(first.shape)
    if rank != len(second.shape) or not 2 <= rank <= 5:
        raise NoIntegerFormError(
            f"shapes {list(first.shape)} and {list(second.shape)} of its operands do not match"
        )
    target = converter.target(node)
    numbers, turned = [], []
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    for place, value in enumerate((first, second)):
        value = converter.with_reshape(value, f"{name}/operand {place}")
        order = swapped if value.order == swapped else plain(rank)
        numbers.append(converter.ordered(value, order, f"{name}/operand {place}").number)
        turned.append(order == swapped)
    number = converter.finish(node, "BATCH_MATMUL", numbers, target, False, adj_x=turned[0], adj_y=turned[1])
    shape = (*np.broadcast_shapes(first.shape[:-2], second.shape[:-2]), first.shape[-2], second.shape[-1])
    return converter.store(node, OnnxActivation(number, shape, plain(rank), target.quantization))


def softmax(converter: Converter, node: OnnxNode) -> Known:
    """Softmax over any dimension: TensorFlow's, in steps of 1/256, then in the scale that is asked for.

    A scale of which two steps or more are 1/256 begins with steps of 1/65536, on the CPU.
    """
    value, name = converter.exact(node), node.outputs[0]
    axis = axis_of(node.attributes.get("axis", -1), len(value.shape))
    value = converter.with_reshape(value, name)
    if value.order[-1] != axis:
        value = converter.ordered(value, (*(a for a in value.order if a != axis), axis), name)
    target = converter.optional_target(node)
    if target is not None and 2 * target.scale <= _SOFTMAX.scale:
        fine = converter.emit(
            "SOFTMAX", [value.number], _FINE_SOFTMAX, f"{name}/fine", dtype="int16", beta=1.0
        )
        number = converter.emit("QUANTIZE", [fine], target, name)
        return replace(value, number=number, quantization=target)
    number = converter.emit("SOFTMAX", [value.number], _SOFTMAX, name, beta=1.0)
    return replace(value, number=number, quantization=_SOFTMAX)


def prelu(converter: Converter, node: OnnxNode) -> Known:
    """PRelu with a slope for all, or for each channel."""
    value, slope, name = converter.exact(node), converter.constant(node, 1), node.outputs[0]
    real = slope.real.astype(np.float32)
    if real.size == 1:
        curve = np.where(value.real < 0, value.real * real.ravel()[0], value.real).astype(np.float32)
        return replace(value, curve=curve)
    value = converter.with_reshape(value, name)
    target = converter.target(node)
    alpha = _operand(converter, slope, value.order, f"{name}/slope")
    number = converter.finish(node, "PRELU", [value.number, alpha], target, False)
    return converter.store(node, replace(value, number=number, quantization=target.quantization))


ARITHMETIC = {
    **dict.fromkeys((*FUNCTIONS, "Clip"), table_of),
    **dict.fromkeys(_FUNCTIONS, binary),
    "Gemm": fully_connected,
    "MatMul": product,
    "Softmax": softmax,
    "PRelu": prelu,
}
