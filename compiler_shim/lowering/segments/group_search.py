"""Finds how many channels a group of a chain has within a budget of SRAM, and what that costs; routines.

The channels of the first node's output are cut into groups. The nodes after it keep channels apart, as
depthwise convolutions and pools do; the last one may also sum over them, and then adds a group to its
accumulators in each pass. So the weights of all nodes are loaded side by side, a group of each at a time, and
each is used once. A buffer between two nodes holds two groups: the first node is a group ahead of the others.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.segments.stripe_search import ChainSearch, fits
from dlasim.compiler_shim.lowering.tiles.search import smaller_group
from dlasim.compiler_shim.lowering.tiles.tile_buffers import (
    DOUBLE,
    align,
    describe_group,
    load_counts,
    sram_bytes,
    tile_bytes,
)
from dlasim.compiler_shim.lowering.tiles.tile_costs import (
    constants_load_cycles,
    contention_both,
    load_beats,
    priced,
    store_beats,
    task_traffic,
    uncrossed_bytes,
    work_cycles,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import MachineCosts, NodeSizes
from dlasim.compiler_shim.lowering.tiles.transfers import latency_cycles
from dlasim.isa.registers import MAX_EXTENT
from dlasim.native.routine import routine
from dlasim.sim.timing.formulas import port_cycles

COPIES = 2  # of the buffers between nodes
MIN_SAVED_PART = 8  # a chain must be able to save an eighth of its cycles


@routine
def cut_groups(chain: ChainSearch, budget: int) -> None:
    """Find the cheapest group that fits, and keep it if it takes less time than the stripes that were
    found."""
    if not (may_gain(chain) and _is_groupable(chain)):
        return
    best, lanes = chain.best, 0
    for number in range(chain.count):
        lanes = max(lanes, _costs(chain, number).unit.output_lanes)
    channels = _sizes(chain, 0).channels
    size, parts = smaller_group(channels, 1, lanes, channels, 1)
    while size >= lanes:  # smaller groups waste work
        _describe(chain, size)
        if fits(chain, chain.sram_bytes, budget):
            cycles, moved, loads = _estimate(chain, size)
            if not (best.rows or best.group_channels) or cycles < best.cycles:
                best.rows, best.group_channels = 0, size
                best.cycles, best.moved_bytes, best.tensor_cycles = cycles, moved, loads
        size, parts = smaller_group(channels, 1, lanes, size, parts)


@routine
def _sizes(chain: ChainSearch, number: int) -> NodeSizes:
    return chain.sizes[chain.nodes[number].problem]


@routine
def _costs(chain: ChainSearch, number: int) -> MachineCosts:
    return chain.costs[chain.nodes[number].kind]


@routine
def may_gain(chain: ChainSearch) -> bool:
    """Whether some nodes load for longer than they compute, and others have time for it."""
    all_work = all_loads = longer = 0
    for number in range(chain.count):
        work = chain.nodes[number].work_cycles
        loads = constants_load_cycles(_sizes(chain, number), _costs(chain, number))
        all_work, all_loads, longer = all_work + work, all_loads + loads, longer + max(work, loads)
    least = max(all_work, all_loads)
    return MIN_SAVED_PART * (longer - least) >= least


@routine
def _is_groupable(chain: ChainSearch) -> bool:
    """Whether each node but the first and the last keeps channels separate, and each can be cut between any
    two channels."""
    for number in range(chain.count):
        sizes = _sizes(chain, number)
        if sizes.input_count > 1 or _costs(chain, number).is_channel_by_channel or sizes.has_matrix:
            return False
        if max(max(sizes.height, sizes.width), max(sizes.input_height, sizes.input_width)) > MAX_EXTENT:
            return False
        if not _sums(chain, number) and sizes.step > 1:
            return False
        if sizes.is_dense and 0 < number < chain.count - 1:
            return False
    return True


@routine
def _sums(chain: ChainSearch, number: int) -> int:
    """Whether a node of a chain sums over the groups."""
    return 1 if number > 0 and _sizes(chain, number).is_dense else 0


@routine
def describe_group_tile(chain: ChainSearch, number: int, size: int) -> None:
    """What a node computes at once, with `size` channels in a group: its tile, and its `group`."""
    sizes, tile = _sizes(chain, number), chain.tile
    tile.rows, tile.columns, tile.channels, tile.depth = sizes.height, sizes.width, size, sizes.depth
    if _sums(chain, number):
        tile.channels, tile.depth = sizes.channels, size
    tile.is_channels_outer, tile.buffering = 1, DOUBLE
    describe_group(sizes, tile.channels, tile.depth, chain.group)


@routine
def _describe(chain: ChainSearch, size: int) -> None:
    """What groups of so many channels take in SRAM."""
    chain.sram_bytes = 0
    for number in range(chain.count):
        sizes = _sizes(chain, number)
        describe_group_tile(chain, number, size)
        chain.sram_bytes += sram_bytes(sizes, chain.group, chain.tile)
        if number < chain.count - 1:
            chain.sram_bytes += between_bytes(sizes, size)


@routine
def between_bytes(sizes: NodeSizes, size: int) -> int:
    """What lies between a node and the next one takes in groups of so many channels."""
    return COPIES * align(sizes.height * sizes.width * size)


@routine
def _estimate(chain: ChainSearch, size: int) -> tuple[int, int, int]:
    """Cycles, bytes over the bus, and cycles of the loads of tensors. Loads, both units and the stores run
    side by side, once the first group is loaded; the nodes after the first compute the last group alone."""
    channels, costs, last = _sizes(chain, 0).channels, _costs(chain, 0), chain.count - 1
    groups, group = -(-channels // size), chain.group
    on_mac = on_vector = after = crossing = 0
    tensors = tensors_wait = constants = constants_wait = first = read = uncrossed = 0
    for number in range(chain.count):
        sizes, machine = _sizes(chain, number), _costs(chain, number)
        describe_group_tile(chain, number, size)
        stall, moved = task_traffic(sizes, machine, chain.tile)
        taken = work_cycles(sizes, machine, chain.tile.channels, chain.tile.depth)
        # The last group has fewer channels.
        taken += groups * chain.nodes[number].task_cycles + stall * channels // size
        on_mac += taken * machine.is_mac
        on_vector += taken * (1 - machine.is_mac)
        after += taken // groups if number else 0
        crossing += moved * channels // size
        loads, pieces = load_counts(sizes, group, 1, 1)
        beats, _, fixed = load_beats(sizes, machine, group, chain.tile)
        if group.input_pixel:
            size_bytes, _, _, _ = tile_bytes(sizes, group, sizes.height, sizes.width)
            tensors, tensors_wait = (
                tensors + loads * beats,
                tensors_wait + loads * latency_cycles(costs.bus, beats),
            )
            read, first = read + loads * size_bytes, first + beats
        if group.constant_bytes:
            read += pieces * group.constant_bytes
            uncrossed += pieces * uncrossed_bytes(costs, group.packed_bytes, group.spared_bytes)
            first += 0 if number or costs.assumes_prefetch else fixed
            pieces -= costs.assumes_prefetch
            constants += pieces * fixed
            constants_wait += pieces * latency_cycles(costs.constants, fixed)
    sizes = _sizes(chain, last)
    sending = store_beats(sizes, costs, group, chain.tile)
    written = sizes.height * sizes.width * sizes.channels * sizes.output_bytes
    stores = 1 if _sums(chain, last) else groups
    store = sending + (costs.bus.latency if written else 0)
    contention, store_contention = contention_both(costs, tensors, constants, stores * sending)
    crossing += costs.dma_shares_ports * (read + written)
    loads = tensors + tensors_wait + constants + constants_wait
    busiest = max(
        max(max(on_mac, on_vector) + (after if on_vector else 0), loads + contention + after),
        max(stores * store + store_contention, port_cycles(costs.unit.port_rate, crossing)),
    )
    cycles = first + max(costs.bus.latency, costs.constants.latency) + busiest + store
    moved_bytes = read - uncrossed + written
    return cycles + priced(costs, moved_bytes), moved_bytes, tensors + tensors_wait
