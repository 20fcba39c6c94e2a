"""Depthwise convolution: sixteen channels at once, over bands of output rows.

A band's input rows are staged first, padded and with whole vectors of channels, so that no pixel is at an
edge and no load is partial. The zero point is folded into what the sums start from.
"""

from __future__ import annotations

from dlasim.native.routine import Number, Pointer, Vector, routine
from dlasim.sim.kernels.dot import multiply_add
from dlasim.sim.kernels.finish import (
    CONSTANT_BYTES,
    OUT_CHANNELS,
    OUT_H,
    OUT_W,
    START,
    aligned,
    channel_constants,
    finish,
    part8,
    place_outputs,
)
from dlasim.sim.kernels.input_view import (
    DILATION_H,
    DILATION_W,
    IN_ADDR,
    IN_CHANNELS,
    IN_H,
    IN_PIXEL,
    IN_ROW,
    IN_W,
    IN_ZP,
    KERNEL_H,
    KERNEL_W,
    PAD_LEFT,
    PAD_TOP,
    PAD_VALUE,
    STRIDE_H,
    STRIDE_W,
    WEIGHT_ADDR,
    WEIGHT_ZP,
)
from dlasim.sim.kernels.memory_access import (
    copy_bytes,
    get8,
    load8,
    load32,
    put8,
    store8,
    store32,
    table_at,
)
from dlasim.sim.kernels.vectors import (
    BYTES32,
    LANES,
    add,
    bit_and,
    multiply,
    splat,
    subtract,
)

SPAN = 64  # pixels of one tile
BAND_BYTES = 1 << 16  # of staged input: what the caches hold next to everything else


@routine
def stage_row(
    row: Pointer, sram: Pointer, stage: Pointer, at: Number, y: Number, width: Number, pixel_bytes: Number
) -> None:
    """One input row, padded, as [column][output channel]."""
    left, factor = row[PAD_LEFT], row[OUT_CHANNELS] // row[IN_CHANNELS]
    first = min(left, width)
    last = max(first, min(width, left + row[IN_W]))
    if y < 0 or y >= row[IN_H]:
        first = last = width
    outside = splat(row[PAD_VALUE])
    for i in range(0, first * pixel_bytes, LANES):
        store8(stage, at + i, outside)
    for i in range(last * pixel_bytes, width * pixel_bytes, LANES):
        store8(stage, at + i, outside)
    source, step = row[IN_ADDR] + y * row[IN_ROW], row[IN_PIXEL]
    channels = row[OUT_CHANNELS]
    if factor == 1 and step == channels and pixel_bytes == channels:
        copy_bytes(stage, at + first * pixel_bytes, sram, source, (last - first) * channels)
    elif factor == 1:
        for x in range(last - first):
            copy_bytes(stage, at + (first + x) * pixel_bytes, sram, source + x * step, channels)
    else:
        for x in range(last - first):
            for c in range(channels):
                put8(stage, at + (first + x) * pixel_bytes + c, get8(sram, source + x * step + c // factor))


@routine
def depth_span9(
    stage: Pointer,
    at: Number,
    step: Number,
    turns: Number,
    places: Pointer,
    weights: Pointer,
    start: Vector,
    tile: Pointer,
) -> None:
    """`turns` pixels of nine taps: places and weights stay in registers."""
    p0, p1, p2, p3, p4 = places[0], places[1], places[2], places[3], places[4]
    p5, p6, p7, p8 = places[5], places[6], places[7], places[8]
    w0, w1, w2 = load32(weights, 0), load32(weights, BYTES32), load32(weights, 2 * BYTES32)
    w3, w4 = load32(weights, 3 * BYTES32), load32(weights, 4 * BYTES32)
    w5, w6 = load32(weights, 5 * BYTES32), load32(weights, 6 * BYTES32)
    w7, w8 = load32(weights, 7 * BYTES32), load32(weights, 8 * BYTES32)
    for i in range(turns):
        total = multiply_add(start, load8(stage, at + p0), w0)
        total = multiply_add(total, load8(stage, at + p1), w1)
        total = multiply_add(total, load8(stage, at + p2), w2)
        total = multiply_add(total, load8(stage, at + p3), w3)
        total = multiply_add(total, load8(stage, at + p4), w4)
        total = multiply_add(total, load8(stage, at + p5), w5)
        total = multiply_add(total, load8(stage, at + p6), w6)
        total = multiply_add(total, load8(stage, at + p7), w7)
        total = multiply_add(total, load8(stage, at + p8), w8)
        store32(tile, i * BYTES32, total)
        at += step


@routine
def depth_span(
    stage: Pointer,
    at: Number,
    step: Number,
    turns: Number,
    places: Pointer,
    taps: Number,
    weights: Pointer,
    start: Vector,
    tile: Pointer,
) -> None:
    """`turns` pixels of any number of taps."""
    for i in range(turns):
        total = start
        for tap in range(taps):
            weight = load32(weights, tap * BYTES32)
            total = multiply_add(total, load8(stage, at + places[tap]), weight)
        store32(tile, i * BYTES32, total)
        at += step


@routine
def depth_weights(row: Pointer, sram: Pointer, taps: Number, weights: Pointer, constants: Pointer) -> None:
    """Per sixteen channels the weights of each tap, a vector each, and what the sums start from."""
    outputs = row[OUT_CHANNELS]
    zero_point, weight_zero_point = splat(row[IN_ZP]), splat(row[WEIGHT_ZP])
    for block in range((outputs + LANES - 1) // LANES):
        channel = block * LANES
        total = splat(0)
        for tap in range(taps):
            stored = part8(sram, row[WEIGHT_ADDR] + tap * outputs + channel, outputs - channel)
            value = subtract(stored, weight_zero_point)
            total = add(total, value)
            store32(weights, (block * taps + tap) * BYTES32, bit_and(value, splat(0xFFFF)))
        here = table_at(constants, block * CONSTANT_BYTES)
        channel_constants(row, sram, channel, here)
        start = subtract(load32(here, START), multiply(zero_point, total))
        store32(here, START, start)


@routine
def depth_band(
    row: Pointer,
    sram: Pointer,
    stage: Pointer,
    first: Number,
    last: Number,
    block: Number,
    row_bytes: Number,
    pixel_bytes: Number,
    places: Pointer,
    weights: Pointer,
    constants: Pointer,
    tile: Pointer,
    outs: Pointer,
    accs: Pointer,
) -> None:
    """Output rows `first` to `last` of sixteen channels; tiles run on from row to row."""
    out_w, taps = row[OUT_W], row[KERNEL_H] * row[KERNEL_W]
    weights_here = table_at(weights, block * taps * BYTES32)
    constants_here = table_at(constants, block * CONSTANT_BYTES)
    start = load32(constants_here, START)
    step = row[STRIDE_W] * pixel_bytes
    at, filled = first * out_w, 0
    for y in range(first, last):
        here = (y - first) * row[STRIDE_H] * row_bytes + block * LANES
        x = 0
        while x < out_w:
            turns = min(SPAN - filled, out_w - x)
            to = table_at(tile, filled * BYTES32)
            if taps == 9:
                depth_span9(stage, here + x * step, step, turns, places, weights_here, start, to)
            else:
                depth_span(stage, here + x * step, step, turns, places, taps, weights_here, start, to)
            x += turns
            filled += turns
            if filled == SPAN:
                finish(row, sram, tile, 1, 0, filled, at, outs, accs, constants_here, block * LANES)
                at += filled
                filled = 0
    if filled > 0:
        finish(row, sram, tile, 1, 0, filled, at, outs, accs, constants_here, block * LANES)


@routine
def depthwise(row: Pointer, sram: Pointer, arena: Pointer, capacity: Number) -> Number:
    """OP_DEPTH_CONV. Returns 0, or the bytes of arena that it needs."""
    kernel_h, kernel_w = row[KERNEL_H], row[KERNEL_W]
    taps, pixels = kernel_h * kernel_w, row[OUT_H] * row[OUT_W]
    blocks = (row[OUT_CHANNELS] + LANES - 1) // LANES
    pixel_bytes = blocks * LANES
    width = (row[OUT_W] - 1) * row[STRIDE_W] + (kernel_w - 1) * row[DILATION_W] + 1
    row_bytes = width * pixel_bytes
    reach = (kernel_h - 1) * row[DILATION_H] + 1
    band = max(1, (BAND_BYTES // row_bytes - reach) // row[STRIDE_H] + 1)
    band = min(band, row[OUT_H])
    height = (band - 1) * row[STRIDE_H] + reach

    weights_at = aligned(height * row_bytes + BYTES32)
    outs_at = weights_at + blocks * taps * BYTES32
    accs_at = outs_at + aligned(4 * pixels)
    places_at = accs_at + aligned(4 * pixels)
    constants_at = places_at + aligned(4 * taps)
    tile_at = constants_at + blocks * CONSTANT_BYTES
    needed = tile_at + SPAN * BYTES32
    if needed > capacity:
        return needed
    weights, outs, accs = table_at(arena, weights_at), table_at(arena, outs_at), table_at(arena, accs_at)
    places, constants, tile = (
        table_at(arena, places_at), table_at(arena, constants_at), table_at(arena, tile_at),
    )  # fmt: skip

    place_outputs(row, outs, accs)
    depth_weights(row, sram, taps, weights, constants)
    for ky in range(kernel_h):
        for kx in range(kernel_w):
            places[ky * kernel_w + kx] = ky * row[DILATION_H] * row_bytes + kx * row[DILATION_W] * pixel_bytes
    for first in range(0, row[OUT_H], band):
        last = min(first + band, row[OUT_H])
        top = first * row[STRIDE_H] - row[PAD_TOP]
        for y in range((last - first - 1) * row[STRIDE_H] + reach):
            stage_row(row, sram, arena, y * row_bytes, top + y, width, pixel_bytes)
        for block in range(blocks):
            depth_band(
                row, sram, arena, first, last, block, row_bytes, pixel_bytes, places, weights,
                constants, tile, outs, accs,
            )  # fmt: skip
    return 0
