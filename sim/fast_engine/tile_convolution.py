"""Convolution and matrix multiplication by AMX: blocks of 32 pixels times 64 outputs, 32 at once.

The pixels of a tile lie equally far apart in memory. So they are neighbours of one row of the output, or the
rows are taken for one long row with the columns between them that nobody asked for, whichever makes fewer
tiles. Inputs that are dense already are read where they lie.
"""

from __future__ import annotations

from dlasim.isa.instruction_rows import Out
from dlasim.native.routine import Number, Pointer, inlined, routine
from dlasim.sim.fast_engine.convolution import UNPACKED_PIXELS, convolve_packed
from dlasim.sim.fast_engine.dot import GROUP_BYTES, stage_at
from dlasim.sim.fast_engine.finish import (
    CONSTANT_BYTES,
    IS_DOWN,
    PLAIN,
    QUAD,
    ChannelBlock,
    Pixels,
    Places,
    aligned,
    channel_constants,
    finish,
    finish_quad,
    may_saturate,
    place_outputs,
)
from dlasim.sim.fast_engine.memory_access import shifted, table_at
from dlasim.sim.fast_engine.operation_rows import MAT_MUL, OperationRow, geometry
from dlasim.sim.fast_engine.packing import Filters, PackingRoom, fold_offset, pack_block
from dlasim.sim.fast_engine.staging import stage_input
from dlasim.sim.fast_engine.tile_intrinsics import (
    TILE_BYTES,
    TILE_ROWS,
    TileInputs,
    multiply_tiles,
    release_tiles,
    use_tiles,
)
from dlasim.sim.fast_engine.vectors import BYTES32, LANES

_COLUMNS = 4  # vectors of outputs in a block
_PAIR = 2  # vectors that are multiplied at once
_PIXELS = 2 * TILE_ROWS
_GROUPS = TILE_BYTES // GROUP_BYTES
_SHORTEST_RUN = 8  # bytes of a row of weights that a tile of 64 is worth
_WIDE = int(Out.INT32)


@routine
def is_dense(row: OperationRow) -> Number:
    """Whether tiles can be read from SRAM: pixels of whole tile rows, none outside, no output upon them."""
    kernel_h, kernel_w, stride_h, stride_w, _, _, top, left = geometry(row)
    pixels, pixel = row.out_height * row.out_width, row.in_pixel_stride
    element = 4 if row.out == _WIDE else 1
    first = row.out_addr
    last = first + (row.out_height - 1) * row.out_row_stride + (row.out_width - 1) * row.out_pixel_stride
    apart = row.in_addr + pixels * pixel <= first or last + row.out_channels * element <= row.in_addr
    inside = row.opcode == MAT_MUL or (row.out_height <= row.in_height and row.out_width <= row.in_width)
    return (
        inside
        and kernel_h * kernel_w * stride_h * stride_w == 1
        and top == 0
        and left == 0
        and row.in_channels % TILE_BYTES == 0
        and pixel >= row.in_channels
        and row.in_row_stride == row.out_width * pixel
        and pixels >= _PIXELS
        and apart
    )


@routine
def finish_pixels(
    row: OperationRow,
    sram: Pointer,
    tile: Pointer,
    block: ChannelBlock,
    pixels: Pixels,
    pitch: Number,
    places: Places,
) -> None:
    """Pixels of a tile, of rows of `pitch` pixels, of which only the first belong to the output."""
    out_w, begin = row.out_width, pixels.at
    at, end = begin + pixels.first, begin + pixels.last
    while at < end:
        y, x = at // pitch, at % pitch
        stop = min(end, y * pitch + out_w)
        if at < stop:
            some = Pixels(at - begin, stop - begin, y * out_w + x - (at - begin))
            if block.layout == QUAD:
                finish_quad(row, sram, tile, block, some, places)
            else:
                finish(row, sram, tile, block, some, places)
        at = (y + 1) * pitch


@routine
def block_constants(
    row: OperationRow, sram: Pointer, channel: Number, columns: Number, constants: Pointer
) -> Number:
    """The constants of a block, and how its channels lie."""
    whole = columns == _COLUMNS and channel + columns * LANES <= row.out_channels and may_saturate(row)
    layout = QUAD if whole else PLAIN
    is_down = True
    for v in range(columns):
        here = table_at(constants, v * CONSTANT_BYTES)
        channel_constants(row, sram, channel, v, layout, here)
        is_down = is_down and here[IS_DOWN // 4] != 0
    if layout == QUAD and not is_down:
        layout = PLAIN
        for v in range(columns):
            channel_constants(row, sram, channel, v, layout, table_at(constants, v * CONSTANT_BYTES))
    return layout


@inlined
def multiply_block(
    size: Number,
    width: Number,
    inputs: TileInputs,
    packed: Pointer,
    starts: Pointer,
    sums: Pointer,
    pitch: Number,
) -> None:
    """`multiply_tiles` of `size` pixels and `width` vectors of outputs."""
    if width == 1:
        multiply_tiles(2, 1, inputs, packed, starts, sums, pitch)
    elif size == TILE_ROWS:
        multiply_tiles(1, 2, inputs, packed, starts, sums, pitch)
    else:
        multiply_tiles(2, 2, inputs, packed, starts, sums, pitch)


@routine
def convolve_tiled(row: OperationRow, sram: Pointer, arena: Pointer, capacity: Number) -> Number:
    """OP_CONV, OP_CONV_RELU, OP_MAT_MUL. Returns 0, or the bytes of arena that it needs."""
    kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, _, _ = geometry(row)
    out_h, out_w, channels, outputs = row.out_height, row.out_width, row.in_channels, row.out_channels
    pixels = out_h * out_w
    merged = dilation_w == 1 or kernel_w == 1
    run, taps = (kernel_w * channels, kernel_h) if merged else (channels, kernel_h * kernel_w)
    if pixels <= UNPACKED_PIXELS or row.weight_zp != 0 or run < _SHORTEST_RUN:
        return convolve_packed(row, sram, arena, capacity)
    blocks = (run + TILE_BYTES - 1) // TILE_BYTES
    groups = blocks * _GROUPS
    width = (out_w - 1) * stride_w + (kernel_w - 1) * dilation_w + 1
    width = (width + stride_w - 1) // stride_w * stride_w
    height = (out_h - 1) * stride_h + (kernel_h - 1) * dilation_h + 1
    dense = is_dense(row)
    step = stride_w * channels
    slack = _PIXELS * step + blocks * TILE_BYTES

    outs_at = TILE_BYTES if dense else aligned(height * width * channels + slack)
    accs_at = outs_at + aligned(4 * pixels)
    taps_at = accs_at + aligned(4 * pixels)
    tile_at = taps_at + aligned(4 * taps)
    constants_at = tile_at + _PIXELS * _COLUMNS * BYTES32
    starts_at = constants_at + _COLUMNS * CONSTANT_BYTES
    rows_at = starts_at + _COLUMNS * BYTES32
    scratch_offset = rows_at + 2 * BYTES32
    packed_at = scratch_offset + LANES * BYTES32
    needed = packed_at + taps * groups * _COLUMNS * BYTES32
    if needed > capacity:
        return needed
    outs = Places(table_at(arena, outs_at), table_at(arena, accs_at))
    tap_places, filters = table_at(arena, taps_at), Filters(taps, run, groups)
    tile, constants, starts = (
        table_at(arena, tile_at), table_at(arena, constants_at), table_at(arena, starts_at),
    )  # fmt: skip
    room = PackingRoom(
        table_at(arena, rows_at), shifted(arena, scratch_offset), table_at(arena, rows_at + BYTES32)
    )
    packed = shifted(arena, packed_at)

    use_tiles(room.scratch)
    source = shifted(arena, 0)
    if dense:
        source, step = shifted(sram, row.in_addr), row.in_pixel_stride
    else:
        stage_input(row, sram, stage_at(arena, 0), height, width, 0)
    place_outputs(row, outs)
    for tap in range(taps):
        y, x = (tap, 0) if merged else (tap // kernel_w, tap % kernel_w)
        tap_places[tap] = (y * dilation_h * width + x * dilation_w) * channels
    for i in range(LANES):
        room.scratch_rows[i] = i * BYTES32

    pitch = out_w if dense else stride_h * width // stride_w
    lines, length = 1, (out_h - 1) * pitch + out_w
    if out_h * ((out_w + TILE_ROWS - 1) // TILE_ROWS) < (length + TILE_ROWS - 1) // TILE_ROWS:
        lines, length = out_h, out_w
    channel = 0
    while channel < outputs:
        rest = outputs - channel
        columns = _COLUMNS if rest > 3 * LANES else min(_PAIR, (rest + LANES - 1) // LANES)
        layout = block_constants(row, sram, channel, columns, constants)
        block = ChannelBlock(channel, columns, layout, constants)
        width = min(_PAIR, columns)
        pair_bytes = taps * groups * width * BYTES32
        for v in range(0, columns, width):
            weights = shifted(packed, v // width * pair_bytes)
            pack_block(row, sram, block, v, width, filters, room, weights)
            fold_offset(
                row.in_zp, width, taps * groups, weights, table_at(constants, v * CONSTANT_BYTES),
                table_at(starts, v * BYTES32),
            )  # fmt: skip
        for line in range(lines):
            at = 0
            while at < length:
                # The last tiles overlap those before where there are as many pixels, and leave theirs alone.
                size = TILE_ROWS if columns > 1 and length - at <= TILE_ROWS else _PIXELS
                begin = min(at, max(0, length - size))
                start = line * pitch + begin
                inputs = TileInputs(shifted(source, start * step), step, tap_places, taps, blocks)
                for v in range(0, columns, width):
                    weights, sums = shifted(packed, v // width * pair_bytes), table_at(tile, v * BYTES32)
                    starts_here = table_at(starts, v * BYTES32)
                    multiply_block(size, width, inputs, weights, starts_here, sums, columns * BYTES32)
                last = min(begin + size, length)
                some = Pixels(at - begin, last - begin, start)
                finish_pixels(row, sram, tile, block, some, pitch, outs)
                at = last
        channel += columns * LANES
    release_tiles()
    return 0
