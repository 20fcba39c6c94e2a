"""Multipliers that rescale sums to 8 bits exactly as another arithmetic does.

Both are step functions of the sum, with 255 steps at most: they are equal if they are so next to each step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, Integers, requant

_NEIGHBOURS = np.arange(-3, 4)  # of a step, which are compared
# Of a multiplier: one of these may hit all steps.
NUDGES = (1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8, 12, -12, 16, -16)


def step_points(factor: float, zero_point: int, low: int, high: int) -> Integers:
    """The ends of a range of sums, and those around each at which the result becomes one more."""
    steps = np.arange(INT8_MIN, INT8_MAX + 2) - zero_point - 0.5
    with np.errstate(all="ignore"):
        places = np.nan_to_num(np.ceil(steps / factor)).clip(-(2.0**40), 2.0**40).astype(np.int64)
    around = (places[:, None] + _NEIGHBOURS).ravel()
    return np.unique(np.clip(np.append(around, (low, high)), low, high))


def as_bytes(values: Integers, zero_point: int) -> Integers:
    """Results with their zero point, limited to int8."""
    return np.clip(values + zero_point, INT8_MIN, INT8_MAX)


def near_pairs(pair: tuple[int, int]) -> Iterable[tuple[int, int]]:
    """A multiplier and shift, and those near to it."""
    return ((pair[0] + nudge, pair[1]) for nudge in (0, *NUDGES) if pair[0] + nudge > 0)


def hits_all(pair: tuple[int, int], points: Integers, expected: Integers, zero_point: int) -> bool:
    """Whether `requant` with that multiplier and shift makes of all sums the bytes that are expected."""
    fits = pair[1] <= 0 or int(np.abs(points).max()) << pair[1] < 1 << 31
    return fits and np.array_equal(as_bytes(requant(points, *pair), zero_point), expected)


def sum_bounds(rows: NDArray[Any], bias: NDArray[Any], zero_point: int) -> tuple[Integers, Integers]:
    """The least and the greatest sum of each channel."""
    flat = rows.reshape(len(rows), -1).astype(np.int64)
    least, most = INT8_MIN - zero_point, INT8_MAX - zero_point
    above, below = np.maximum(flat, 0).sum(axis=1), np.minimum(flat, 0).sum(axis=1)
    return bias + above * least + below * most, bias + above * most + below * least
