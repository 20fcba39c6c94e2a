"""Quantization of real numbers to 8 bits by tables that are indexed with the bits of the float.

Floats of one sign are in the order of their bit patterns as integers, and so are the integers that they are
quantized to. From the first float that does not become the zero point, equally many floats share a cell, of
which a table holds the result. Few cells have two results: a second table says from which float on the next
one holds (host operator QUANTIZE_TABLE).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass

MAX_CELLS = 12 << 10  # of both signs, a byte each: one float of twelve is in a cell with two results
MAX_BITS = 19  # of a cell: what an attribute of QUANTIZE_TABLE allows
SIGN = 1 << 31
INFINITY = 0x7F800000  # its bits: the floats above it are NaNs

Words = NDArray[np.uint32]


def rounded_steps(values: NDArray[np.float32], scale: float) -> NDArray[np.float64]:
    """values / scale in float32, rounded half away from zero; NaN counts as an infinity of its sign."""
    with np.errstate(over="ignore", invalid="ignore"):
        wide = (values / np.float32(scale)).astype(np.float64)
    wide = np.nan_to_num(np.where(np.isnan(wide), np.copysign(np.inf, wide), wide))
    return np.trunc(wide + np.copysign(0.5, wide))  # in float64, adding a half is exact


@dataclass(frozen=True, slots=True)
class FloatSteps:
    """`first` is the bit pattern of the least positive float that does not become the zero point.

    A cell holds 2^bits floats; those of each sign have one more behind them, which no float is in. The cells
    are results as bytes, with the zero point for two results. `starts` has, for the low 8 bits of a result,
    the bit pattern of the float nearest to 0 that becomes it.
    """

    first: int
    zero_point: int
    bits: int
    positive: NDArray[np.uint8]
    negative: NDArray[np.uint8]
    starts: Words


def float_steps(scale: float, zero_point: int, dtype: str) -> FloatSteps | None:
    """The tables of a quantization; None where a float's range does not suffice for them."""
    limits = np.iinfo(dtype)
    counts = int(limits.max) - zero_point, zero_point - int(limits.min)
    thresholds = _thresholds(scale, max(counts))
    first = int(thresholds[0])
    distances = [thresholds[:count] - first for count in counts]
    bits = next(bits for bits in range(32) if sum(_cell_count(side, bits) for side in distances) <= MAX_CELLS)
    ends = [first + (_cell_count(side, bits) << bits) for side in distances]
    if bits > MAX_BITS or max(ends) > INFINITY or not all(_is_told_apart(side, bits) for side in distances):
        return None
    starts = np.zeros(256, np.uint32)
    for sign, side in zip((1, -1), distances, strict=True):
        results = zero_point + sign * np.arange(1, len(side) + 1)
        starts[results & 0xFF] = side + first + (0 if sign > 0 else SIGN)
    positive, negative = (
        _cells(side, bits, zero_point, sign) for sign, side in zip((1, -1), distances, strict=True)
    )
    return FloatSteps(first, zero_point, bits, positive, negative, starts)


def _thresholds(scale: float, count: int) -> NDArray[np.int64]:
    """The bit patterns of the least floats that are rounded to 1, 2, 3 … steps; INFINITY where none is."""
    steps = np.arange(1, count + 1)
    least, most = np.zeros(count, np.int64), np.full(count, INFINITY)
    while (least < most).any():
        middle = (least + most) // 2
        reaches = rounded_steps(middle.astype(np.uint32).view(np.float32), scale) >= steps
        least, most = np.where(reaches, least, middle + 1), np.where(reaches, middle, most)
        least = np.minimum(least, most)
    return most


def _cell_count(distances: NDArray[np.int64], bits: int) -> int:
    """Of a sign, from the first step to the cell of the last."""
    return (int(distances[-1]) >> bits) + 1 if len(distances) else 0


def _steps_taken(distances: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Up to the first float of each cell, and of the one behind them."""
    starts = np.arange(_cell_count(distances, bits) + 1, dtype=np.int64) << bits
    return np.searchsorted(distances, starts, side="right")


def _has_two_results(distances: NDArray[np.int64], bits: int) -> NDArray[np.bool_]:
    """Of each cell, and of the one behind them: whether a step is behind its first float."""
    found = np.zeros(_cell_count(distances, bits) + 1, np.bool_)
    found[distances[distances & ((1 << bits) - 1) != 0] >> bits] = True
    return found


def _is_told_apart(distances: NDArray[np.int64], bits: int) -> bool:
    """Whether a cell with two results is followed by one that has the second of them only."""
    two = _has_two_results(distances, bits)
    rises = np.diff(_steps_taken(distances, bits))
    return bool((rises[two[:-1]] == 1).all() and not (two[1:] & two[:-1]).any())


def _cells(distances: NDArray[np.int64], bits: int, zero_point: int, sign: int) -> NDArray[np.uint8]:
    taken, two = _steps_taken(distances, bits), _has_two_results(distances, bits)
    return (np.where(two, zero_point, zero_point + sign * taken) & 0xFF).astype(np.uint8)


def look_up(values: NDArray[np.float32], steps: FloatSteps, dtype: Any) -> NDArray[Any]:
    """The integers of real numbers, as QUANTIZE_TABLE defines them."""
    limits, words = np.iinfo(dtype), values.view(np.uint32)
    magnitudes = words & np.uint32(SIGN - 1)
    is_negative = words >= SIGN
    results = np.where(is_negative, limits.min, limits.max).astype(np.uint8)
    zero = np.uint8(steps.zero_point & 0xFF)
    results[magnitudes < steps.first] = zero
    for cells, mine, sign in ((steps.positive, ~is_negative, 1), (steps.negative, is_negative, -1)):
        distances = magnitudes - np.uint32(steps.first)  # wraps below the first
        found = mine & (distances < (len(cells) - 1) << steps.bits)
        places = distances[found] >> steps.bits
        following = cells[places + 1]
        before = following - np.uint8(sign & 0xFF) * (words[found] < steps.starts[following])
        results[found] = np.where(cells[places] == zero, before, cells[places])
    return results.astype(dtype)
