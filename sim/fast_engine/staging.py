"""The padded input of a convolution, staged: dense, so that a window is a few runs at fixed offsets."""

from __future__ import annotations

from dlasim.native.routine import Number, Pointer, inlined, routine
from dlasim.sim.fast_engine.operation_rows import MAT_MUL, OperationRow


@routine
def stage_input(
    row: OperationRow, sram: Pointer, stage: Pointer, height: Number, width: Number, offset: Number
) -> None:
    """The padded input as [height][width][channel] of staged values, each `offset` higher."""
    matrix = row.opcode == MAT_MUL
    in_h, in_w = (row.out_height, row.out_width) if matrix else (row.in_height, row.in_width)
    top, left = (0, 0) if matrix else (row.pad_top, row.pad_left)
    channels, pixel = row.in_channels, row.in_pixel_stride
    outside = row.pad_value + offset
    first, last = min(left, width), max(min(left, width), min(width, left + in_w))
    at = 0
    for y in range(height):
        if y < top or y >= top + in_h:
            for i in range(width * channels):
                stage[at + i] = outside
        else:
            for i in range(first * channels):
                stage[at + i] = outside
            source = row.in_addr + (y - top) * row.in_row_stride
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
