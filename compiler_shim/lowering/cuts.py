"""What a cut takes and costs: routines over the sizes of a node and the costs of a machine.

What an operation costs is what `sim/formulas.py` says for the simulator too; this module counts operations.

Both say all that matters of a node and of a configuration. A `ChannelGroup` is what tiles of so many output
channels over so many input channels share, whatever their rows and columns.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.transfers import box_beats
from dlasim.isa.instructions import TABLE_BYTES
from dlasim.native.record import Record, array, member, record
from dlasim.native.routine import routine
from dlasim.sim.formulas import (
    BusCosts,
    UnitCosts,
    contention_cycles,
    grouped_stall_cycles,
    lane_cycles,
    port_cycles,
    positions_read,
    stall_cycles,
    transfer_beats,
)

ALIGNMENT = 4
ACCUMULATOR_BYTES = 4


@record
class NodeSizes(Record):
    """A node's sizes. `depth` is the input channels that one output channel reads, `step` the output channels
    that cannot be parted; tensor bytes are those of a channel of a pixel that travels, 0 for a tensor that
    stays in SRAM and where there is none; element bytes are the same wherever tensors are. `common` is the
    greatest common divisor of stride and dilation."""

    height: int = 0
    width: int = 0
    channels: int = 0
    depth: int = 0
    step: int = 0
    is_dense: int = 0
    taps: int = 0
    weight_bytes: int = 0
    record_bytes: int = 0
    has_table: int = 0
    input_height: int = 0
    input_width: int = 0
    input_channels: int = 0
    input_count: int = 0
    kernel_height: int = 0
    kernel_width: int = 0
    dilation_height: int = 0
    dilation_width: int = 0
    common_height: int = 0
    common_width: int = 0
    stride_height: int = 0
    stride_width: int = 0
    window_height: int = 0
    window_width: int = 0
    second_has_rows: int = 0
    second_has_columns: int = 0
    input_bytes: int = 0
    second_bytes: int = 0
    output_bytes: int = 0
    input_element_bytes: int = 0
    output_element_bytes: int = 0


@record
class MachineCosts(Record):
    """A machine as one class of nodes meets it.

    The bus, and the unit that computes; whether that reads its input again for each group of output channels;
    cycles of a task besides its work, and of each of a task's channels.
    """

    bus: BusCosts = member(BusCosts)
    unit: UnitCosts = member(UnitCosts)
    is_mac: int = 0
    rereads_input: int = 0
    task_cycles: int = 0
    channel_cycles: int = 0


@record
class Tile(Record):
    """How a node is cut: rows, columns, output and input channels of a tile; whether all pixels of a group of
    channels come before the next group; whether buffers that are filled more than once have a second copy."""

    rows: int = 0
    columns: int = 0
    channels: int = 0
    depth: int = 0
    is_channels_outer: int = 0
    is_double: int = 0


@record
class Lines(Record):
    """What one of several tiles takes by its lines: rows, or columns of one row.

    `steady_bytes` are always there; each buffer has bytes of a line and copies; `start` and `slope` are those
    of the straight line that would describe the whole if nothing were rounded up.
    """

    steady_bytes: int = 0
    stride: int = 0
    window: int = 0
    input_lines: int = 0
    input_bytes: int = 0
    input_copies: int = 0
    second_bytes: int = 0
    second_copies: int = 0
    sum_bytes: int = 0
    output_bytes: int = 0
    output_copies: int = 0
    start: int = 0
    slope: int = 0


@record
class ChannelGroup(Record):
    """What tiles of so many channels share.

    How many groups there are, and passes over the input channels; bytes of constants, and of a pixel of the
    inputs, the accumulator and the output; cycles of work over all groups, and of a task besides.
    """

    groups: int = 0
    passes: int = 0
    constant_bytes: int = 0
    input_pixel: int = 0
    second_pixel: int = 0
    sum_pixel: int = 0
    output_pixel: int = 0
    work_cycles: int = 0
    task_cycles: int = 0
    lines: Lines = member(Lines)


@record
class BufferSize(Record):
    """A buffer's size, and how many copies there are of it."""

    size_bytes: int = 0
    copies: int = 0


@record
class BufferSizes(Record):
    """The buffers of two inputs, the constants, the accumulator and the output; 0 bytes for none."""

    buffers: list[BufferSize] = array(BufferSize, 5)


@routine
def align(size: int) -> int:
    """Rounded up to the alignment of int32 operands."""
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@routine
def packed_bytes(channels: int, depth: int, weight_bytes: int, record_bytes: int, has_table: int) -> int:
    """Bytes of the table, or of weights and records, of output channels over so many input channels."""
    if has_table:
        return TABLE_BYTES
    return align(channels * weight_bytes * depth) + channels * record_bytes


@routine
def constant_bytes(sizes: NodeSizes, channels: int, depth: int) -> int:
    """Bytes of the constants of a group of output channels, as they are packed."""
    return packed_bytes(channels, depth, sizes.weight_bytes, sizes.record_bytes, sizes.has_table)


@routine
def work_cycles(sizes: NodeSizes, machine: MachineCosts, channels: int, depth: int) -> int:
    """Cycles of pure work, in groups of output channels and passes over the input channels."""
    whole, rest = sizes.channels // channels, sizes.channels % channels
    return whole * _group_cycles(sizes, machine, channels, depth) + _group_cycles(sizes, machine, rest, depth)


@routine
def _group_cycles(sizes: NodeSizes, machine: MachineCosts, channels: int, depth: int) -> int:
    """Cycles of pure work on all pixels of a group of output channels, in passes over the input channels."""
    pixels, passes, rest = sizes.height * sizes.width, sizes.depth // depth, sizes.depth % depth
    work = passes * lane_cycles(machine.unit, pixels, sizes.taps, depth, channels)
    return work + lane_cycles(machine.unit, pixels, sizes.taps, rest, channels)


@routine
def task_cycles(machine: MachineCosts, channels: int) -> int:
    """Cycles that a task takes besides its work."""
    return machine.task_cycles + machine.channel_cycles * channels


@routine
def describe_group(sizes: NodeSizes, channels: int, depth: int, group: ChannelGroup) -> None:
    """Fill in what does not depend on the machine."""
    passes = -(-sizes.depth // depth)
    in_channels = depth if sizes.is_dense else -(-channels // sizes.step)
    group.groups, group.passes = -(-sizes.channels // channels), passes
    group.constant_bytes = constant_bytes(sizes, channels, depth)
    group.input_pixel = in_channels * sizes.input_bytes
    group.second_pixel = channels * sizes.second_bytes
    group.sum_pixel = channels * ACCUMULATOR_BYTES if passes > 1 else 0
    group.output_pixel = channels * sizes.output_bytes


@routine
def describe_costs(
    sizes: NodeSizes, machine: MachineCosts, channels: int, depth: int, group: ChannelGroup
) -> None:
    """Fill in what does."""
    group.work_cycles = work_cycles(sizes, machine, channels, depth)
    group.task_cycles = task_cycles(machine, channels)


@routine
def extent(size: int, stride: int, window: int, whole: int) -> int:
    """Rows of the input that so many rows of the output read; or columns."""
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
    return inputs, 1 if sizes.has_table else constants


@routine
def buffer_copies(
    sizes: NodeSizes, group: ChannelGroup, spatial: int, outer: int, double: int
) -> tuple[int, int, int, int]:
    """Buffers for the first and the second input, the constants and the output: with `double` a second one
    for what is filled more than once."""
    inputs, constants = load_counts(sizes, group, spatial, outer)
    tiles = spatial * group.groups
    return (
        1 + double if inputs > 1 else 1,
        1 + double if tiles * group.passes > 1 else 1,
        1 + double if constants > 1 else 1,
        1 + double if tiles > 1 else 1,
    )


@routine
def sram_bytes(sizes: NodeSizes, group: ChannelGroup, tile: Tile) -> int:
    """What all buffers take together."""
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    inputs, seconds, constants, outputs = buffer_copies(
        sizes, group, spatial, tile.is_channels_outer, tile.is_double
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
def describe_lines(sizes: NodeSizes, group: ChannelGroup, tile: Tile, by_rows: int) -> None:
    """Fill in what one of several tiles takes, line by line."""
    lines = group.lines
    inputs, seconds, constants, outputs = buffer_copies(
        sizes, group, 2, tile.is_channels_outer, tile.is_double
    )
    input_bytes, second, sums, output = tile_bytes(sizes, group, 1, sizes.width if by_rows else 1)
    lines.stride, lines.window = sizes.stride_height, sizes.window_height
    lines.input_lines, grows = sizes.input_height, sizes.second_has_rows
    if not by_rows:
        lines.stride, lines.window = sizes.stride_width, sizes.window_width
        lines.input_lines, grows = sizes.input_width, sizes.second_has_columns
    lines.steady_bytes = align(group.constant_bytes) * constants
    if not grows:
        lines.steady_bytes += align(second) * seconds
        second = 0
    line = input_bytes // extent(1, lines.stride, lines.window, lines.input_lines)
    lines.input_bytes, lines.input_copies = line, inputs
    lines.second_bytes, lines.second_copies = second, seconds
    lines.sum_bytes = sums
    lines.output_bytes, lines.output_copies = output, outputs
    lines.start = lines.steady_bytes + line * (lines.window - lines.stride) * inputs
    lines.slope = line * lines.stride * inputs + second * seconds + sums + output * outputs


@routine
def lines_bytes(lines: Lines, size: int) -> int:
    """What all buffers take together for one of several tiles of so many lines."""
    read = extent(size, lines.stride, lines.window, lines.input_lines)
    return (
        lines.steady_bytes
        + align(read * lines.input_bytes) * lines.input_copies
        + align(size * lines.second_bytes) * lines.second_copies
        + align(size * lines.sum_bytes)
        + align(size * lines.output_bytes) * lines.output_copies
    )


@routine
def list_buffers(sizes: NodeSizes, group: ChannelGroup, tile: Tile, listed: BufferSizes) -> None:
    """Fill in the size and copies of every buffer."""
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    inputs, seconds, constants, outputs = buffer_copies(
        sizes, group, spatial, tile.is_channels_outer, tile.is_double
    )
    input_bytes, second, sums, output = tile_bytes(sizes, group, tile.rows, tile.columns)
    _set_buffer(listed.buffers[0], input_bytes, inputs if input_bytes else 1)
    _set_buffer(listed.buffers[1], second, seconds if second else 1)
    _set_buffer(listed.buffers[2], group.constant_bytes, constants)
    _set_buffer(listed.buffers[3], sums, 1)
    _set_buffer(listed.buffers[4], output, outputs if output else 1)


@routine
def _set_buffer(buffer: BufferSize, size_bytes: int, copies: int) -> None:
    buffer.size_bytes, buffer.copies = size_bytes, copies


@routine
def travels(sizes: NodeSizes) -> bool:
    """Whether any tensor lives outside of SRAM."""
    return sizes.input_bytes + sizes.second_bytes + sizes.output_bytes > 0


@routine
def task_stall_cycles(sizes: NodeSizes, machine: MachineCosts, tile: Tile) -> int:
    """Cycles that a task waits for the SRAM's ports."""
    unit, channels, rows = machine.unit, tile.channels, tile.rows
    if not unit.port_rate:
        return 0
    pixels = rows * tile.columns
    work = lane_cycles(unit, pixels, sizes.taps, tile.depth, channels)
    is_partial = tile.depth < sizes.depth
    moved = channels * sizes.record_bytes
    moved += pixels * channels * (2 * ACCUMULATOR_BYTES if is_partial else sizes.output_element_bytes)
    inputs = _positions_read(sizes, rows, tile.columns) * sizes.input_element_bytes
    if machine.rereads_input:
        moved += channels * sizes.weight_bytes * tile.depth * rows
        return grouped_stall_cycles(unit, channels, inputs * tile.depth, moved, work)
    moved += inputs * -(-channels // sizes.step)
    if machine.is_mac:
        moved += channels * sizes.weight_bytes * rows
        return grouped_stall_cycles(unit, channels, 0, moved, work)
    if sizes.input_count > 1:
        moved += pixels * channels * sizes.input_element_bytes
    return stall_cycles(unit, moved, work) + (port_cycles(unit, TABLE_BYTES) if sizes.has_table else 0)


@routine
def _positions_read(sizes: NodeSizes, rows: int, columns: int) -> int:
    """Pixels of the input that some tap of a tile reads."""
    in_rows = extent(rows, sizes.stride_height, sizes.window_height, sizes.input_height)
    in_columns = extent(columns, sizes.stride_width, sizes.window_width, sizes.input_width)
    return positions_read(
        in_rows, rows, sizes.kernel_height, sizes.stride_height, sizes.dilation_height, sizes.common_height
    ) * positions_read(
        in_columns, columns, sizes.kernel_width, sizes.stride_width, sizes.dilation_width, sizes.common_width
    )


@routine
def load_beats(
    sizes: NodeSizes, machine: MachineCosts, group: ChannelGroup, tile: Tile
) -> tuple[int, int, int]:
    """Cycles on the bus for a tile of the first and the second input, and for the constants."""
    bus = machine.bus
    pixel = sizes.input_channels * sizes.input_bytes
    rows = extent(tile.rows, sizes.stride_height, sizes.window_height, sizes.input_height)
    columns = extent(tile.columns, sizes.stride_width, sizes.window_width, sizes.input_width)
    first = box_beats(bus, rows, columns, group.input_pixel, pixel, sizes.input_width * pixel)
    second = 0
    if group.second_pixel:
        rows = tile.rows if sizes.second_has_rows else 1
        columns = tile.columns if sizes.second_has_columns else 1
        pixel = sizes.channels * sizes.second_bytes
        line = pixel * (sizes.width if sizes.second_has_columns else 1)
        second = box_beats(bus, rows, columns, group.second_pixel, pixel, line)
    return first, second, transfer_beats(bus, group.constant_bytes, 1)


@routine
def store_beats(sizes: NodeSizes, machine: MachineCosts, group: ChannelGroup, tile: Tile) -> int:
    """Cycles on the bus for a tile of the output."""
    pixel = sizes.channels * sizes.output_bytes
    return box_beats(machine.bus, tile.rows, tile.columns, group.output_pixel, pixel, sizes.width * pixel)


@routine
def estimate(
    sizes: NodeSizes, machine: MachineCosts, group: ChannelGroup, tile: Tile
) -> tuple[int, int, int]:
    """Cycles, tasks and bytes read; loads, computation and stores overlap where buffers are double."""
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    tiles = spatial * group.groups
    tasks = tiles * group.passes
    input_loads, constant_loads = load_counts(sizes, group, spatial, tile.is_channels_outer)
    input_bytes, second, _, output = tile_bytes(sizes, group, tile.rows, tile.columns)
    constants = group.constant_bytes
    read = input_loads * input_bytes + tasks * second + constant_loads * constants
    compute = group.work_cycles + tasks * (group.task_cycles + task_stall_cycles(sizes, machine, tile))
    first, other, fixed = load_beats(sizes, machine, group, tile)
    beats_in = input_loads * first + tasks * other + constant_loads * fixed
    beats_out = tiles * store_beats(sizes, machine, group, tile)
    loads = (
        (input_loads if input_bytes else 0) + (tasks if second else 0) + (constant_loads if constants else 0)
    )
    latency = machine.bus.latency
    move_in = beats_in + loads * latency
    move_out = beats_out + tiles * latency if output else 0
    cycles = compute + move_in + move_out
    if tile.is_double and tasks > 1:
        ends = latency + first + other + fixed + move_out // tiles
        contention = contention_cycles(machine.bus, beats_in, beats_out)
        cycles = min(cycles, max(compute, move_in + contention, move_out + contention) + ends)
    return cycles, tasks, read
