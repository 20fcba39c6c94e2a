"""Operators of two tensors of 8 bits, between RESCALEs: ADD, SUB, MUL, MAXIMUM and MINIMUM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.tosa.tosa_converter import TosaConverter
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
    graph_multiplier,
    nudged,
)
from dlasim.isa.host_op_rows import ADD_LEFT_SHIFT
from dlasim.sim.arithmetic.numerics import INT8_MAX, Integers, quantize_multiplier, requant

_MOST_WRONG = 16  # of 65,536 pairs, by a step; a convolution may be wrong as often
BINARY: dict[str, Callable[..., Array]] = {
    "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "MAXIMUM": np.maximum, "MINIMUM": np.minimum
}  # fmt: skip


def common_shape(values: list[Value]) -> tuple[int, ...]:
    """That of a result of tensors of one type."""
    shapes = [value.shape for value in values]
    if len({value.dtype for value in values}) > 1:
        raise UnplacedError(f"its operands are {' and '.join(value.dtype for value in values)}")
    return broadcast_shape(shapes)


def broadcast_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """That of a result of tensors of these shapes."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise UnplacedError(f"shapes {[list(shape) for shape in shapes]} do not match") from None


def of_one(
    values: list[Value], shape: tuple[int, ...], function: Callable[..., Array]
) -> TosaActivation | None:
    """The result where it depends on one 8-bit tensor and at most a number."""
    curves = []
    for value in values:
        is_number = isinstance(value, TosaConstant) and value.data.size == 1
        curves.append(value.data.astype(np.int64).ravel() if is_number else curve_of(value))  # type: ignore[union-attr]
    tensors = [value for value in values if isinstance(value, TosaActivation)]
    is_one = len({value.number for value in tensors}) == 1 and all(value.shape == shape for value in tensors)
    if not is_one or any(curve is None for curve in curves):
        return None
    limits = np.iinfo(tensors[0].dtype)
    found = np.asarray(function(*curves), np.int64)
    if found.min() < limits.min or found.max() > limits.max:
        return None
    return replace(tensors[0], curve=found, line=None)


def extremum_of(
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


def below_maximum(
    converter: TosaConverter, kind: str, values: list[Value], name: str
) -> TosaActivation | None:
    """SUB of the greatest numbers from those of which they are: from -255 to 0, so a byte holds them."""
    first, second = values
    if not isinstance(first, TosaActivation) or not isinstance(second, TosaActivation):
        return None
    is_below = converter.maxima.get(second.number) == first.number and first.line is not None
    if kind != "SUB" or not is_below or first.line != second.line or first.dtype != "int32":
        return None
    assert first.curve is not None
    steps = np.diff(first.curve)
    if steps.min() != steps.max():  # rounded
        return None
    scale = converter.scale_of(first.number)
    inputs = [first.number, converter.seen(second.number, scale, name)]
    number = converter.emit("SUB", inputs, Quantization((1.0,), (INT8_MAX,)), name)
    curve = steps[0] * (EIGHT_BITS - INT8_MAX)
    return replace(first, number=number, curve=curve, line=LineOfBytes(float(steps[0]), INT8_MAX))


def placed_pair(
    converter: TosaConverter, kind: str, first: Value, second: Value, rescaling: Rescaling, name: str
) -> int | None:
    """ADD, SUB or MUL of 8-bit numbers, if it is exact for all pairs of them but a few."""
    found = [_eight_bits(converter, value, name) for value in (first, second)]
    if None in found or not rescaling.is_single_factor or rescaling.input_zero_point:
        return None
    (one, line), (other, other_line) = found  # type: ignore[misc]
    lines = line, other_line
    output, wrong = _best_factor(kind, (first, second), lines, rescaling, converter.rounds_once)
    if wrong > _MOST_WRONG:
        return None
    if wrong:
        converter.nearest.append(name)
    scales = [Quantization((each.factor,), (each.zero_point,)) for each in lines]
    inputs = [converter.seen(n, s, name) for n, s in zip((one, other), scales, strict=True)]
    result = Quantization((1 / output,), (rescaling.zero_point,))
    fused = converter.fused_limit(name, rescaling.zero_point)
    return converter.emit(kind, inputs, result, name, fused_activation_function=fused)


Lines = tuple[LineOfBytes, LineOfBytes]


def _best_factor(
    kind: str, values: tuple[Value, Value], lines: Lines, rescaling: Rescaling, rounds_once: bool
) -> tuple[float, int]:
    """The factor of the result with which the graph's operator is wrong for the fewest pairs, and for how
    many."""
    exact = rescaling.of(BINARY[kind](*_rescaled_both(*values)))
    numbers = [_points(value) for value in values]
    best = 0.0, exact.size
    for output in nudged(float(rescaling.real.ravel()[0]), rounds_once and kind == "MUL"):
        with np.errstate(all="ignore"):
            have = _graph_result(kind, numbers, lines, output, rounds_once) + rescaling.zero_point
        best = min(best, (output, int((have.clip(-128, 127) != exact).sum())), key=lambda pair: pair[1])
        if best[1] == 0:
            break
    return best


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
    kind: str, numbers: list[Integers], lines: Lines, factor: float, rounds_once: bool
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
    total = BINARY[kind](parts[0][:, None], parts[1][None, :])
    return requant(total, *quantize_multiplier(common * factor / (1 << ADD_LEFT_SHIFT)))
