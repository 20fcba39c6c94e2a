"""Arithmetic of 16-bit numbers in int32 elements: sums with rescaling, products, and functions by table."""

from __future__ import annotations

from dlasim.isa.instruction_rows import SigmoidMode
from dlasim.native.routine import Number, Pointer, Vector, inlined, routine
from dlasim.sim.fast_engine.elementwise import extents
from dlasim.sim.fast_engine.finish import part32, put_part32
from dlasim.sim.fast_engine.memory_access import get32, put32
from dlasim.sim.fast_engine.operation_rows import OperationRow, opcode
from dlasim.sim.fast_engine.rescaling import rescale, scale
from dlasim.sim.fast_engine.vectors import (
    LANES,
    add,
    maximum,
    minimum,
    multiply,
    shift_left,
    shift_right,
    splat,
)

_ADD16 = opcode("OP_E16_ADD")
_TANH = int(SigmoidMode.TANH)
_HALF_WORD, _LEAST, _GREATEST = 16, -(1 << 15), (1 << 15) - 1
_LAST_ENTRY = 255


@inlined
def _limited(value: Vector) -> Vector:
    return minimum(maximum(value, splat(_LEAST)), splat(_GREATEST))


@inlined
def _low(value: Vector) -> Vector:
    return shift_right(shift_left(value, splat(_HALF_WORD)), splat(_HALF_WORD))


@routine
def binary16(row: OperationRow, sram: Pointer) -> Number:
    """OP_E16_ADD, OP_E16_MUL."""
    sums, limit = row.opcode == _ADD16, splat(row.limit)
    scale_in = scale(row.in_mult, row.in_shift)
    scale_in2 = scale(row.in2_mult, row.in2_shift)
    height, width, channels = extents(row, 4, 4, 4)
    for y in range(height):
        for x in range(width):
            in_at = row.in_addr + y * row.in_row_stride + x * row.in_pixel_stride
            in2_at = row.in2_addr + y * row.in2_row_stride + x * row.in2_pixel_stride
            out_at = row.out_addr + y * row.out_row_stride + x * row.out_pixel_stride
            for c in range(0, channels, LANES):
                count = channels - c
                a, b = part32(sram, in_at + 4 * c, count), part32(sram, in2_at + 4 * c, count)
                if sums:
                    a = _limited(add(_limited(rescale(a, scale_in)), _limited(rescale(b, scale_in2))))
                    a = minimum(maximum(a, splat(-row.limit)), limit)
                else:
                    a = multiply(_low(a), _low(b))
                put_part32(sram, out_at + 4 * c, a, count)
    return 0


@inlined
def _wrapped(value: Number, bits: Number) -> Number:
    """The low bits, as a signed number."""
    half = 1 << (bits - 1)
    return ((value + half) & (2 * half - 1)) - half


@inlined
def _function(row: OperationRow, sram: Pointer, value: Number) -> Number:
    """Of one element, linear between the entries of the table."""
    product = _wrapped(value, 16) * (row.in_mult & 0xFFFF) + ((1 << row.shift_amount) >> 1)
    place = _wrapped(product, 32) >> row.shift_amount
    is_tanh = row.mode == _TANH
    bits = 8 if is_tanh else 9
    size = max(place, -place)
    entry = size >> bits
    total = (65535 if is_tanh else 65534) << bits
    if entry < _LAST_ENTRY:
        pair = get32(sram, row.lut_addr + 4 * entry)
        total = ((pair & 0xFFFF) << bits) + (size & ((1 << bits) - 1)) * ((pair >> 16) & 0x3FF)
    if is_tanh:
        total -= 1 << 23
        return (total + 128 if place >= 0 else 127 - total) >> 8
    return (total + 512 if place >= 0 else (1 << 25) - total + 511) >> 10


@routine
def sigmoid16(row: OperationRow, sram: Pointer) -> Number:
    """OP_E16_SIGMOID."""
    height, width, channels = extents(row, 4, 0, 4)
    for y in range(height):
        for x in range(width):
            in_at = row.in_addr + y * row.in_row_stride + x * row.in_pixel_stride
            out_at = row.out_addr + y * row.out_row_stride + x * row.out_pixel_stride
            for c in range(channels):
                put32(sram, out_at + 4 * c, _function(row, sram, get32(sram, in_at + 4 * c)))
    return 0
