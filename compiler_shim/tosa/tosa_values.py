"""What the tensors of a TOSA file are while it is converted, and how RESCALE makes others of them.

TOSA has no scales: RESCALE and the operators around it say how numbers become others. What is between two
RESCALEs is put off until the second: a function of one 8-bit tensor becomes a table, sums and products become
an operator that rescales by itself.

TOSA multiplies by multiplier / 2^shift in 64 bits and rounds once, halves up; or twice, which is what
TensorFlow Lite and the DLA do. Where a file rounds once and more than 31 bits are cut off, the DLA's
multiplier has fewer bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.operators.step_search import NUDGES, as_bytes, hits_all, step_points
from dlasim.dataclass import dataclass
from dlasim.sim.arithmetic.numerics import (
    INT8_MAX,
    INT8_MIN,
    Integers,
    quantize_multiplier,
    single_rounding_multiplier,
)

_ROUNDED_BITS = 31  # that the DLA's first rounding cuts off
Array = NDArray[Any]
EIGHT_BITS = np.arange(INT8_MIN, INT8_MAX + 1)


@dataclass(frozen=True, slots=True)
class Rescaling:
    """A RESCALE: one multiplier and shift, or one for each index of the last dimension.

    Unsigned inputs and results are the bits of numbers of the same width; an input of a table has 8.
    """

    multipliers: Integers
    shifts: Integers
    is_double: bool
    input_zero_point: int
    zero_point: int
    dtype: str
    unsigned: tuple[bool, bool] = (False, False)

    @property
    def is_single_factor(self) -> bool:
        """Whether all elements have one factor."""
        return self.multipliers.size == 1

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest result."""
        found = np.iinfo(f"u{self.dtype}" if self.unsigned[1] else self.dtype)
        return int(found.min), int(found.max)

    @property
    def real(self) -> NDArray[np.float64]:
        """The factors, exactly."""
        return np.ldexp(self.multipliers.astype(np.float64), -self.shifts)

    def of(self, values: Array) -> Integers:
        """What it makes of numbers."""
        wide = np.asarray(values, np.int64)
        wide = (wide % (1 << 8) if self.unsigned[0] else wide) - self.input_zero_point
        found = scaled(wide, self.multipliers, self.shifts, self.is_double) + self.zero_point
        return np.clip(found, *self.limits).astype(self.dtype).astype(np.int64)


def scaled(values: Integers, multipliers: Integers, shifts: Integers, is_double: bool) -> Integers:
    """values * multiplier / 2^shift, rounded as TOSA does."""
    halves = np.int64(1) << (shifts - 1)
    if is_double:
        first = np.where(shifts > _ROUNDED_BITS, np.int64(1) << (_ROUNDED_BITS - 1), 0)
        halves = halves + np.where(values >= 0, first, -first)
    result: Integers = (values * multipliers + halves) >> shifts
    return result


def nearest_factors(
    rescaling: Rescaling, low: Integers, high: Integers, rounds_once: bool, unit: int = 1
) -> tuple[list[float], bool]:
    """The factors with which a graph rescales sums from `low` to `high` of each channel to int8, and whether
    that is exactly as TOSA does. Sums are multiples of a unit."""
    count = max(rescaling.multipliers.size, low.size)
    columns = (rescaling.multipliers, rescaling.shifts, low, high)
    rows = zip(*(np.broadcast_to(column, (count,)).tolist() for column in columns), strict=True)
    found = [
        _channel(rescaling, multiplier, shift, least, most, rounds_once, unit)
        for multiplier, shift, least, most in rows
    ]
    factors = [factor for factor, _ in found]
    return factors[:1] if rescaling.is_single_factor else factors, all(exact for _, exact in found)


def _channel(
    rescaling: Rescaling, multiplier: int, shift: int, low: int, high: int, rounds_once: bool, unit: int
) -> tuple[float, bool]:
    factor = float(np.ldexp(np.float64(multiplier), -shift))
    zero_point = rescaling.zero_point
    points = step_points(factor * unit, zero_point, low // unit, high // unit) * unit
    exact = scaled(points, np.array(multiplier), np.array(shift), rescaling.is_double)
    expected = as_bytes(exact, zero_point)
    for candidate in nudged(factor, rounds_once):
        if hits_all(graph_multiplier(candidate, rounds_once), points, expected, zero_point):
            return candidate, True
    return factor, False


def graph_multiplier(factor: float, rounds_once: bool) -> tuple[int, int]:
    """The multiplier and shift that a graph makes of a factor."""
    return single_rounding_multiplier(factor) if rounds_once else quantize_multiplier(factor)


def nudged(factor: float, rounds_once: bool) -> list[float]:
    """Factors near to one, of which another may hit all steps that the one does not."""
    multiplier, shift = graph_multiplier(factor, rounds_once)
    near = (float(np.ldexp(multiplier + nudge, shift - 31)) for nudge in NUDGES)
    return [factor, *(candidate for candidate in near if candidate > 0)]


class UnplacedError(Exception):
    """Why an operator cannot be placed."""


@dataclass(frozen=True, slots=True)
class LineOfBytes:
    """Numbers of 8 bits less a zero point, rescaled to 32 bits."""

    factor: float
    zero_point: int


@dataclass(frozen=True, slots=True)
class TosaConstant:
    """A constant; one that RESCALE made of 8 bits has those too."""

    data: Array
    eight_bits: Array | None = None
    line: LineOfBytes | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dimensions."""
        return self.data.shape

    @property
    def dtype(self) -> str:
        """Its type."""
        return self.data.dtype.name


@dataclass(frozen=True, slots=True)
class TosaActivation:
    """A tensor of the graph. With a `curve` it is int8, and stands for what the curve has for each of -128 to
    127; `line` says that the curve is one."""

    number: int
    shape: tuple[int, ...]
    dtype: str
    curve: Integers | None = None
    line: LineOfBytes | None = None


@dataclass(frozen=True, slots=True)
class Delayed:
    """int32 results that a RESCALE makes 8 bits of.

    `place` adds the operator that computes these, and gives its number; None where that is not exact.
    `whole` adds operators that compute the int32 results themselves, where the CPU can.
    """

    shape: tuple[int, ...]
    place: Callable[[Rescaling, str], int | None]
    whole: Callable[[], int] | None = None
    dtype: str = "int32"


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over dimensions of 8-bit numbers: what REDUCE_SUM after REDUCE_SUM gives."""

    source: TosaActivation
    line: LineOfBytes
    axes: tuple[int, ...]


Value = TosaConstant | TosaActivation | Delayed


def with_curve(value: Value, curve: Integers, dtype: str | None = None) -> TosaActivation:
    """A function of an 8-bit tensor's numbers."""
    assert isinstance(value, TosaActivation)
    return replace(value, curve=curve, dtype=dtype or value.dtype, line=None)


def curve_of(value: Value) -> Integers | None:
    """What an 8-bit tensor's numbers stand for."""
    if not isinstance(value, TosaActivation):
        return None
    return EIGHT_BITS if value.curve is None and value.dtype == "int8" else value.curve
