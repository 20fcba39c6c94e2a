"""RESCALE, and operators of each element by itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from dlasim.compiler_shim.tosa.tosa_bits import WideNumbers, cut_product
from dlasim.compiler_shim.tosa.tosa_converter import TosaConverter, limits_of
from dlasim.compiler_shim.tosa.tosa_pairs import (
    BINARY,
    below_maximum,
    broadcast_shape,
    common_shape,
    extremum_of,
    of_one,
    placed_pair,
)
from dlasim.compiler_shim.tosa.tosa_reader import TosaOperator
from dlasim.compiler_shim.tosa.tosa_schema import DOUBLE_ROUND, INEXACT_ROUND
from dlasim.compiler_shim.tosa.tosa_values import (
    EIGHT_BITS,
    Array,
    Delayed,
    LineOfBytes,
    Rescaling,
    TosaActivation,
    TosaConstant,
    UnplacedError,
    Value,
    curve_of,
    with_curve,
)

_SHIFTS = (2, 62)
_TRUTHS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR")


def rescale(converter: TosaConverter, operator: TosaOperator) -> Value:
    """RESCALE: the end of what was put off, a table, or arithmetic of 64 bits on the CPU."""
    value, name = converter.value(operator), operator.outputs[0]
    found = _rescaling(converter, operator, value)
    curve = curve_of(value)
    if isinstance(value, TosaConstant):
        data = found.of(value.data).astype(found.dtype)
        return TosaConstant(data, *_origin(value, found))
    if curve is not None and found.is_single_factor:
        assert isinstance(value, TosaActivation)
        line = None
        if value.dtype == "int8" and found.dtype == "int32":
            if (curve != EIGHT_BITS).any():
                value, curve = converter.activation(value, operator.inputs[0]), EIGHT_BITS
            line = _line(found)
        return replace(value, dtype=found.dtype, curve=found.of(curve), line=line)
    can_place = isinstance(value, Delayed) and found.dtype == "int8" and not any(found.unsigned)
    number = value.place(found, name) if isinstance(value, Delayed) and can_place else None
    if number is None:
        number = rescaled_on_cpu(converter, converter.activation(value, operator.inputs[0]), found, name)
    return converter.result(number, found.dtype)


def _line(found: Rescaling) -> LineOfBytes | None:
    if found.zero_point or any(found.unsigned):
        return None
    return LineOfBytes(float(found.real.ravel()[0]), found.input_zero_point)


def _origin(value: TosaConstant, found: Rescaling) -> tuple[Array | None, LineOfBytes | None]:
    is_origin = value.dtype == "int8" and found.dtype == "int32" and found.is_single_factor
    return (value.data, _line(found)) if is_origin else (None, None)


def _rescaling(converter: TosaConverter, operator: TosaOperator, value: Value) -> Rescaling:
    at, shape, dtype = operator.attributes, value.shape, converter.declared_type(operator)
    if "bool" in (value.dtype, dtype):
        raise UnplacedError("its input and output must be integers")
    multipliers, shifts = (converter.constant(operator, place).astype(np.int64).ravel() for place in (1, 2))
    count = shape[-1] if at.get("per_channel") and shape else 1
    fits = multipliers.size == shifts.size == count
    if not fits or multipliers.min() < 0 or shifts.min() < _SHIFTS[0] or shifts.max() > _SHIFTS[1]:
        raise UnplacedError(
            f"it must have {count} multipliers from 0 and shifts from {_SHIFTS[0]} to {_SHIFTS[1]}"
        )
    mode = at.get("rounding_mode", 0)
    is_double = mode == DOUBLE_ROUND or (mode == INEXACT_ROUND and not converter.rounds_once)
    unsigned = bool(at.get("input_unsigned")), bool(at.get("output_unsigned"))
    points = []
    for place, each, is_unsigned in zip((3, 4), (value.dtype, dtype), unsigned, strict=True):
        point = converter.single(operator, place)
        if point and each != "int8" and not (each == "int16" and is_unsigned):
            raise UnplacedError("only 8 bits, or 16 without a sign, may have a zero point")
        points.append(point % (1 << 8 * np.dtype(each).itemsize) if is_unsigned else point)
    return Rescaling(multipliers, shifts, is_double, points[0], points[1], dtype, unsigned)


def rescaled_on_cpu(converter: TosaConverter, given: TosaActivation, found: Rescaling, name: str) -> int:
    """A tensor rescaled in 64 bits."""
    wide = WideNumbers(converter, name)
    value = wide.of("CAST", given.number)
    if found.unsigned[0]:
        value = wide.unsigned(value, given.dtype)
    if found.input_zero_point:
        value = wide.of("SUB", value, wide.constant(found.input_zero_point))
    halves = wide.constant(np.int64(1) << (found.shifts - 1))
    if found.is_double and (found.shifts > 31).any():
        first = np.where(found.shifts > 31, np.int64(1) << 30, 0)
        above, below = (1 << (found.shifts - 1)) + first, (1 << (found.shifts - 1)) - first
        is_above = wide.of("GREATER_EQUAL", value, wide.constant(0), dtype="bool")
        halves = wide.of("SELECT_V2", is_above, wide.constant(above), wide.constant(below))
    value = wide.of("ADD", wide.of("MUL", value, wide.constant(found.multipliers)), halves)
    value = wide.of("FLOOR_DIV", value, wide.constant(np.int64(1) << found.shifts))
    if found.zero_point:
        value = wide.of("ADD", value, wide.constant(found.zero_point))
    low, high = found.limits
    value = wide.of("MAXIMUM", value, wide.constant(low))
    value = wide.of("MINIMUM", value, wide.constant(high))
    return wide.narrow(value, found.dtype, 0 if found.unsigned[1] else found.zero_point)


def clamp(converter: TosaConverter, operator: TosaOperator) -> Value:
    """CLAMP."""
    value = converter.value(operator)
    curve, name = curve_of(value), operator.outputs[0]
    low, high = limits_of(operator, value.dtype)
    if id(operator) in converter.fused:
        return value
    if curve is not None:
        return with_curve(value, np.clip(curve, low, high))
    number = converter.tensor(value, name)
    for kind, end in (("MAXIMUM", low), ("MINIMUM", high)):
        limit = converter.stored(f"{name}/limit", np.array([end], value.dtype))
        number = converter.compute(kind, [number, limit], value.dtype, name)
    return TosaActivation(number, value.shape, value.dtype)


def negation(converter: TosaConverter, operator: TosaOperator) -> Value:
    """NEGATE and ABS."""
    value, name = converter.value(operator), operator.outputs[0]
    curve = curve_of(value)
    if curve is not None and value.dtype != "bool":
        before, after = (converter.single(operator, place) for place in (1, 2))
        limits = np.iinfo(value.dtype)
        negative = np.clip(before - curve + after, int(limits.min), int(limits.max))
        return with_curve(value, np.abs(curve) if operator.kind == "ABS" else negative)
    if value.dtype == "int16":
        wide = WideNumbers(converter, name)
        number = wide.of("SUB", wide.constant(0), wide.of("CAST", converter.tensor(value, name)))
        number = wide.of("MINIMUM", number, wide.constant(np.iinfo("int16").max))
        return TosaActivation(wide.narrow(number, "int16"), value.shape, "int16")
    if value.dtype != "int32":
        raise UnplacedError(f"its input must be integers (got {value.dtype})")
    return converter.of_input(operator, "ABS" if operator.kind == "ABS" else "NEG", value, "int32")


def cast(converter: TosaConverter, operator: TosaOperator) -> Value:
    """CAST between integers."""
    value, dtype = converter.value(operator), converter.declared_type(operator)
    curve = curve_of(value)
    if isinstance(value, TosaConstant):
        return TosaConstant(value.data.astype(dtype))
    if curve is not None and dtype != "bool":
        return with_curve(value, curve.astype(dtype).astype(np.int64), dtype)
    return converter.of_input(operator, "CAST", value, dtype)


def binary(converter: TosaConverter, operator: TosaOperator) -> Value:
    """ADD, SUB, MUL, MAXIMUM and MINIMUM: of one tensor, put off, or computed."""
    values = [converter.value(operator, place) for place in (0, 1)]
    kind, function = operator.kind, BINARY[operator.kind]
    if kind == "MUL" and converter.single(operator, 2):
        return cut_product(converter, operator)
    if kind == "MUL":
        values = [_widened(converter, value, operator.outputs[0]) for value in values]
    shape, dtype = common_shape(values), values[0].dtype
    if isinstance(values[0], TosaConstant) and isinstance(values[1], TosaConstant):
        return TosaConstant(function(values[0].data, values[1].data))
    curve = of_one(values, shape, function)
    if curve is not None:
        return curve

    extremum = extremum_of(converter, kind, values, shape, operator.outputs[0])
    short = extremum or below_maximum(converter, kind, values, operator.outputs[0])
    if short is not None:
        return short
    if dtype != "int32":
        raise UnplacedError(f"it computes in {dtype}, which is not supported")
    whole = partial(converter.computed, operator, kind, values, shape, dtype)
    if kind not in ("ADD", "SUB", "MUL"):
        return whole()
    place = partial(placed_pair, converter, kind, values[0], values[1])
    return Delayed(shape, place, lambda: whole().number)


def _widened(converter: TosaConverter, value: Value, name: str) -> Value:
    """An operand of MUL, whose result is int32."""
    if value.dtype not in ("int8", "int16"):
        return value
    if isinstance(value, TosaConstant):
        data = value.data
        line = LineOfBytes(1.0, 0) if data.dtype == np.int8 else None
        return TosaConstant(data.astype(np.int32), data if line else None, line)
    curve = curve_of(value)
    if isinstance(value, TosaActivation) and curve is not None:
        is_plain = value.dtype == "int8" and bool((curve == EIGHT_BITS).all())
        return replace(value, dtype="int32", curve=curve, line=LineOfBytes(1.0, 0) if is_plain else None)
    number = converter.compute("CAST", [converter.tensor(value, name)], "int32", name)
    return TosaActivation(number, value.shape, "int32")


def comparison(converter: TosaConverter, operator: TosaOperator) -> Value:
    """EQUAL and the like, LOGICAL_AND and LOGICAL_OR."""
    values = [converter.value(operator, place) for place in (0, 1)]
    kind = "NOT_EQUAL" if operator.kind == "LOGICAL_XOR" else operator.kind
    return converter.computed(operator, kind, values, common_shape(values), "bool")


def logical_not(converter: TosaConverter, operator: TosaOperator) -> Value:
    """LOGICAL_NOT."""
    return converter.of_input(operator, "LOGICAL_NOT", converter.value(operator), "bool")


def select(converter: TosaConverter, operator: TosaOperator) -> Value:
    """SELECT: each element from one of two tensors."""
    condition, *values = (converter.value(operator, place) for place in range(3))
    shape = broadcast_shape([condition.shape, common_shape(values)])
    name, dtype = operator.outputs[0], values[0].dtype
    if dtype != "int8":
        return converter.computed(operator, "SELECT_V2", (condition, *values), shape, dtype)
    numbers = [converter.tensor(value, name) for value in (condition, *values)]
    scale = converter.scale_of(numbers[1])
    numbers[2] = converter.seen(numbers[2], scale, name)
    return TosaActivation(converter.emit("SELECT_V2", numbers, scale, name), shape, dtype)


def whole_division(converter: TosaConverter, operator: TosaOperator) -> Value:
    """INTDIV, towards zero."""
    values = [converter.value(operator, place) for place in (0, 1)]
    shape = common_shape(values)
    if values[0].dtype != "int32":
        raise UnplacedError(f"its operands must be int32 (got {values[0].dtype})")
    return converter.computed(operator, "DIV", values, shape, "int32")


ELEMENTWISE = {
    **dict.fromkeys(BINARY, binary),
    **dict.fromkeys(_TRUTHS, comparison),
    "ABS": negation,
    "CAST": cast,
    "CLAMP": clamp,
    "INTDIV": whole_division,
    "LOGICAL_NOT": logical_not,
    "NEGATE": negation,
    "RESCALE": rescale,
    "SELECT": select,
}
