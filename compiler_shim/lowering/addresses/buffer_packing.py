"""Packs the buffers of each node or chain into the SRAM that tensors leave free; a routine."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.packed_records import (
    PackedNode,
    Packing,
)
from dlasim.compiler_shim.lowering.addresses.range_list import insert_range
from dlasim.compiler_shim.lowering.segments.group_search import between_bytes, describe_group_tile
from dlasim.compiler_shim.lowering.segments.known_chains import ChainTable, add_node, find_chain
from dlasim.compiler_shim.lowering.segments.stripe_search import (
    ChainSearch,
    KnownChain,
    describe_stripes,
    list_stripe_buffers,
)
from dlasim.compiler_shim.lowering.states import StateSearch
from dlasim.compiler_shim.lowering.tiles.known_tilings import (
    NONE,
    WHERES,
    TilingTable,
    find_tiling,
    where_bits,
)
from dlasim.compiler_shim.lowering.tiles.search import PREFETCH_PART
from dlasim.compiler_shim.lowering.tiles.tile_buffers import (
    ALIGNMENT,
    align,
    describe_group,
    list_buffers,
    load_counts,
    spatial_tiles,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import (
    BUFFERS,
    CONSTANTS,
    INFINITE,
    MAX_CHAIN,
    SECOND_INPUT,
    BufferSizes,
    Tile,
)
from dlasim.native.routine import routine

# Segments before, some of which are short: with 1, smollm2 with weights of 4 bits lost 0.6 %.
_KEPT_APART = 3


@routine
def pack_nodes(packing: Packing, search: StateSearch, table: ChainTable) -> int:
    """Give the buffers of each segment their addresses. Returns the place of a node whose buffers do not fit
    next to the tensors, NONE for none. The nodes of a chain that does not fit are packed one by one."""
    packing.segment_count = packing.range_count = packing.is_from_top = 0
    packing.used_bytes = packing.changing_bytes = 0
    _list_alive(packing)
    for number in range(search.chosen_count):
        place, count = search.chosen[3 * number], search.chosen[3 * number + 1]
        is_packed = 1 if count > 1 and _pack(packing, search, table, place, count) else 0
        for each in range(place, place + count):
            if not (is_packed or _pack(packing, search, table, each, 1)):
                return each
    return NONE


@routine
def _pack(packing: Packing, search: StateSearch, table: ChainTable, place: int, count: int) -> bool:
    """Find tiles of a node or a chain whose buffers fit; whether there are any."""
    first = packing.range_count
    _list_tensors(packing, place, count)
    tensors = packing.range_count
    budget = _find_gaps(packing, first, tensors)
    # Tensors that share bytes one after the other would meet where the steps of a chain run side by side.
    if packing.tensor_bytes > packing.limit - budget:
        budget = 0
    while budget > 0:
        size = _cut(packing, search, table, place, count, budget)
        is_placed = 0
        if size != NONE and packing.apart:
            before = max(packing.segment_count - _KEPT_APART, 0)
            start = packing.segments[before].first_range if packing.segment_count else first
            _find_gaps(packing, start, tensors)
            is_placed = 1 if _fit(packing) else 0
        if size != NONE and not is_placed:
            _find_gaps(packing, first, tensors)
            is_placed = 1 if _fit(packing) else 0
        if is_placed:
            _note(packing, table, place, count, first, size)
            return True
        budget = 0 if size == NONE else min(budget, size) - 1
    packing.range_count = first
    return False


@routine
def _list_alive(packing: Packing) -> None:
    """List by step the tensors that are in SRAM, from the last to the first, which becomes the newest."""
    for step in range(packing.step_count):
        packing.newest[step] = NONE
    count = 0
    for turn in range(packing.residents.count):
        number = packing.residents.count - 1 - turn
        tensor = packing.residents.ranges[number]
        for step in range(max(tensor.first, 0), tensor.last + 1):
            alive = packing.alive[count]
            alive.tensor, alive.older, packing.newest[step] = number, packing.newest[step], count
            count += 1


@routine
def _list_tensors(packing: Packing, place: int, count: int) -> None:
    """List the ranges of the tensors that are in SRAM while any of some nodes runs."""
    packing.tensor_bytes = 0
    for each in range(place, place + count):
        number = packing.newest[packing.numbers[each]]
        while number != NONE:
            tensor = packing.residents.ranges[packing.alive[number].tensor]
            if each == place or tensor.first == packing.numbers[each]:
                _occupy(packing, tensor.address, tensor.address + tensor.size_bytes, NONE)
                packing.tensor_bytes += tensor.size_bytes
            number = packing.alive[number].older


@routine
def _occupy(packing: Packing, start: int, end: int, owner: int) -> None:
    occupied = packing.ranges[packing.range_count]
    occupied.start, occupied.end, occupied.owner = start, end, owner
    packing.range_count += 1


@routine
def _find_gaps(packing: Packing, first: int, end: int) -> int:
    """List the gaps that some ranges leave below the limit; their bytes."""
    busy = packing.busy
    busy.count = 0
    for number in range(first, end):
        insert_range(busy, packing.ranges[number].start, packing.ranges[number].end)
    position = free = packing.gap_count = 0
    for number in range(busy.count):
        free += _add_gap(packing, position, busy.starts[number])
        position = busy.ends[number]
    return free + _add_gap(packing, position, packing.limit)


@routine
def _add_gap(packing: Packing, start: int, end: int) -> int:
    """Its bytes, if it is one."""
    if start >= end:
        return 0
    gap = packing.gaps[packing.gap_count]
    gap.start, gap.end = start, end
    packing.gap_count += 1
    return end - start


@routine
def _fit(packing: Packing) -> bool:
    """Find places for the buffers in the gaps, for the largest first; whether there are."""
    for number in range(packing.gap_count):
        gap = packing.gaps[number]
        gap.start, gap.end = align(gap.start), gap.end // ALIGNMENT * ALIGNMENT
    for place in range(packing.buffer_count):
        number = packing.order[place]
        packing.addresses[number] = _take(packing, packing.sizes[number])
        if packing.addresses[number] == NONE:
            return False
    return True


@routine
def _take(packing: Packing, size: int) -> int:
    """An address for so many bytes, NONE for none."""
    for turn in range(packing.gap_count):
        gap = packing.gaps[packing.gap_count - 1 - turn if packing.is_from_top else turn]
        if gap.end - gap.start >= size:
            if packing.is_from_top:
                gap.end -= size
                return gap.end
            gap.start += size
            return gap.start - size
    return NONE


@routine
def _cut(
    packing: Packing, search: StateSearch, table: ChainTable, place: int, count: int, budget: int
) -> int:
    """Cut a node or a chain for a budget, and list its buffers: their bytes, NONE where nothing fits."""
    packing.buffer_count = 0
    if count > 1:
        is_cut = _cut_chain(packing, search, table, place, count, budget)
    else:
        is_cut = _cut_node(packing, search, table.tilings, place, budget)
    if not is_cut:
        return NONE
    size = 0
    for number in range(packing.buffer_count):
        size += packing.sizes[number]
        order = number
        while order > 0 and packing.sizes[packing.order[order - 1]] < packing.sizes[number]:
            packing.order[order] = packing.order[order - 1]
            order -= 1
        packing.order[order] = number
    return size


@routine
def _cut_node(packing: Packing, search: StateSearch, table: TilingTable, place: int, budget: int) -> bool:
    node, segment = packing.nodes[place], packing.segments[packing.segment_count]
    node.problem = search.kinds[place] * WHERES + _where(packing, search, place)
    number = find_tiling(table, node.problem, budget)
    if number == NONE or not table.tilings[number].tasks:
        return False
    found = table.tilings[number]
    node.tasks = segment.rounds = found.tasks
    segment.cycles = min(found.cycles, INFINITE)
    segment.groups = segment.stripe_rows = segment.tensor_cycles = 0
    _describe(packing, node, found.tile, found.buffers, table.sizes[node.problem].input_count)
    packing.own = packing.buffer_count
    return True


@routine
def _cut_chain(
    packing: Packing, search: StateSearch, table: ChainTable, place: int, count: int, budget: int
) -> bool:
    chain, segment = table.search, packing.segments[packing.segment_count]
    where = chain.count = 0
    for each in range(place, place + count):
        is_last = 1 if each == place + count - 1 else 0
        where = where * WHERES + add_node(chain, search.kinds[each], _where(packing, search, each), is_last)
    found = find_chain(table, search.chain_numbers[place * MAX_CHAIN + count - 1], where, budget)
    if found == NONE:
        return False
    known = table.chains[found]
    if not (known.rows or known.group_channels):
        return False
    segment.cycles, segment.tensor_cycles = min(known.cycles, INFINITE), min(known.tensor_cycles, INFINITE)
    segment.groups, segment.stripe_rows = 0, known.rows
    if known.rows:
        describe_stripes(chain, known.rows)
        tasks = segment.rounds = chain.stripes
    else:
        tasks = segment.groups = -(-chain.sizes[chain.nodes[0].problem].channels // known.group_channels)
        segment.rounds = tasks + 1
    _describe_chain(packing, chain, known, place, tasks)
    return True


@routine
def _describe_chain(packing: Packing, chain: ChainSearch, known: KnownChain, place: int, tasks: int) -> None:
    """Note what the nodes of a chain compute at once, their buffers, and those between them."""
    for number in range(chain.count):
        node, sizes = packing.nodes[place + number], chain.sizes[chain.nodes[number].problem]
        node.problem, node.tasks = chain.nodes[number].problem, tasks
        if known.rows:
            list_stripe_buffers(chain, number)
        else:
            describe_group_tile(chain, number, known.group_channels)
            list_buffers(sizes, chain.group, chain.tile, chain.buffers)
        _describe(packing, node, chain.tile, chain.buffers, sizes.input_count)
    packing.own = packing.buffer_count
    for number in range(chain.count - 1):
        sizes = chain.sizes[chain.nodes[number].problem]
        size = chain.nodes[number].held * sizes.width * sizes.channels
        if not known.rows:
            size = between_bytes(sizes, known.group_channels)
        _add_buffer(packing, size)


@routine
def _where(packing: Packing, search: StateSearch, place: int) -> int:
    """As `where_of`; tensors beyond those that have bits of a state may be in SRAM, too, if all are."""
    first, second = _is_there(packing, 3 * place), _is_there(packing, 3 * place + 1)
    kept = 1 if search.keeps_constants and not search.steps[place].has_matrix else 0
    return where_bits(first, second, _is_there(packing, 3 * place + 2), kept)


@routine
def _is_there(packing: Packing, operand: int) -> int:
    tensor = packing.operands[operand]
    return 0 if tensor == NONE else packing.is_there[tensor]


@routine
def _describe(packing: Packing, node: PackedNode, tile: Tile, listed: BufferSizes, inputs: int) -> None:
    """Note a node's tile and buffers, with their numbers instead of addresses."""
    node.tile.assign(tile)
    node.between_address = 0
    for number in range(BUFFERS):
        buffer, copies = node.buffers[number], listed.buffers[number].copies
        buffer.copies, buffer.addresses[0], buffer.addresses[1] = 1, 0, 0
        if number != SECOND_INPUT or inputs > 1:
            buffer.copies, buffer.addresses[0] = copies, packing.buffer_count
            for _ in range(copies):
                buffer.addresses[1] = packing.buffer_count
                _add_buffer(packing, listed.buffers[number].size_bytes)


@routine
def _add_buffer(packing: Packing, size: int) -> None:
    packing.sizes[packing.buffer_count] = align(size)
    packing.buffer_count += 1


@routine
def _note(packing: Packing, table: ChainTable, place: int, count: int, first: int, size: int) -> None:
    """Note a segment whose buffers have places, and what they occupy."""
    segment, tensor_bytes = packing.segments[packing.segment_count], packing.tensor_bytes
    for number in range(packing.own, packing.buffer_count):
        start = packing.addresses[number]
        packing.nodes[place + number - packing.own].between_address = start
        _occupy(packing, start, start + packing.sizes[number], NONE)
    for number in range(count):
        node = packing.nodes[place + number]
        inputs = table.tilings.sizes[node.problem].input_count
        for each in range(BUFFERS):
            if each != SECOND_INPUT or inputs > 1:
                _place(packing, node, each, number if each == CONSTANTS else NONE)
    segment.place, segment.nodes = place, count
    segment.first_range, segment.ranges = first, packing.range_count - first
    packing.segment_count += 1
    packing.is_from_top = 1 - packing.is_from_top  # so that the next node's first loads need not wait
    packing.used_bytes = max(packing.used_bytes, tensor_bytes + size)
    if count == 1:
        room = packing.limit - tensor_bytes
        prefetching = _prefetching_bytes(table, packing.nodes[place], room)
        packing.changing_bytes = max(packing.changing_bytes, tensor_bytes + prefetching)


@routine
def _place(packing: Packing, node: PackedNode, number: int, owner: int) -> None:
    """Give a node's buffer its addresses."""
    buffer = node.buffers[number]
    for copy in range(buffer.copies):
        place = buffer.addresses[0] + copy
        if packing.sizes[place]:
            _occupy(packing, packing.addresses[place], packing.addresses[place] + packing.sizes[place], owner)
    buffer.addresses[0] = packing.addresses[buffer.addresses[0]]
    buffer.addresses[1] = packing.addresses[buffer.addresses[1]]


@routine
def _prefetching_bytes(table: ChainTable, node: PackedNode, budget: int) -> int:
    """The least budget in which as many pieces of a node's constants are taken to be prefetched."""
    sizes, group, tile = table.tilings.sizes[node.problem], table.search.group, node.tile
    if sizes.has_matrix or not table.tilings.costs[node.problem // WHERES].assumes_prefetch:
        return 0
    describe_group(sizes, tile.channels, tile.depth, group)
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    _, loads = load_counts(sizes, group, spatial, tile.is_channels_outer)
    size = group.constant_bytes
    return PREFETCH_PART * size * min(budget // PREFETCH_PART // max(size, 1), loads)
