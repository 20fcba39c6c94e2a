"""Encodes weights in the code that DMA_IN decodes, which `docs/weight-code.md` defines.

Each word takes the mode in which it stands for the most weights. A word that starts later never ends earlier,
so that this gives the fewest words, except that sparse words do not end with zeros. A word follows from the
weights behind its start alone. So a piece of weights has the words of the whole from the first start on that
both share, and needs only few of its own at its ends.
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
from dlasim.native.record import SLOT_BYTES, Record, pointer, record
from dlasim.native.routine import Numbers, Routine, inlined, routine
from dlasim.native.storage import pointer_to

_HALVES, _HALF_BITS = 2, 4 * CODE_BYTES  # of a word, in numbers of 64 bits
_STEP_BITS = 32  # of a start's number: the steps before it
_MAX_RUN = (1 << RUN_BITS) - 1

# How many bits weights take is counted for four modes at a time, in lanes of a number.
_LANES, _LANE_BITS = 4, 15
_ROW = 4  # numbers of a weight in the table: two for modes of Rice code, two for sparse ones
_ONES = sum(1 << _LANE_BITS * lane for lane in range(_LANES))
_TOO_MANY = BODY_BITS + 1  # bits, of a weight that a mode cannot hold; 64 of them fit in a lane
_FITS_BIT = 13  # of the difference to the limit: set where the bits suffice
_FITS = _ONES << _FITS_BIT
_LIMIT = _ONES * (BODY_BITS + (1 << _FITS_BIT))
assert STEP_WEIGHTS * _TOO_MANY < 1 << _FITS_BIT, "sums of bits do not leave their lanes"
assert max(RICE_MODES, SPARSE_MODES) < _ROW // 2 * _LANES, "each mode has a lane, and one lane is left"


def _bits_table() -> NDArray[np.int64]:
    """The bits of each weight, as a byte, in each mode."""
    weights = np.arange(256).astype(np.int8).astype(np.int64)[:, None]
    numbers = np.where(weights < 0, -2 * weights - 1, 2 * weights)
    low_bits, sparse_bits = np.arange(RICE_MODES), FEWEST_SPARSE_BITS + np.arange(SPARSE_MODES)
    limits = 1 << sparse_bits - 1
    rice = (numbers >> low_bits) + 1 + low_bits
    fits = (-limits <= weights) & (weights < limits)
    sparse = np.where(weights == 0, 1, np.where(fits, 1 + sparse_bits, _TOO_MANY))
    lanes = np.full((256, _ROW, _LANES), _TOO_MANY)
    lanes[:, : _ROW // 2].reshape(256, -1)[:, :RICE_MODES] = np.minimum(rice, _TOO_MANY)
    lanes[:, _ROW // 2 :].reshape(256, -1)[:, :SPARSE_MODES] = sparse
    moved: NDArray[np.int64] = lanes << _LANE_BITS * np.arange(_LANES)
    table: NDArray[np.int64] = moved.sum(axis=2, dtype=np.int64)
    return table


_TABLE = _bits_table()


class WeightCode(NamedTuple):
    """Weights as words, by halves, and the steps that decoding them takes."""

    halves: NDArray[np.int64]
    steps: int

    @property
    def words(self) -> int:
        """How many words there are."""
        return len(self.halves) // _HALVES

    def to_bytes(self) -> bytes:
        """As they are in memory."""
        return self.halves.astype("<i8", copy=False).tobytes()


def encode_weights(weights: NDArray[np.int8]) -> WeightCode:
    """The fewest words for weights."""
    return CodedWeights(weights).code


class CodedWeights:
    """Weights with the words for all of them, from which those for pieces follow."""

    def __init__(self, weights: NDArray[np.int8]) -> None:
        size, most = weights.size, _most_words(weights.size)
        slots = np.zeros(-(-size // SLOT_BYTES), "<i8")
        slots.view(np.int8)[:size] = weights.ravel()
        coder = self._coder = WeightCoder(notes=1)
        coder.weights, coder.table = pointer_to(slots), pointer_to(_TABLE)
        coder.starts = pointer_to(np.empty(most, np.int64))
        self.code = self._written(0, size, size)
        coder.known, coder.notes = self.code.words, 0

    def measure(self, first: int, end: int, padded: int) -> tuple[int, int]:
        """The words and steps of a piece, which has zeros at its end so that it has `padded` bytes."""
        coder = self._aimed(first, end, padded)
        coder.writes = 0
        return ENCODE(coder) + coder.reused, coder.steps

    def piece(self, first: int, end: int, padded: int) -> WeightCode:
        """The words of a piece."""
        code, coder = self._written(first, end, padded), self._coder
        if not coder.reused:
            return code
        before, reused = coder.words_before * _HALVES, coder.first_reused * _HALVES
        shared = self.code.halves[reused : reused + coder.reused * _HALVES]
        return WeightCode(np.concatenate((code.halves[:before], shared, code.halves[before:])), code.steps)

    def _written(self, first: int, end: int, padded: int) -> WeightCode:
        """The words that a piece does not share with the whole, and all its steps."""
        halves, coder = np.empty(_most_words(padded) * _HALVES, np.int64), self._aimed(first, end, padded)
        coder.halves, coder.writes = pointer_to(halves), 1
        return WeightCode(halves[: ENCODE(coder) * _HALVES], coder.steps)

    def _aimed(self, first: int, end: int, padded: int) -> WeightCoder:
        coder = self._coder
        coder.first, coder.end, coder.last = first, end, first + padded
        return coder


def _most_words(weights: int) -> int:
    return -(-weights // PLAIN_WEIGHTS)


@record
class WeightCoder(Record):
    """A piece of weights: those from the first to the end, and zeros until the last. The `weights` are eight
    in a number, `table` has their bits.

    Of the whole so many words are `known`, with their starts, each a number with the steps before it;
    `notes`: they are being found. Of the piece there are its steps, the halves of its own words if it
    `writes`, how many words of the whole it has, from which on, and how many of its own lie before these.
    """

    first: int = 0
    end: int = 0
    last: int = 0
    known: int = 0
    notes: int = 0
    writes: int = 0
    steps: int = 0
    reused: int = 0
    first_reused: int = 0
    words_before: int = 0
    weights: Numbers = pointer(int)
    table: Numbers = pointer(int)
    halves: Numbers = pointer(int)
    starts: Numbers = pointer(int)


@routine
def encode(coder: WeightCoder) -> int:
    """Encode a piece; returns the number of words that are its own."""
    first, words, known = coder.first, 0, _starts_before(coder, coder.first)
    coder.steps = coder.reused = 0
    while first < coder.last:
        while known < coder.known and coder.starts[known] >> _STEP_BITS < first:
            known += 1
        if not coder.reused and known < coder.known and _reuse(coder, first, known, words):
            first = coder.starts[coder.first_reused + coder.reused] >> _STEP_BITS
            continue
        mode, taken = _best_mode(coder, first)
        if coder.notes:
            coder.starts[words] = first << _STEP_BITS | coder.steps
        if coder.writes:
            _write(coder, words, first, mode, taken)
        coder.steps += -(-taken // STEP_WEIGHTS)
        first, words = first + taken, words + 1
    return words


ENCODE = Routine(encode, "encode")


@routine
def _reuse(coder: WeightCoder, first: int, known: int, words: int) -> bool:
    """Take words of the whole if the next one starts here: those that end before the piece does."""
    if coder.starts[known] >> _STEP_BITS != first:
        return False
    behind = _starts_before(coder, coder.end) - 1
    if behind <= known:
        return False
    coder.first_reused, coder.reused, coder.words_before = known, behind - known, words
    coder.steps += coder.starts[behind] - coder.starts[known] & (1 << _STEP_BITS) - 1
    return True


@routine
def _starts_before(coder: WeightCoder, place: int) -> int:
    """How many words of the whole start before a place."""
    low, high = 0, coder.known
    while low < high:
        middle = low + high >> 1
        if coder.starts[middle] >> _STEP_BITS < place:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _weight(coder: WeightCoder, place: int) -> int:
    """As a byte."""
    return coder.weights[place >> 3] >> 8 * (place & 7) & 255 if place < coder.end else 0


@routine
def _best_mode(coder: WeightCoder, first: int) -> tuple[int, int]:
    """The mode in which a word stands for the most weights from the first on, and how many these are."""
    left = coder.last - first
    mode, taken = PLAIN_MODE, min(PLAIN_WEIGHTS, left)
    most = min(left, STEP_WEIGHTS)
    low_used = high_used = low_fits = high_fits = has_zeros = 0
    for place in range(most):
        weight = _weight(coder, first + place)
        has_zeros |= weight == 0
        low_used += coder.table[_ROW * weight]
        high_used += coder.table[_ROW * weight + 1]
        if place >= taken:
            low, high = _LIMIT - low_used & _FITS, _LIMIT - high_used & _FITS
            if not low | high:
                break
            low_fits, high_fits, mode, taken = low, high, 0, place + 1
    if mode != PLAIN_MODE:
        mode = _first_lane(low_fits, high_fits)
    if has_zeros:  # without them, Rice code takes no more bits
        mode, taken = _sparse_mode(coder, first, mode, taken)
        run, most = 0, min(left, _MAX_RUN)
        while run < most and _weight(coder, first + run) == 0:
            run += 1
        if run > taken:
            mode, taken = RUN_MODE, run
    return mode, taken


@inlined
def _first_lane(low: int, high: int) -> int:
    """The first mode in which the weights fit."""
    lane, fits = (0, low) if low else (_LANES, high)
    while not fits >> _FITS_BIT & 1:
        lane, fits = lane + 1, fits >> _LANE_BITS
    return lane


@routine
def _sparse_mode(coder: WeightCoder, first: int, mode: int, taken: int) -> tuple[int, int]:
    """A sparse mode if a word stands for more weights so; up to the last one other than 0."""
    low_used = high_used = low_fits = high_fits = 0
    known = taken
    for place in range(min(coder.last - first, STEP_WEIGHTS)):
        weight = _weight(coder, first + place)
        low_used += coder.table[_ROW * weight + 2]
        high_used += coder.table[_ROW * weight + 3]
        if place >= known:
            low, high = _LIMIT - low_used & _FITS, _LIMIT - high_used & _FITS
            if not low | high:
                break
            if weight:
                low_fits, high_fits, taken = low, high, place + 1
    if taken > known:
        mode = FIRST_SPARSE_MODE + _first_lane(low_fits, high_fits)
    return mode, taken


@routine
def _write(coder: WeightCoder, word: int, first: int, mode: int, taken: int) -> None:
    """A word. In Rice code and in sparse code there is a 1 for each weight, or for each that is not 0, after
    as many 0s as its number or its place says; and its low bits, from the top down."""
    low, high = mode, 0
    if mode == RUN_MODE:
        low |= taken << MODE_BITS
    elif mode == PLAIN_MODE:
        for number in range(taken):
            low, high = _put(low, high, MODE_BITS + 8 * number, _weight(coder, first + number))
    else:
        is_sparse = mode > PLAIN_MODE
        bits = FEWEST_SPARSE_BITS + mode - FIRST_SPARSE_MODE if is_sparse else mode
        one, top, mask = MODE_BITS, 2 * _HALF_BITS, (1 << bits) - 1
        for place in range(first, first + taken):
            weight = _weight(coder, place)
            if not is_sparse:
                weight = (weight << 1 ^ -(weight >> 7)) & 255  # 0, -1, 1, -2 and so on as 0, 1, 2, 3
                one += weight >> bits
            if not is_sparse or weight:
                top -= bits
                low, high = _put(low, high, one, 1)
                low, high = _put(low, high, top, weight & mask)
            one += 1
    coder.halves[2 * word], coder.halves[2 * word + 1] = low, high


@inlined
def _put(low: int, high: int, place: int, value: int) -> tuple[int, int]:
    """Add up to eight bits to the halves of a word, from a place on."""
    if place >= _HALF_BITS:
        return low, high | value << place - _HALF_BITS
    if place > _HALF_BITS - 8:
        high |= value >> _HALF_BITS - place
    return low | value << place, high
