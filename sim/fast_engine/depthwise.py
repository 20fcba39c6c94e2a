"""Depthwise convolution: sixteen channels at once, over bands of output rows.

A band's input rows are staged first, padded and with whole vectors of channels, so that no pixel is at an
edge and no load is partial. The rows below each other that a window meets are interleaved into groups, so
that one instruction multiplies and adds the taps of a column. The zero point is folded into what the sums
start from.
"""

from __future__ import annotations

from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Number, Pointer, inlined, routine
from dlasim.sim.fast_engine.depth_spans import PixelSpan, any_span, kept_span, span_offset
from dlasim.sim.fast_engine.finish import (
    CONSTANT_BYTES,
    HALF,
    HALVES,
    PLAIN,
    START,
    ChannelBlock,
    Pixels,
    Places,
    aligned,
    channel_constants,
    finish,
    may_halve,
    part8,
    place_outputs,
)
from dlasim.sim.fast_engine.interleaving import GROUP_ROWS, interleave_rows
from dlasim.sim.fast_engine.memory_access import (
    copy_bytes,
    get8,
    load8,
    load32,
    put8,
    shifted,
    store8,
    store32,
    table_at,
)
from dlasim.sim.fast_engine.multiplication import IS_QUAD, STAGED_BYTES
from dlasim.sim.fast_engine.operation_rows import OperationRow
from dlasim.sim.fast_engine.vectors import (
    BYTES32,
    LANES,
    add,
    bit_and,
    multiply,
    shift_left,
    splat,
    subtract,
    twice,
)

SPAN = 64  # vectors of one tile
_MASK = (1 << 8 * STAGED_BYTES) - 1  # a staged value
BAND_BYTES = 1 << 16  # of staged input: what the caches hold next to everything else


@routine
def stage_row(
    row: OperationRow,
    sram: Pointer,
    stage: Pointer,
    at: Number,
    y: Number,
    width: Number,
    pixel_bytes: Number,
) -> None:
    """One input row, padded, as [column][output channel]."""
    left, factor = row.pad_left, row.out_channels // row.in_channels
    first = min(left, width)
    last = max(first, min(width, left + row.in_width))
    if y < 0 or y >= row.in_height:
        first = last = width
    outside = splat(row.pad_value)
    for i in range(0, first * pixel_bytes, LANES):
        store8(stage, at + i, outside)
    for i in range(last * pixel_bytes, width * pixel_bytes, LANES):
        store8(stage, at + i, outside)
    source, step = row.in_addr + y * row.in_row_stride, row.in_pixel_stride
    channels = row.out_channels
    if factor == 1 and step == channels and pixel_bytes == channels:
        copy_bytes(stage, at + first * pixel_bytes, sram, source, (last - first) * channels)
    elif factor == 1:
        whole = (last - first - 1) * step + channels - pixel_bytes  # from here on, vectors leave the row
        for x in range(last - first):
            here, there = source + x * step, at + (first + x) * pixel_bytes
            if x * step <= whole:
                for c in range(0, channels, LANES):
                    store8(stage, there + c, load8(sram, here + c))
            else:
                for c in range(channels):
                    put8(stage, there + c, get8(sram, here + c))
    else:
        for x in range(last - first):
            for c in range(channels):
                put8(stage, at + (first + x) * pixel_bytes + c, get8(sram, source + x * step + c // factor))


@routine
def depth_weights(
    row: OperationRow,
    sram: Pointer,
    layout: Number,
    groups: Number,
    skipped: Number,
    weights: Pointer,
    ones: Pointer,
    constants: Pointer,
) -> None:
    """Per vector of channels the weights of each group, and what the sums start from.

    A window begins `skipped` rows below the first row of the groups, which changes nothing about the start. A
    group of shorts holds weights less their zero point, a group of bytes the weights as they are.
    """
    outputs, kernel_h, kernel_w = row.out_channels, row.kernel_height, row.kernel_width
    offset = splat(row.in_zp + (128 if IS_QUAD else 0))
    zero_point, mask = splat(row.weight_zp), splat(_MASK)
    for block in range((outputs + LANES - 1) // LANES):
        channel = block * LANES
        total = splat(0)
        for group in range(groups):
            top, kx = group // kernel_w * GROUP_ROWS, group % kernel_w
            packed, used = splat(0), 0
            for i in range(max(0, skipped - top), min(GROUP_ROWS, skipped + kernel_h - top)):
                tap = (top + i - skipped) * kernel_w + kx
                stored = part8(sram, row.weight_addr + tap * outputs + channel, outputs - channel)
                if layout == HALVES:
                    stored = twice(stored)
                value = subtract(stored, zero_point)
                total = add(total, value)
                moved = shift_left(bit_and(stored if IS_QUAD else value, mask), splat(i * 8 * STAGED_BYTES))
                packed = add(packed, moved)
                used |= 1 << (i * 8 * STAGED_BYTES)
            store32(weights, (block * groups + group) * BYTES32, packed)
            ones[group] = used
        if skipped == 0:
            here = table_at(constants, block * CONSTANT_BYTES)
            channel_constants(row, sram, channel, 0, layout, here)
            store32(here, START, subtract(load32(here, START), multiply(offset, total)))


@inlined
def may_share_vectors(row: OperationRow) -> Number:
    """Whether a vector takes two neighbouring pixels, each half its lanes."""
    dense = row.in_channels == HALF and row.out_channels == HALF and row.in_pixel_stride == HALF
    return dense and row.stride_width == 1 and row.out_width % 2 == 0 and may_halve(row)


@inlined
def rows_share_groups(row: OperationRow) -> Number:
    """Whether the groups of an output row hold the windows of the next row, too, one row further down."""
    kernel_h = row.kernel_height
    room = (kernel_h + GROUP_ROWS - 1) // GROUP_ROWS * GROUP_ROWS
    return row.stride_height == 1 and row.dilation_height == 1 and kernel_h < room


class DepthPlan(NamedTuple):
    """Where a band's parts lie in the arena: the staged input and its measures, the columns of a row's groups
    and their places, weights and what is used of them, constants, a tile of sums; all for `blocks` vectors
    of channels, which lie in them as the layout says."""

    stage: Pointer
    row_bytes: Number
    vector_bytes: Number
    width: Number
    blocks: Number
    layout: Number
    columns: Pointer
    places: Pointer
    weights: Pointer
    ones: Pointer
    constants: Pointer
    tile: Pointer


@routine
def depth_band(
    row: OperationRow,
    sram: Pointer,
    plan: DepthPlan,
    first: Number,
    last: Number,
    number: Number,
    outs: Places,
) -> None:
    """Output rows `first` to `last` of the block with this number; tiles run on from row to row."""
    kernel_h, pixels = row.kernel_height, 2 if plan.layout == HALVES else 1  # of a vector
    vectors = row.out_width // pixels
    layers = (kernel_h + GROUP_ROWS - 1) // GROUP_ROWS
    groups = layers * row.kernel_width
    shared = rows_share_groups(row)
    block = ChannelBlock(number * LANES, 1, plan.layout, table_at(plan.constants, number * CONSTANT_BYTES))
    start = load32(block.constants, START)
    step, tap_bytes = row.stride_width * BYTES32, row.dilation_height * plan.row_bytes
    at, filled = first * row.out_width, 0
    for y in range(first, last):
        here = (y - first) * row.stride_height * plan.row_bytes + number * LANES
        second = (y - first) % 2 if shared else 0
        weights = table_at(plan.weights, (second * plan.blocks + number) * groups * BYTES32)
        used_rows = kernel_h + (1 if shared and y + 1 < last else 0)
        for layer in range(0 if second else layers):
            top = layer * GROUP_ROWS
            lowest = min(GROUP_ROWS, used_rows - top) - 1
            interleave_rows(
                plan.stage, here + top * tap_bytes, tap_bytes, lowest * tap_bytes, plan.width,
                plan.vector_bytes, shifted(plan.columns, layer * plan.width * BYTES32),
            )  # fmt: skip
        x = 0
        while x < vectors:
            turns = min(SPAN - filled, vectors - x)
            span = PixelSpan(plan.columns, x * step, step, turns, table_at(plan.tile, filled * BYTES32))
            if groups == 3:
                kept_span(3, span, plan.places, weights, start)
            elif groups == 6:
                kept_span(6, span, plan.places, weights, start)
            else:
                any_span(span, plan.places, groups, weights, start)
            if IS_QUAD and row.weight_zp != 0:
                ones = table_at(plan.ones, 4 * second * groups)
                span_offset(span, plan.places, groups, ones, row.weight_zp)
            x += turns
            filled += turns
            if filled == SPAN:
                finish(row, sram, plan.tile, block, Pixels(0, filled * pixels, at), outs)
                at += filled * pixels
                filled = 0
    if filled > 0:
        finish(row, sram, plan.tile, block, Pixels(0, filled * pixels, at), outs)


@routine
def depthwise(row: OperationRow, sram: Pointer, arena: Pointer, capacity: Number) -> Number:
    """OP_DEPTH_CONV. Returns 0, or the bytes of arena that it needs."""
    kernel_h, kernel_w = row.kernel_height, row.kernel_width
    layers = (kernel_h + GROUP_ROWS - 1) // GROUP_ROWS
    groups, pixels = layers * kernel_w, row.out_height * row.out_width
    blocks = (row.out_channels + LANES - 1) // LANES
    layout = HALVES if may_share_vectors(row) else PLAIN
    pixel_bytes = HALF if layout == HALVES else blocks * LANES
    width = (row.out_width - 1) * row.stride_width + (kernel_w - 1) * row.dilation_width + 1
    row_bytes = width * pixel_bytes
    vectors = (width + 1) // 2 if layout == HALVES else width
    reach = (kernel_h - 1) * row.dilation_height + 1
    band = max(1, (BAND_BYTES // row_bytes - reach) // row.stride_height + 1)
    band = min(band, row.out_height)
    height = (band - 1) * row.stride_height + reach

    columns_at = aligned(height * row_bytes + BYTES32)
    weights_at = columns_at + layers * vectors * BYTES32
    outs_at = weights_at + 2 * blocks * groups * BYTES32
    accs_at = outs_at + aligned(4 * pixels)
    places_at = accs_at + aligned(4 * pixels)
    ones_at = places_at + aligned(4 * groups)
    constants_at = ones_at + aligned(8 * groups)
    tile_at = constants_at + blocks * CONSTANT_BYTES
    needed = tile_at + SPAN * BYTES32
    if needed > capacity:
        return needed
    weights, places, ones = table_at(arena, weights_at), table_at(arena, places_at), table_at(arena, ones_at)
    constants, outs = (
        table_at(arena, constants_at),
        Places(table_at(arena, outs_at), table_at(arena, accs_at)),
    )
    plan = DepthPlan(
        arena, row_bytes, max(pixel_bytes, LANES), vectors, blocks, layout, shifted(arena, columns_at),
        places, weights, ones, constants, table_at(arena, tile_at),
    )  # fmt: skip

    place_outputs(row, outs)
    depth_weights(row, sram, layout, groups, 0, weights, ones, constants)
    if rows_share_groups(row):
        further = table_at(weights, blocks * groups * BYTES32)
        depth_weights(row, sram, layout, groups, 1, further, table_at(ones, 4 * groups), constants)
    for layer in range(layers):
        for kx in range(kernel_w):
            lanes = HALF if layout == HALVES else LANES
            places[layer * kernel_w + kx] = 4 * (layer * vectors * LANES + kx * row.dilation_width * lanes)
    for first in range(0, row.out_height, band):
        last = min(first + band, row.out_height)
        top = first * row.stride_height - row.pad_top
        for y in range((last - first - 1) * row.stride_height + reach):
            stage_row(row, sram, arena, y * row_bytes, top + y, width, pixel_bytes)
        for number in range(blocks):
            depth_band(row, sram, plan, first, last, number, outs)
    return 0
