"""How much SRAM a tile takes, buffer by buffer: routines over the sizes of a node."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.tiles.tile_records import (
    ACCUMULATOR,
    CONSTANTS,
    INPUT,
    OUTPUT,
    SECOND_INPUT,
    BufferSize,
    BufferSizes,
    ChannelGroup,
    NodeSizes,
    Tile,
)
from dlasim.native.routine import routine

ALIGNMENT = 4
ACCUMULATOR_BYTES = 4
CODE_PARTS = 32  # few, so that nodes whose weights are about as large are planned alike
SINGLE, DOUBLE, DOUBLE_TENSORS = range(3)  # which buffers have a second copy: none, all, all but constants


@routine
def align(size: int) -> int:
    """Rounded up to the alignment of int32 operands."""
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@routine
def constant_bytes(sizes: NodeSizes, channels: int, depth: int) -> int:
    """Bytes that are loaded of the constants of a group of output channels, as they are packed."""
    if sizes.keeps_constants:
        return 0
    if sizes.table_bytes:
        return sizes.table_bytes
    return align(channels * sizes.loaded_weight_bytes * depth) + channels * sizes.record_bytes


@routine
def packed_bytes(sizes: NodeSizes, channels: int, depth: int) -> int:
    """Bytes of memory from which weights among them are unpacked, twice as many, if the machine does that."""
    if sizes.keeps_constants or not sizes.packs_weights:
        return 0
    return align(channels * sizes.loaded_weight_bytes * depth) // 2


@routine
def spared_bytes(sizes: NodeSizes, channels: int, depth: int) -> int:
    """About the bytes that do not cross the bus because weights are compressed."""
    if sizes.keeps_constants or not sizes.code_parts:
        return 0
    return channels * sizes.loaded_weight_bytes * depth * (CODE_PARTS - sizes.code_parts) // CODE_PARTS


@routine
def describe_group(sizes: NodeSizes, channels: int, depth: int, group: ChannelGroup) -> None:
    """Fill in what does not depend on the machine."""
    passes = -(-sizes.depth // depth)
    in_channels = depth if sizes.is_dense else -(-channels // sizes.multiplier)
    group.groups, group.passes = -(-sizes.channels // channels), passes
    group.constant_bytes = constant_bytes(sizes, channels, depth)
    group.packed_bytes = packed_bytes(sizes, channels, depth)
    group.spared_bytes = spared_bytes(sizes, channels, depth)
    group.input_pixel = in_channels * sizes.input_bytes
    group.second_pixel = channels * sizes.second_bytes
    group.sum_pixel = channels * ACCUMULATOR_BYTES if passes > 1 else 0
    group.output_pixel = channels * sizes.output_bytes


@routine
def extent(size: int, stride: int, window: int, whole: int) -> int:
    """Rows of the input that `size` rows of the output read; or columns."""
    read = (size - 1) * stride + window
    return read if read < whole else whole


@routine
def tile_bytes(sizes: NodeSizes, group: ChannelGroup, rows: int, columns: int) -> tuple[int, int, int, int]:
    """Bytes of a tile of the first and the second input, the accumulator and the output."""
    in_rows = extent(rows, sizes.stride_height, sizes.window_height, sizes.input_height)
    in_columns = extent(columns, sizes.stride_width, sizes.window_width, sizes.input_width)
    second = group.second_pixel
    if second:
        second *= (rows if sizes.second_has_rows else 1) * (columns if sizes.second_has_columns else 1)
    pixels = rows * columns
    return (
        in_rows * in_columns * group.input_pixel,
        second,
        pixels * group.sum_pixel,
        pixels * group.output_pixel,
    )


@routine
def spatial_tiles(sizes: NodeSizes, rows: int, columns: int) -> int:
    """How many tiles cover the output's pixels."""
    return -(-sizes.height // rows) * -(-sizes.width // columns)


@routine
def load_counts(sizes: NodeSizes, group: ChannelGroup, spatial: int, outer: int) -> tuple[int, int]:
    """How often the first input and the constants are loaded, with `spatial` tiles of the pixels."""
    groups, passes = group.groups, group.passes
    constants = spatial * groups * passes
    inputs = constants
    if passes == 1:
        if outer or groups == 1:
            constants = groups
        if sizes.is_dense and (spatial == 1 or not outer):
            inputs = spatial
    return inputs, 1 if sizes.table_bytes else constants


@routine
def buffer_copies(
    sizes: NodeSizes, group: ChannelGroup, spatial: int, outer: int, buffering: int
) -> tuple[int, int, int, int]:
    """Buffers for the first and the second input, the constants and the output: a second one for what is
    filled more than once, if `buffering` wants it."""
    inputs, constants = load_counts(sizes, group, spatial, outer)
    tiles = spatial * group.groups
    more = 0 if buffering == SINGLE else 1
    return (
        1 + more if inputs > 1 else 1,
        1 + more if tiles * group.passes > 1 else 1,
        2 if constants > 1 and buffering == DOUBLE else 1,
        1 + more if tiles > 1 else 1,
    )


@routine
def sram_bytes(sizes: NodeSizes, group: ChannelGroup, tile: Tile) -> int:
    """What all buffers take together."""
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    inputs, seconds, constants, outputs = buffer_copies(
        sizes, group, spatial, tile.is_channels_outer, tile.buffering
    )
    input_bytes, second, sums, output = tile_bytes(sizes, group, tile.rows, tile.columns)
    return (
        align(input_bytes) * inputs
        + align(second) * seconds
        + align(group.constant_bytes) * constants
        + align(sums)
        + align(output) * outputs
    )


@routine
def list_buffers(sizes: NodeSizes, group: ChannelGroup, tile: Tile, listed: BufferSizes) -> None:
    """Fill in the size and copies of every buffer."""
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    inputs, seconds, constants, outputs = buffer_copies(
        sizes, group, spatial, tile.is_channels_outer, tile.buffering
    )
    input_bytes, second, sums, output = tile_bytes(sizes, group, tile.rows, tile.columns)
    _set_buffer(listed.buffers[INPUT], input_bytes, inputs if input_bytes else 1)
    _set_buffer(listed.buffers[SECOND_INPUT], second, seconds if second else 1)
    _set_buffer(listed.buffers[CONSTANTS], group.constant_bytes, constants)
    _set_buffer(listed.buffers[ACCUMULATOR], sums, 1)
    _set_buffer(listed.buffers[OUTPUT], output, outputs if output else 1)


@routine
def _set_buffer(buffer: BufferSize, size_bytes: int, copies: int) -> None:
    buffer.size_bytes, buffer.copies = size_bytes, copies


@routine
def has_transfers(sizes: NodeSizes) -> bool:
    """Whether any tensor lives outside of SRAM."""
    return sizes.input_bytes + sizes.second_bytes + sizes.output_bytes > 0
