"""Depthwise convolution: sixteen channels at once, straight from SRAM.

Pixels whose window lies inside the input take the short way, with the taps at fixed offsets; those at the
edges ask for each tap. The zero point is folded into what the sums start from.
"""

from __future__ import annotations

from typing import Any

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
from dlasim.sim.kernels.geometry import (
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
    interior,
)
from dlasim.sim.kernels.vectors import (
    BYTES32,
    LANES,
    add,
    bit_and,
    get8,
    inlined,
    kernel,
    load8,
    load32,
    multiply,
    splat,
    store32,
    subtract,
    table_at,
)

SPAN = 32  # pixels of one tile


@inlined
def channel_lanes(sram: Any, pixel: Any, channel: Any, factor: Any, count: Any, spare: Any) -> Any:
    """The input of sixteen output channels; each input channel serves `factor` of them."""
    if factor == 1:
        return part8(sram, pixel + channel, count)
    for lane in range(min(LANES, count)):
        spare[lane] = get8(sram, pixel + (channel + lane) // factor)
    return load32(spare, 0)


@kernel
def depth_edge(
    row: Any, sram: Any, witness: Any, y: Any, x: Any, channel: Any, factor: Any, count: Any, weights: Any,
    start: Any, spare: Any,
) -> Any:  # fmt: skip
    """The sums of one pixel, tap by tap."""
    total = start
    outside = splat(row[PAD_VALUE])
    kernel_w = row[KERNEL_W]
    for ky in range(row[KERNEL_H]):
        iy = y * row[STRIDE_H] + ky * row[DILATION_H] - row[PAD_TOP]
        for kx in range(kernel_w):
            ix = x * row[STRIDE_W] + kx * row[DILATION_W] - row[PAD_LEFT]
            inputs = outside
            if 0 <= iy < row[IN_H] and 0 <= ix < row[IN_W]:
                pixel = row[IN_ADDR] + iy * row[IN_ROW] + ix * row[IN_PIXEL]
                inputs = channel_lanes(sram, pixel, channel, factor, count, spare)
            weight = load32(weights, (ky * kernel_w + kx) * BYTES32)
            total = multiply_add(witness, total, inputs, weight)
    return total


@kernel
def depth_span9(
    sram: Any, witness: Any, at: Any, step: Any, turns: Any, places: Any, weights: Any, start: Any, tile: Any
) -> Any:
    """`turns` pixels of nine taps: places and weights stay in registers."""
    p0, p1, p2, p3, p4 = places[0], places[1], places[2], places[3], places[4]
    p5, p6, p7, p8 = places[5], places[6], places[7], places[8]
    w0, w1, w2 = load32(weights, 0), load32(weights, BYTES32), load32(weights, 2 * BYTES32)
    w3, w4, w5 = (
        load32(weights, 3 * BYTES32),
        load32(weights, 4 * BYTES32),
        load32(weights, 5 * BYTES32),
    )
    w6, w7, w8 = (
        load32(weights, 6 * BYTES32),
        load32(weights, 7 * BYTES32),
        load32(weights, 8 * BYTES32),
    )
    for i in range(turns):
        total = multiply_add(witness, start, load8(sram, at + p0), w0)
        total = multiply_add(witness, total, load8(sram, at + p1), w1)
        total = multiply_add(witness, total, load8(sram, at + p2), w2)
        total = multiply_add(witness, total, load8(sram, at + p3), w3)
        total = multiply_add(witness, total, load8(sram, at + p4), w4)
        total = multiply_add(witness, total, load8(sram, at + p5), w5)
        total = multiply_add(witness, total, load8(sram, at + p6), w6)
        total = multiply_add(witness, total, load8(sram, at + p7), w7)
        total = multiply_add(witness, total, load8(sram, at + p8), w8)
        store32(tile, i * BYTES32, total)
        at += step


@kernel
def depth_span(
    sram: Any, witness: Any, at: Any, step: Any, turns: Any, places: Any, taps: Any, weights: Any, start: Any,
    tile: Any, count: Any,
) -> Any:  # fmt: skip
    """`turns` pixels of any number of taps."""
    for i in range(turns):
        total = start
        for tap in range(taps):
            inputs = part8(sram, at + places[tap], count)
            total = multiply_add(witness, total, inputs, load32(weights, tap * BYTES32))
        store32(tile, i * BYTES32, total)
        at += step


@kernel
def depth_weights(row: Any, sram: Any, taps: Any, weights: Any, constants: Any) -> Any:
    """Per sixteen channels the weights of each tap, a vector each, and what the sums start from."""
    outputs = row[OUT_CHANNELS]
    zero_point = splat(row[IN_ZP])
    for block in range((outputs + LANES - 1) // LANES):
        channel = block * LANES
        total = splat(0)
        for tap in range(taps):
            value = part8(sram, row[WEIGHT_ADDR] + tap * outputs + channel, outputs - channel)
            total = add(total, value)
            store32(weights, (block * taps + tap) * BYTES32, bit_and(value, splat(0xFFFF)))
        here = table_at(constants, block * CONSTANT_BYTES)
        channel_constants(row, sram, channel, here)
        start = subtract(load32(here, START), multiply(zero_point, total))
        store32(here, START, start)


@kernel
def depth_row(
    row: Any, sram: Any, witness: Any, y: Any, block: Any, first: Any, last: Any, places: Any, weights: Any,
    constants: Any, tile: Any, outs: Any, accs: Any, spare: Any,
) -> Any:  # fmt: skip
    """One output row of sixteen channels; the windows of pixels `first` to `last` lie inside the input."""
    out_w, taps = row[OUT_W], row[KERNEL_H] * row[KERNEL_W]
    channel = block * LANES
    count = row[OUT_CHANNELS] - channel
    factor = row[OUT_CHANNELS] // row[IN_CHANNELS]
    weights_here = table_at(weights, block * taps * BYTES32)
    constants_here = table_at(constants, block * CONSTANT_BYTES)
    start = load32(constants_here, START)
    step = row[STRIDE_W] * row[IN_PIXEL]
    corner = row[IN_ADDR] + (y * row[STRIDE_H] - row[PAD_TOP]) * row[IN_ROW] - row[PAD_LEFT] * row[IN_PIXEL]
    x = 0
    while x < out_w:
        turns = min(SPAN, out_w - x)
        i = 0
        while i < turns:
            if first <= x + i < last and factor == 1:
                inside = min(turns, last - x) - i
                at = corner + channel + (x + i) * step
                to = table_at(tile, i * BYTES32)
                if taps == 9 and count >= LANES:
                    depth_span9(sram, witness, at, step, inside, places, weights_here, start, to)
                else:
                    depth_span(sram, witness, at, step, inside, places, taps, weights_here, start, to, count)
                i += inside
            else:
                total = depth_edge(
                    row, sram, witness, y, x + i, channel, factor, count, weights_here, start, spare
                )  # fmt: skip
                store32(tile, i * BYTES32, total)
                i += 1
        finish(row, sram, tile, 1, 0, turns, y * out_w + x, outs, accs, constants_here, channel)
        x += turns


@kernel
def depthwise(row: Any, sram: Any, arena: Any, capacity: Any, witness: Any) -> Any:
    """OP_DEPTH_CONV. Returns 0, or the bytes of arena that it needs."""
    taps = row[KERNEL_H] * row[KERNEL_W]
    pixels = row[OUT_H] * row[OUT_W]
    blocks = (row[OUT_CHANNELS] + LANES - 1) // LANES
    outs_at = blocks * taps * BYTES32
    accs_at = outs_at + aligned(4 * pixels)
    places_at = accs_at + aligned(4 * pixels)
    constants_at = places_at + aligned(4 * taps)
    tile_at = constants_at + blocks * CONSTANT_BYTES
    spare_at = tile_at + SPAN * BYTES32
    needed = spare_at + BYTES32
    if needed > capacity:
        return needed
    weights, outs, accs = table_at(arena, 0), table_at(arena, outs_at), table_at(arena, accs_at)
    places, constants = table_at(arena, places_at), table_at(arena, constants_at)
    tile, spare = table_at(arena, tile_at), table_at(arena, spare_at)

    place_outputs(row, outs, accs)
    depth_weights(row, sram, taps, weights, constants)
    for ky in range(row[KERNEL_H]):
        for kx in range(row[KERNEL_W]):
            offset = ky * row[DILATION_H] * row[IN_ROW] + kx * row[DILATION_W] * row[IN_PIXEL]
            places[ky * row[KERNEL_W] + kx] = offset
    top, bottom = interior(
        row[IN_H], row[OUT_H], row[KERNEL_H], row[STRIDE_H], row[DILATION_H], row[PAD_TOP]
    )  # fmt: skip
    left, right = interior(
        row[IN_W], row[OUT_W], row[KERNEL_W], row[STRIDE_W], row[DILATION_W], row[PAD_LEFT]
    )  # fmt: skip
    for y in range(row[OUT_H]):
        first, last = (left, right) if top <= y < bottom else (0, 0)
        for block in range(blocks):
            depth_row(
                row, sram, witness, y, block, first, last, places, weights, constants, tile, outs, accs, spare
            )
    return 0
