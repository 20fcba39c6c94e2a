"""How many cycles a node takes with a tiling: routines over the sizes of a node and the costs of a machine.

`sim/formulas.py` says what an operation costs, for the simulator too; this module counts operations.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.tile_buffers import (
    ACCUMULATOR_BYTES,
    DOUBLE,
    DOUBLE_TENSORS,
    extent,
    load_counts,
    spatial_tiles,
    tile_bytes,
)
from dlasim.compiler_shim.lowering.tile_records import ChannelGroup, MachineCosts, NodeSizes, Tile
from dlasim.compiler_shim.lowering.transfers import box_beats
from dlasim.isa.instructions import TABLE_BYTES
from dlasim.native.routine import routine
from dlasim.sim.formulas import (
    contention_cycles,
    grouped_stall_cycles,
    lane_cycles,
    port_cycles,
    positions_read,
    stall_cycles,
    transfer_beats,
)


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
def describe_costs(
    sizes: NodeSizes, machine: MachineCosts, channels: int, depth: int, group: ChannelGroup
) -> None:
    """Fill in what does."""
    group.work_cycles = work_cycles(sizes, machine, channels, depth)
    group.task_cycles = task_cycles(machine, channels)


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
    pixel, line = sizes.input_pixel_stride * sizes.input_bytes, sizes.input_line_stride * sizes.input_bytes
    rows = extent(tile.rows, sizes.stride_height, sizes.window_height, sizes.input_height)
    columns = extent(tile.columns, sizes.stride_width, sizes.window_width, sizes.input_width)
    first = box_beats(bus, rows, columns, group.input_pixel, pixel, line)
    second = 0
    if group.second_pixel:
        rows = tile.rows if sizes.second_has_rows else 1
        columns = tile.columns if sizes.second_has_columns else 1
        pixel = sizes.second_pixel_stride * sizes.second_bytes
        line = sizes.second_line_stride * sizes.second_bytes
        second = box_beats(bus, rows, columns, group.second_pixel, pixel, line)
    if sizes.has_matrix and not sizes.is_matrix_in_sram:
        line = sizes.second_line_stride
        return first, second, box_beats(bus, tile.channels, 1, tile.depth, line, line)
    return first, second, transfer_beats(bus, group.constant_bytes, 1)


@routine
def store_beats(sizes: NodeSizes, machine: MachineCosts, group: ChannelGroup, tile: Tile) -> int:
    """Cycles on the bus for a tile of the output."""
    pixel = sizes.output_pixel_stride * sizes.output_bytes
    line = sizes.output_line_stride * sizes.output_bytes
    return box_beats(machine.bus, tile.rows, tile.columns, group.output_pixel, pixel, line)


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
    start = first + other + fixed  # before the first computation
    ahead = 0 if sizes.has_matrix else machine.loads_ahead
    if ahead:
        copies = 2 if tile.is_double == DOUBLE and constant_loads > 1 else 1
        start -= fixed
        constant_loads -= min(max(group.pieces_ahead, copies), constant_loads)
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
        if tile.is_double == DOUBLE_TENSORS and constants:  # what computes with others waits for them
            compute += (constant_loads - 1 + ahead) * (fixed + latency)
        contention = contention_cycles(machine.bus, beats_in, beats_out)
        store = move_out // tiles
        if machine.is_hopeful:
            start += latency if start else 0
            task = compute // tasks
            busiest = max(
                start + compute, move_in + contention + task, start + task + move_out - store + contention
            )
        else:
            busiest = max(compute, move_in + contention, move_out + contention) + latency + start
        cycles = min(cycles, busiest + store)
    return cycles, tasks, read
