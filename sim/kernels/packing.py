"""Weights made ready for tiles: sixteen outputs side by side, and what their sums start from."""

from __future__ import annotations

from dlasim.native.routine import Number, Pointer, inlined, routine
from dlasim.sim.kernels.dot import (
    GROUP_BYTES,
    dot_groups,
    transpose_groups,
)
from dlasim.sim.kernels.finish import (
    CONSTANT_BYTES,
    OUT_CHANNELS,
)
from dlasim.sim.kernels.input_view import (
    IN_ZP,
    WEIGHT_ADDR,
)
from dlasim.sim.kernels.memory_access import (
    copy_bytes,
    load32,
    put32,
    shifted,
    store32,
)
from dlasim.sim.kernels.multiplication import IS_QUAD, STAGED_BYTES
from dlasim.sim.kernels.vectors import (
    BYTES32,
    LANES,
    multiply,
    splat,
    subtract,
)

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
    row: Pointer,
    sram: Pointer,
    channel: Number,
    columns: Number,
    taps: Number,
    run: Number,
    groups: Number,
    rows: Pointer,
    scratch: Pointer,
    scratch_rows: Pointer,
    packed: Pointer,
) -> None:
    """The weights of up to `columns` x 16 outputs as [tap][group][output]."""
    weights = taps * run
    stride = columns * BYTES32
    last = row[OUT_CHANNELS] - 1
    for v in range(columns):
        for i in range(LANES):
            rows[i] = row[WEIGHT_ADDR] + min(channel + v * LANES + i, last) * weights
        at = v * BYTES32
        if groups * (GROUP_BYTES // STAGED_BYTES) == run:
            pack_rows(sram, rows, 0, weights, scratch, scratch_rows, packed, at, stride)
        else:
            for tap in range(taps):
                here = at + tap * groups * stride
                pack_rows(sram, rows, tap * run, run, scratch, scratch_rows, packed, here, stride)


@inlined
def fold_offset(
    row: Pointer,
    columns: Number,
    steps: Number,
    packed: Pointer,
    constants: Pointer,
    starts: Pointer,
) -> None:
    """What the sums of a block start from: the bias less what the staged offset adds."""
    offset = splat(128 + row[IN_ZP])
    for v in range(columns):
        start = load32(constants, v * CONSTANT_BYTES)
        if IS_QUAD:
            total = splat(0)
            for step in range(steps):
                weights = load32(packed, (step * columns + v) * BYTES32)
                total = dot_groups(total, splat(_ONES), weights)
            start = subtract(start, multiply(offset, total))
        store32(starts, v * BYTES32, start)
