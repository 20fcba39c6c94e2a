"""Convolution of one channel to one, as in depthwise layers that are emulated channel by channel: sixteen
pixels at once.

The input's channel is gathered into a padded plane whose rows hold every stride-th column together, so that
neighbouring outputs meet neighbouring bytes whatever the stride and the dilation.
"""

from __future__ import annotations

from dlasim.isa.instruction_rows import Init, Out
from dlasim.native.routine import Number, Pointer, routine
from dlasim.sim.fast_engine.dot import multiply_add
from dlasim.sim.fast_engine.finish import (
    CONSTANT_BYTES,
    LEAST,
    LEFT,
    MULTIPLIER,
    PLAIN,
    RIGHT,
    aligned,
    channel_constants,
    lower_clamp,
)
from dlasim.sim.fast_engine.memory_access import (
    get8,
    get32,
    load8,
    load32,
    put8,
    put32,
    shifted,
    store8,
    store32,
    table_at,
)
from dlasim.sim.fast_engine.operation_rows import MAT_MUL, OperationRow, geometry
from dlasim.sim.fast_engine.vectors import BYTES32, LANES, add, maximum, minimum, requantize, splat

_PARTIAL, _WIDE = int(Init.PARTIAL), int(Out.INT32)


@routine
def gather_plane(row: OperationRow, sram: Pointer, plane: Pointer, height: Number, span: Number) -> None:
    """[row][column modulo stride][column / stride], `span` bytes each."""
    _, _, _, stride, _, _, top, left = geometry(row)
    matrix = row.opcode == MAT_MUL
    in_h, in_w = (row.out_height, row.out_width) if matrix else (row.in_height, row.in_width)
    outside, pixel = row.pad_value, row.in_pixel_stride
    for y in range(height):
        base = y * stride * span
        if y < top or y >= top + in_h:
            for i in range(stride * span):
                put8(plane, base + i, outside)
            continue
        source = row.in_addr + (y - top) * row.in_row_stride
        for phase in range(stride):
            to = base + phase * span
            first = min(span, max(0, (left - phase + stride - 1) // stride))
            last = max(first, min(span, (left + in_w - 1 - phase) // stride + 1))
            for i in range(first):
                put8(plane, to + i, outside)
            here, step = source + (first * stride + phase - left) * pixel, stride * pixel
            for i in range(last - first):
                put8(plane, to + first + i, get8(sram, here + i * step))
            for i in range(last, span):
                put8(plane, to + i, outside)


@routine
def convolve_single_channel(row: OperationRow, sram: Pointer, arena: Pointer, capacity: Number) -> Number:
    """OP_CONV of one input and one output channel. Returns 0, or the bytes of arena that it needs."""
    kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, _, _ = geometry(row)
    out_w, taps = row.out_width, kernel_h * kernel_w
    height = (row.out_height - 1) * stride_h + (kernel_h - 1) * dilation_h + 1
    span = aligned(out_w) + ((kernel_w - 1) * dilation_w) // stride_w + 1

    weights_at = aligned(height * stride_w * span + 64)
    places_at = weights_at + taps * BYTES32
    line_at = places_at + aligned(4 * taps)
    constants_at = line_at + 4 * aligned(out_w)
    needed = constants_at + CONSTANT_BYTES
    if needed > capacity:
        return needed
    weights, places = table_at(arena, weights_at), table_at(arena, places_at)
    line, constants = shifted(arena, line_at), table_at(arena, constants_at)

    gather_plane(row, sram, arena, height, span)
    channel_constants(row, sram, 0, 0, PLAIN, constants)
    total = 0
    for tap in range(taps):
        weight = get8(sram, row.weight_addr + tap) - row.weight_zp
        total += weight
        store32(weights, tap * BYTES32, splat(weight & 0xFFFF))
        y, x = (tap // kernel_w) * dilation_h, (tap % kernel_w) * dilation_w
        places[tap] = (y * stride_w + x % stride_w) * span + x // stride_w
    start = add(load32(constants, 0), splat(-row.in_zp * total))
    left, least = load32(constants, LEFT), load32(constants, LEAST)
    multiplier, right = load32(constants, MULTIPLIER), load32(constants, RIGHT)
    zero_point, low, high = splat(row.out_zp), splat(lower_clamp(row)), splat(row.act_max)
    wide, partial = row.out == _WIDE, row.init == _PARTIAL
    out_pixel, acc_pixel = row.out_pixel_stride, row.acc_pixel_stride
    for y in range(row.out_height):
        out, acc = row.out_addr + y * row.out_row_stride, row.acc_addr + y * row.acc_row_stride
        if partial:
            for x in range(out_w):
                put32(line, 4 * x, get32(sram, acc + x * acc_pixel))
        for x in range(0, out_w, LANES):
            sums = start
            here = y * stride_h * stride_w * span + x
            for tap in range(taps):
                inputs = load8(arena, here + places[tap])
                sums = multiply_add(sums, inputs, load32(weights, tap * BYTES32))
            if partial:
                sums = add(sums, load32(line, 4 * x))
            if wide:
                store32(line, 4 * x, sums)
            else:
                scaled = add(requantize(sums, left, least, multiplier, right), zero_point)
                store8(line, x, minimum(maximum(scaled, low), high))
        if wide:
            for x in range(out_w):
                put32(sram, out + x * out_pixel, get32(line, 4 * x))
        else:
            for x in range(out_w):
                put8(sram, out + x * out_pixel, get8(line, x))
    return 0
