"""Softmax: three passes over the channels of each pixel, and between the last two the reciprocal of a sum."""

from __future__ import annotations

from dlasim.native.routine import Number, Pointer, inlined, routine
from dlasim.sim.fast_engine.memory_access import get8, get32, put8
from dlasim.sim.fast_engine.operation_rows import OperationRow

_INT32_MAX = (1 << 31) - 1
_GUESS, _GUESS_SLOPE, _ONE_IN_Q2 = 1_515_870_810, -1_010_580_540, 1 << 29
_SUM_SHIFT, _RESULT_SHIFT = 12, 35  # of TFLite: 19 bits below the point of the sum; scale 1/256


@inlined
def _high(a: Number, b: Number) -> Number:
    """The high half of a doubled product, rounded; its one overflow saturates."""
    return min((a * b + (1 << 30)) >> 31, _INT32_MAX)


@inlined
def _rounded(value: Number, shift: Number) -> Number:
    """value / 2^shift (above 0), halves away from zero."""
    return (value + (1 << (shift - 1)) - (1 if value < 0 else 0)) >> shift


@inlined
def _reciprocal(normalized: Number) -> Number:
    """2^62 / normalized, about, for 2^31 to 2^32 - 1."""
    half = normalized >> 1
    guess = _GUESS + _high(half, _GUESS_SLOPE)
    for _ in range(3):
        guess += _high(guess, _ONE_IN_Q2 - _high(half, guess)) << 2
    return min(guess << 1, _INT32_MAX)


@routine
def normalize(sram: Pointer, source: Number, target: Number, channels: Number, table: Number) -> None:
    """The channels of one pixel."""
    greatest = get8(sram, source)
    for c in range(1, channels):
        greatest = max(greatest, get8(sram, source + c))
    total = 0
    for c in range(channels):
        total += _rounded(get32(sram, table + 4 * (greatest - get8(sram, source + c))), _SUM_SHIFT)
    total = max(total & 0xFFFFFFFF, 1)
    zeros = 0
    while total < 1 << 31:
        total, zeros = total << 1, zeros + 1
    reciprocal, shift = _reciprocal(total), _RESULT_SHIFT - zeros
    for c in range(channels):
        exponential = get32(sram, table + 4 * (greatest - get8(sram, source + c)))
        result = _rounded(_high(exponential, reciprocal), shift) - 128
        put8(sram, target + c, min(max(result, -128), 127))


@routine
def softmax(row: OperationRow, sram: Pointer) -> Number:
    """OP_SOFTMAX."""
    for y in range(row.out_height):
        for x in range(row.out_width):
            source = row.in_addr + y * row.in_row_stride + x * row.in_pixel_stride
            target = row.out_addr + y * row.out_row_stride + x * row.out_pixel_stride
            normalize(sram, source, target, row.out_channels, row.lut_addr)
    return 0
