"""Operators that treat every element alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dlasim.isa.host_attributes import word_float
from dlasim.isa.host_op_rows import (
    ADD_LEFT_SHIFT,
    COMPARE_LEFT_SHIFT,
    DIFFERENCE_LEFT_SHIFT,
    BinaryFunction,
    CompareFunction,
    UnaryFunction,
)
from dlasim.sim.arithmetic.float_steps import FloatSteps, look_up, rounded_steps
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, limit, quotient, requant, wrap32
from dlasim.sim.host.call import Array, Call
from dlasim.sim.host.exponentials import elu, exponential, logistic


def lut(call: Call) -> list[Array]:
    """LUT."""
    values, table = call.inputs
    offset = 128 if values.dtype == np.int8 else 0
    return [table.reshape(256)[values.astype(np.intp) + offset]]


def add(call: Call) -> list[Array]:
    """ADD."""
    first, second = _aligned(call)
    return [_rescaled(call, first + second)]


def sub(call: Call) -> list[Array]:
    """SUB."""
    first, second = _aligned(call)
    return [_rescaled(call, first - second)]


def squared_difference(call: Call) -> list[Array]:
    """SQUARED_DIFFERENCE."""
    first, second = _aligned(call, DIFFERENCE_LEFT_SHIFT)
    return [_rescaled(call, wrap32((first - second) ** 2))]


def _centred(call: Call) -> tuple[Array, Array]:
    first, second = (values.astype(np.int64) for values in call.inputs)
    return first - call.attributes.input1_zero_point, second - call.attributes.input2_zero_point


def _aligned(call: Call, left_shift: int = ADD_LEFT_SHIFT) -> tuple[Array, Array]:
    """Both inputs on the scale in which they are added."""
    attributes = call.attributes
    first, second = (values << left_shift for values in _centred(call))
    return (
        requant(first, attributes.input1_multiplier, attributes.input1_shift),
        requant(second, attributes.input2_multiplier, attributes.input2_shift),
    )


def _rescaled(call: Call, values: Array) -> Array:
    attributes = call.attributes
    scaled = requant(values, attributes.output_multiplier, attributes.output_shift)
    return limit(scaled, attributes.output_zero_point, attributes.clamp_min, attributes.clamp_max)


def mul(call: Call) -> list[Array]:
    """MUL."""
    first, second = _centred(call)
    return [_rescaled(call, first * second)]


def div(call: Call) -> list[Array]:
    """DIV."""
    at = call.attributes
    quotients = quotient(*_centred(call), at.output_multiplier, at.output_shift)
    return [limit(quotients, at.output_zero_point, at.clamp_min, at.clamp_max)]


def mul_lut(call: Call) -> list[Array]:
    """MUL_LUT."""
    values, entries, table = (array.astype(np.int64) for array in call.inputs)
    factors = table.ravel()[entries - INT8_MIN]
    return [_rescaled(call, wrap32((values - call.attributes.input1_zero_point) * factors))]


def prelu(call: Call) -> list[Array]:
    """PRELU."""
    attributes = call.attributes
    values, alpha = (array.astype(np.int64) for array in call.inputs)
    values, alpha = values - attributes.input_zero_point, alpha - attributes.alpha_zero_point
    positive = requant(values, attributes.positive_multiplier, attributes.positive_shift)
    negative = requant(values * alpha, attributes.negative_multiplier, attributes.negative_shift)
    return [
        limit(np.where(values >= 0, positive, negative), attributes.output_zero_point, INT8_MIN, INT8_MAX)
    ]


def rescale(call: Call) -> list[Array]:
    """RESCALE."""
    attributes, limits = call.attributes, np.iinfo(call.dtype.name)
    centred = wrap32(call.inputs[0].astype(np.int64) - attributes.input_zero_point)
    scaled = requant(centred, attributes.output_multiplier, attributes.output_shift)
    moved = wrap32(scaled + attributes.output_zero_point)
    return [np.clip(moved, limits.min, limits.max).astype(call.dtype)]


def quantize(call: Call) -> list[Array]:
    """QUANTIZE."""
    rounded = rounded_steps(call.inputs[0], call.attributes.scale) + call.attributes.zero_point
    limits = np.iinfo(call.dtype)
    return [np.clip(rounded, limits.min, limits.max).astype(call.dtype)]


def quantize_table(call: Call) -> list[Array]:
    """QUANTIZE_TABLE."""
    at, cells, starts = call.attributes, call.inputs[1].reshape(-1), call.inputs[2].reshape(-1)
    positive, negative = np.split(cells, [at.positive_cells + 1])
    steps = FloatSteps(at.first, at.zero_point, at.bits, positive, negative, starts.view(np.uint32))
    return [look_up(call.inputs[0], steps, call.dtype)]


def dequantize(call: Call) -> list[Array]:
    """DEQUANTIZE."""
    centred = call.inputs[0].astype(np.float64) - call.attributes.zero_point
    return [(call.attributes.scale * centred).astype(np.float32)]


def cast(call: Call) -> list[Array]:
    """CAST."""
    values, target = call.inputs[0], call.dtype
    if values.dtype.kind == "f" and target.kind in "iu":
        return [_truncated(values.astype(np.float64), target)]
    return [values.astype(target)]


def _truncated(values: Array, target: np.dtype[np.generic]) -> Array:
    limits = np.iinfo(np.dtype(target.name))
    finite = np.nan_to_num(values, nan=0.0)
    # The greatest int64 is not a float64; comparing with the power of two above it is exact.
    too_great, too_small = finite >= float(limits.max) + 1.0, finite <= float(limits.min)
    inside = np.where(too_great | too_small, 0.0, finite).astype(target)
    return np.where(too_great, limits.max, np.where(too_small, limits.min, inside)).astype(target)


def _divided(first: Array, second: Array) -> Array:
    if first.dtype.kind == "f":
        quotient: Array = first / second
        return quotient
    divisor = np.where(second == 0, 1, second)
    floored = first // divisor
    # No absolute values: the least integer has none.
    rounds_up = (floored * divisor != first) & ((first < 0) != (divisor < 0))
    return np.where(second == 0, 0, floored + rounds_up)


def _floor_divided(first: Array, second: Array) -> Array:
    if first.dtype.kind == "f":
        return np.floor(first.astype(np.float64) / second)
    return np.where(second == 0, 0, first // np.where(second == 0, 1, second))


def _power(first: Array, second: Array) -> Array:
    """Of int32; a negative exponent counts as 0, and what does not fit becomes the least int32."""
    beyond = (1 << 31) + 1
    base, left = np.broadcast_arrays(first.astype(np.int64), np.maximum(second, 0))
    result = np.ones_like(base)
    while left.any():
        result = np.clip(np.where(left & 1, result * base, result), -beyond, beyond)
        base, left = np.minimum(base * base, beyond), left >> 1
    return np.where(abs(result) < beyond - 1, result, np.iinfo(np.int32).min)


def _floor_modulus(first: Array, second: Array) -> Array:
    if first.dtype.kind == "f":
        remainder: Array = np.fmod(first, second)
        return np.where((remainder != 0) & ((remainder < 0) != (second < 0)), remainder + second, remainder)
    return np.where(second == 0, 0, first % np.where(second == 0, 1, second))


_BINARY: Mapping[int, Callable[[Array, Array], Array]] = {
    BinaryFunction.ADD: np.add,
    BinaryFunction.SUB: np.subtract,
    BinaryFunction.MUL: np.multiply,
    BinaryFunction.DIV: _divided,
    BinaryFunction.FLOOR_DIV: _floor_divided,
    BinaryFunction.MAXIMUM: lambda first, second: np.where(first > second, first, second),
    BinaryFunction.MINIMUM: lambda first, second: np.where(first < second, first, second),
    BinaryFunction.FLOOR_MOD: _floor_modulus,
    BinaryFunction.SQUARED_DIFFERENCE: lambda first, second: np.square(first - second),
    BinaryFunction.POW: _power,
}


_UNCLAMPED = (BinaryFunction.MAXIMUM, BinaryFunction.MINIMUM)
_UNARY: Mapping[int, Callable[[Array], Array]] = {
    UnaryFunction.ABS: np.abs,
    UnaryFunction.NEG: np.negative,
    UnaryFunction.SQRT: np.sqrt,
    UnaryFunction.SQUARE: np.square,
    UnaryFunction.FLOOR: np.floor,
    UnaryFunction.CEIL: np.ceil,
    UnaryFunction.ROUND: np.rint,
    UnaryFunction.RSQRT: lambda values: np.float32(1) / np.sqrt(values),
    UnaryFunction.EXP: exponential,
    UnaryFunction.LOGISTIC: logistic,
    UnaryFunction.ELU: elu,
}


def binary(call: Call) -> list[Array]:
    """BINARY."""
    attributes = call.attributes
    if attributes.function not in _BINARY:
        raise ValueError(f"no function {attributes.function}")
    result = _BINARY[attributes.function](*call.inputs).astype(call.dtype)
    if attributes.function in _UNCLAMPED or call.dtype == np.int64:
        return [result]
    bounds = [attributes.clamp_min, attributes.clamp_max]
    least, greatest = [word_float(bound) for bound in bounds] if call.dtype.kind == "f" else bounds
    least, greatest = call.dtype.type(least), call.dtype.type(greatest)
    # Not np.clip, which may change the sign of a zero.
    return [np.where(result < least, least, np.where(result > greatest, greatest, result))]


def unary(call: Call) -> list[Array]:
    """UNARY."""
    function = call.attributes.function
    if function not in _UNARY:
        raise ValueError(f"no function {function} of {call.dtype}")
    return [_UNARY[function](call.inputs[0])]


_COMPARE: Mapping[int, Callable[[Array, Array], Array]] = {
    CompareFunction.EQUAL: np.equal,
    CompareFunction.NOT_EQUAL: np.not_equal,
    CompareFunction.LESS: np.less,
    CompareFunction.LESS_EQUAL: np.less_equal,
    CompareFunction.GREATER: np.greater,
    CompareFunction.GREATER_EQUAL: np.greater_equal,
}


def compare(call: Call) -> list[Array]:
    """COMPARE."""
    first, second = call.inputs
    is_equality = call.attributes.function <= CompareFunction.NOT_EQUAL
    if first.dtype == np.int8 or (first.dtype == np.int16 and is_equality):
        first, second = _aligned(call, COMPARE_LEFT_SHIFT)
    return [_COMPARE[call.attributes.function](first, second)]


def select(call: Call) -> list[Array]:
    """SELECT."""
    condition, first, second = call.inputs
    return [np.where(condition, first, second)]


KERNELS = {
    "compare": compare,
    "select": select,
    "lut": lut,
    "add": add,
    "sub": sub,
    "mul": mul,
    "mul_lut": mul_lut,
    "div": div,
    "squared_difference": squared_difference,
    "prelu": prelu,
    "quantize": quantize,
    "quantize_table": quantize_table,
    "rescale": rescale,
    "dequantize": dequantize,
    "cast": cast,
    "binary": binary,
    "unary": unary,
}
