"""Weights made ready for tiles: sixteen outputs side by side, and what their sums start from."""

from __future__ import annotations

from dlasim.native.routine import Number, Pointer, Vector, inlined, routine
from dlasim.sim.kernels.dot import GROUP_BYTES, dot_groups, transpose_groups
from dlasim.sim.kernels.finish import CONSTANT_BYTES, lane_channel
from dlasim.sim.kernels.memory_access import copy_bytes, load32, put32, shifted, store32
from dlasim.sim.kernels.multiplication import IS_QUAD, STAGED_BYTES
from dlasim.sim.kernels.operation_rows import OperationRow
from dlasim.sim.kernels.vectors import BYTES32, LANES, add, multiply, splat, subtract

_ONES = 0x01010101  # a group of four ones


@routine
def pack_rows(
    sram: Pointer,
    rows: Pointer,
    start: Number,
    count: Number,
    scratch: Pointer,
    scratch_rows: Pointer,
    packed: Pointer,
    at: Number,
    stride: Number,
) -> None:
    """`count` weights from `start` on of sixteen rows, as groups [group][row]; whole tiles of 16 groups."""
    length = BYTES32 // STAGED_BYTES
    done = 0
    while count - done >= length:
        transpose_groups(shifted(sram, start + done), rows, packed, at, stride)
        done += length
        at += LANES * stride
    if done < count:
        for i in range(LANES):
            for j in range(length // 4):
                put32(scratch, i * BYTES32 + 4 * j, 0)
            copy_bytes(scratch, i * BYTES32, sram, rows[i] + start + done, count - done)
        transpose_groups(scratch, scratch_rows, packed, at, stride)


@routine
def pack_block(
    row: OperationRow,
    sram: Pointer,
    channel: Number,
    vector: Number,
    columns: Number,
    quad: Number,
    taps: Number,
    run: Number,
    groups: Number,
    rows: Pointer,
    scratch: Pointer,
    scratch_rows: Pointer,
    packed: Pointer,
) -> None:
    """The weights of `columns` vectors of outputs, from the one with the number `vector` of the block that
    begins with `channel` on, as [tap][group][output]."""
    weights = taps * run
    stride = columns * BYTES32
    last = row.out_channels - 1
    for v in range(columns):
        for i in range(LANES):
            output = channel + lane_channel(vector + v, i, quad)
            rows[i] = row.weight_addr + min(output, last) * weights
        at = v * BYTES32
        if groups * (GROUP_BYTES // STAGED_BYTES) == run:
            pack_rows(sram, rows, 0, weights, scratch, scratch_rows, packed, at, stride)
        else:
            for tap in range(taps):
                here = at + tap * groups * stride
                pack_rows(sram, rows, tap * run, run, scratch, scratch_rows, packed, here, stride)


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
    offset: Number,
    columns: Number,
    steps: Number,
    packed: Pointer,
    constants: Pointer,
    starts: Pointer,
) -> None:
    """What the sums of a block start from: the bias less `offset`, which bytes are staged too high by, times
    the sum of the weights."""
    for v in range(columns):
        start = load32(constants, v * CONSTANT_BYTES)
        if IS_QUAD and offset != 0:
            total = sum_weights(packed, v * BYTES32, columns * BYTES32, steps)
            start = subtract(start, multiply(splat(offset), total))
        store32(starts, v * BYTES32, start)
