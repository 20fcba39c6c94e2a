"""Quantization of real numbers to 8 bits by tables that are indexed with the bits of the float.

Floats of one sign are in the order of their bit patterns as integers, and so are the integers that they are
quantized to. From the first float that does not become the zero point, equally many floats share an entry: so
few that the result changes once among them at most. The entry holds the result for its first float and where
it changes, so that one addition and one shift give the result (host operator QUANTIZE_TABLE).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass

MAX_ENTRIES = 1 << 12
MAX_BITS = 19  # with so many entries below 2^31 floats, and 8 bits of result remain above them
SIGN = 1 << 31
INFINITY = 0x7F800000  # its bits: the floats above it are NaNs

Words = NDArray[np.uint32]


def rounded_steps(values: NDArray[np.float32], scale: float) -> NDArray[np.float64]:
    """values / scale in float32, rounded half away from zero; NaN counts as 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        wide = (values / np.float32(scale)).astype(np.float64)
    wide = np.nan_to_num(wide, nan=0.0)  # in float64, adding a half is exact
    return np.trunc(wide + np.copysign(0.5, wide))


@dataclass(frozen=True, slots=True)
class Side:
    """The floats of one sign that are looked up: each entry holds 2^bits of them."""

    bits: int
    table: Words


@dataclass(frozen=True, slots=True)
class FloatSteps:
    """`first` is the bit pattern of the least positive float that does not become the zero point."""

    first: int
    zero_point: int
    positive: Side
    negative: Side


def float_steps(scale: float, zero_point: int, dtype: str) -> FloatSteps | None:
    """The tables of a quantization; None where a float's range does not suffice for them."""
    limits = np.iinfo(dtype)
    above, below = int(limits.max) - zero_point, zero_point - int(limits.min)
    thresholds = _thresholds(scale, max(above, below))
    positive = _side(thresholds[:above], zero_point, 1)
    negative = _side(thresholds[:below], zero_point, -1)
    if positive is None or negative is None:
        return None
    return FloatSteps(int(thresholds[0]), zero_point, positive, negative)


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


def _side(thresholds: NDArray[np.int64], zero_point: int, sign: int) -> Side | None:
    if not len(thresholds):
        return Side(0, np.zeros(0, np.uint32))
    distances = thresholds - thresholds[0]
    bits = next(bits for bits in range(MAX_BITS, -1, -1) if _changes_once(distances, bits))
    entries = (int(distances[-1]) >> bits) + 1
    if entries > MAX_ENTRIES or int(thresholds[0]) + (entries << bits) > INFINITY:
        return None
    starts = np.arange(entries, dtype=np.int64) << bits
    before = np.searchsorted(distances, starts, side="right")  # steps taken at the first float of an entry
    following = np.append(distances, np.iinfo(np.int64).max)[before]
    unchanged = np.minimum(following - starts, 1 << bits)  # floats until the next step
    results = (zero_point + sign * before) << bits
    words = results + (1 << bits) - unchanged - starts if sign > 0 else results + unchanged - 1 + starts
    return Side(bits, (words & 0xFFFFFFFF).astype(np.uint32))


def _changes_once(distances: NDArray[np.int64], bits: int) -> bool:
    """Whether no entry has more than one step behind its first float."""
    inner = distances[distances & ((1 << bits) - 1) != 0] >> bits
    return bool((np.diff(inner) > 0).all())


def look_up(values: NDArray[np.float32], steps: FloatSteps, dtype: Any) -> NDArray[Any]:
    """The integers of real numbers, as QUANTIZE_TABLE defines them."""
    limits, words = np.iinfo(dtype), values.view(np.uint32)
    magnitudes = words & np.uint32(SIGN - 1)
    is_negative = words >= SIGN
    results = np.where(is_negative, limits.min, limits.max)
    results[(magnitudes < steps.first) | (magnitudes > INFINITY)] = steps.zero_point
    for side, mine, sign in ((steps.positive, ~is_negative, 1), (steps.negative, is_negative, -1)):
        distances = magnitudes - np.uint32(steps.first)  # wraps below the first
        found = mine & (distances < len(side.table) << side.bits)
        own = distances[found]
        entries = side.table[own >> side.bits]
        sums = entries + own if sign > 0 else entries - own
        results[found] = (sums >> side.bits).astype(np.uint8).astype(dtype)
    return results.astype(dtype)
