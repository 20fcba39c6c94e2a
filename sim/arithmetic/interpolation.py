"""LOGISTIC and TANH of 16 bits: TensorFlow interpolates between the entries of a table, for both the same.

Arrays in, arrays out, in int64, as in `numerics.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dlasim.sim.arithmetic.numerics import Integers, requant, wrap32

Floats = NDArray[np.float32]

INT16_MIN, INT16_MAX = -(1 << 15), (1 << 15) - 1
_ENTRIES = 256
_STEPS_PER_UNIT = 24  # of TensorFlow's table of int16 LOGISTIC
# Entries that TensorFlow has one step above the nearest integer.
_RAISED = (
    4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44, 45,
    46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
)  # fmt: skip


def _sigmoid_table() -> NDArray[np.int32]:
    """65536 / (1 + exp(-k / 24)) in the low 16 bits, the difference to the next one in the 10 bits above."""
    table = np.rint(65536 / (1 + np.exp(-np.arange(_ENTRIES) / _STEPS_PER_UNIT))).astype(np.int32)
    table[list(_RAISED)] += 1
    return table | np.diff(table, append=table[-1:]) << 16


SIGMOID_TABLE = _sigmoid_table()


def sigmoid_scale(power: int) -> tuple[int, int]:
    """Factor and right shift for inputs of scale 2^power: to three times steps of 2^-12."""
    shift = power + 12
    return (3 << shift, 0) if shift >= 0 else (3, -shift)


def _scaled(values: ArrayLike, factor: int, shift: int) -> Integers:
    """The input in steps of the table."""
    product = wrap32(np.asarray(values, np.int64) * factor + ((1 << shift) >> 1))
    return product >> shift


def _between(magnitude: Integers, table: NDArray[Any], fraction_bits: int, greatest: int) -> Integers:
    """The table's value times 2^fraction_bits, linear between entries."""
    pair = table.astype(np.int64)[np.minimum(magnitude >> fraction_bits, _ENTRIES - 1)]
    fraction = magnitude & ((1 << fraction_bits) - 1)
    result = ((pair & 0xFFFF) << fraction_bits) + fraction * (pair >> 16 & 0x3FF)
    return np.where(magnitude >> fraction_bits >= _ENTRIES - 1, greatest, result)


def logistic16(values: ArrayLike, factor: int, shift: int, table: NDArray[Any]) -> Integers:
    """1 / (1 + exp(-x)) in Q0.15."""
    scaled = _scaled(values, factor, shift)
    result = _between(np.abs(scaled), table, 9, 0x7FFF << 10)
    half = 1 << 9
    return np.where(scaled >= 0, result + half, (1 << 25) - result + half - 1) >> 10


def tanh16(values: ArrayLike, factor: int, shift: int, table: NDArray[Any]) -> Integers:
    """tanh(x) in Q0.15."""
    scaled = _scaled(values, factor, shift)
    result = _between(np.abs(scaled), table, 8, 0xFFFF << 8)
    one, half = 1 << 23, 1 << 7
    return np.where(scaled >= 0, result - one + half, one - result + half - 1) >> 8


def low16(values: ArrayLike) -> Integers:
    """The low 16 bits, as the signed numbers that they are."""
    return np.asarray(values, np.int64).astype(np.int16).astype(np.int64)


def table513(scale: float, result_scale: float, function: Callable[[Floats], Floats]) -> NDArray[np.int16]:
    """A function of int16 with a scale, and results with another."""
    ends = np.array([INT16_MIN, INT16_MAX], np.float32)
    low, high = (np.float32(scale) * ends).tolist()
    least, greatest = np.float32(result_scale) * ends
    return _spaced(low, high, function, float(np.float32(1 << 16) / (greatest - least)))


def _spaced(
    low: float, high: float, function: Callable[[Floats], Floats], steps: float = 1 << 15
) -> NDArray[np.int16]:
    """A function in steps, Q0.15 by default, at 513 points, each moved by half of the error in the middle to
    the next one."""
    low32, high32 = np.float32(low), np.float32(high)
    step = np.float32((high32 - low32) / np.float32(_INTERVALS))
    starts = low32 + np.arange(_INTERVALS, dtype=np.float32) * step
    per_step = np.float32(steps)
    first, middle, last = (
        function(points.astype(np.float32))
        for points in (
            starts,
            starts + step / np.float32(2),
            low32 + np.arange(1, _INTERVALS + 1, dtype=np.float32) * step,
        )
    )
    sample = _rounded(first * per_step)
    between = _rounded((last * per_step + sample) / np.float32(2))
    bias = _rounded((between - _rounded(middle * per_step)) / np.float32(2))
    end = _rounded(function(np.array([high32], np.float32)) * per_step)
    limited: Floats = np.clip(np.concatenate([sample - bias, end]), INT16_MIN, INT16_MAX)
    return limited.astype(np.int16)


def _rounded(values: Floats) -> Floats:
    """Halves away from zero."""
    rounded: Floats = np.trunc(values + np.copysign(np.float32(0.5), values)).astype(np.float32)
    return rounded


_INTERVALS = 512
EXPONENTIALS = _spaced(-10.0, 0.0, lambda x: np.exp(x.astype(np.float64)).astype(np.float32))
RECIPROCALS = _spaced(0.0, 1.0, lambda x: np.float32(1) / (np.float32(1) + x))


def lookup513(table: NDArray[np.int16], values: Integers) -> Integers:
    """A table of 513 entries for int16, linear between them."""
    wide, entry = table.astype(np.int64), 256 + (values >> 7)
    found: Integers = wide[entry] + ((wide[entry + 1] - wide[entry]) * (values & 127) + 64 >> 7)
    return found


def curve_words(table: NDArray[np.int16]) -> NDArray[np.int32]:
    """A table of 513 entries as words: a value, and above it 16 bits of the difference to the next."""
    wide = table.astype(np.int32)
    words: NDArray[np.int32] = wide[:-1] & 0xFFFF | np.diff(wide) << 16
    return words


def lookup_words(words: Integers, places: Integers) -> Integers:
    """The entry at a place in steps of 1 / 128, linear between entries."""
    found = words[places >> 7]
    between: Integers = low16(found) + ((places & 127) * (found >> 16) + 64 >> 7)
    return between


def softmax16(rows: Integers, words: Integers, multiplier: int, shift: int) -> Integers:
    """OP_E16_SOFTMAX along the last axis."""
    differences = requant(rows - rows.max(-1, keepdims=True), multiplier, shift)
    parts = lookup_words(words, limited16(wrap32(differences + INT16_MAX)) - INT16_MIN)
    sums = np.maximum(parts.sum(-1, keepdims=True) & 0xFFFF_FFFF, 1)
    zeros = 32 - np.frexp(sums.astype(np.float64))[1].astype(np.int64)
    mantissas = np.minimum(((sums << zeros >> 1) + (1 << 13) >> 14) - (1 << 16), 0xFFFF)
    reciprocals = lookup_words(words, (1 << 16) + mantissas)
    return np.clip(requant(2 * parts, wrap32(reciprocals << np.maximum(zeros - 1, 0)), 0), 0, INT16_MAX)


def limited16(values: ArrayLike) -> Integers:
    """Limited to int16."""
    limited: Integers = np.clip(np.asarray(values, np.int64), INT16_MIN, INT16_MAX)
    return limited
