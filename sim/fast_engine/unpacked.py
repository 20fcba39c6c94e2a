"""Convolution and matrix multiplication of few pixels: packing the weights would cost more than it saves."""

from __future__ import annotations

from dlasim.native.routine import Number, Pointer, inlined, routine
from dlasim.native.target import host
from dlasim.sim.fast_engine.dot import dot_rows, stage_at, sum_lanes
from dlasim.sim.fast_engine.finish import (
    CONSTANT_BYTES,
    PLAIN,
    ChannelBlock,
    Pixels,
    Places,
    aligned,
    channel_constants,
    finish,
    place_outputs,
)
from dlasim.sim.fast_engine.memory_access import copy_bytes, load32, shifted, store32, table_at
from dlasim.sim.fast_engine.multiplication import IS_QUAD, STAGED_BYTES
from dlasim.sim.fast_engine.operation_rows import MAT_MUL, OperationRow, geometry
from dlasim.sim.fast_engine.vectors import BYTES32, LANES, add, splat
from dlasim.sim.fast_engine.weight_offset import run_offset

ROWS = 4 * host().vectors  # of weights that one pass over a patch multiplies


@routine
def stage_patch(row: OperationRow, sram: Pointer, stage: Pointer, at: Number, y: Number, x: Number) -> None:
    """The window of one output pixel as one run from `at` on, in the order of the weights."""
    kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left = geometry(row)
    channels = row.in_channels
    matrix = row.opcode == MAT_MUL
    in_h, in_w = (row.out_height, row.out_width) if matrix else (row.in_height, row.in_width)
    offset = 128 if IS_QUAD else -row.in_zp
    for ky in range(kernel_h):
        iy = y * stride_h + ky * dilation_h - top
        for kx in range(kernel_w):
            ix = x * stride_w + kx * dilation_w - left
            if 0 <= iy < in_h and 0 <= ix < in_w:
                source = row.in_addr + iy * row.in_row_stride + ix * row.in_pixel_stride
                for c in range(channels):
                    stage[at + c] = sram[source + c] + offset
            else:
                for c in range(channels):
                    stage[at + c] = row.pad_value + offset
            at += channels


@inlined
def add_rows(
    stage: Pointer, at: Number, weights: Pointer, rows: Pointer, turns: Number, fold: Number, sums: Pointer
) -> None:
    """`dot_rows`, where a staged zero point of 0 costs nothing."""
    if fold != 0:
        dot_rows(ROWS, 1, stage, at, weights, rows, turns, fold, sums)
    else:
        dot_rows(ROWS, 0, stage, at, weights, rows, turns, 0, sums)


@routine
def convolve_unpacked(row: OperationRow, sram: Pointer, arena: Pointer, capacity: Number) -> Number:
    """Few output pixels, as in fully connected layers: weights are used once, so where they lie.

    All windows are staged before the first output is written, which may lie upon the input.
    """
    kernel_h, kernel_w, _, _, _, _, _, _ = geometry(row)
    length = kernel_h * kernel_w * row.in_channels
    outputs = row.out_channels
    pixels = row.out_height * row.out_width
    per_turn = BYTES32 // STAGED_BYTES
    turns = length // per_turn
    done = turns * per_turn
    rest = length - done

    patch = aligned((length + per_turn) * STAGED_BYTES) // STAGED_BYTES
    sums_at = pixels * patch * STAGED_BYTES
    rows_at = sums_at + LANES * BYTES32
    outs_at = rows_at + 2 * BYTES32
    scratch_offset = outs_at + 2 * BYTES32
    tile_at = scratch_offset + ROWS * BYTES32
    constants_at = tile_at + BYTES32
    needed = constants_at + CONSTANT_BYTES
    if needed > capacity:
        return needed
    stage, scratch = stage_at(arena, 0), shifted(arena, scratch_offset)
    sums = table_at(arena, sums_at)
    rows, scratch_rows = table_at(arena, rows_at), table_at(arena, rows_at + BYTES32)
    outs = Places(table_at(arena, outs_at), table_at(arena, outs_at + BYTES32))
    tile, constants = table_at(arena, tile_at), table_at(arena, constants_at)

    place_outputs(row, outs)
    fold = 128 + row.in_zp if IS_QUAD else 0
    for i in range(ROWS):
        scratch_rows[i] = i * BYTES32
        store32(scratch, i * BYTES32, splat(0))
    for pixel in range(pixels):
        stage_patch(row, sram, stage, pixel * patch, pixel // row.out_width, pixel % row.out_width)
        for i in range(length, done + per_turn):
            stage[pixel * patch + i] = 0
    for pixel in range(pixels):
        patch_at = pixel * patch * STAGED_BYTES
        offset = run_offset(row, stage, patch_at, length) if row.weight_zp != 0 else 0
        for channel in range(0, outputs, LANES):
            channel_constants(row, sram, channel, 0, PLAIN, constants)
            for o in range(0, min(LANES, outputs - channel), ROWS):
                here = table_at(sums, o * BYTES32)
                for i in range(ROWS):
                    rows[i] = row.weight_addr + min(channel + o + i, outputs - 1) * length
                    store32(here, i * BYTES32, splat(0))
                if turns > 0:
                    add_rows(stage, patch_at, sram, rows, turns, fold, here)
                if rest > 0:
                    for i in range(ROWS):
                        copy_bytes(scratch, i * BYTES32, sram, rows[i] + done, rest)
                    add_rows(stage, patch_at + turns * BYTES32, scratch, scratch_rows, 1, fold, here)
            store32(tile, 0, add(sum_lanes(sums), add(load32(constants, 0), splat(-offset))))
            finish(row, sram, tile, ChannelBlock(channel, 1, PLAIN, constants), Pixels(0, 1, pixel), outs)
    return 0
