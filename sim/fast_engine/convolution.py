"""Convolution and matrix multiplication: the input staged once, weights packed block by block, tiles of sums.

The staged input is padded and dense, so a window is a few runs at fixed offsets from its pixel. Values are
stored as the multiplication wants them: u8 = in + 128 for VNNI, whose offset returns as 128 + IN_ZP times
the sum of an output's weights; in - IN_ZP as a short otherwise.
"""

from __future__ import annotations

from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Number, Pointer, apart, routine
from dlasim.native.target import host
from dlasim.sim.fast_engine.dot import GROUP_BYTES, dot_tile, stage_at, zip_groups
from dlasim.sim.fast_engine.finish import (
    CONSTANT_BYTES,
    HALF,
    HALF_BYTES,
    HALVES,
    PLAIN,
    ChannelBlock,
    Pixels,
    Places,
    aligned,
    channel_constants,
    finish,
    may_halve,
    place_outputs,
    place_row,
)
from dlasim.sim.fast_engine.kept_weights import PACK, REUSE
from dlasim.sim.fast_engine.memory_access import shifted, table_at
from dlasim.sim.fast_engine.multiplication import IS_QUAD, STAGED_BYTES
from dlasim.sim.fast_engine.operation_rows import OperationRow, geometry
from dlasim.sim.fast_engine.packing import Filters, PackingRoom, fold_offset, pack_block
from dlasim.sim.fast_engine.single_channel import convolve_single_channel
from dlasim.sim.fast_engine.staging import stage_input
from dlasim.sim.fast_engine.unpacked import convolve_unpacked
from dlasim.sim.fast_engine.vectors import BYTES32, LANES
from dlasim.sim.fast_engine.weight_offset import offset_tile, window_offset

PIXELS, VECTORS = host().pixels, host().vectors
# A tile for the last pixels. Of 1024 to 1000 channels, 3 pixels take 0.72 of the time of a tile of 8 without
# VNNI, 0.94 with it; with tiles of 2 pixels they take more than one of 8.
SMALL_PIXELS = 4 if VECTORS > 1 else PIXELS // 2
# So few pixels use weights where they lie. Of 1024 to 1000 channels, with VNNI: 27 us instead of 69 for a
# pixel, 50 instead of 69 for two, but 82 instead of 71 for three.
UNPACKED_PIXELS = 2
SPAN = 48  # pixels whose sums are finished together: to load their constants takes as long as a few pixels
PAIRED_GROUPS = 12  # so many are worth adding up the halves of a paired sum


class Products(NamedTuple):
    """What the sums of a block are made of, and the tile that they go to: `taps` times `groups` groups."""

    stage: Pointer
    places: Pointer
    tap_places: Pointer
    taps: Number
    groups: Number
    packed: Pointer
    starts: Pointer
    tile: Pointer


@apart
def multiply_block(
    row: OperationRow,
    sram: Pointer,
    block: ChannelBlock,
    products: Products,
    paired: Number,
    offsets: Pointer,
    outs: Places,
) -> None:
    """All pixels of a block of channels, tile by tile."""
    stage, places, tap_places, taps, groups, packed, starts, tile = products
    columns, pixels = block.columns, row.out_height * row.out_width
    halves = block.layout == HALVES
    is_small = columns == VECTORS and not halves
    pixel_bytes = HALF_BYTES if halves else columns * BYTES32
    for first in range(0, pixels, SPAN):
        last = min(first + SPAN, pixels)
        begin = first
        for at in range(first, last, PIXELS):
            size = SMALL_PIXELS if is_small and last - at <= SMALL_PIXELS else PIXELS
            base = max(min(at, pixels - size), 0)  # the last tile overlaps the one before
            begin = min(begin, base)
            here, sums = table_at(places, 4 * base), table_at(tile, (base - begin) * pixel_bytes)
            if halves:
                dot_tile(PIXELS, 1, 1, stage, here, tap_places, taps, groups // 2, packed, starts, sums)
            elif paired:
                dot_tile(PIXELS, 1, 2, stage, here, tap_places, taps, groups // 2, packed, starts, sums)
            elif size == SMALL_PIXELS:
                dot_tile(
                    SMALL_PIXELS, VECTORS, 0, stage, here, tap_places, taps, groups, packed, starts, sums
                )
            elif columns == VECTORS:
                dot_tile(PIXELS, VECTORS, 0, stage, here, tap_places, taps, groups, packed, starts, sums)
            else:
                dot_tile(PIXELS, 1, 0, stage, here, tap_places, taps, groups, packed, starts, sums)
            if row.weight_zp != 0:
                offset_tile(sums, columns, min(size, pixels), offsets, base)
        finish(row, sram, tile, block, Pixels(first - begin, last - begin, begin), outs)


@routine
def convolve_packed(row: OperationRow, sram: Pointer, arena: Pointer, capacity: Number) -> Number:
    """OP_CONV, OP_CONV_RELU, OP_MAT_MUL. Returns 0, or the bytes of arena that it needs."""
    kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, _, _ = geometry(row)
    out_w, channels, outputs = row.out_width, row.in_channels, row.out_channels
    pixels = row.out_height * out_w
    if pixels <= UNPACKED_PIXELS:
        return convolve_unpacked(row, sram, arena, capacity)
    if channels == 1 and outputs == 1 and row.sum == 0:
        return convolve_single_channel(row, sram, arena, capacity)
    # Neighbouring taps of a row are neighbours in the staged input too: one run.
    merged = dilation_w == 1 or kernel_w == 1
    run, taps = (kernel_w * channels, kernel_h) if merged else (channels, kernel_h * kernel_w)
    groups = (run * STAGED_BYTES + GROUP_BYTES - 1) // GROUP_BYTES
    width = (out_w - 1) * stride_w + (kernel_w - 1) * dilation_w + 1
    height = (row.out_height - 1) * stride_h + (kernel_h - 1) * dilation_h + 1

    places_at = aligned(width * height * channels * STAGED_BYTES + 64)
    outs_at = places_at + aligned(4 * (pixels + PIXELS))
    accs_at = outs_at + aligned(4 * pixels)
    offsets_at = accs_at + aligned(4 * pixels)
    taps_at = offsets_at + aligned(4 * pixels)
    tile_at = taps_at + aligned(4 * taps)
    rows_at = tile_at + (SPAN + PIXELS) * VECTORS * BYTES32
    scratch_offset = rows_at + 2 * BYTES32
    blocks_at = scratch_offset + LANES * BYTES32
    block_bytes = VECTORS * (CONSTANT_BYTES + BYTES32 + (taps * (groups + 1) + LANES) * BYTES32)
    blocks = (outputs + VECTORS * LANES - 1) // (VECTORS * LANES) if row.kept != PACK else 1
    needed = blocks_at + blocks * block_bytes
    if needed > capacity:
        return needed

    stage = stage_at(arena, 0)
    places, outs = table_at(arena, places_at), Places(table_at(arena, outs_at), table_at(arena, accs_at))
    offsets, tap_places, tile = (
        table_at(arena, offsets_at), table_at(arena, taps_at), table_at(arena, tile_at),
    )  # fmt: skip
    room = PackingRoom(
        table_at(arena, rows_at), shifted(arena, scratch_offset), table_at(arena, rows_at + BYTES32)
    )

    stage_input(row, sram, stage, height, width, 128 if IS_QUAD else -row.in_zp)
    place_outputs(row, outs)
    at, pixel_bytes = 0, channels * STAGED_BYTES
    for y in range(row.out_height):
        place_row(places, at, out_w, y * stride_h * width * pixel_bytes, stride_w * pixel_bytes)
        at += out_w
    for i in range(pixels, PIXELS):
        places[i] = places[0]
    for tap in range(taps):
        y, x = (tap, 0) if merged else (tap // kernel_w, tap % kernel_w)
        tap_places[tap] = (y * dilation_h * width + x * dilation_w) * channels * STAGED_BYTES
    for i in range(LANES):
        room.scratch_rows[i] = i * BYTES32
    if row.weight_zp != 0:
        for i in range(pixels):
            offsets[i] = window_offset(row, stage, places[i], tap_places, taps, run)

    channel = 0
    while channel < outputs:
        columns = min(VECTORS, (outputs - channel + LANES - 1) // LANES)
        layout = HALVES if outputs - channel == HALF and may_halve(row) else PLAIN
        here = blocks_at + (channel // (VECTORS * LANES) * block_bytes if row.kept != PACK else 0)
        constants, starts = table_at(arena, here), table_at(arena, here + VECTORS * CONSTANT_BYTES)
        packed = shifted(arena, here + VECTORS * (CONSTANT_BYTES + BYTES32))
        block = ChannelBlock(channel, columns, layout, constants)
        halves = layout == HALVES
        paired = VECTORS > 1 and columns == 1 and taps * groups >= PAIRED_GROUPS
        steps = (groups + 1) // 2 * 2 if paired or halves else groups
        if row.kept != REUSE:
            for v in range(columns):
                channel_constants(row, sram, channel, v, layout, table_at(constants, v * CONSTANT_BYTES))
            pack_block(row, sram, block, 0, columns, Filters(taps, run, steps), room, packed)
            fold_offset(128 + row.in_zp, columns, taps * steps, packed, constants, starts)
            if paired or halves:
                for i in range(0, taps * steps, 2):
                    zip_groups(packed, i * BYTES32)
        products = Products(stage, places, tap_places, taps, steps, packed, starts, tile)
        multiply_block(row, sram, block, products, paired, offsets, outs)
        channel += columns * LANES
    return 0
