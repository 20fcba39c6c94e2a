"""Encodes weights in the code that DMA_IN decodes, which `docs/weight-code.md` defines.

Each word takes the mode in which it stands for the most weights. A word that starts later never ends earlier,
so that this gives the fewest words, except that sparse words do not end with zeros. A word follows from the
weights behind its start alone. So a piece of weights has the words of the whole from the first start on that
both share, and needs only few of its own at its ends.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from dlasim.named_tuple import NamedTuple
from dlasim.native.record import Integer, Record, Records, pointer
from dlasim.native.routine import Numbers, Routine, inlined, routine
from dlasim.native.storage import pointer_to

_BYTE = Integer(8, is_signed=False)
_HALVES, _HALF_BITS = 2, 4 * CODE_BYTES  # of a word, in numbers of 64 bits
_STEP_BITS = 28  # of a number of a start, which leave 31 for its place: the steps before it
_MAX_RUN = (1 << RUN_BITS) - 1

# How many bits weights take is counted for four modes at a time, in lanes of a number.
_LANES, _LANE_BITS = 4, 15
_ROW = 4  # numbers of a weight in the table: two for modes of Rice code, two for sparse ones
_ONES = sum(1 << _LANE_BITS * lane for lane in range(_LANES))
_LAST_LANE = 1 << _LANE_BITS * (_LANES - 1)  # in which Rice code has no mode: there zeros are counted
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
    lanes[:, _ROW // 2 - 1, -1] = weights[:, 0] == 0
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
    return CodedWeights(weights).piece(0, weights.size, weights.size)


class CodedWeights:
    """Weights with what is known of the words for all of them, from which those for pieces follow."""

    def __init__(self, weights: NDArray[np.int8]) -> None:
        coder, size = WeightCoder(), weights.size
        coder.weights, coder.table = pointer_to(weights.ravel().view(np.uint8), _BYTE), pointer_to(_TABLE)
        coder.starts, coder.notes = pointer_to(np.empty(_most_words(size), np.int64)), 1
        self._coder = coder
        coder.known, _ = self.measure([(0, size, size)])[0].tolist()
        coder.notes = 0

    def measure(self, pieces: NDArray[np.int64] | Sequence[tuple[int, int, int]]) -> NDArray[np.int64]:
        """The words and steps of pieces, each from a weight to another and zeros to a third."""
        coder, rows = self._coder, np.zeros((len(pieces), 5), np.int64)
        rows[:, :3] = pieces
        coder.pieces, coder.count = pointer_to(rows, CodedPiece), len(rows)
        ENCODE(coder)
        return rows[:, 3:]

    def piece(self, first: int, end: int, padded: int) -> WeightCode:
        """The words of a piece, which has zeros at its end so that it has `padded` bytes."""
        halves, coder = np.empty(_most_words(padded) * _HALVES, np.int64), self._coder
        coder.halves, coder.writes = pointer_to(halves), 1
        words, steps = self.measure([(first, end, first + padded)])[0].tolist()
        coder.writes = 0
        return WeightCode(halves[: words * _HALVES], steps)


def _most_words(weights: int) -> int:
    return -(-weights // PLAIN_WEIGHTS)


class CodedPiece(Record):
    """The weights from the first to the end, and zeros until the last; how many words and steps they take."""

    first: int = 0
    end: int = 0
    last: int = 0
    words: int = 0
    steps: int = 0


class WeightCoder(Record):
    """Encodes so many pieces of weights, one of which ends at `end` and `last`. The `weights` are bytes,
    `table` has their bits. If it `writes`, the halves of a piece's words are wanted, too.

    Of the whole so many words are `known`, by start, mode and steps before it in one number; `notes`: they
    are being found.
    """

    count: int = 0
    end: int = 0
    last: int = 0
    known: int = 0
    notes: int = 0
    writes: int = 0
    pieces: Records[CodedPiece] = pointer(CodedPiece)
    weights: Numbers = pointer(_BYTE)
    table: Numbers = pointer(int)
    halves: Numbers = pointer(int)
    starts: Numbers = pointer(int)


@routine
def encode(coder: WeightCoder) -> int:
    """Encode all pieces."""
    for number in range(coder.count):
        piece = coder.pieces[number]
        coder.end, coder.last = piece.end, piece.last
        piece.words, piece.steps = _encode_piece(coder, piece.first)
    return 0


ENCODE = Routine(encode, "encode")


@routine
def _encode_piece(coder: WeightCoder, first: int) -> tuple[int, int]:
    """The words and steps of a piece: at first, and at last, those that the whole does not have."""
    words, steps, shared, known = 0, 0, 0, _starts_before(coder, first)
    while first < coder.last:
        while known < coder.known and _start(coder, known) < first:
            known += 1
        if not shared and known < coder.known and _start(coder, known) == first:
            shared = max(_starts_before(coder, coder.end) - 1 - known, 0)
            if shared:
                steps += coder.starts[known + shared] - coder.starts[known] & (1 << _STEP_BITS) - 1
                if coder.writes:
                    _write_shared(coder, known, shared, words)
                first, words = _start(coder, known + shared), words + shared
                continue
        mode, taken = _best_mode(coder, first)
        if coder.notes:
            coder.starts[words] = (first << MODE_BITS | mode) << _STEP_BITS | steps
        if coder.writes:
            _write(coder, words, first, mode, taken)
        first, words, steps = first + taken, words + 1, steps - (-taken // STEP_WEIGHTS)
    return words, steps


@routine
def _write_shared(coder: WeightCoder, known: int, count: int, word: int) -> None:
    """Words of the whole."""
    for number in range(known, known + count):
        first, mode = _start(coder, number), coder.starts[number] >> _STEP_BITS & (1 << MODE_BITS) - 1
        _write(coder, word + number - known, first, mode, _start(coder, number + 1) - first)


@inlined
def _start(coder: WeightCoder, known: int) -> int:
    """Where a word of the whole starts."""
    return coder.starts[known] >> MODE_BITS + _STEP_BITS


@routine
def _starts_before(coder: WeightCoder, place: int) -> int:
    """How many words of the whole start before a place."""
    low, high = 0, coder.known
    while low < high:
        middle = low + high >> 1
        if _start(coder, middle) < place:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _weight(coder: WeightCoder, place: int) -> int:
    """As a byte."""
    return coder.weights[place] if place < coder.end else 0


@routine
def _best_mode(coder: WeightCoder, first: int) -> tuple[int, int]:
    """The mode in which a word stands for the most weights from the first on, and how many these are."""
    left = coder.last - first
    mode, taken = PLAIN_MODE, min(PLAIN_WEIGHTS, left)
    most = min(left, STEP_WEIGHTS)
    low_used = high_used = low_fits = high_fits = 0
    for place in range(first, first + taken):
        weight = _weight(coder, place)
        low_used += coder.table[_ROW * weight]
        high_used += coder.table[_ROW * weight + 1]
    while taken < most:
        weight = _weight(coder, first + taken)
        low_used += coder.table[_ROW * weight]
        high_used += coder.table[_ROW * weight + 1]
        low, high = _LIMIT - low_used & _FITS, _LIMIT - high_used & _FITS & _LAST_LANE - 1
        if not low | high:
            break
        low_fits, high_fits, taken = low, high, taken + 1
    if low_fits | high_fits:
        mode = _first_lane(low_fits, high_fits)
    if high_used >= _LAST_LANE:  # there are zeros; without them, Rice code takes no more bits
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
