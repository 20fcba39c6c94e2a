"""How many cycles a node takes with a tiling: routines over the sizes of a node and the costs of a machine.

`sim/timing/formulas.py` says what an operation costs, for the simulator too; this module counts operations.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.tiles.tile_buffers import (
    ACCUMULATOR_BYTES,
    DOUBLE,
    DOUBLE_TENSORS,
    SINGLE,
    constant_bytes,
    describe_group,
    extent,
    load_counts,
    packed_bytes,
    spared_bytes,
    spatial_tiles,
    tile_bytes,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import ChannelGroup, MachineCosts, NodeSizes, Tile
from dlasim.compiler_shim.lowering.tiles.transfers import box_beats, constants_beats, latency_cycles
from dlasim.native.routine import routine
from dlasim.sim.timing.formulas import (
    UnitCosts,
    block_outputs,
    contention_cycles,
    excess,
    first_fetch_cycles,
    grouped_costs,
    lane_costs,
    lane_cycles,
    lines_moved,
    lines_under,
    loaded_turns,
    output_cycles,
    pixel_turns,
    port_cycles,
    positions_read,
    row_crossings,
)

PRICE_UNIT = 1 << 10  # in a cycle
WHOLE = 1 << 10  # shares are parts of it: of a tile's traffic in a tile, of the ports in a load


@routine
def work_cycles(sizes: NodeSizes, machine: MachineCosts, channels: int, depth: int) -> int:
    """Cycles of pure work, in groups of output channels and passes over the input channels."""
    whole, rest = sizes.channels // channels, sizes.channels % channels
    return whole * _group_cycles(sizes, machine, channels, depth) + _group_cycles(sizes, machine, rest, depth)


@routine
def _group_cycles(sizes: NodeSizes, machine: MachineCosts, channels: int, depth: int) -> int:
    """Cycles of pure work on all pixels of a group of output channels, in passes over the input channels."""
    turns = pixel_turns(machine.unit, sizes.height, sizes.width)
    passes, rest = sizes.depth // depth, sizes.depth % depth
    work = passes * lane_cycles(machine.unit, turns, sizes.taps, depth, channels)
    return work + lane_cycles(machine.unit, turns, sizes.taps, rest, channels)


@routine
def tiled_cycles(sizes: NodeSizes, unit: UnitCosts, work: int, rows: int, columns: int) -> int:
    """Cycles of pure work in tiles of so many rows and columns, from those on all pixels at once: in each
    tile the last turns may lack pixels, and a step takes no less than loading its weights."""
    if unit.load_cycles == 1 and unit.pixel_rows == 1 and unit.pixel_columns == 1:
        return work
    turns = sizes.height // rows * _loaded_rows(sizes, unit, rows, columns)
    turns += _loaded_rows(sizes, unit, sizes.height % rows, columns)
    return work // _loaded_rows(sizes, unit, sizes.height, sizes.width) * turns


@routine
def _loaded_rows(sizes: NodeSizes, unit: UnitCosts, rows: int, columns: int) -> int:
    """Cycles of a step on the tiles of some rows."""
    whole = sizes.width // columns * loaded_turns(unit, pixel_turns(unit, rows, columns))
    return whole + loaded_turns(unit, pixel_turns(unit, rows, sizes.width % columns))


@routine
def task_cycles(machine: MachineCosts, channels: int) -> int:
    """Cycles that a task takes besides its work."""
    return machine.task_cycles + machine.channel_cycles * channels


@routine
def describe_costs(
    sizes: NodeSizes, machine: MachineCosts, channels: int, depth: int, group: ChannelGroup
) -> None:
    """Fill in the cycles of a group, which depend on the machine."""
    group.traffic_rows = 0
    group.work_cycles = work_cycles(sizes, machine, channels, depth)
    group.task_cycles = task_cycles(machine, channels)


@routine
def priced(machine: MachineCosts, moved_bytes: int) -> int:
    """What bytes over the bus count beside their time. The product of both may have more than 64 bits."""
    whole, rest = moved_bytes // PRICE_UNIT, moved_bytes % PRICE_UNIT
    return whole * machine.byte_price + rest * machine.byte_price // PRICE_UNIT


@routine
def uncrossed_bytes(machine: MachineCosts, packed: int, spared: int) -> int:
    """Bytes of constants that do not cross the bus: what becomes of packed weights beside their own bytes,
    and what compression spares."""
    return spared + (packed if machine.constants.packed_rate else 0)


@routine
def _whole_constants(sizes: NodeSizes) -> tuple[int, int, int]:
    """The bytes of all constants, and of those that are packed, or spared."""
    channels, depth = sizes.channels, sizes.depth
    size = constant_bytes(sizes, channels, depth)
    return size, packed_bytes(sizes, channels, depth), spared_bytes(sizes, channels, depth)


@routine
def constants_price(sizes: NodeSizes, machine: MachineCosts) -> int:
    """What the bytes of all constants count."""
    size, packed, spared = _whole_constants(sizes)
    return priced(machine, size - uncrossed_bytes(machine, packed, spared))


@routine
def constants_load_cycles(sizes: NodeSizes, costs: MachineCosts) -> int:
    """Cycles of loading all constants of a node at once."""
    size, packed, spared = _whole_constants(sizes)
    return constants_beats(costs.constants, size, packed, spared) + costs.constants.latency


@routine
def least_cycles(sizes: NodeSizes, machine: MachineCosts) -> int:
    """Cycles of a whole node in its unit alone."""
    work = work_cycles(sizes, machine, sizes.channels, sizes.depth)
    results = sizes.height * sizes.width * sizes.channels
    return work + excess(output_cycles(results, machine.unit.result_cycles), work)


@routine
def least_price(sizes: NodeSizes, machine: MachineCosts) -> int:
    """What the bytes over the bus count where each is moved once, the second input apart."""
    inputs = sizes.input_height * sizes.input_width * sizes.input_bytes
    inputs *= sizes.depth if sizes.is_dense else sizes.channels // sizes.multiplier
    outputs = sizes.height * sizes.width * sizes.channels * sizes.output_bytes
    return priced(machine, inputs + outputs) + constants_price(sizes, machine)


@routine
def task_traffic(sizes: NodeSizes, machine: MachineCosts, tile: Tile) -> tuple[int, int]:
    """Cycles that the output stage and the SRAM's ports add to the work of a task, and the bytes that cross
    the ports."""
    channels, operations = tile.channels, 1
    if machine.is_channel_by_channel:
        channels, operations = 1, tile.channels
    unit, pixels, input_bytes = machine.unit, tile.rows * tile.columns, sizes.input_element_bytes
    turns = pixel_turns(unit, tile.rows, tile.columns)
    work = lane_cycles(unit, turns, sizes.taps, tile.depth, channels)
    is_partial = 1 if tile.depth < sizes.depth else 0
    moved = channels * sizes.record_bytes
    moved += pixels * channels * (2 * ACCUMULATOR_BYTES if is_partial else sizes.output_element_bytes)
    in_channels = tile.depth if machine.rereads_input else -(-channels // sizes.multiplier)
    inputs = _input_bytes(sizes, machine, tile, in_channels)
    if machine.is_mac:
        each_group, depth, pixel_bytes = 0, 0, input_bytes
        if machine.rereads_input:
            each_group, depth, pixel_bytes = inputs, tile.depth, 0
        else:
            moved += inputs
        if sizes.input_count > 1:  # a tensor that is added to the results
            moved += pixels * channels * input_bytes
            pixel_bytes += input_bytes
        pixel_bytes += ACCUMULATOR_BYTES * is_partial
        weights = sizes.weight_bytes * tile.depth
        block_input = 0
        if unit.in_blocks:
            rows, columns = block_outputs(unit, tile.rows, tile.columns)
            block_input = lines_under(rows, sizes.stride_height, sizes.window_height, sizes.input_height)
            block_input *= lines_under(columns, sizes.stride_width, sizes.window_width, sizes.input_width)
        first = first_fetch_cycles(
            unit, channels, pixels, turns, depth, weights, sizes.record_bytes, pixel_bytes, block_input,
            input_bytes,
        )  # fmt: skip
        result_bytes = ACCUMULATOR_BYTES if is_partial else sizes.output_element_bytes
        output, stall, moved = grouped_costs(
            unit, channels, pixels, turns, work, each_group, moved, weights, result_bytes, first
        )
        return operations * (output + stall), operations * moved
    moved += inputs * row_crossings(unit, channels * input_bytes)
    if sizes.input_count > 1:
        moved += pixels * channels * input_bytes
    output, stall = lane_costs(
        unit, work, pixels, channels, unit.result_cycles, moved, sizes.taps, input_bytes
    )
    table = sizes.table_bytes
    return output + stall + port_cycles(unit.port_rate, table), moved + table


@routine
def _input_bytes(sizes: NodeSizes, machine: MachineCosts, tile: Tile, channels: int) -> int:
    """Bytes of the input of a tile that cross the ports for a group of output channels."""
    in_rows = extent(tile.rows, sizes.stride_height, sizes.window_height, sizes.input_height)
    in_columns = extent(tile.columns, sizes.stride_width, sizes.window_width, sizes.input_width)
    rows = positions_read(
        in_rows, tile.rows, sizes.kernel_height, sizes.stride_height, sizes.dilation_height,
        sizes.common_height,
    )  # fmt: skip
    columns = positions_read(
        in_columns, tile.columns, sizes.kernel_width, sizes.stride_width, sizes.dilation_width,
        sizes.common_width,
    )  # fmt: skip
    held = channels
    if machine.is_mac and not machine.rereads_input:
        held = min(channels, machine.unit.output_lanes)
    span = min(sizes.window_height, in_rows)
    element, tap_rows = sizes.input_element_bytes, tile.rows * sizes.kernel_height
    lines = lines_moved(machine.unit, columns * held * element, rows, span, tap_rows)
    return lines * columns * channels * element


@routine
def tiles_share(sizes: NodeSizes, group: ChannelGroup, tile: Tile, spatial: int) -> int:
    """How much of their traffic tiles have on average: the last tiles of an axis are smaller."""
    share = WHOLE * sizes.height * sizes.width * sizes.channels
    return share // (spatial * tile.rows * tile.columns * group.groups * tile.channels)


@routine
def compute_cycles(
    sizes: NodeSizes, machine: MachineCosts, group: ChannelGroup, tile: Tile, tasks: int
) -> tuple[int, int]:
    """Cycles of all computations in so many tasks, and those of the SRAM's ports for them; fills in the
    tile's group."""
    describe_group(sizes, tile.channels, tile.depth, group)
    describe_costs(sizes, machine, tile.channels, tile.depth, group)
    stall, moved = task_traffic(sizes, machine, tile)
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    computations, share = spatial * group.groups * group.passes, tiles_share(sizes, group, tile, spatial)
    work = tiled_cycles(sizes, machine.unit, group.work_cycles, tile.rows, tile.columns)
    cycles = work + tasks * group.task_cycles + computations * stall * share // WHOLE
    return cycles, port_cycles(machine.unit.port_rate, computations * moved * share // WHOLE)


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
    fixed = constants_beats(machine.constants, group.constant_bytes, group.packed_bytes, group.spared_bytes)
    return first, second, fixed


@routine
def tensor_load_cycles(sizes: NodeSizes, machine: MachineCosts, group: ChannelGroup, tile: Tile) -> int:
    """Cycles of all loads of tensors, one after the other; the tile's group is filled in."""
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    input_loads, matrix_loads = load_counts(sizes, group, spatial, tile.is_channels_outer)
    first, second, fixed = load_beats(sizes, machine, group, tile)
    cycles = 0
    if group.input_pixel:
        cycles += input_loads * (first + latency_cycles(machine.bus, first))
    if group.second_pixel:
        tasks = spatial * group.groups * group.passes
        cycles += tasks * (second + latency_cycles(machine.bus, second))
    if sizes.has_matrix and group.constant_bytes:
        cycles += matrix_loads * (fixed + latency_cycles(machine.bus, fixed))
    return cycles


@routine
def store_beats(sizes: NodeSizes, machine: MachineCosts, group: ChannelGroup, tile: Tile) -> int:
    """Cycles on the bus for a tile of the output."""
    pixel = sizes.output_pixel_stride * sizes.output_bytes
    line = sizes.output_line_stride * sizes.output_bytes
    return box_beats(machine.bus, tile.rows, tile.columns, group.output_pixel, pixel, line)


@routine
def contention_both(
    machine: MachineCosts, tensor_beats: int, constant_beats: int, beats_out: int
) -> tuple[int, int]:
    """How many cycles contention adds to loads and to stores, from the cycles that each needs on the bus
    alone."""
    beats_in = tensor_beats + constant_beats
    if machine.is_one_memory:
        cycles = contention_cycles(machine.bus, beats_in, beats_out)
        return cycles, cycles
    rest = excess(beats_out, tensor_beats)  # of the stores, which run while constants are loaded
    loads = contention_cycles(machine.bus, tensor_beats, beats_out)
    stores = contention_cycles(machine.bus, beats_out - rest, tensor_beats)
    loads += contention_cycles(machine.constants, constant_beats, rest)
    return loads, stores + contention_cycles(machine.stores, rest, constant_beats)


@routine
def estimate(
    sizes: NodeSizes, machine: MachineCosts, group: ChannelGroup, tile: Tile
) -> tuple[int, int, int]:
    """Cycles, tasks and bytes that the SRAM gets; loads, computation and stores overlap where buffers are
    double."""
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    tiles = spatial * group.groups
    tasks = tiles * group.passes
    input_loads, constant_loads = load_counts(sizes, group, spatial, tile.is_channels_outer)
    input_bytes, second, _, output = tile_bytes(sizes, group, tile.rows, tile.columns)
    constants = group.constant_bytes
    uncrossed = constant_loads * uncrossed_bytes(machine, group.packed_bytes, group.spared_bytes)
    read = input_loads * input_bytes + tasks * second + constant_loads * constants
    if tile.rows != group.traffic_rows or tile.columns != group.traffic_columns:
        group.traffic_rows, group.traffic_columns = tile.rows, tile.columns
        group.stall, group.moved = task_traffic(sizes, machine, tile)
    stall, moved = group.stall, group.moved
    share = tiles_share(sizes, group, tile, spatial)
    work = tiled_cycles(sizes, machine.unit, group.work_cycles, tile.rows, tile.columns)
    compute = work + tasks * group.task_cycles + tasks * stall * share // WHOLE
    first, other, fixed = load_beats(sizes, machine, group, tile)
    start = first + other + fixed  # before the first computation
    prefetch = 0 if sizes.has_matrix else machine.assumes_prefetch
    if prefetch:
        copies = 2 if tile.buffering == DOUBLE and constant_loads > 1 else 1
        start -= fixed
        constant_loads -= min(max(group.prefetched_pieces, copies), constant_loads)
    beats_in = input_loads * first + tasks * other + constant_loads * fixed
    beats_out = tiles * store_beats(sizes, machine, group, tile)
    tensor_beats = input_loads * first + tasks * other
    memory = machine.bus if sizes.has_matrix else machine.constants
    if machine.is_one_memory:  # which has one outstanding transfer
        waits = (input_loads if input_bytes else 0) + (tasks if second else 0)
        waits = (waits + (constant_loads if constants else 0)) * memory.latency
        latency = store_latency = memory.latency
    else:
        waits = input_loads * latency_cycles(machine.bus, first) if input_bytes else 0
        waits += tasks * latency_cycles(machine.bus, other) if second else 0
        waits += constant_loads * latency_cycles(memory, fixed) if constants else 0
        latency = max(machine.bus.latency, memory.latency) if constants else machine.bus.latency
        store_latency = latency_cycles(machine.bus, beats_out // tiles)
    move_in = beats_in + waits
    move_out = beats_out + tiles * store_latency if output else 0
    cycles = compute + move_in + move_out
    if tile.buffering != SINGLE and tasks > 1:
        if tile.buffering == DOUBLE_TENSORS and constants:  # what computes with others waits for them
            compute += (constant_loads - 1 + prefetch) * (fixed + memory.latency)
        contention = store_contention = contention_cycles(machine.bus, beats_in, beats_out)
        if not machine.is_one_memory:
            contention, store_contention = contention_both(
                machine, tensor_beats, beats_in - tensor_beats, beats_out
            )
        moved = tasks * moved * share // WHOLE + machine.dma_shares_ports * (read + tiles * output)
        ports = port_cycles(machine.unit.port_rate, moved)
        store = move_out // tiles
        if machine.assumes_overlap:
            start += latency if start else 0
            task = compute // tasks
            sent = start + task + move_out - store + store_contention
            busiest = max(start + compute, move_in + contention + task, sent, start + ports)
        else:
            busiest = max(compute, move_in + contention, move_out + store_contention, ports) + latency + start
        cycles = min(cycles, busiest + store)
    return cycles + priced(machine, read - uncrossed + tiles * output), tasks, read
