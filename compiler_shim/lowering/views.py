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
    space, base, (_, width, channels), size = home
    first_row, first_column, first_channel, rows, columns, deep = tile
    pixel = channels * size
    row = width * pixel
    offset = base + first_row * row + first_column * pixel + first_channel * size
    part = deep * size
    total = part * columns * rows
    run, runs, stride, planes = part, columns, pixel, rows
    if run == pixel:
        run, runs, stride, planes = run * runs, planes, row, 1
        if run == row:
            run, runs = run * runs, 1
    elif runs * pixel == row or planes == 1:
        runs, planes = runs * planes, 1
    names = TRANSFER_REGISTERS[prefix]
    registers = {
        names[0]: space, names[1]: offset, names[2]: address, names[3]: run, names[4]: runs, names[5]: planes
    }  # fmt: skip
    if runs > 1:
        registers[names[6]], registers[names[7]] = stride, run
    if planes > 1:
        registers[names[8]], registers[names[9]] = row, run * runs
    into = prefix == "DMA_IN"
    end = offset + (rows - 1) * row + (columns - 1) * pixel + part
    inside = Touch(SRAM, address, address + total, into)
    if deep < channels:
        outside = Touch(space, offset, end, not into, pixel, offset % pixel, part)
    else:
        outside = Touch(space, offset, end, not into)
    return Op("OP_DMA_READ" if into else "OP_DMA_WRITE", word, registers, (inside, outside), layer)


def transfer_blob(word: int, region: int, offset: int, size: int, address: int, layer: int) -> Op:
    """As `transfer`, for bytes without a shape."""
    names = TRANSFER_REGISTERS["DMA_IN"]
    registers = {
        names[0]: region, names[1]: offset, names[2]: address, names[3]: size, names[4]: 1, names[5]: 1
    }  # fmt: skip
    touches = (
        Touch(SRAM, address, address + size, True),
        Touch(region, offset, offset + size, False),
    )
    return Op("OP_DMA_READ", word, registers, touches, layer)


def tile_view(home: Home, tile: Tile, writes: bool) -> View:
    """A tile of a tensor that lies in SRAM."""
    _, base, (_, width, channels), size = home
    first_row, first_column, first_channel, rows, columns, deep = tile
    pixel = channels * size
    row = width * pixel
    address = base + first_row * row + first_column * pixel + first_channel * size
    run = deep * size
    end = address + (rows - 1) * row + (columns - 1) * pixel + run
    if run < pixel:
        return View(address, pixel, row, Touch(SRAM, address, end, writes, pixel, address % pixel, run))
    return View(address, pixel, row, Touch(SRAM, address, end, writes))
