"""AMX: tiles of sixteen rows of 64 bytes, and the sums of products of two tiles of bytes, in LLVM IR."""

from __future__ import annotations

from llvmlite import ir

from dlasim.named_tuple import NamedTuple
from dlasim.native.expressions import Parts
from dlasim.native.routine import Number, Pointer, inlined, intrinsic
from dlasim.native.target import host
from dlasim.sim.fast_engine.dot import Loop, index, load_index
from dlasim.sim.fast_engine.memory_access import put8, put32
from dlasim.sim.fast_engine.vectors import BYTES32, call_llvm, place

IS_TILED = host().has_tiles  # whether the kernels use tiles
TILE_ROWS, TILE_BYTES = 16, 64  # of a tile; its row holds as many bytes
_TILES = 8
_ROWS_AT = 48  # where a configuration holds the number of rows of each tile

_I8 = ir.IntType(8)
_INPUTS, _WEIGHTS = 4, 6  # the first tile of each; the sums take those before


class TileInputs(NamedTuple):
    """The bytes of a pixel and of those that follow it, `step` bytes apart; the offset of each of `tap_count`
    taps from there, and how many blocks of 64 bytes a tap has."""

    first: Pointer
    step: Number
    taps: Pointer
    tap_count: Number
    blocks: Number


def _call(builder: ir.IRBuilder, name: str, arguments: list[ir.Value]) -> None:
    call_llvm(builder, f"llvm.x86.{name}", ir.VoidType(), arguments)


def _tile(number: int) -> ir.Constant:
    return ir.Constant(_I8, number)


@intrinsic
def load_configuration(builder: ir.IRBuilder, configuration: ir.Value) -> None:
    """Give all tiles the shapes that the 64 bytes state."""
    _call(builder, "ldtilecfg", [place(builder, configuration, index(0), _I8)])


@intrinsic
def release_tiles(builder: ir.IRBuilder) -> None:
    """Leave the tiles unused, so that the system need not save them."""
    _call(builder, "tilerelease", [])


@inlined
def use_tiles(scratch: Pointer) -> None:
    """Give all tiles their full size; `scratch` has 64 bytes."""
    for i in range(BYTES32 // 4):
        put32(scratch, 4 * i, 0)
    put8(scratch, 0, 1)  # the only palette
    for tile in range(_TILES):
        put8(scratch, 16 + 2 * tile, TILE_BYTES)
        put8(scratch, _ROWS_AT + tile, TILE_ROWS)
    load_configuration(scratch)


@intrinsic
def multiply_tiles(
    builder: ir.IRBuilder,
    heights: ir.Constant,
    widths: ir.Constant,
    inputs: Parts,
    packed_at: ir.Value,
    starts_at: ir.Value,
    sums_at: ir.Value,
    pitch: ir.Value,
) -> None:
    """sums[pixel][channel] = starts[channel] + sums of products over taps and blocks of 64 bytes, for
    (heights x 16) pixels and (widths x 16) channels, both 1 or 2.

    The sums of a pixel begin `pitch` bytes after those of the one before; `packed` holds the weights as
    [tap][group][channel] groups of four.
    """
    inputs_at, step, taps_at, tap_count, blocks = inputs
    rows, columns = heights.constant, widths.constant
    line, below = index(columns * BYTES32), builder.mul(step, index(TILE_ROWS))
    for number in range(rows * columns):
        at = place(builder, starts_at, index(number % columns * BYTES32), _I8)
        _call(builder, "tileloadd64", [_tile(number), at, index(0)])  # the same for every pixel
    outer = Loop(builder, tap_count, [place(builder, packed_at, index(0), _I8)])
    corner = place(builder, inputs_at, load_index(builder, taps_at, outer.number), _I8)
    inner = Loop(builder, blocks, [*outer.values, corner])
    weights, here = inner.values
    for v in range(columns):
        at = place(builder, weights, index(v * BYTES32), _I8)
        _call(builder, "tileloadd64", [_tile(_WEIGHTS + v), at, line])
    for i in range(rows):
        at = here if i == 0 else place(builder, here, below, _I8)
        _call(builder, "tileloadd64", [_tile(_INPUTS + i), at, step])
        for v in range(columns):
            factors = [_tile(i * columns + v), _tile(_INPUTS + i), _tile(_WEIGHTS + v)]
            _call(builder, "tdpbssd", factors)
    weights = place(builder, weights, index(columns * TILE_ROWS * BYTES32), _I8)
    weights, _ = inner.close([weights, place(builder, here, index(TILE_BYTES), _I8)])
    outer.close([weights])
    for i in range(rows):
        for v in range(columns):
            offset = builder.add(builder.mul(pitch, index(i * TILE_ROWS)), index(v * BYTES32))
            at = place(builder, sums_at, offset, _I8)
            _call(builder, "tilestored64", [_tile(i * columns + v), at, pitch])
