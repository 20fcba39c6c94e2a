"""Element by element: sums, products, comparisons, tables, int32 arithmetic, requantization, filling.

What is dense in every operand is taken as one long row. Inputs either are where the output goes or do not
touch it: whoever prepares the rows sees to that.
"""

from __future__ import annotations

from dlasim.isa.instruction_rows import Quant, ShiftMode
from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Number, Pointer, Vector, inlined, routine
from dlasim.sim.fast_engine.finish import (
    CONSTANT_BYTES,
    LEAST,
    LEFT,
    MULTIPLIER,
    RIGHT,
    channel_constants,
    lower_clamp,
    part8,
    part32,
    put_part8,
    put_part32,
)
from dlasim.sim.fast_engine.memory_access import get8, load8, load32, put8, store8_saturated, table_at
from dlasim.sim.fast_engine.operation_rows import OperationRow, opcode
from dlasim.sim.fast_engine.rescaling import DownScale, down_scale, rescale, rescale_down, rescale_high, scale
from dlasim.sim.fast_engine.vectors import (
    LANES,
    MAX_DOWN_SHIFT,
    add,
    maximum,
    minimum,
    multiply,
    requantize,
    shift_left,
    shift_right,
    shift_right_rounded,
    splat,
    subtract,
    where_negative,
)

_ADD, _SUB, _MUL, _MIN = (opcode(name) for name in ("OP_E_ADD", "OP_E_SUB", "OP_E_MUL", "OP_C_MIN"))
_LUT, _LRELU, _ABS = (opcode(name) for name in ("OP_ACT_LUT", "OP_ACT_LRELU", "OP_E_ABS"))
_ADD32, _SQDIFF = opcode("OP_E32_ADD"), opcode("OP_E_SQDIFF")
_CHANNEL, _LEFT, _ROUND = int(Quant.CHANNEL), int(ShiftMode.LEFT), int(ShiftMode.RIGHT_ROUND)
TABLE_SIZE = 256
_HALF = 1 << 30  # the multiplier of 0.5
_MAX_DOWN_LEFT = 20  # moved by so much, a difference of bytes is below 2^28, a sum of two below 2^29


@inlined
def extents(
    row: OperationRow, in_element: Number, in2_element: Number, out_element: Number
) -> tuple[int, int, int]:
    """(rows, pixels, channels) after joining what is dense in all operands; element 0: no such operand."""
    height, width, channels = row.out_height, row.out_width, row.out_channels
    if (
        (in_element == 0 or row.in_pixel_stride == channels * in_element)
        and (in2_element == 0 or row.in2_pixel_stride == channels * in2_element)
        and row.out_pixel_stride == channels * out_element
    ):
        channels, width = channels * width, 1
        if (
            (in_element == 0 or row.in_row_stride == channels * in_element)
            and (in2_element == 0 or row.in2_row_stride == channels * in2_element)
            and row.out_row_stride == channels * out_element
        ):
            channels, height = channels * height, 1
    return height, width, channels


@inlined
def is_half(left_shift: Number, multiplier: Number, shift: Number) -> Number:
    """Whether a scale takes half of an even number: that of the coarser input of a sum always does."""
    return left_shift > 0 and multiplier == _HALF and shift == 0


@inlined
def halves_one(row: OperationRow) -> Number:
    """Whether it is OP_E_ADD with the usual scales: one input is halved, the scales of the other and of the
    result are those of `requantize_down`, for all values."""
    return (
        row.opcode == _ADD
        and row.left_shift <= _MAX_DOWN_LEFT
        and min(row.in_shift, row.in2_shift) >= -MAX_DOWN_SHIFT
        and max(row.in_shift, row.in2_shift) <= 0
        and -MAX_DOWN_SHIFT <= row.out_shift < 0
        and min(row.in_mult, row.in2_mult, row.out_mult) >= 0
        and (
            is_half(row.left_shift, row.in_mult, row.in_shift)
            or is_half(row.left_shift, row.in2_mult, row.in2_shift)
        )
    )


class HalvedSum(NamedTuple):
    """The input that is halved: its zero point, and the shift that does so; the other's; and the result's."""

    half_zero: Vector
    half_left: Vector
    zero: Vector
    left: Vector
    other: DownScale
    out: DownScale
    low: Vector
    high: Vector


@inlined
def halved_sum(row: OperationRow, is_first: Number) -> HalvedSum:
    """The constants of a sum whose first or second input is halved."""
    half_zero, zero = (row.in_zp, row.in2_zp) if is_first else (row.in2_zp, row.in_zp)
    other = scale(row.in2_mult, row.in2_shift) if is_first else scale(row.in_mult, row.in_shift)
    return HalvedSum(
        splat(half_zero),
        splat(row.left_shift - 1),
        splat(zero),
        splat(row.left_shift),
        down_scale(other, splat(0)),
        down_scale(scale(row.out_mult, row.out_shift), splat(row.out_zp)),
        splat(row.act_min),
        splat(row.act_max),
    )


@inlined
def add_run(
    sram: Pointer,
    half: Number,
    other: Number,
    out: Number,
    count: Number,
    by: HalvedSum,
    is_half: Number,
    shift: Number,
    is_whole: Number,
) -> None:
    """Whole vectors of sums; the other input is halved, too, or has a shift, or just a multiplier; `is_whole`
    where int8 alone limits the results."""
    for c in range(0, count, LANES):
        a = shift_left(subtract(load8(sram, half + c), by.half_zero), by.half_left)
        b = subtract(load8(sram, other + c), by.zero)
        if is_half:
            b = shift_left(b, by.half_left)
        elif shift < 0:
            b = rescale_down(shift_left(b, by.left), by.other)
        else:
            b = rescale_high(shift_left(b, by.left), by.other)
        total = rescale_down(add(a, b), by.out)
        if not is_whole:
            total = minimum(maximum(total, by.low), by.high)
        store8_saturated(sram, out + c, total)


@routine
def binary8(row: OperationRow, sram: Pointer) -> Number:
    """OP_E_ADD, OP_E_SUB, OP_E_SQDIFF, OP_E_MUL, OP_C_MIN, OP_C_MAX."""
    which = row.opcode
    scale_in = scale(row.in_mult, row.in_shift)
    scale_in2 = scale(row.in2_mult, row.in2_shift)
    scale_out = scale(row.out_mult, row.out_shift)
    zero_in, zero_in2, zero_out = splat(row.in_zp), splat(row.in2_zp), splat(row.out_zp)
    moved, low, high = splat(row.left_shift), splat(row.act_min), splat(row.act_max)
    height, width, channels = extents(row, 1, 1, 1)
    is_first = is_half(row.left_shift, row.in_mult, row.in_shift)
    by, shift = halved_sum(row, is_first), row.in2_shift if is_first else row.in_shift
    are_both = is_first and is_half(row.left_shift, row.in2_mult, row.in2_shift)
    is_whole = row.act_min == -128 and row.act_max == 127
    done = channels // LANES * LANES if halves_one(row) else 0
    for y in range(height):
        for x in range(width):
            in_at = row.in_addr + y * row.in_row_stride + x * row.in_pixel_stride
            in2_at = row.in2_addr + y * row.in2_row_stride + x * row.in2_pixel_stride
            out_at = row.out_addr + y * row.out_row_stride + x * row.out_pixel_stride
            half_at, other_at = (in_at, in2_at) if is_first else (in2_at, in_at)
            if are_both:
                add_run(sram, half_at, other_at, out_at, done, by, 1, 0, 0)
            elif not is_whole:
                add_run(sram, half_at, other_at, out_at, done, by, 0, shift, 0)
            elif shift < 0:
                add_run(sram, half_at, other_at, out_at, done, by, 0, -1, 1)
            else:
                add_run(sram, half_at, other_at, out_at, done, by, 0, 0, 1)
            for c in range(done, channels, LANES):
                count = channels - c
                a, b = part8(sram, in_at + c, count), part8(sram, in2_at + c, count)
                if which in (_ADD, _SUB, _SQDIFF):
                    a = rescale(shift_left(subtract(a, zero_in), moved), scale_in)
                    b = rescale(shift_left(subtract(b, zero_in2), moved), scale_in2)
                    a = add(a, b) if which == _ADD else subtract(a, b)
                    a = multiply(a, a) if which == _SQDIFF else a
                    a = minimum(maximum(add(rescale(a, scale_out), zero_out), low), high)
                elif which == _MUL:
                    a = multiply(subtract(a, zero_in), subtract(b, zero_in2))
                    a = minimum(maximum(add(rescale(a, scale_out), zero_out), low), high)
                elif which == _MIN:
                    a = minimum(a, b)
                else:
                    a = maximum(a, b)
                put_part8(sram, out_at + c, a, count)
    return 0


@routine
def fill_table(row: OperationRow, sram: Pointer, table: Pointer, constants: Pointer) -> None:
    """The 256 results of a unary instruction, by the unsigned value of the input's byte."""
    which = row.opcode
    scale_out = scale(row.out_mult, row.out_shift)
    scale_in = scale(row.in_mult, row.in_shift)
    zero_in, zero_out = splat(row.in_zp), splat(row.out_zp)
    low, high = splat(lower_clamp(row)), splat(row.act_max)
    for lane in range(LANES):
        constants[lane] = lane
    lane_numbers = load32(constants, 0)
    for first in range(0, TABLE_SIZE, LANES):
        value = add(splat(first if first < TABLE_SIZE // 2 else first - TABLE_SIZE), lane_numbers)
        difference = subtract(value, zero_in)
        if which == _ABS:
            difference = maximum(difference, subtract(splat(0), difference))
        scaled = rescale(difference, scale_out)
        if which == _LRELU:
            scaled = where_negative(difference, rescale(difference, scale_in), scaled)
        put_part8(table, first, minimum(maximum(add(scaled, zero_out), low), high), LANES)
    if which == _LUT:
        for i in range(TABLE_SIZE):
            put8(table, i, get8(sram, row.lut_addr + ((i + 128) & 255)))


@routine
def unary8(row: OperationRow, sram: Pointer, arena: Pointer, capacity: Number) -> Number:
    """OP_ACT_RELU, OP_ACT_LRELU, OP_ACT_LUT, OP_E_ABS: a byte has 256 values, so each is a table."""
    if capacity < TABLE_SIZE + CONSTANT_BYTES:
        return TABLE_SIZE + CONSTANT_BYTES
    fill_table(row, sram, arena, table_at(arena, TABLE_SIZE))
    height, width, channels = extents(row, 1, 0, 1)
    for y in range(height):
        for x in range(width):
            in_at = row.in_addr + y * row.in_row_stride + x * row.in_pixel_stride
            out_at = row.out_addr + y * row.out_row_stride + x * row.out_pixel_stride
            for c in range(channels):
                put8(sram, out_at + c, get8(arena, get8(sram, in_at + c) & 255))
    return 0


@routine
def binary32(row: OperationRow, sram: Pointer) -> Number:
    """OP_E32_ADD, OP_E32_SHIFT."""
    sums, mode, amount = row.opcode == _ADD32, row.mode, splat(row.shift_amount)
    rounds = mode == _ROUND and row.shift_amount > 0
    height, width, channels = extents(row, 4, 4 if sums else 0, 4)
    for y in range(height):
        for x in range(width):
            in_at = row.in_addr + y * row.in_row_stride + x * row.in_pixel_stride
            in2_at = row.in2_addr + y * row.in2_row_stride + x * row.in2_pixel_stride
            out_at = row.out_addr + y * row.out_row_stride + x * row.out_pixel_stride
            for c in range(0, channels, LANES):
                count = channels - c
                value = part32(sram, in_at + 4 * c, count)
                if sums:
                    value = add(value, part32(sram, in2_at + 4 * c, count))
                elif mode == _LEFT:
                    value = shift_left(value, amount)
                elif rounds:
                    value = shift_right_rounded(value, amount)
                else:
                    value = shift_right(value, amount)
                put_part32(sram, out_at + 4 * c, value, count)
    return 0


@routine
def requant(row: OperationRow, sram: Pointer, arena: Pointer, capacity: Number) -> Number:
    """OP_REQUANT: a column of sixteen channels after the other where each has its own scale."""
    if capacity < CONSTANT_BYTES:
        return CONSTANT_BYTES
    constants = table_at(arena, 0)
    per_channel = row.quant == _CHANNEL
    height, width, channels = row.out_height, row.out_width, row.out_channels
    if not per_channel:
        height, width, channels = extents(row, 4, 0, 1)
    zero_point, low, high = splat(row.out_zp), splat(row.act_min), splat(row.act_max)
    block = LANES if per_channel else channels
    for first in range(0, channels, block):
        channel_constants(row, sram, first, 0, 0, constants)
        left, least = load32(constants, LEFT), load32(constants, LEAST)
        multiplier, right = load32(constants, MULTIPLIER), load32(constants, RIGHT)
        for y in range(height):
            for x in range(width):
                in_at = row.in_addr + y * row.in_row_stride + x * row.in_pixel_stride
                out_at = row.out_addr + y * row.out_row_stride + x * row.out_pixel_stride
                for c in range(first, min(channels, first + block), LANES):
                    count = channels - c
                    value = part32(sram, in_at + 4 * c, count)
                    value = add(requantize(value, left, least, multiplier, right), zero_point)
                    put_part8(sram, out_at + c, minimum(maximum(value, low), high), count)
    return 0


@routine
def fill(row: OperationRow, sram: Pointer) -> Number:
    """OP_FILL."""
    height, width, channels = extents(row, 0, 0, 1)
    for y in range(height):
        for x in range(width):
            out_at = row.out_addr + y * row.out_row_stride + x * row.out_pixel_stride
            for c in range(channels):
                put8(sram, out_at + c, row.fill_value)
    return 0
