"""Encodes weights in the code that DMA_IN decodes, which `docs/weight-code.md` defines.

Each word takes the mode in which it stands for the most weights. A word that starts later never ends earlier,
so that this gives the fewest words, except that sparse words do not end with zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.weight_code import (
    BODY_BITS,
    CODE_BYTES,
    FEWEST_SPARSE_BITS,
    FIRST_SPARSE_MODE,
    MODE_BITS,
    PLAIN_MODE,
    PLAIN_WEIGHTS,
    RICE_MODES,
    RUN_BITS,
    RUN_MODE,
    SPARSE_MODES,
    STEP_WEIGHTS,
)
from dlasim.native.record import Record, pointer, record
from dlasim.native.routine import Numbers, Routine, inlined, routine
from dlasim.native.storage import pointer_to

_PART_BITS = 32  # words are written in parts, so that no number has a sign
_PARTS = 8 * CODE_BYTES // _PART_BITS
_PART_MASK = (1 << _PART_BITS) - 1
_MAX_RUN = (1 << RUN_BITS) - 1


class WeightCode(NamedTuple):
    """Weights as words, by parts, and the steps that decoding them takes."""

    parts: NDArray[np.int64]
    steps: int

    @property
    def words(self) -> int:
        """How many words there are."""
        return len(self.parts) // _PARTS

    def to_bytes(self) -> bytes:
        """As they are in memory."""
        return self.parts.astype("<u4").tobytes()


def encode_weights(weights: NDArray[np.int8]) -> WeightCode:
    """The fewest words for weights."""
    most_words = -(-weights.size // PLAIN_WEIGHTS)
    numbers, parts = weights.ravel().astype(np.int64), np.zeros(most_words * _PARTS, np.int64)
    coder = WeightCoder(weights.size)
    coder.weights, coder.parts = pointer_to(numbers), pointer_to(parts)
    words = ENCODE(coder)
    return WeightCode(parts[: words * _PARTS], coder.steps)


@record
class WeightCoder(Record):
    """Weights, the parts of words, and the steps that they take."""

    count: int = 0
    steps: int = 0
    weights: Numbers = pointer(int)
    parts: Numbers = pointer(int)


@routine
def encode(coder: WeightCoder) -> int:
    """Write the words of all weights; returns their number."""
    first = words = 0
    while first < coder.count:
        mode, taken = _best_mode(coder, first)
        _put(coder, words, -MODE_BITS, mode)
        if mode == RUN_MODE:
            _put(coder, words, 0, taken)
        elif mode == PLAIN_MODE:
            for place in range(taken):
                _put(coder, words, 8 * place, coder.weights[first + place] & 255)
        else:
            _write_ones(coder, words, mode, first, taken)
        coder.steps += -(-taken // STEP_WEIGHTS)
        first, words = first + taken, words + 1
    return words


ENCODE = Routine(encode, "encode")


@routine
def _best_mode(coder: WeightCoder, first: int) -> tuple[int, int]:
    """The mode in which a word stands for the most weights from the first on, and how many these are."""
    left = coder.count - first
    mode, taken = PLAIN_MODE, min(PLAIN_WEIGHTS, left)
    for low_bits in range(RICE_MODES):
        fit = _rice_fit(coder, first, min(left, STEP_WEIGHTS), low_bits)
        if fit > taken:
            mode, taken = low_bits, fit
    for number in range(SPARSE_MODES):
        fit = _sparse_fit(coder, first, min(left, STEP_WEIGHTS), FEWEST_SPARSE_BITS + number)
        if fit > taken:
            mode, taken = FIRST_SPARSE_MODE + number, fit
    run, most = 0, min(left, _MAX_RUN)
    while run < most and coder.weights[first + run] == 0:
        run += 1
    if run > taken:
        mode, taken = RUN_MODE, run
    return mode, taken


@routine
def _rice_fit(coder: WeightCoder, first: int, most: int, low_bits: int) -> int:
    fit, used = 0, 0
    while fit < most:
        used += (_number(coder.weights[first + fit]) >> low_bits) + 1 + low_bits
        if used > BODY_BITS:
            break
        fit += 1
    return fit


@routine
def _sparse_fit(coder: WeightCoder, first: int, most: int, bits: int) -> int:
    """Up to the last weight other than 0."""
    fit, used, limit = 0, 0, 1 << bits - 1
    for place in range(most):
        weight = coder.weights[first + place]
        used += 1
        if weight:
            used += bits
            if used > BODY_BITS or not -limit <= weight < limit:
                break
            fit = place + 1
    return fit


@inlined
def _number(weight: int) -> int:
    """Weights as numbers from 0 on: 0, -1, 1, -2 and so on."""
    return 2 * weight if weight >= 0 else -2 * weight - 1


@routine
def _write_ones(coder: WeightCoder, word: int, mode: int, first: int, taken: int) -> None:
    """A 1 for each weight, or for each that is not 0, after as many 0s as its number or its place says; and
    its low bits, from the top down."""
    is_sparse = mode > PLAIN_MODE
    bits = FEWEST_SPARSE_BITS + mode - FIRST_SPARSE_MODE if is_sparse else mode
    place, low, mask = 0, BODY_BITS, (1 << bits) - 1
    for number in range(first, first + taken):
        weight = coder.weights[number]
        value = weight if is_sparse else _number(weight)
        if not is_sparse:
            place += value >> bits
        if not is_sparse or weight:
            low -= bits
            _put(coder, word, place, 1)
            _put(coder, word, low, value & mask)
        place += 1


@routine
def _put(coder: WeightCoder, word: int, place: int, value: int) -> None:
    """Add a value to the body of a word, from a bit on."""
    bit = place + MODE_BITS
    part = word * _PARTS + bit // _PART_BITS
    moved = value << bit % _PART_BITS
    coder.parts[part] |= moved & _PART_MASK
    if moved > _PART_MASK:
        coder.parts[part + 1] |= moved >> _PART_BITS
