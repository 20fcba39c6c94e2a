"""DMA: compressed weights, decoded word by word."""

from __future__ import annotations

from dlasim.isa.instruction_rows import COPIED_BYTES
from dlasim.isa.weight_code import (
    BODY_BITS,
    CODE_BYTES,
    FEWEST_SPARSE_BITS,
    FIRST_SPARSE_MODE,
    MODE_BITS,
    PLAIN_MODE,
    PLAIN_WEIGHTS,
    RUN_BITS,
    RUN_MODE,
    STEP_WEIGHTS,
)
from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Number, Pointer, routine
from dlasim.sim.fast_engine.memory_access import copy_bytes, get8, pointer_at, put8
from dlasim.sim.fast_engine.operation_rows import OperationRow

_HALF_BITS = 8 * CODE_BYTES // 2
_MODE_MASK, _RUN_MASK = (1 << MODE_BITS) - 1, (1 << RUN_BITS) - 1


class CodeHalves(NamedTuple):
    """The halves of a word."""

    low: Number
    high: Number


@routine
def dma_decode(row: OperationRow, sram: Pointer, regions: Pointer) -> Number:
    """OP_DMA_DECODE."""
    memory, here, there = pointer_at(regions[row.dma_in_region]), row.dma_in_offset, row.dma_in_sram_addr
    copied = row.copied * COPIED_BYTES
    room, left, run = row.dma_in_run_bytes - copied, row.words, 0
    copy_bytes(sram, there + room, memory, here + left * CODE_BYTES, copied)
    for step in range(row.steps):
        if left > 0 and (run == 0 or row.steps - step == left):
            word = CodeHalves(_half(memory, here), _half(memory, here + CODE_BYTES // 2))
            run = word.low >> MODE_BITS & _RUN_MASK if word.low & _MODE_MASK == RUN_MODE else 0
            written = _decode_body(word, sram, there, room)
            there, room, here, left = there + written, room - written, here + CODE_BYTES, left - 1
        zeros = min(run, STEP_WEIGHTS)
        written = min(zeros, room)
        for i in range(written):
            put8(sram, there + i, 0)
        there, room, run = there + written, room - written, run - zeros
    return 0


@routine
def _half(memory: Pointer, here: Number) -> Number:
    half = 0
    for i in range(CODE_BYTES // 2):
        half |= (get8(memory, here + i) & 255) << 8 * i
    return half


@routine
def _bits(word: CodeHalves, place: Number, count: Number) -> Number:
    """So many bits of the body, from a place on."""
    first, mask = place + MODE_BITS, (1 << count) - 1
    if first >= _HALF_BITS:
        return word.high >> first - _HALF_BITS & mask
    below = _HALF_BITS - first
    if count <= below:
        return word.low >> first & mask
    return (word.low >> first & (1 << below) - 1 | word.high << below) & mask


@routine
def _decode_body(word: CodeHalves, sram: Pointer, there: Number, room: Number) -> Number:
    """Write the weights for which there is room; returns their number. The word of a run gives none."""
    mode = word.low & _MODE_MASK
    if mode == PLAIN_MODE:
        count = min(PLAIN_WEIGHTS, room)
        for i in range(count):
            put8(sram, there + i, _bits(word, 8 * i, 8))
        return count
    if mode == RUN_MODE:
        return 0
    if mode > PLAIN_MODE:
        return _decode_sparse(word, FEWEST_SPARSE_BITS + mode - FIRST_SPARSE_MODE, sram, there, room)
    return _decode_rice(word, mode, sram, there, room)


@routine
def _decode_rice(word: CodeHalves, low_bits: Number, sram: Pointer, there: Number, room: Number) -> Number:
    count, zeros, place, low, most = 0, 0, 0, BODY_BITS - low_bits, min(STEP_WEIGHTS, room)
    while count < most and place < low:
        if _bits(word, place, 1):
            number = (zeros << low_bits | _bits(word, low, low_bits)) & 255
            put8(sram, there + count, number >> 1 ^ -(number & 1))
            count, zeros, low = count + 1, 0, low - low_bits
        else:
            zeros += 1
        place += 1
    return count


@routine
def _decode_sparse(word: CodeHalves, bits: Number, sram: Pointer, there: Number, room: Number) -> Number:
    count, place, low = 0, 0, BODY_BITS - bits
    while place < min(STEP_WEIGHTS, low):
        if _bits(word, place, 1):
            for i in range(count, min(place, room)):
                put8(sram, there + i, 0)
            if place < room:
                weight, sign = _bits(word, low, bits), 1 << bits - 1
                put8(sram, there + place, (weight ^ sign) - sign)
            count, low = place + 1, low - bits
        place += 1
    return min(count, room)
