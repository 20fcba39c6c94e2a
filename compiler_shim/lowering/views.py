"""Where tensors and their tiles lie: in SRAM as views, in system memory as boxes that a transfer brings."""

from __future__ import annotations

from typing import NamedTuple

from dlasim.compiler_shim.lowering.emitter import SRAM, Op, Touch
from dlasim.compiler_shim.nodes import Shape

TRANSFER_REGISTERS = {
    prefix: tuple(
        f"{prefix}_{name}"
        for name in (
            "REGION", "OFFSET", "SRAM_ADDR", "RUN_BYTES", "RUNS", "PLANES",
            "RUN_STRIDE", "RUN_SRAM_STRIDE", "PLANE_STRIDE", "PLANE_SRAM_STRIDE",
        )
    )
    for prefix in ("DMA_IN", "DMA_OUT")
}  # fmt: skip


class Home(NamedTuple):
    """Where a whole tensor lies, dense: at an SRAM address, or at an offset of a region."""

    space: int
    offset: int
    shape: Shape
    element_bytes: int


class Tile(NamedTuple):
    """A box of a tensor: first row, column and channel, and how many of each."""

    row: int
    column: int
    channel: int
    rows: int
    columns: int
    channels: int


class View(NamedTuple):
    """A tile in SRAM as the registers describe it."""

    address: int
    pixel_stride: int
    row_stride: int
    touch: Touch


def pack_pair(first: int, second: int) -> int:
    """Two 16-bit halves as a packed register holds them."""
    return first | second << 16


def transfer(prefix: str, word: int, home: Home, tile: Tile, address: int, layer: int) -> Op:
    """The DMA operation between a tile of a tensor in system memory and a dense copy in SRAM."""
    _, width, channels = home.shape
    size = home.element_bytes
    pixel, row = channels * size, width * channels * size
    offset = home.offset + tile.row * row + tile.column * pixel + tile.channel * size
    run, runs, stride, planes = tile.channels * size, tile.columns, pixel, tile.rows
    total = run * runs * planes
    if run == pixel:
        run, runs, stride, planes = run * runs, planes, row, 1
        if run == row:
            run, runs = run * runs, 1
    elif runs * pixel == row or planes == 1:
        runs, planes = runs * planes, 1
    values = [home.space, offset, address, run, runs, planes]
    names = TRANSFER_REGISTERS[prefix]
    registers = dict(zip(names, values, strict=False))
    if runs > 1:
        registers[names[6]], registers[names[7]] = stride, run
    if planes > 1:
        registers[names[8]], registers[names[9]] = row, run * runs
    into = prefix == "DMA_IN"
    end = offset + (tile.rows - 1) * row + (tile.columns - 1) * pixel + tile.channels * size
    slices = (pixel, offset % pixel, tile.channels * size) if tile.channels < channels else (0, 0, 0)
    touches = (
        Touch(SRAM, address, address + total, into),
        Touch(home.space, offset, end, not into, *slices),
    )
    return Op("OP_DMA_READ" if into else "OP_DMA_WRITE", word, registers, touches, layer)


def tile_view(home: Home, tile: Tile, writes: bool) -> View:
    """A tile of a tensor that lies in SRAM."""
    _, width, channels = home.shape
    size = home.element_bytes
    pixel, row = channels * size, width * channels * size
    address = home.offset + tile.row * row + tile.column * pixel + tile.channel * size
    run = tile.channels * size
    end = address + (tile.rows - 1) * row + (tile.columns - 1) * pixel + run
    slices = (pixel, address % pixel, run) if run < pixel else (0, 0, 0)
    return View(address, pixel, row, Touch(SRAM, address, end, writes, *slices))
