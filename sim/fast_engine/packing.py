"""Weights made ready for tiles: sixteen outputs side by side, and what their sums start from."""

from __future__ import annotations

from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Number, Pointer, Vector, inlined, routine
from dlasim.sim.fast_engine.dot import GROUP_BYTES, dot_groups, transpose_groups
from dlasim.sim.fast_engine.finish import CONSTANT_BYTES, ChannelBlock, lane_channel
from dlasim.sim.fast_engine.memory_access import HAS_MASKS, copy_bytes, load32, shifted, store32
from dlasim.sim.fast_engine.multiplication import IS_QUAD, STAGED_BYTES
from dlasim.sim.fast_engine.operation_rows import OperationRow
from dlasim.sim.fast_engine.vectors import BYTES32, LANES, add, multiply, splat, subtract

_ONES = 0x01010101  # a group of four ones


class Filters(NamedTuple):
    """The weights of an output: `taps` runs of `run` weights, each in `groups` groups."""

    taps: Number
    run: Number
    groups: Number


class PackingRoom(NamedTuple):
    """Where sixteen rows of weights begin, and room for the last groups of each, with places of its own."""

    rows: Pointer
    scratch: Pointer
    scratch_rows: Pointer


@routine
def pack_rows(
    sram: Pointer,
    room: PackingRoom,
    start: Number,
    count: Number,
    packed: Pointer,
    at: Number,
    stride: Number,
) -> None:
    """`count` weights from `start` on of sixteen rows, as groups [group][row]; whole tiles of 16 groups."""
    length = BYTES32 // STAGED_BYTES
    done = 0
    while count - done >= length:
        transpose_groups(shifted(sram, start + done), room.rows, length, packed, at, stride)
        done += length
        at += LANES * stride
    rest = count - done
    if rest > 0 and HAS_MASKS:
        transpose_groups(shifted(sram, start + done), room.rows, rest, packed, at, stride)
    elif rest > 0:
        for i in range(LANES):
            store32(room.scratch, i * BYTES32, splat(0))
            copy_bytes(room.scratch, i * BYTES32, sram, room.rows[i] + start + done, rest)
        transpose_groups(room.scratch, room.scratch_rows, rest, packed, at, stride)


@routine
def pack_block(
    row: OperationRow,
    sram: Pointer,
    block: ChannelBlock,
    vector: Number,
    columns: Number,
    filters: Filters,
    room: PackingRoom,
    packed: Pointer,
) -> None:
    """The weights of `columns` vectors of outputs, from the one with the number `vector` of the block on, as
    [tap][group][output]."""
    run, groups = filters.run, filters.groups
    weights = filters.taps * run
    stride = columns * BYTES32
    last = row.out_channels - 1
    for v in range(columns):
        for i in range(LANES):
            output = block.channel + lane_channel(vector + v, i, block.layout)
            room.rows[i] = row.weight_addr + min(output, last) * weights
        at = v * BYTES32
        if groups * (GROUP_BYTES // STAGED_BYTES) == run:
            pack_rows(sram, room, 0, weights, packed, at, stride)
        else:
            for tap in range(filters.taps):
                pack_rows(sram, room, tap * run, run, packed, at + tap * groups * stride, stride)


@inlined
def sum_weights(packed: Pointer, at: Number, stride: Number, steps: Number) -> Vector:
    """The sum of each output's weights, in four parts, none of which waits for another."""
    ones, done = splat(_ONES), steps // 4 * 4
    first, second, third, fourth = splat(0), splat(0), splat(0), splat(0)
    for _ in range(0, done, 4):
        first = dot_groups(first, ones, load32(packed, at))
        second = dot_groups(second, ones, load32(packed, at + stride))
        third = dot_groups(third, ones, load32(packed, at + 2 * stride))
        fourth = dot_groups(fourth, ones, load32(packed, at + 3 * stride))
        at += 4 * stride
    for _ in range(done, steps):
        first = dot_groups(first, ones, load32(packed, at))
        at += stride
    return add(add(first, second), add(third, fourth))


@inlined
def fold_offset(
    offset: Number, columns: Number, steps: Number, packed: Pointer, constants: Pointer, starts: Pointer
) -> None:
    """What the sums of a block start from: the bias less `offset`, which bytes are staged too high by, times
    the sum of the weights."""
    for v in range(columns):
        start = load32(constants, v * CONSTANT_BYTES)
        if IS_QUAD and offset != 0:
            total = sum_weights(packed, v * BYTES32, columns * BYTES32, steps)
            start = subtract(start, multiply(splat(offset), total))
        store32(starts, v * BYTES32, start)
