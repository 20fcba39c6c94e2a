"""From sums to what leaves a unit: channel constants, partial results, requantization, clamp, store."""

from __future__ import annotations

from dlasim.isa.instructions import RECORD_BYTES, Init, Out, Quant
from dlasim.native.routine import Number, Pointer, Vector, inlined, routine
from dlasim.sim.kernels.memory_access import (
    get32,
    load8,
    load8_some,
    load32,
    load32_some,
    store8,
    store8_some,
    store32,
    store32_some,
)
from dlasim.sim.kernels.operation_rows import column, opcode
from dlasim.sim.kernels.vectors import (
    BYTES32,
    LANES,
    add,
    maximum,
    minimum,
    requantize,
    splat,
)

OPCODE, INIT, OUT, QUANT = (column(name) for name in ("opcode", "init", "out", "quant"))
OUT_H, OUT_W, OUT_CHANNELS = (column(name) for name in ("OUT_SIZE.0", "OUT_SIZE.1", "OUT_CHANNELS"))
OUT_ADDR, OUT_PIXEL, OUT_ROW = (column(f"OUT_{part}") for part in ("ADDR", "PIXEL_STRIDE", "ROW_STRIDE"))
ACC_ADDR, ACC_PIXEL, ACC_ROW = (column(f"ACC_{part}") for part in ("ADDR", "PIXEL_STRIDE", "ROW_STRIDE"))
PARAM_ADDR, OUT_MULT, OUT_SHIFT = (column(name) for name in ("PARAM_ADDR", "OUT_MULT", "OUT_SHIFT"))
OUT_ZP, ACT_MIN, ACT_MAX = (column(name) for name in ("OUT_ZP", "ACT_MIN", "ACT_MAX"))
_CONV_RELU, _ACT_RELU = opcode("OP_CONV_RELU"), opcode("OP_ACT_RELU")
_BIAS, _PARTIAL, _WIDE, _CHANNEL = int(Init.BIAS), int(Init.PARTIAL), int(Out.INT32), int(Quant.CHANNEL)
_RECORD_BYTES = RECORD_BYTES
_INT32_MIN = -(1 << 31)

# The constants of sixteen channels, a vector each.
START, LEFT, LEAST, MULTIPLIER, RIGHT = (BYTES32 * number for number in range(5))
CONSTANT_BYTES = 5 * BYTES32


@inlined
def part8(pointer: Pointer, offset: Number, count: Number) -> Vector:
    """Up to sixteen int8."""
    return load8(pointer, offset) if count >= LANES else load8_some(pointer, offset, count)


@inlined
def part32(pointer: Pointer, offset: Number, count: Number) -> Vector:
    """Up to sixteen int32."""
    return load32(pointer, offset) if count >= LANES else load32_some(pointer, offset, count)


@inlined
def put_part8(pointer: Pointer, offset: Number, value: Vector, count: Number) -> None:
    """Store up to sixteen int8."""
    if count >= LANES:
        store8(pointer, offset, value)
    else:
        store8_some(pointer, offset, value, count)


@inlined
def put_part32(pointer: Pointer, offset: Number, value: Vector, count: Number) -> None:
    """Store up to sixteen int32."""
    if count >= LANES:
        store32(pointer, offset, value)
    else:
        store32_some(pointer, offset, value, count)


@inlined
def aligned(size: Number) -> Number:
    """Rounded up to a cache line."""
    return (size + 63) // 64 * 64


@inlined
def lower_clamp(row: Pointer) -> Number:
    """The smallest value that may leave: the ReLU instructions never go below the zero point."""
    if row[OPCODE] == _CONV_RELU or row[OPCODE] == _ACT_RELU:
        return max(row[ACT_MIN], row[OUT_ZP])
    return row[ACT_MIN]


@inlined
def put_scale(constants: Pointer, lane: Number, multiplier: Number, shift: Number) -> None:
    """One lane's multiplier and shift, as `requantize` takes them."""
    shift = max(-31, min(31, shift))
    constants[lane + LEFT // 4] = max(shift, 0)
    constants[lane + LEAST // 4] = _INT32_MIN + 1 if multiplier == _INT32_MIN else _INT32_MIN
    constants[lane + MULTIPLIER // 4] = multiplier
    constants[lane + RIGHT // 4] = max(-shift, 0)


@routine
def channel_constants(row: Pointer, sram: Pointer, channel: Number, constants: Pointer) -> None:
    """The biases and scales of sixteen channels; those beyond the last repeat it."""
    last = row[OUT_CHANNELS] - 1
    records, multiplier, shift = row[PARAM_ADDR], row[OUT_MULT], row[OUT_SHIFT]
    biased, per_channel = row[INIT] == _BIAS, row[QUANT] == _CHANNEL
    for lane in range(LANES):
        record = records + min(channel + lane, last) * _RECORD_BYTES
        constants[lane] = get32(sram, record) if biased else 0
        if per_channel:
            put_scale(constants, lane, get32(sram, record + 4), get32(sram, record + 8))
        else:
            put_scale(constants, lane, multiplier, shift)


@routine
def place_outputs(row: Pointer, outs: Pointer, accs: Pointer) -> None:
    """For each pixel its offset in OUT, and in ACC where that is read."""
    at = 0
    partial = row[INIT] == _PARTIAL
    out_row, out_pixel, acc_row, acc_pixel = row[OUT_ROW], row[OUT_PIXEL], row[ACC_ROW], row[ACC_PIXEL]
    width = row[OUT_W]
    for y in range(row[OUT_H]):
        for x in range(width):
            outs[at + x] = y * out_row + x * out_pixel
        if partial:
            for x in range(width):
                accs[at + x] = y * acc_row + x * acc_pixel
        at += width


@routine
def finish(
    row: Pointer,
    sram: Pointer,
    tile: Pointer,
    columns: Number,
    first: Number,
    last: Number,
    at: Number,
    outs: Pointer,
    accs: Pointer,
    constants: Pointer,
    channel: Number,
) -> None:
    """Pixels `first` to `last` of a tile of `columns` vectors; its pixel 0 is pixel `at` of the output."""
    partial = row[INIT] == _PARTIAL
    for v in range(columns):
        count = row[OUT_CHANNELS] - channel - v * LANES
        acc = row[ACC_ADDR] + 4 * (channel + v * LANES)
        if row[OUT] == _WIDE:
            out = row[OUT_ADDR] + 4 * (channel + v * LANES)
            for p in range(first, last):
                total = load32(tile, (p * columns + v) * BYTES32)
                if partial:
                    total = add(total, part32(sram, acc + accs[at + p], count))
                put_part32(sram, out + outs[at + p], total, count)
        else:
            out = row[OUT_ADDR] + channel + v * LANES
            here = v * CONSTANT_BYTES
            left, least = load32(constants, here + LEFT), load32(constants, here + LEAST)
            multiplier, right = load32(constants, here + MULTIPLIER), load32(constants, here + RIGHT)
            zero_point, low, high = splat(row[OUT_ZP]), splat(lower_clamp(row)), splat(row[ACT_MAX])
            for p in range(first, last):
                total = load32(tile, (p * columns + v) * BYTES32)
                if partial:
                    total = add(total, part32(sram, acc + accs[at + p], count))
                scaled = add(requantize(total, left, least, multiplier, right), zero_point)
                put_part8(sram, out + outs[at + p], minimum(maximum(scaled, low), high), count)
