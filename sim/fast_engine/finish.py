"""From sums to what leaves a unit: channel constants, partial results, requantization, clamp, store."""

from __future__ import annotations

from dlasim.isa.instruction_rows import RECORD_BYTES, SUM_LEFT_SHIFT, Init, Out, Quant, Sum
from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Number, Pointer, Vector, inlined, routine
from dlasim.sim.fast_engine.memory_access import (
    copy_bytes,
    load8,
    load8_some,
    load32,
    load32_some,
    load_third,
    store8,
    store8_halves,
    store8_quad,
    store8_saturated,
    store8_some,
    store32,
    store32_some,
    table_at,
)
from dlasim.sim.fast_engine.operation_rows import OperationRow, opcode
from dlasim.sim.fast_engine.rescaling import (
    DownScale,
    Scale,
    down_scale,
    lane_scales,
    rescale,
    rescale_down,
    scale,
)
from dlasim.sim.fast_engine.vectors import (
    BYTES32,
    LANES,
    MAX_DOWN_SHIFT,
    add,
    even_down_offset,
    halve64,
    maximum,
    minimum,
    odd_down_offset,
    requantize,
    requantize_clamped,
    requantize_down,
    shift_left,
    smallest,
    splat,
    subtract,
)

_CONV_RELU, _ACT_RELU, _MAT_MUL, _DEPTH = (
    opcode(f"OP_{name}") for name in ("CONV_RELU", "ACT_RELU", "MAT_MUL", "DEPTH_CONV")
)
_BIAS, _PARTIAL, _WIDE, _CHANNEL = int(Init.BIAS), int(Init.PARTIAL), int(Out.INT32), int(Quant.CHANNEL)
_TENSOR = int(Sum.TENSOR)
_LARGE_BIAS = 1 << 29  # which a sum of _MAX_TERMS products of two differences of bytes does not reach
_MAX_TERMS = 1 << 13

# The constants of sixteen channels, a vector each; then whether `requantize_down` takes all of their scales.
START, LEFT, LEAST, MULTIPLIER, RIGHT, IS_DOWN = (BYTES32 * number for number in range(6))
CONSTANT_BYTES = 6 * BYTES32

# How the channels of a block lie in its vectors: as they follow each other; in a quad, four vectors, as
# `store8_quad` puts them together; or in each half of one vector, whose halves belong to neighbouring pixels.
PLAIN, QUAD, HALVES = range(3)
HALF, HALF_BYTES = LANES // 2, BYTES32 // 2


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
def lower_clamp(row: OperationRow) -> Number:
    """The smallest value that may leave: the ReLU instructions never go below the zero point."""
    if row.opcode == _CONV_RELU or row.opcode == _ACT_RELU:
        return max(row.act_min, row.out_zp)
    return row.act_min


@inlined
def clamps_negatives(row: OperationRow) -> Number:
    """Whether all sums below zero leave as the same value."""
    return lower_clamp(row) >= row.out_zp


@inlined
def may_saturate(row: OperationRow) -> Number:
    """Whether nothing but int8 limits the results, and nothing is added to the sums."""
    whole = lower_clamp(row) == -128 and row.act_max == 127
    return whole and row.out != _WIDE and row.init != _PARTIAL and row.sum != _TENSOR


@inlined
def may_halve(row: OperationRow) -> Number:
    """Whether the halves of a vector may belong to two pixels."""
    return row.out != _WIDE and row.init != _PARTIAL and row.sum != _TENSOR and row.weight_zp == 0


@inlined
def summed_terms(row: OperationRow) -> Number:
    """How many products a sum has."""
    taps = 1 if row.opcode == _MAT_MUL else row.kernel_height * row.kernel_width
    return taps if row.opcode == _DEPTH else taps * row.in_channels


@inlined
def lane_channel(vector: Number, lane: Number, layout: Number) -> Number:
    """Which channel of a block a lane of its vectors has."""
    if layout == QUAD:
        return lane // 4 * LANES + vector * 4 + lane % 4
    return vector * LANES + (lane % HALF if layout == HALVES else lane)


@routine
def channel_constants(
    row: OperationRow, sram: Pointer, channel: Number, vector: Number, layout: Number, constants: Pointer
) -> None:
    """The biases and scales of a vector of the block that begins with `channel`; beyond the last channel
    repeat it."""
    last = row.out_channels - 1
    bias, multiplier, shift = splat(0), splat(row.out_mult), splat(row.out_shift)
    if row.init == _BIAS or row.quant == _CHANNEL:
        source, first = table_at(sram, row.param_addr), (channel + vector * LANES) * RECORD_BYTES
        if layout != PLAIN or channel + vector * LANES + LANES - 1 > last:
            for lane in range(LANES):
                record = min(channel + lane_channel(vector, lane, layout), last) * RECORD_BYTES
                copy_bytes(constants, lane * RECORD_BYTES, source, record, RECORD_BYTES)
            source, first = constants, 0
        if row.init == _BIAS:
            bias = load_third(source, first, 0)
        if row.quant == _CHANNEL:
            multiplier, shift = load_third(source, first, 1), load_third(source, first, 2)
    store32(constants, START, bias)
    by = lane_scales(multiplier, shift)
    store32(constants, LEFT, by.left)
    store32(constants, LEAST, by.least)
    store32(constants, MULTIPLIER, by.multiplier)
    store32(constants, RIGHT, by.right)
    # What lies within limits leaves no lane negative.
    within = minimum(add(bias, splat(_LARGE_BIAS - 1)), subtract(splat(_LARGE_BIAS - 1), bias))
    within = minimum(within, minimum(multiplier, subtract(splat(-1), shift)))
    within = minimum(within, subtract(splat(MAX_DOWN_SHIFT), by.right))
    constants[IS_DOWN // 4] = 1 if summed_terms(row) <= _MAX_TERMS and smallest(within) >= 0 else 0


class Places(NamedTuple):
    """For each pixel its offset in OUT, and in ACC where that is read."""

    outs: Pointer
    accs: Pointer


class ChannelBlock(NamedTuple):
    """`columns` vectors of output channels from `channel` on, how they lie in these, and their constants."""

    channel: Number
    columns: Number
    layout: Number
    constants: Pointer


class Pixels(NamedTuple):
    """Pixels `first` to `last` of a tile, whose pixel 0 is pixel `at` of the output."""

    first: Number
    last: Number
    at: Number


@inlined
def place_row(places: Pointer, at: Number, width: Number, first: Number, step: Number) -> None:
    """Places of pixels that are `step` apart."""
    for x in range(at, at + width):
        places[x] = first
        first += step


@routine
def place_outputs(row: OperationRow, places: Places) -> None:
    """Fill in the places."""
    at = 0
    reads = row.init == _PARTIAL or row.sum == _TENSOR
    out_row, out_pixel, acc_row, acc_pixel = (
        row.out_row_stride,
        row.out_pixel_stride,
        row.acc_row_stride,
        row.acc_pixel_stride,
    )
    width = row.out_width
    for y in range(row.out_height):
        place_row(places.outs, at, width, y * out_row, out_pixel)
        if reads:
            place_row(places.accs, at, width, y * acc_row, acc_pixel)
        at += width


class SumScales(NamedTuple):
    """How a result and the tensor that is added to it are scaled, and then their sum."""

    own: Scale
    other: Scale
    both: Scale


@inlined
def sum_scales(row: OperationRow) -> SumScales:
    """The scales of sum=tensor."""
    return SumScales(
        scale(row.in_mult, min(row.in_shift, 0)),
        scale(row.in2_mult, min(row.in2_shift, 0)),
        scale(row.out_mult, row.out_shift),
    )


@inlined
def with_tensor(row: OperationRow, result: Vector, tensor: Vector, scales: SumScales) -> Vector:
    """Results with the elements of a tensor added."""
    left = splat(SUM_LEFT_SHIFT)
    own = rescale(shift_left(subtract(result, splat(row.out_zp)), left), scales.own)
    other = rescale(shift_left(subtract(tensor, splat(row.in2_zp)), left), scales.other)
    total = add(rescale(add(own, other), scales.both), splat(row.sum_zp))
    return minimum(maximum(total, splat(row.sum_min)), splat(row.sum_max))


class Results(NamedTuple):
    """Where the sums of a vector of channels are, the pixels, their offsets, and where the channels go."""

    tile: Pointer
    columns: Number
    vector: Number
    pixels: Pixels
    outs: Pointer
    out: Number
    count: Number


@inlined
def saturate(sram: Pointer, results: Results, by: DownScale, clamped: Number, whole: Number) -> None:
    """Results that nothing but int8 limits, with scales that go down alone; `clamped` where no sum below zero
    is seen, `whole` for all channels of a vector."""
    tile, columns, v, pixels, outs, out, count = results
    half_even, half_odd = halve64(by.even_offset), halve64(by.odd_offset)
    less = subtract(by.right, splat(1))
    for p in range(pixels.first, pixels.last):
        total = load32(tile, (p * columns + v) * BYTES32)
        if clamped:
            scaled = requantize_clamped(total, by.multiplier, less, half_even, half_odd)
        else:
            scaled = rescale_down(total, by)
        if whole:
            store8_saturated(sram, out + outs[pixels.at + p], scaled)
        else:
            limited = minimum(maximum(scaled, splat(-128)), splat(127))
            store8_some(sram, out + outs[pixels.at + p], limited, count)


@routine
def finish(
    row: OperationRow, sram: Pointer, tile: Pointer, block: ChannelBlock, pixels: Pixels, places: Places
) -> None:
    """What leaves for some pixels of a tile of sums, of `columns` vectors each, or of half a one."""
    columns, constants, channel, at = block.columns, block.constants, block.channel, pixels.at
    outs, accs = places.outs, places.accs
    if block.layout == HALVES:
        finish_halves(row, sram, tile, block, pixels, places)
        return
    partial = row.init == _PARTIAL
    for v in range(columns):
        count = row.out_channels - channel - v * LANES
        acc = row.acc_addr + 4 * (channel + v * LANES)
        if row.out == _WIDE:
            out = row.out_addr + 4 * (channel + v * LANES)
            for p in range(pixels.first, pixels.last):
                total = load32(tile, (p * columns + v) * BYTES32)
                if partial:
                    total = add(total, part32(sram, acc + accs[at + p], count))
                put_part32(sram, out + outs[at + p], total, count)
        else:
            out = row.out_addr + channel + v * LANES
            here = v * CONSTANT_BYTES
            left, least = load32(constants, here + LEFT), load32(constants, here + LEAST)
            multiplier, right = load32(constants, here + MULTIPLIER), load32(constants, here + RIGHT)
            if may_saturate(row) and constants[(here + IS_DOWN) // 4] != 0:
                by = down_scale(Scale(left, least, multiplier, right), splat(row.out_zp))
                results = Results(tile, columns, v, pixels, outs, out, count)
                if count < LANES:
                    saturate(sram, results, by, clamps_negatives(row), 0)
                elif clamps_negatives(row):
                    saturate(sram, results, by, 1, 1)
                else:
                    saturate(sram, results, by, 0, 1)
                continue
            zero_point, low, high = splat(row.out_zp), splat(lower_clamp(row)), splat(row.act_max)
            scales, tensor = sum_scales(row), row.acc_addr + channel + v * LANES
            for p in range(pixels.first, pixels.last):
                total = load32(tile, (p * columns + v) * BYTES32)
                if partial:
                    total = add(total, part32(sram, acc + accs[at + p], count))
                scaled = add(requantize(total, left, least, multiplier, right), zero_point)
                scaled = minimum(maximum(scaled, low), high)
                if row.sum == _TENSOR:
                    scaled = with_tensor(row, scaled, part8(sram, tensor + accs[at + p], count), scales)
                put_part8(sram, out + outs[at + p], scaled, count)


@routine
def finish_halves(
    row: OperationRow, sram: Pointer, tile: Pointer, block: ChannelBlock, pixels: Pixels, places: Places
) -> None:
    """`finish` of half a vector of channels of each pixel, for two pixels at a time: where `may_halve`."""
    constants, outs, out, at = block.constants, places.outs, row.out_addr + block.channel, pixels.at
    left, least = load32(constants, LEFT), load32(constants, LEAST)
    multiplier, right = load32(constants, MULTIPLIER), load32(constants, RIGHT)
    zero_point, low, high = splat(row.out_zp), splat(lower_clamp(row)), splat(row.act_max)
    even = halve64(even_down_offset(right, zero_point))
    odd = halve64(odd_down_offset(right, zero_point))
    less, clamped = subtract(right, splat(1)), constants[IS_DOWN // 4] != 0 and clamps_negatives(row)
    for p in range(pixels.first, pixels.last, 2):
        total = load32(tile, p * HALF_BYTES)
        if clamped:
            scaled = requantize_clamped(total, multiplier, less, even, odd)
        else:
            scaled = add(requantize(total, left, least, multiplier, right), zero_point)
        here, there = out + outs[at + p], out + outs[at + min(p + 1, pixels.last - 1)]
        store8_halves(sram, here, there, minimum(maximum(scaled, low), high))


@routine
def finish_quad(
    row: OperationRow, sram: Pointer, tile: Pointer, block: ChannelBlock, pixels: Pixels, places: Places
) -> None:
    """`finish` of a quad, where int8 limits the results and nothing else, with scales that go down alone."""
    constants, outs, at = block.constants, places.outs, pixels.at
    zero_point, out = splat(row.out_zp), row.out_addr + block.channel
    m0, m1 = load32(constants, MULTIPLIER), load32(constants, CONSTANT_BYTES + MULTIPLIER)
    m2 = load32(constants, 2 * CONSTANT_BYTES + MULTIPLIER)
    m3 = load32(constants, 3 * CONSTANT_BYTES + MULTIPLIER)
    r0, r1 = load32(constants, RIGHT), load32(constants, CONSTANT_BYTES + RIGHT)
    r2, r3 = load32(constants, 2 * CONSTANT_BYTES + RIGHT), load32(constants, 3 * CONSTANT_BYTES + RIGHT)
    e0, o0 = even_down_offset(r0, zero_point), odd_down_offset(r0, zero_point)
    e1, o1 = even_down_offset(r1, zero_point), odd_down_offset(r1, zero_point)
    e2, o2 = even_down_offset(r2, zero_point), odd_down_offset(r2, zero_point)
    e3, o3 = even_down_offset(r3, zero_point), odd_down_offset(r3, zero_point)
    for p in range(pixels.first, pixels.last):
        here = p * 4 * BYTES32
        a = requantize_down(load32(tile, here), m0, r0, e0, o0)
        b = requantize_down(load32(tile, here + BYTES32), m1, r1, e1, o1)
        c = requantize_down(load32(tile, here + 2 * BYTES32), m2, r2, e2, o2)
        d = requantize_down(load32(tile, here + 3 * BYTES32), m3, r3, e3, o3)
        store8_quad(sram, out + outs[at + p], a, b, c, d)
