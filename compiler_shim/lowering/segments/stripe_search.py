"""Finds how many rows a stripe of a chain has within a budget of SRAM, and what that costs; routines.

For each stripe of the last node's output, every node computes the rows that the next one lacks, in full width
and depth; each row is computed once. A buffer between two nodes holds some rows: those that the next stripe
still needs are moved to its start, and new rows follow.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.tiles.search import MIN_GAIN_PART
from dlasim.compiler_shim.lowering.tiles.tile_buffers import (
    DOUBLE,
    SINGLE,
    align,
    constant_bytes,
    describe_group,
    list_buffers,
    tile_bytes,
)
from dlasim.compiler_shim.lowering.tiles.tile_costs import (
    contention_both,
    load_beats,
    priced,
    store_beats,
    task_traffic,
    tiled_cycles,
    uncrossed_bytes,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import (
    BUFFERS,
    CONSTANTS,
    INFINITE,
    MAX_CHAIN,
    BufferSizes,
    ChannelGroup,
    MachineCosts,
    NodeSizes,
    Tile,
)
from dlasim.compiler_shim.lowering.tiles.transfers import latency_cycles
from dlasim.native.record import Record, Records, array, member, pointer
from dlasim.native.routine import routine
from dlasim.sim.timing.formulas import UnitCosts, lane_cycles, port_cycles, stall_cycles

# Of a chain: without a limit, each question about 32,768 images that are rows walks as many stripes. The
# built-in networks have no more than 224 rows.
MAX_STRIPES = 1 << 10


class ChainNode(Record):
    """A node of a chain, and what the search notes of the current stripe and of all stripes.

    `problem`, `kind`: the places of its sizes and costs. `work_cycles`: cycles of its work. `task_cycles`:
    cycles of each of its tasks in addition. In a stripe the node computes rows from `done` to `need`. The
    buffer of its output starts at row `base`; before the stripe, the rows from `start` on are moved to its
    beginning. `most`: the most rows that it computes in a stripe. `held`: rows that the buffer holds.
    """

    problem: int = 0
    kind: int = 0
    work_cycles: int = 0
    task_cycles: int = 0
    done: int = 0
    need: int = 0
    base: int = 0
    start: int = 0
    most: int = 0
    held: int = 0


class KnownChain(Record):
    """The best pieces of a chain for every budget from `first` to before `end`: `rows` of the last node's
    output in a stripe, or `group_channels` of the first's in a group; 0 where none fit. `where` is where the
    tensors are, WHERES for each node in turn; `older` what was found before."""

    older: int = 0
    where: int = 0
    first: int = 0
    end: int = 0
    rows: int = 0
    group_channels: int = 0
    cycles: int = 0
    moved_bytes: int = 0
    tensor_cycles: int = 0


class ChainSearch(Record):
    """A chain of `count` nodes, the unit that moves rows within SRAM, and the `best` that was found. A copy
    takes `copy_cycles` besides its work."""

    sizes: Records[NodeSizes] = pointer(NodeSizes)
    costs: Records[MachineCosts] = pointer(MachineCosts)
    nodes: list[ChainNode] = array(ChainNode, MAX_CHAIN)
    count: int = 0
    copier: UnitCosts = member(UnitCosts)
    copy_cycles: int = 0
    best: KnownChain = member(KnownChain)
    # of the stripes that are looked at
    stripes: int = 0
    copies_cycles: int = 0
    copied_bytes: int = 0
    sram_bytes: int = 0
    tile: Tile = member(Tile)
    group: ChannelGroup = member(ChannelGroup)
    buffers: BufferSizes = member(BufferSizes)


@routine
def cut_stripes(chain: ChainSearch, budget: int) -> int:
    """Find the cheapest rows of a stripe that fit: in the fewest stripes, or in more as long as that
    helps."""
    best, constants = chain.best, 0
    best.first, best.end, best.rows, best.group_channels = 0, INFINITE, 0, 0
    for number in range(chain.count):
        sizes = chain.sizes[chain.nodes[number].problem]
        constants += constant_bytes(sizes, sizes.channels, sizes.depth)
    if not fits(chain, constants, budget):
        return 0
    height = chain.sizes[chain.nodes[chain.count - 1].problem].height
    least = height // MAX_STRIPES  # rows that are too few
    low, high = least, height + 1  # rows that fit, rows that do not
    rows = height
    while high - low > 1:
        describe_stripes(chain, rows)
        if fits(chain, chain.sram_bytes, budget):
            low = rows
        else:
            high = rows
        rows = (low + high) // 2
    if low == least:
        return 0
    rows = -(-height // -(-height // low))  # evened out
    describe_stripes(chain, rows)
    if not fits(chain, chain.sram_bytes, budget):  # its stripes may keep more rows
        rows = low
        describe_stripes(chain, rows)
    cycles, moved, loads = _estimate(chain)
    is_better = 1
    while is_better:
        best.rows, best.cycles, best.moved_bytes, best.tensor_cycles = rows, cycles, moved, loads
        is_better = 0
        rows = -(-rows // 2)  # less wait for the first loads and the last store
        if rows > max(least, 1):
            describe_stripes(chain, rows)
            if fits(chain, chain.sram_bytes, budget):  # it may not, since buffers are double now
                cycles, moved, loads = _estimate(chain)
                is_better = 1 if cycles + cycles // MIN_GAIN_PART < best.cycles else 0
    return best.rows


@routine
def fits(chain: ChainSearch, size_bytes: int, budget: int) -> bool:
    """Whether this many bytes fit the budget; notes for which budgets the answer is the same."""
    if size_bytes <= budget:
        chain.best.first = max(chain.best.first, size_bytes)
        return True
    chain.best.end = min(chain.best.end, size_bytes)
    return False


@routine
def describe_stripes(chain: ChainSearch, rows: int) -> None:
    """What stripes of this many rows hold and move."""
    last = chain.count - 1
    height = chain.sizes[chain.nodes[last].problem].height
    for number in range(chain.count):
        node = chain.nodes[number]
        node.done = node.base = node.most = node.held = 0
    chain.stripes = chain.copies_cycles = chain.copied_bytes = 0
    top = 0
    while top < height:
        begin_stripe(chain, top + rows)
        for number in range(chain.count):
            _note_rows(chain, chain.nodes[number], number == last)
        end_stripe(chain)
        chain.stripes += 1
        top += rows
    chain.sram_bytes = 0
    for number in range(chain.count):
        sizes = chain.sizes[chain.nodes[number].problem]
        list_stripe_buffers(chain, number)
        for place in range(BUFFERS):
            buffer = chain.buffers.buffers[place]
            chain.sram_bytes += align(buffer.size_bytes) * buffer.copies
        if number < last:
            chain.sram_bytes += align(chain.nodes[number].held * sizes.width * sizes.channels)


@routine
def begin_stripe(chain: ChainSearch, end: int) -> None:
    """For each node, the row before which it computes in the stripe that ends with row `end` of the last
    node, and the first row that this and later stripes read. The last stripe has also rows that nothing
    reads."""
    last = chain.count - 1
    is_last = 1 if end >= chain.sizes[chain.nodes[last].problem].height else 0
    number = last
    while number >= 0:
        node = chain.nodes[number]
        height = chain.sizes[node.problem].height
        node.need, node.start = height if is_last else end, node.done
        if number < last:
            follower = chain.nodes[number + 1]
            node.need = height if is_last else max(node.done, min(end, height))
            sizes = chain.sizes[follower.problem]
            read = follower.done * sizes.stride_height - sizes.pad_top
            node.start = min(max(read, 0), node.done)
        sizes = chain.sizes[node.problem]
        end = (node.need - 1) * sizes.stride_height - sizes.pad_top + sizes.window_height
        number -= 1


@routine
def end_stripe(chain: ChainSearch) -> None:
    """The next stripe follows."""
    for number in range(chain.count):
        node = chain.nodes[number]
        node.done, node.base = node.need, node.start


@routine
def _note_rows(chain: ChainSearch, node: ChainNode, is_last: int) -> None:
    """What a node does in a stripe."""
    node.most = max(node.most, node.need - node.done)
    if is_last:
        return
    node.held = max(node.held, node.need - node.start)
    sizes = chain.sizes[node.problem]
    kept = (node.done - node.start) * sizes.width * sizes.channels
    if node.start > node.base and kept:
        unit = chain.copier
        work = lane_cycles(unit, 1, 1, 1, kept)
        chain.copies_cycles += work + stall_cycles(unit, 3 * kept, work) + chain.copy_cycles
        chain.copied_bytes += 3 * kept


@routine
def list_stripe_buffers(chain: ChainSearch, number: int) -> None:
    """The buffers of a node, and its tile."""
    node, tile = chain.nodes[number], chain.tile
    sizes = chain.sizes[node.problem]
    tile.rows, tile.columns, tile.channels, tile.depth = node.most, sizes.width, sizes.channels, sizes.depth
    tile.is_channels_outer, tile.buffering = 1, DOUBLE if chain.stripes > 1 else SINGLE
    describe_group(sizes, sizes.channels, sizes.depth, chain.group)
    list_buffers(sizes, chain.group, tile, chain.buffers)


@routine
def _estimate(chain: ChainSearch) -> tuple[int, int, int]:
    """Cycles, bytes over the bus, and cycles of the loads of tensors; loads and stores run in parallel with
    the computation."""
    stripes, costs = chain.stripes, chain.costs[chain.nodes[0].kind]
    group, compute, crossing = chain.group, chain.copies_cycles, chain.copied_bytes
    tensors = constants = waits = constants_wait = first = read = uncrossed = 0
    for number in range(chain.count):
        node = chain.nodes[number]
        sizes = chain.sizes[node.problem]
        list_stripe_buffers(chain, number)
        stall, moved = task_traffic(sizes, chain.costs[node.kind], chain.tile)
        rows = stripes * node.most  # of which the last stripe may lack some
        compute += stripes * (node.task_cycles + stall * sizes.height // rows)
        crossing += stripes * moved * sizes.height // rows
        first_input, first_second, constant_beats = load_beats(sizes, costs, group, chain.tile)
        first += first_input + first_second
        chain.tile.rows = -(-sizes.height // stripes)  # as in most stripes
        unit = chain.costs[node.kind].unit
        compute += tiled_cycles(sizes, unit, node.work_cycles, chain.tile.rows, sizes.width)
        input_bytes, second_bytes, _, _ = tile_bytes(sizes, group, chain.tile.rows, chain.tile.columns)
        read += stripes * (input_bytes + second_bytes)
        input_beats, second_beats, _ = load_beats(sizes, costs, group, chain.tile)
        tensors += stripes * (input_beats + second_beats)
        waits += stripes * latency_cycles(costs.bus, input_beats) if group.input_pixel else 0
        waits += stripes * latency_cycles(costs.bus, second_beats) if group.second_pixel else 0
        read += chain.buffers.buffers[CONSTANTS].size_bytes
        uncrossed += uncrossed_bytes(costs, group.packed_bytes, group.spared_bytes)
        if not costs.assumes_prefetch:
            constants_wait += latency_cycles(costs.constants, constant_beats) if group.constant_bytes else 0
            constants, first = constants + constant_beats, first + constant_beats
    sending = store_beats(sizes, costs, group, chain.tile)
    written = sizes.height * sizes.width * sizes.channels * sizes.output_bytes
    crossing += costs.dma_shares_ports * (read + written)
    latency = max(costs.bus.latency, costs.constants.latency) if constants else costs.bus.latency
    store = sending + (costs.bus.latency if written else 0)
    move_in = tensors + waits + constants + constants_wait
    contention, store_contention = contention_both(costs, tensors, constants, stripes * sending)
    ports = port_cycles(costs.unit.port_rate, crossing)
    lead, task = first + latency, compute // stripes
    if costs.assumes_overlap:
        sent = lead + task + (stripes - 1) * store + store_contention
        busiest = max(max(lead + compute, move_in + contention + task), max(sent, lead + ports))
    else:
        busiest = max(max(compute, move_in + contention), max(stripes * store + store_contention, ports))
        busiest += lead
    moved_bytes = read - uncrossed + written
    return busiest + store + priced(costs, moved_bytes), moved_bytes, tensors + waits
