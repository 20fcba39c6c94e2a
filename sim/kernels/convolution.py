"""Convolution and matrix multiplication: the input staged once, weights packed block by block, tiles of sums.

The staged input is padded and dense, so a window is a few runs at fixed offsets from its pixel. Values are
stored as the multiplication wants them: u8 = in + 128 for VNNI, whose offset returns as 128 + IN_ZP times
the sum of an output's weights; in - IN_ZP as a short otherwise.
"""

from __future__ import annotations

from dlasim.sim.kernels.dot import (
    GROUP_BYTES,
    dot_groups,
    dot_rows,
    dot_tile,
    element_bytes,
    stage_at,
    transpose_groups,
)
from dlasim.sim.kernels.finish import (
    CONSTANT_BYTES,
    OPCODE,
    OUT_CHANNELS,
    OUT_H,
    OUT_W,
    aligned,
    channel_constants,
    finish,
    place_outputs,
)
from dlasim.sim.kernels.geometry import (
    IN_ADDR,
    IN_CHANNELS,
    IN_H,
    IN_PIXEL,
    IN_ROW,
    IN_W,
    IN_ZP,
    MAT_MUL,
    PAD_LEFT,
    PAD_TOP,
    PAD_VALUE,
    WEIGHT_ADDR,
    geometry,
)
from dlasim.sim.kernels.jit import Number, Pointer, inlined, kernel
from dlasim.sim.kernels.plane import convolve_plane
from dlasim.sim.kernels.target import host
from dlasim.sim.kernels.vectors import (
    BYTES32,
    LANES,
    copy_bytes,
    load32,
    multiply,
    put32,
    shifted,
    splat,
    store32,
    subtract,
    table_at,
)

PIXELS, VECTORS = host().pixels, host().vectors
SMALL_PIXELS = 4
ROWS = 4  # rows of weights that one pass over a single patch multiplies
FEW_PIXELS = 2  # up to so many, packing weights costs more than it saves
_ONES = 0x01010101


@kernel
def stage_input(row: Pointer, sram: Pointer, stage: Pointer, height: Number, width: Number) -> None:
    """The padded input as [height][width][channel] of staged values."""
    is_byte = element_bytes(stage) == 1
    offset = 128 if is_byte else -row[IN_ZP]
    matrix = row[OPCODE] == MAT_MUL
    in_h, in_w = (row[OUT_H], row[OUT_W]) if matrix else (row[IN_H], row[IN_W])
    top, left = (0, 0) if matrix else (row[PAD_TOP], row[PAD_LEFT])
    channels, pixel = row[IN_CHANNELS], row[IN_PIXEL]
    outside = row[PAD_VALUE] + offset
    first, last = min(left, width), max(min(left, width), min(width, left + in_w))
    at = 0
    for y in range(height):
        if y < top or y >= top + in_h:
            for i in range(width * channels):
                stage[at + i] = outside
        else:
            for i in range(first * channels):
                stage[at + i] = outside
            source = row[IN_ADDR] + (y - top) * row[IN_ROW]
            stage_run(sram, source, pixel, channels, last - first, stage, at + first * channels, offset)
            for i in range(last * channels, width * channels):
                stage[at + i] = outside
        at += width * channels


@inlined
def stage_run(
    sram: Pointer,
    source: Number,
    pixel: Number,
    channels: Number,
    count: Number,
    stage: Pointer,
    at: Number,
    offset: Number,
) -> None:
    """`count` pixels of one row."""
    if pixel == channels:
        for i in range(count * channels):
            stage[at + i] = sram[source + i] + offset
    elif channels == 1:
        for i in range(count):
            stage[at + i] = sram[source + i * pixel] + offset
    else:
        for i in range(count):
            for c in range(channels):
                stage[at + i * channels + c] = sram[source + i * pixel + c] + offset


@kernel
def pack_rows(
    stage: Pointer,
    sram: Pointer,
    rows: Pointer,
    start: Number,
    count: Number,
    spare: Pointer,
    spare_rows: Pointer,
    packed: Pointer,
    at: Number,
    stride: Number,
) -> None:
    """`count` weights from `start` on of sixteen rows, as groups [group][row]; whole tiles of 16 groups."""
    length = BYTES32 // element_bytes(stage)
    done = 0
    while count - done >= length:
        transpose_groups(stage, shifted(sram, start + done), rows, packed, at, stride)
        done += length
        at += LANES * stride
    if done < count:
        for i in range(LANES):
            for j in range(length // 4):
                put32(spare, i * BYTES32 + 4 * j, 0)
            copy_bytes(spare, i * BYTES32, sram, rows[i] + start + done, count - done)
        transpose_groups(stage, spare, spare_rows, packed, at, stride)


@kernel
def pack_block(
    row: Pointer,
    sram: Pointer,
    stage: Pointer,
    channel: Number,
    columns: Number,
    taps: Number,
    run: Number,
    groups: Number,
    rows: Pointer,
    spare: Pointer,
    spare_rows: Pointer,
    packed: Pointer,
) -> None:
    """The weights of up to `columns` x 16 outputs as [tap][group][output]."""
    weights = taps * run
    stride = columns * BYTES32
    last = row[OUT_CHANNELS] - 1
    for v in range(columns):
        for i in range(LANES):
            rows[i] = row[WEIGHT_ADDR] + min(channel + v * LANES + i, last) * weights
        at = v * BYTES32
        if groups * (GROUP_BYTES // element_bytes(stage)) == run:
            pack_rows(stage, sram, rows, 0, weights, spare, spare_rows, packed, at, stride)
        else:
            for tap in range(taps):
                here = at + tap * groups * stride
                pack_rows(stage, sram, rows, tap * run, run, spare, spare_rows, packed, here, stride)


@inlined
def fold_offset(
    row: Pointer,
    stage: Pointer,
    columns: Number,
    steps: Number,
    packed: Pointer,
    constants: Pointer,
    starts: Pointer,
) -> None:
    """What the sums of a block start from: the bias less what the staged offset adds."""
    offset = splat(128 + row[IN_ZP])
    for v in range(columns):
        start = load32(constants, v * CONSTANT_BYTES)
        if element_bytes(stage) == 1:
            total = splat(0)
            for step in range(steps):
                weights = load32(packed, (step * columns + v) * BYTES32)
                total = dot_groups(stage, total, splat(_ONES), weights)
            start = subtract(start, multiply(offset, total))
        store32(starts, v * BYTES32, start)


@kernel
def stage_patch(row: Pointer, sram: Pointer, stage: Pointer, y: Number, x: Number) -> None:
    """The window of one output pixel as one run, in the order of the weights."""
    kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left = geometry(row)
    channels = row[IN_CHANNELS]
    matrix = row[OPCODE] == MAT_MUL
    in_h, in_w = (row[OUT_H], row[OUT_W]) if matrix else (row[IN_H], row[IN_W])
    offset = 128 if element_bytes(stage) == 1 else -row[IN_ZP]
    at = 0
    for ky in range(kernel_h):
        iy = y * stride_h + ky * dilation_h - top
        for kx in range(kernel_w):
            ix = x * stride_w + kx * dilation_w - left
            if 0 <= iy < in_h and 0 <= ix < in_w:
                source = row[IN_ADDR] + iy * row[IN_ROW] + ix * row[IN_PIXEL]
                for c in range(channels):
                    stage[at + c] = sram[source + c] + offset
            else:
                for c in range(channels):
                    stage[at + c] = row[PAD_VALUE] + offset
            at += channels


@kernel
def convolve_few(row: Pointer, sram: Pointer, arena: Pointer, capacity: Number, witness: Pointer) -> Number:
    """Few output pixels, as in fully connected layers: weights are used once, so where they lie."""
    kernel_h, kernel_w, _, _, _, _, _, _ = geometry(row)
    length = kernel_h * kernel_w * row[IN_CHANNELS]
    outputs, element = row[OUT_CHANNELS], element_bytes(witness)
    pixels = row[OUT_H] * row[OUT_W]
    per_turn = BYTES32 // element
    turns = length // per_turn
    done = turns * per_turn
    rest = length - done

    sums_at = aligned((length + per_turn) * element)
    rows_at = sums_at + 4 * BYTES32
    outs_at = rows_at + 2 * BYTES32
    spare_at = outs_at + 2 * BYTES32
    tile_at = spare_at + ROWS * BYTES32
    constants_at = tile_at + BYTES32
    needed = constants_at + CONSTANT_BYTES
    if needed > capacity:
        return needed
    stage, spare = stage_at(witness, arena, 0), shifted(arena, spare_at)
    sums, more = table_at(arena, sums_at), table_at(arena, sums_at + 2 * BYTES32)
    rows, spare_rows = table_at(arena, rows_at), table_at(arena, rows_at + BYTES32)
    outs, accs = table_at(arena, outs_at), table_at(arena, outs_at + BYTES32)
    tile, constants = table_at(arena, tile_at), table_at(arena, constants_at)

    place_outputs(row, outs, accs)
    fold = 128 + row[IN_ZP] if element == 1 else 0
    for i in range(ROWS):
        spare_rows[i] = i * BYTES32
        for lane in range(LANES):
            put32(spare, i * BYTES32 + 4 * lane, 0)
        sums[i] = 0
        more[i] = 0
    for pixel in range(pixels):
        stage_patch(row, sram, stage, pixel // row[OUT_W], pixel % row[OUT_W])
        for i in range(length, done + per_turn):
            stage[i] = 0
        for channel in range(0, outputs, LANES):
            channel_constants(row, sram, channel, constants)
            count = min(LANES, outputs - channel)
            for o in range(0, count, ROWS):
                for i in range(ROWS):
                    rows[i] = row[WEIGHT_ADDR] + min(channel + o + i, outputs - 1) * length
                if turns > 0:
                    dot_rows(ROWS, stage, 0, sram, rows, turns, fold, sums)
                if rest > 0:
                    for i in range(ROWS):
                        copy_bytes(spare, i * BYTES32, sram, rows[i] + done, rest)
                    dot_rows(ROWS, stage, turns * BYTES32, spare, spare_rows, 1, fold, more)
                for i in range(ROWS):
                    tile[o + i] = sums[i] + more[i] + constants[o + i]
            finish(row, sram, tile, 1, 0, 1, pixel, outs, accs, constants, channel)
    return 0


@kernel
def convolve(row: Pointer, sram: Pointer, arena: Pointer, capacity: Number, witness: Pointer) -> Number:
    """OP_CONV, OP_CONV_RELU, OP_MAT_MUL. Returns 0, or the bytes of arena that it needs."""
    kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, _, _ = geometry(row)
    out_w, channels, outputs = row[OUT_W], row[IN_CHANNELS], row[OUT_CHANNELS]
    pixels = row[OUT_H] * out_w
    if pixels <= FEW_PIXELS:
        return convolve_few(row, sram, arena, capacity, witness)
    if channels == 1 and outputs == 1:
        return convolve_plane(row, sram, arena, capacity, witness)
    element = element_bytes(witness)
    # Neighbouring taps of a row are neighbours in the staged input too: one run.
    merged = dilation_w == 1 or kernel_w == 1
    run, taps = (kernel_w * channels, kernel_h) if merged else (channels, kernel_h * kernel_w)
    groups = (run * element + GROUP_BYTES - 1) // GROUP_BYTES
    width = (out_w - 1) * stride_w + (kernel_w - 1) * dilation_w + 1
    height = (row[OUT_H] - 1) * stride_h + (kernel_h - 1) * dilation_h + 1

    places_at = aligned(width * height * channels * element + 64)
    outs_at = places_at + aligned(4 * (pixels + PIXELS))
    accs_at = outs_at + aligned(4 * pixels)
    taps_at = accs_at + aligned(4 * pixels)
    tile_at = taps_at + aligned(4 * taps)
    constants_at = tile_at + PIXELS * VECTORS * BYTES32
    starts_at = constants_at + VECTORS * CONSTANT_BYTES
    rows_at = starts_at + VECTORS * BYTES32
    spare_at = rows_at + 2 * BYTES32
    packed_at = spare_at + LANES * BYTES32
    needed = packed_at + (taps * groups + LANES) * VECTORS * BYTES32
    if needed > capacity:
        return needed

    stage = stage_at(witness, arena, 0)
    places, outs, accs = table_at(arena, places_at), table_at(arena, outs_at), table_at(arena, accs_at)
    tap_places, tile = table_at(arena, taps_at), table_at(arena, tile_at)
    constants, starts = table_at(arena, constants_at), table_at(arena, starts_at)
    rows, spare_rows = table_at(arena, rows_at), table_at(arena, rows_at + BYTES32)
    spare, packed = shifted(arena, spare_at), shifted(arena, packed_at)

    stage_input(row, sram, stage, height, width)
    place_outputs(row, outs, accs)
    at = 0
    for y in range(row[OUT_H]):
        for x in range(out_w):
            places[at] = (y * stride_h * width + x * stride_w) * channels * element
            at += 1
    for tap in range(taps):
        y, x = (tap, 0) if merged else (tap // kernel_w, tap % kernel_w)
        tap_places[tap] = (y * dilation_h * width + x * dilation_w) * channels * element
    for i in range(LANES):
        spare_rows[i] = i * BYTES32

    channel = 0
    while channel < outputs:
        columns = min(VECTORS, (outputs - channel + LANES - 1) // LANES)
        for v in range(columns):
            channel_constants(row, sram, channel + v * LANES, table_at(constants, v * CONSTANT_BYTES))
        pack_block(
            row, sram, stage, channel, columns, taps, run, groups, rows, spare, spare_rows, packed
        )  # fmt: skip
        fold_offset(row, stage, columns, taps * groups, packed, constants, starts)
        at = 0
        while at < pixels:
            rest = pixels - at
            size = PIXELS if columns == 1 or rest > SMALL_PIXELS else min(SMALL_PIXELS, PIXELS)
            # The last tile overlaps the one before, and leaves its pixels alone.
            first = max(0, size - rest) if pixels >= size else 0
            base = at - first
            if pixels < size:
                for i in range(pixels, size):
                    places[i] = places[0]
            here = table_at(places, 4 * base)
            if columns == 1:
                dot_tile(PIXELS, 1, stage, here, tap_places, taps, groups, packed, starts, tile)
            elif size == PIXELS:
                dot_tile(PIXELS, VECTORS, stage, here, tap_places, taps, groups, packed, starts, tile)
            else:
                dot_tile(SMALL_PIXELS, VECTORS, stage, here, tap_places, taps, groups, packed, starts, tile)
            last = min(size, first + rest)
            finish(row, sram, tile, columns, first, last, base, outs, accs, constants, channel)
            at += last - first
        channel += columns * LANES
    return 0
