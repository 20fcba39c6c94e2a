"""Pooling: sixteen channels at once, over the part of each window that lies inside the input."""

from __future__ import annotations

from dlasim.isa.instructions import PoolMode
from dlasim.native.routine import Number, Pointer, inlined, routine
from dlasim.sim.kernels.finish import (
    ACT_MAX,
    ACT_MIN,
    LEAST,
    LEFT,
    MULTIPLIER,
    OUT_ADDR,
    OUT_CHANNELS,
    OUT_H,
    OUT_MULT,
    OUT_PIXEL,
    OUT_ROW,
    OUT_SHIFT,
    OUT_W,
    OUT_ZP,
    RIGHT,
    part8,
    put_part8,
    put_scale,
)
from dlasim.sim.kernels.input_view import (
    DILATION_H,
    DILATION_W,
    IN_ADDR,
    IN_H,
    IN_PIXEL,
    IN_ROW,
    IN_W,
    IN_ZP,
    KERNEL_H,
    KERNEL_W,
    PAD_LEFT,
    PAD_TOP,
    STRIDE_H,
    STRIDE_W,
)
from dlasim.sim.kernels.memory_access import load32, table_at
from dlasim.sim.kernels.operation_rows import column
from dlasim.sim.kernels.vectors import (
    LANES,
    add,
    divide_rounded,
    maximum,
    minimum,
    requantize,
    splat,
    subtract,
)

MODE = column("mode")
_MAX, _AVERAGE, _AVERAGE_UP = int(PoolMode.MAX), int(PoolMode.AVERAGE), int(PoolMode.AVERAGE_UP)
_LOWEST = -128


@inlined
def valid_taps(start: Number, dilation: Number, taps: Number, size: Number) -> tuple[int, int]:
    """(first, last): the taps inside the input, of those at start, start + dilation, ..."""
    first = (-start + dilation - 1) // dilation if start < 0 else 0
    last = (size - 1 - start) // dilation + 1 if start < size else 0
    return first, min(taps, last)


@routine
def pool(row: Pointer, sram: Pointer, arena: Pointer, capacity: Number) -> Number:
    """OP_POOL. Returns 0, or the bytes of arena that it needs."""
    needed = 8 * 4 * LANES
    if needed > capacity:
        return needed
    constants = table_at(arena, 0)
    for lane in range(LANES):
        put_scale(constants, lane, row[OUT_MULT], row[OUT_SHIFT])
    left, least = load32(constants, LEFT), load32(constants, LEAST)
    multiplier, right = load32(constants, MULTIPLIER), load32(constants, RIGHT)
    zero_point, low, high = splat(row[OUT_ZP]), splat(row[ACT_MIN]), splat(row[ACT_MAX])
    mode, channels = row[MODE], row[OUT_CHANNELS]
    row_step, column_step = row[DILATION_H] * row[IN_ROW], row[DILATION_W] * row[IN_PIXEL]
    for y in range(row[OUT_H]):
        top = y * row[STRIDE_H] - row[PAD_TOP]
        ky0, ky1 = valid_taps(top, row[DILATION_H], row[KERNEL_H], row[IN_H])
        for x in range(row[OUT_W]):
            across = x * row[STRIDE_W] - row[PAD_LEFT]
            kx0, kx1 = valid_taps(across, row[DILATION_W], row[KERNEL_W], row[IN_W])
            corner = row[IN_ADDR] + top * row[IN_ROW] + across * row[IN_PIXEL]
            out = row[OUT_ADDR] + y * row[OUT_ROW] + x * row[OUT_PIXEL]
            pixels = (ky1 - ky0) * (kx1 - kx0)
            for channel in range(0, channels, LANES):
                count = channels - channel
                total = splat(_LOWEST if mode == _MAX else 0)
                for ky in range(ky0, ky1):
                    here = corner + channel + ky * row_step + kx0 * column_step
                    for _ in range(kx0, kx1):
                        value = part8(sram, here, count)
                        total = maximum(total, value) if mode == _MAX else add(total, value)
                        here += column_step
                if mode == _AVERAGE:
                    total = divide_rounded(total, pixels)
                elif mode == _AVERAGE_UP:  # from -128 up nothing is negative: halves away from zero are up
                    unsigned = subtract(total, splat(pixels * _LOWEST))
                    total = add(divide_rounded(unsigned, pixels), splat(_LOWEST))
                elif mode != _MAX:
                    total = subtract(total, splat(pixels * row[IN_ZP]))
                    total = add(requantize(total, left, least, multiplier, right), zero_point)
                put_part8(sram, out + channel, minimum(maximum(total, low), high), count)
    return 0
