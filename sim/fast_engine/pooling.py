"""Pooling: sixteen channels at once, over the part of each window that lies inside the input."""

from __future__ import annotations

from dlasim.isa.instruction_rows import PoolMode
from dlasim.native.routine import Number, Pointer, inlined, routine
from dlasim.sim.fast_engine.finish import part8, put_part8
from dlasim.sim.fast_engine.operation_rows import OperationRow
from dlasim.sim.fast_engine.rescaling import rescale, scale
from dlasim.sim.fast_engine.vectors import LANES, add, divide_rounded, maximum, minimum, splat, subtract

_MAX, _AVERAGE, _AVERAGE_UP = int(PoolMode.MAX), int(PoolMode.AVERAGE), int(PoolMode.AVERAGE_UP)
_LOWEST = -128


@inlined
def valid_taps(start: Number, dilation: Number, taps: Number, size: Number) -> tuple[int, int]:
    """(first, last): the taps inside the input, of those at start, start + dilation, ..."""
    first = (-start + dilation - 1) // dilation if start < 0 else 0
    last = (size - 1 - start) // dilation + 1 if start < size else 0
    return first, min(taps, last)


@routine
def pool(row: OperationRow, sram: Pointer) -> Number:
    """OP_POOL."""
    scale_out = scale(row.out_mult, row.out_shift)
    zero_point, low, high = splat(row.out_zp), splat(row.act_min), splat(row.act_max)
    mode, channels = row.mode, row.out_channels
    row_step, column_step = row.dilation_height * row.in_row_stride, row.dilation_width * row.in_pixel_stride
    for y in range(row.out_height):
        top = y * row.stride_height - row.pad_top
        ky0, ky1 = valid_taps(top, row.dilation_height, row.kernel_height, row.in_height)
        for x in range(row.out_width):
            across = x * row.stride_width - row.pad_left
            kx0, kx1 = valid_taps(across, row.dilation_width, row.kernel_width, row.in_width)
            corner = row.in_addr + top * row.in_row_stride + across * row.in_pixel_stride
            out = row.out_addr + y * row.out_row_stride + x * row.out_pixel_stride
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
                    total = subtract(total, splat(pixels * row.in_zp))
                    total = add(rescale(total, scale_out), zero_point)
                put_part8(sram, out + channel, minimum(maximum(total, low), high), count)
    return 0
