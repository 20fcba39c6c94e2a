"""RESCALE, and operators of each element by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.tosa.tosa_converter import TosaConverter, Value, limits_of
from dlasim.compiler_shim.tosa.tosa_reader import TosaOperator
from dlasim.compiler_shim.tosa.tosa_rescale import Rescaling, graph_multiplier, nudged
from dlasim.compiler_shim.tosa.tosa_schema import DOUBLE_ROUND, INEXACT_ROUND
from dlasim.compiler_shim.tosa.tosa_values import (
    EIGHT_BITS,
    Array,
    Delayed,
    LineOfBytes,
    TosaActivation,
    TosaConstant,
    UnplacedError,
)
from dlasim.isa.host_ops import ADD_LEFT_SHIFT
from dlasim.sim.arithmetic.numerics import Integers, quantize_multiplier, requant

_SHIFTS = (2, 62)
_BINARY: dict[str, tuple[Callable[..., Array], str]] = {
    "ADD": (np.add, "ADD"), "SUB": (np.subtract, "SUB"), "MUL": (np.multiply, "MUL"),
    "MAXIMUM": (np.maximum, "MAXIMUM"), "MINIMUM": (np.minimum, "MINIMUM"),
}  # fmt: skip
_TRUTHS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LOGICAL_AND", "LOGICAL_OR")


def rescale(converter: TosaConverter, operator: TosaOperator) -> None:
    """RESCALE: the end of what was put off, a table, or arithmetic of 64 bits on the CPU."""
    value, name = converter.value(operator), operator.outputs[0]
    found = _rescaling(converter, operator, value.shape)
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


def _rescaling(converter: TosaConverter, operator: TosaOperator, shape: tuple[int, ...]) -> Rescaling:
    at = operator.attributes
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
    return Rescaling(multipliers, shifts, is_double, before, after, converter.declared_type(operator))


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
    elif isinstance(value, Delayed) or _curve(value) is None:
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
    if operator.kind == "ABS" and (isinstance(value, Delayed) or _curve(value) is None):
        number = converter.compute(
            "ABS", [converter.tensor(value, operator.inputs[0])], "int32", operator.outputs[0]
        )
        converter.set(operator, TosaActivation(number, value.shape, value.dtype))
        return
    before, after = (converter.single(operator, place) for place in (1, 2))
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
    function, kind = _BINARY[operator.kind]
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

    extremum = _extremum(converter, kind, values, shape, operator.outputs[0])
    if extremum is not None:
        converter.set(operator, extremum)
    elif dtype == "int32" and kind in ("ADD", "SUB", "MUL"):
        place = partial(_place_pair, converter, kind, values[0], values[1])
        converter.set(operator, Delayed(shape, place, whole))
    elif dtype == "int32":
        converter.set(operator, TosaActivation(whole(), shape, dtype))
    else:
        raise UnplacedError(f"it computes in {dtype}, which is not supported")


def _common(values: list[Value]) -> tuple[int, ...]:
    shapes = [value.shape for value in values]
    if len({value.dtype for value in values}) > 1:
        raise UnplacedError(f"its operands are {' and '.join(value.dtype for value in values)}")
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


def _extremum(
    converter: TosaConverter, kind: str, values: list[Value], shape: tuple[int, ...], name: str
) -> TosaActivation | None:
    """MAXIMUM or MINIMUM of numbers that were rescaled alike: that of the 8-bit numbers."""
    first, second = values
    if not isinstance(first, TosaActivation) or not isinstance(second, TosaActivation):
        return None
    if kind not in ("MAXIMUM", "MINIMUM") or first.line is None or first.line != second.line:
        return None
    scale = converter.scale_of(first.number)
    numbers = [first.number, converter.seen(second.number, scale, name)]
    return replace(first, number=converter.emit(kind, numbers, scale, name), shape=shape)


def _place_pair(
    converter: TosaConverter, kind: str, first: Value, second: Value, rescaling: Rescaling, name: str
) -> int | None:
    """ADD, SUB or MUL of 8-bit numbers, if it is exact for every pair of them."""
    found = [_eight_bits(converter, value, name) for value in (first, second)]
    if None in found or not rescaling.is_single_factor or rescaling.input_zero_point:
        return None
    (one, line), (other, other_line) = found  # type: ignore[misc]
    lines = [line, other_line]
    factor = float(rescaling.real.ravel()[0])
    exact = rescaling.of(_BINARY[kind][0](*_rescaled_both(first, second)))
    numbers = [_points(value) for value in (first, second)]
    for output in nudged(factor, converter.rounds_once and kind == "MUL"):
        with np.errstate(all="ignore"):
            have = _graph_result(kind, numbers, lines, output, converter.rounds_once)
        if np.array_equal(np.clip(have + rescaling.zero_point, -128, 127), exact):
            scales = [Quantization((each.factor,), (each.zero_point,)) for each in lines]
            inputs = [converter.seen(n, s, name) for n, s in zip((one, other), scales, strict=True)]
            result = Quantization((1 / output,), (rescaling.zero_point,))
            fused = converter.fused_limit(name, rescaling.zero_point)
            return converter.emit(kind, inputs, result, name, fused_activation_function=fused)
    return None


def _eight_bits(converter: TosaConverter, value: Value, name: str) -> tuple[int, LineOfBytes] | None:
    """The tensor of 8 bits that a value was rescaled from, and how."""
    if isinstance(value, Delayed) or value.line is None or value.line.factor <= 0:
        return None
    if isinstance(value, TosaActivation):
        return value.number, value.line
    assert value.eight_bits is not None
    scale = Quantization((value.line.factor,), (value.line.zero_point,))
    return converter.stored(f"{name}/constant", value.eight_bits, scale), value.line


def _points(value: Value) -> Integers:
    """The 8-bit numbers that a value may come from."""
    if isinstance(value, TosaConstant) and value.eight_bits is not None:
        return np.unique(value.eight_bits).astype(np.int64)
    return EIGHT_BITS


def _rescaled_both(first: Value, second: Value) -> tuple[Integers, Integers]:
    """What every number of one and of the other stands for, so that they broadcast to all pairs."""
    found = []
    for value in (first, second):
        if isinstance(value, TosaConstant):
            assert value.eight_bits is not None
            _, places = np.unique(value.eight_bits, return_index=True)
            found.append(value.data.ravel()[places].astype(np.int64))
        else:
            assert isinstance(value, TosaActivation)
            assert value.curve is not None
            found.append(value.curve)
    return found[0][:, None], found[1][None, :]


def _graph_result(
    kind: str, numbers: list[Integers], lines: list[LineOfBytes], factor: float, rounds_once: bool
) -> Integers:
    """What the graph's operator makes of all pairs."""
    one, other = (n - line.zero_point for n, line in zip(numbers, lines, strict=True))
    if kind == "MUL":
        pair = graph_multiplier(lines[0].factor * lines[1].factor * factor, rounds_once)
        return requant(one[:, None] * other[None, :], *pair)
    common = 2 * max(line.factor for line in lines)
    parts = [
        requant(part << ADD_LEFT_SHIFT, *quantize_multiplier(line.factor / common))
        for part, line in zip((one, other), lines, strict=True)
    ]
    total = _BINARY[kind][0](parts[0][:, None], parts[1][None, :])
    return requant(total, *quantize_multiplier(common * factor / (1 << ADD_LEFT_SHIFT)))


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
    shape = np.broadcast_shapes(condition.shape, _common(values))
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
    **dict.fromkeys(_BINARY, binary),
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
