"""RESCALE, and operators of each element by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.tosa.tosa_converter import TosaConverter, limits_of
from dlasim.compiler_shim.tosa.tosa_pairs import BINARY, extremum_of, placed_pair
from dlasim.compiler_shim.tosa.tosa_reader import TosaOperator
from dlasim.compiler_shim.tosa.tosa_rescale import Rescaling
from dlasim.compiler_shim.tosa.tosa_schema import DOUBLE_ROUND, INEXACT_ROUND
from dlasim.compiler_shim.tosa.tosa_values import (
    EIGHT_BITS,
    Array,
    Delayed,
    LineOfBytes,
    TosaActivation,
    TosaConstant,
    UnplacedError,
    Value,
)
from dlasim.sim.arithmetic.numerics import Integers

_SHIFTS = (2, 62)
_TRUTHS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LOGICAL_AND", "LOGICAL_OR")


def rescale(converter: TosaConverter, operator: TosaOperator) -> None:
    """RESCALE: the end of what was put off, a table, or arithmetic of 64 bits on the CPU."""
    value, name = converter.value(operator), operator.outputs[0]
    found = _rescaling(converter, operator, value)
    if isinstance(value, TosaConstant):
        data = found.of(value.data).astype(found.dtype)
        converter.set(operator, TosaConstant(data, *_origin(value, found)))
        return
    curve = _curve(value)
    if curve is not None and found.is_single_factor:
        assert isinstance(value, TosaActivation)
        line = None
        if value.dtype == "int8" and found.dtype == "int32":
            if (curve != EIGHT_BITS).any():
                value, curve = converter.activation(value, operator.inputs[0]), EIGHT_BITS
            line = _line(found)
        converter.set(operator, replace(value, dtype=found.dtype, curve=found.of(curve), line=line))
        return
    number = value.place(found, name) if isinstance(value, Delayed) and found.dtype == "int8" else None
    if number is None:
        number = _on_cpu(converter, converter.tensor(value, operator.inputs[0]), found, name)
    converter.set(operator, TosaActivation(number, converter.builder.shape(number), found.dtype))


def _line(found: Rescaling) -> LineOfBytes | None:
    return (
        LineOfBytes(float(found.real.ravel()[0]), found.input_zero_point) if found.zero_point == 0 else None
    )


def _origin(value: TosaConstant, found: Rescaling) -> tuple[Array | None, LineOfBytes | None]:
    is_origin = value.dtype == "int8" and found.dtype == "int32" and found.is_single_factor
    return (value.data, _line(found)) if is_origin else (None, None)


def _curve(value: Value) -> Integers | None:
    """What an 8-bit tensor's numbers stand for."""
    if not isinstance(value, TosaActivation):
        return None
    return EIGHT_BITS if value.curve is None and value.dtype == "int8" else value.curve


def _rescaling(converter: TosaConverter, operator: TosaOperator, value: Value) -> Rescaling:
    at, shape, dtype = operator.attributes, value.shape, converter.declared_type(operator)
    if "bool" in (value.dtype, dtype):
        raise UnplacedError("its input and output must be integers")
    if at.get("input_unsigned") or at.get("output_unsigned"):
        raise UnplacedError("unsigned numbers are not supported")
    multipliers, shifts = (converter.constant(operator, place).astype(np.int64).ravel() for place in (1, 2))
    count = shape[-1] if at.get("per_channel") and shape else 1
    fits = multipliers.size == shifts.size == count
    if not fits or multipliers.min() < 0 or shifts.min() < _SHIFTS[0] or shifts.max() > _SHIFTS[1]:
        raise UnplacedError(
            f"it must have {count} multipliers from 0 and shifts from {_SHIFTS[0]} to {_SHIFTS[1]}"
        )
    mode = at.get("rounding_mode", 0)
    is_double = mode == DOUBLE_ROUND or (mode == INEXACT_ROUND and not converter.rounds_once)
    before, after = (converter.single(operator, place) for place in (3, 4))
    if (before and value.dtype != "int8") or (after and dtype != "int8"):
        raise UnplacedError("only 8 bits may have a zero point")
    return Rescaling(multipliers, shifts, is_double, before, after, dtype)


def _on_cpu(converter: TosaConverter, number: int, found: Rescaling, name: str) -> int:
    """An int32 tensor rescaled in 64 bits."""

    def wide(data: Array | int) -> int:
        return converter.stored(f"{name}/constant", np.atleast_1d(np.asarray(data, np.int64)))

    def computed(kind: str, *inputs: int, dtype: str = "int64") -> int:
        return converter.compute(kind, list(inputs), dtype, name)

    value = computed("CAST", number)
    if found.input_zero_point:
        value = computed("SUB", value, wide(found.input_zero_point))
    halves = wide(np.int64(1) << (found.shifts - 1))
    if found.is_double and (found.shifts > 31).any():
        first = np.where(found.shifts > 31, np.int64(1) << 30, 0)
        zero, above, below = wide(0), (1 << (found.shifts - 1)) + first, (1 << (found.shifts - 1)) - first
        is_above = computed("GREATER_EQUAL", value, zero, dtype="bool")
        halves = computed("SELECT_V2", is_above, wide(above), wide(below))
    value = computed("ADD", computed("MUL", value, wide(found.multipliers)), halves)
    value = computed("FLOOR_DIV", value, wide(np.int64(1) << found.shifts))
    if found.zero_point:
        value = computed("ADD", value, wide(found.zero_point))
    limits = np.iinfo(found.dtype)
    value = computed("MAXIMUM", value, wide(int(limits.min)))
    value = computed("MINIMUM", value, wide(int(limits.max)))
    if found.dtype != "int8":
        return computed("CAST", value, dtype=found.dtype)
    return converter.emit("CAST", [value], Quantization((1.0,), (found.zero_point,)), name)


def clamp(converter: TosaConverter, operator: TosaOperator) -> None:
    """CLAMP."""
    value = converter.value(operator)
    low, high = limits_of(operator, value.dtype)
    if id(operator) in converter.fused:
        converter.set(operator, value)
    elif _curve(value) is None:
        number = converter.tensor(value, operator.outputs[0])
        for kind, end in (("MAXIMUM", low), ("MINIMUM", high)):
            limit = converter.stored(f"{operator.outputs[0]}/limit", np.array([end], value.dtype))
            number = converter.compute(kind, [number, limit], value.dtype, operator.outputs[0])
        converter.set(operator, TosaActivation(number, value.shape, value.dtype))
    else:
        _set_curve(converter, operator, value, lambda curve: np.clip(curve, low, high))


def _set_curve(
    converter: TosaConverter,
    operator: TosaOperator,
    value: Value,
    function: Callable[[Integers], Integers],
    dtype: str | None = None,
) -> None:
    """Set a function of an 8-bit tensor's numbers."""
    curve = _curve(value)
    if not isinstance(value, TosaActivation) or curve is None:
        raise UnplacedError(f"its input must be computed from 8 bits (got {value.dtype})")
    converter.set(operator, replace(value, curve=function(curve), dtype=dtype or value.dtype, line=None))


def negation(converter: TosaConverter, operator: TosaOperator) -> None:
    """NEGATE and ABS."""
    value = converter.value(operator)
    if operator.kind == "ABS" and _curve(value) is None:
        number = converter.compute(
            "ABS", [converter.tensor(value, operator.inputs[0])], "int32", operator.outputs[0]
        )
        converter.set(operator, TosaActivation(number, value.shape, value.dtype))
        return
    before, after = (converter.single(operator, place) for place in (1, 2))
    if value.dtype == "bool":
        raise UnplacedError("its input must be integers")
    limits = np.iinfo(value.dtype)
    ends = int(limits.min), int(limits.max)
    if operator.kind == "ABS":
        _set_curve(converter, operator, value, np.abs)
    else:
        _set_curve(converter, operator, value, lambda curve: np.clip(before - curve + after, *ends))


def table(converter: TosaConverter, operator: TosaOperator) -> None:
    """TABLE of 8 bits."""
    value, entries = converter.value(operator), converter.constant(operator, 1).ravel()
    if value.dtype != "int8" or entries.dtype != np.int8 or entries.size != EIGHT_BITS.size:
        raise UnplacedError("its input must be int8, its table 256 of int8")
    _set_curve(converter, operator, value, lambda curve: entries.astype(np.int64)[curve + 128])


def cast(converter: TosaConverter, operator: TosaOperator) -> None:
    """CAST between integers."""
    value, dtype = converter.value(operator), converter.declared_type(operator)
    if isinstance(value, TosaConstant):
        converter.set(operator, TosaConstant(value.data.astype(dtype)))
    elif _curve(value) is not None and dtype != "bool":
        _set_curve(converter, operator, value, lambda curve: curve.astype(dtype).astype(np.int64), dtype)
    elif dtype == "int8":
        number = converter.emit(
            "CAST", [converter.tensor(value, operator.inputs[0])], Quantization((1.0,), (0,)),
            operator.outputs[0],
        )  # fmt: skip
        converter.set(operator, TosaActivation(number, value.shape, dtype))
    else:
        number = converter.compute(
            "CAST", [converter.tensor(value, operator.inputs[0])], dtype, operator.outputs[0]
        )
        converter.set(operator, TosaActivation(number, value.shape, dtype))


def binary(converter: TosaConverter, operator: TosaOperator) -> None:
    """ADD, SUB, MUL, MAXIMUM and MINIMUM: of one tensor, put off, or computed."""
    values = [converter.value(operator, place) for place in (0, 1)]
    kind, function = operator.kind, BINARY[operator.kind]
    if kind == "MUL" and converter.single(operator, 2):
        raise UnplacedError("its shift must be 0")
    shape, dtype = _common(values), values[0].dtype
    if isinstance(values[0], TosaConstant) and isinstance(values[1], TosaConstant):
        converter.set(operator, TosaConstant(function(values[0].data, values[1].data)))
        return
    curve = _of_one(values, shape, function)
    if curve is not None:
        converter.set(operator, curve)
        return

    def whole() -> int:
        numbers = [converter.tensor(value, operator.outputs[0]) for value in values]
        return converter.compute(kind, numbers, dtype, operator.outputs[0])

    extremum = extremum_of(converter, kind, values, shape, operator.outputs[0])
    if extremum is not None:
        converter.set(operator, extremum)
    elif dtype == "int32" and kind in ("ADD", "SUB", "MUL"):
        place = partial(placed_pair, converter, kind, values[0], values[1])
        converter.set(operator, Delayed(shape, place, whole))
    elif dtype == "int32":
        converter.set(operator, TosaActivation(whole(), shape, dtype))
    else:
        raise UnplacedError(f"it computes in {dtype}, which is not supported")


def _common(values: list[Value]) -> tuple[int, ...]:
    shapes = [value.shape for value in values]
    if len({value.dtype for value in values}) > 1:
        raise UnplacedError(f"its operands are {' and '.join(value.dtype for value in values)}")
    return _broadcast(shapes)


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise UnplacedError(f"shapes {[list(shape) for shape in shapes]} do not match") from None


def _of_one(
    values: list[Value], shape: tuple[int, ...], function: Callable[..., Array]
) -> TosaActivation | None:
    """The result where it depends on one 8-bit tensor and at most a number."""
    curves = []
    for value in values:
        is_number = isinstance(value, TosaConstant) and value.data.size == 1
        curves.append(value.data.astype(np.int64).ravel() if is_number else _curve(value))  # type: ignore[union-attr]
    tensors = [value for value in values if isinstance(value, TosaActivation)]
    is_one = len({value.number for value in tensors}) == 1 and all(value.shape == shape for value in tensors)
    if not is_one or any(curve is None for curve in curves):
        return None
    limits = np.iinfo(tensors[0].dtype)
    found = np.asarray(function(*curves), np.int64)
    if found.min() < limits.min or found.max() > limits.max:
        return None
    return replace(tensors[0], curve=found, line=None)


def comparison(converter: TosaConverter, operator: TosaOperator) -> None:
    """EQUAL and the like, LOGICAL_AND and LOGICAL_OR: on the CPU."""
    values = [converter.value(operator, place) for place in (0, 1)]
    shape = _common(values)
    numbers = [converter.tensor(value, operator.outputs[0]) for value in values]
    number = converter.compute(operator.kind, numbers, "bool", operator.outputs[0])
    converter.set(operator, TosaActivation(number, shape, "bool"))


def logical_not(converter: TosaConverter, operator: TosaOperator) -> None:
    """LOGICAL_NOT."""
    value = converter.value(operator)
    number = converter.compute(
        "LOGICAL_NOT", [converter.tensor(value, operator.inputs[0])], "bool", operator.outputs[0]
    )
    converter.set(operator, TosaActivation(number, value.shape, "bool"))


def select(converter: TosaConverter, operator: TosaOperator) -> None:
    """SELECT: each element from one of two tensors."""
    condition, *values = (converter.value(operator, place) for place in range(3))
    shape = _broadcast([condition.shape, _common(values)])
    name, dtype = operator.outputs[0], values[0].dtype
    numbers = [converter.tensor(value, name) for value in (condition, *values)]
    if dtype == "int8":
        scale = converter.scale_of(numbers[1])
        numbers[2] = converter.seen(numbers[2], scale, name)
        number = converter.emit("SELECT_V2", numbers, scale, name)
    else:
        number = converter.compute("SELECT_V2", numbers, dtype, name)
    converter.set(operator, TosaActivation(number, shape, dtype))


def whole_division(converter: TosaConverter, operator: TosaOperator) -> None:
    """INTDIV, towards zero."""
    values = [converter.value(operator, place) for place in (0, 1)]
    shape = _common(values)
    if values[0].dtype != "int32":
        raise UnplacedError(f"its operands must be int32 (got {values[0].dtype})")
    numbers = [converter.tensor(value, operator.outputs[0]) for value in values]
    number = converter.compute("DIV", numbers, "int32", operator.outputs[0])
    converter.set(operator, TosaActivation(number, shape, "int32"))


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
    "TABLE": table,
}
