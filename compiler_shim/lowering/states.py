"""Searches which tensors stay in SRAM, and which nodes run as chains: a shortest path over states; a routine.

A state is a place between two nodes with the tensors that are in SRAM there. From it the next node alone, or
the next few as a chain, lead to later states; the estimate of each such segment is that of its best tile
shapes for the SRAM that the state leaves. Where many tensors are alive at once, only the cheapest states of a
place are followed.

A set of tensors is a number in which each has a bit. Tensors that are never alive at the same time, nor used
by the same chain, may have the same bit.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.segments.known_chains import ChainTable, add_node, find_chain
from dlasim.compiler_shim.lowering.tiles.known_tilings import (
    NONE,
    WHERES,
    describe_problem,
    find_tiling,
    is_near_work,
    loads_for_longer,
    where_bits,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE, MAX_CHAIN
from dlasim.native.record import Record, Records, pointer
from dlasim.native.routine import Numbers, Routine, routine

MAX_STATES = 6  # that are followed from one place
# From each of as many places before as a chain has nodes, so many states, with the output in SRAM or not.
MAX_PATHS = 2 * MAX_STATES * MAX_CHAIN
MAX_BITS = 60  # tensors that may be in SRAM at the same time
CYCLE = 1024  # a byte over the bus counts for 1/1024 of a cycle besides its time, since it costs energy
# A chain must gain more than such a part: it takes SRAM from prefetches. Without, MobileNetV2 lost 0.5 % from
# latency 158 to 43; with a 64th, MobileNetV1 took 0.7 % longer on a machine.
MIN_CHAIN_GAIN_PART = 256
_MOST_CYCLES = 1 << 40  # of one segment that are told apart: 64 bits hold the sum


class PathStep(Record):
    """A node: the tensors that it reads and writes, 0 for those that cannot stay in SRAM, and their bytes;
    whether it has a matrix, and is the first to write its output; whether only the next node reads that; the
    tensors that are alive after the node, those that are not any more, and the bytes of those that are alive
    meanwhile."""

    first: int = 0
    second: int = 0
    output: int = 0
    first_bytes: int = 0
    second_bytes: int = 0
    output_bytes: int = 0
    alive_bytes: int = 0
    has_matrix: int = 0
    decides: int = 0
    is_link: int = 0
    alive_after: int = 0
    first_ending: int = 0
    endings: int = 0


class Path(Record):
    """The cheapest way to a state: its cost, the path before, and the nodes of its last segment and whether
    the output of that is in SRAM."""

    state: int = 0
    state_bytes: int = 0
    cost: int = 0
    before: int = 0
    nodes: int = 0
    is_kept: int = 0
    is_followed: int = 0


class StateSearch(Record):
    """Nodes in order, with their kinds, and numbers of their chains by node and length; and for each place
    between them room for MAX_PATHS paths. By node, `leaves` says that its output must not stay in SRAM;
    `any_leaves`, that any has to.

    Found are segments, three numbers for each: its first node, its nodes, and whether its output stays in
    SRAM; or `is_whole`: all nodes are alone, and all tensors stay.
    """

    steps: Records[PathStep] = pointer(PathStep)
    kinds: Numbers = pointer(int)
    chain_numbers: Numbers = pointer(int)
    leaves: Numbers = pointer(int)
    endings: Numbers = pointer(int)
    ending_bytes: Numbers = pointer(int)
    paths: Records[Path] = pointer(Path)
    counts: Numbers = pointer(int)
    chosen: Numbers = pointer(int)
    chosen_count: int = 0
    is_whole: int = 0
    any_leaves: int = 0
    step_count: int = 0
    keeps_tensors: int = 0
    keeps_constants: int = 0
    limit: int = 0


@routine
def choose_segments(search: StateSearch, table: ChainTable, limit: int) -> int:
    """Choose what stays in SRAM, and the segments. Returns their cycles by estimates, 0 where there is
    nothing to search."""
    search.is_whole = 0
    if search.keeps_tensors and not search.any_leaves:
        search.is_whole = 1 if _fits_whole(search, table, limit) else 0
    number = NONE
    if search.keeps_tensors and not search.is_whole:
        number = _choose_path(search, table, limit)
    cycles, count, each = 0 if number == NONE else search.paths[number].cost // CYCLE, 0, number
    while each >= MAX_PATHS:  # the first place has the empty path
        count, each = count + 1, search.paths[each].before
    search.chosen_count = count if count else search.step_count
    for place in range(search.chosen_count):  # all alone, where no path is found
        search.chosen[3 * place], search.chosen[3 * place + 1], search.chosen[3 * place + 2] = place, 1, 0
    while number >= MAX_PATHS:
        count, path = count - 1, search.paths[number]
        search.chosen[3 * count], search.chosen[3 * count + 1] = number // MAX_PATHS - path.nodes, path.nodes
        search.chosen[3 * count + 2], number = path.is_kept, path.before
    return cycles


CHOOSE = Routine(choose_segments, "states")


@routine
def _choose_path(search: StateSearch, table: ChainTable, limit: int) -> int:
    """The cheapest way through all nodes in an SRAM of `limit` bytes: the number of its last path, NONE where
    some node fits nowhere or there is no room for what is found."""
    search.limit = limit
    for place in range(search.step_count + 1):
        search.counts[place] = 0
    _keep(search, 0, 0, 0, 0, NONE, 0, 0)
    for place in range(search.step_count):
        for _ in range(min(search.counts[place], MAX_STATES)):
            _follow_all(search, table, place, _cheapest(search, place))
            if table.tilings.is_full:
                return NONE
    return _cheapest(search, search.step_count) if search.counts[search.step_count] else NONE


@routine
def _cheapest(search: StateSearch, place: int) -> int:
    """The number of the cheapest path to a place that has not been followed yet."""
    best = NONE
    for number in range(place * MAX_PATHS, place * MAX_PATHS + search.counts[place]):
        path = search.paths[number]
        if not path.is_followed and (best == NONE or path.cost < search.paths[best].cost):
            best = number
    search.paths[best].is_followed = 1
    return best


@routine
def _follow_all(search: StateSearch, table: ChainTable, place: int, number: int) -> None:
    """Extend a path by the next node alone, and by the chains from there that may be better."""
    _follow(search, table, place, 1, number)
    state, used = search.paths[number].state, search.paths[number].state_bytes
    is_done, count = _is_done(search, table, place, state, used), 2
    while count <= MAX_CHAIN and place + count <= search.step_count:
        if not search.steps[place + count - 2].is_link:
            return
        is_done = is_done and _is_done(search, table, place + count - 1, state, used)
        if not is_done:
            _follow(search, table, place, count, number)
        count += 1


@routine
def _follow(search: StateSearch, table: ChainTable, place: int, count: int, number: int) -> None:
    """Extend a path by a segment, with its output in SRAM or not, where that is the cheapest so far."""
    path, last = search.paths[number], search.steps[place + count - 1]
    is_there = 1 if path.state & last.output else 0
    may_stay = 1 if last.decides and not search.leaves[place + count - 1] else 0
    if last.output and (may_stay or is_there):
        resident = path.state | last.output
        used = path.state_bytes if is_there else path.state_bytes + last.output_bytes
        _extend(search, table, place, count, number, resident, used, 1)
    if last.decides or not is_there:
        _extend(search, table, place, count, number, path.state, path.state_bytes, 0)


@routine
def _extend(
    search: StateSearch,
    table: ChainTable,
    place: int,
    count: int,
    number: int,
    resident: int,
    used: int,
    is_kept: int,
) -> None:
    cost = _segment_cost(search, table, place, count, resident, search.limit - used)
    if cost == INFINITE:
        return
    last = place + count - 1
    for step in range(place, last + 1):
        first = search.steps[step].first_ending
        for each in range(first, first + search.steps[step].endings):
            if search.endings[each] & resident:
                used -= search.ending_bytes[each]
    after, cost = resident & search.steps[last].alive_after, cost + search.paths[number].cost
    _keep(search, last + 1, after, used, cost, number, count, is_kept)


@routine
def _keep(
    search: StateSearch,
    place: int,
    state: int,
    state_bytes: int,
    cost: int,
    before: int,
    nodes: int,
    is_kept: int,
) -> None:
    """Keep a path to a state if it is the cheapest so far."""
    number, end = place * MAX_PATHS, place * MAX_PATHS + search.counts[place]
    while number < end and search.paths[number].state != state:
        number += 1
    path = search.paths[number]
    if number == end:
        search.counts[place] += 1
    elif path.cost <= cost:
        return
    path.state, path.state_bytes, path.cost, path.before = state, state_bytes, cost, before
    path.nodes, path.is_kept, path.is_followed = nodes, is_kept, 0


@routine
def where_of(search: StateSearch, step: PathStep, resident: int) -> int:
    """What of a node is in SRAM: its first input, its second or its matrix, its output, its constants."""
    first, second = 1 if step.first & resident else 0, 1 if step.second & resident else 0
    kept = 1 if search.keeps_constants and not step.has_matrix else 0
    return where_bits(first, second, 1 if step.output & resident else 0, kept)


@routine
def _segment_cost(
    search: StateSearch, table: ChainTable, place: int, count: int, resident: int, budget: int
) -> int:
    """Estimated cycles of a node or a chain, CYCLE for each, and bytes over the bus, while these tensors are
    in SRAM and leave so many bytes. INFINITE where it does not fit, or there is no room for what is found."""
    if budget <= 0:
        return INFINITE
    if count == 1:
        number = search.kinds[place] * WHERES + where_of(search, search.steps[place], resident)
        found = find_tiling(table.tilings, number, budget)
        if found == NONE or not table.tilings.tilings[found].tasks:
            return INFINITE
        tiling = table.tilings.tilings[found]
        return _cost(tiling.cycles, tiling.read_bytes + table.tilings.problems[number].written_bytes)
    found = _find_segment(search, table, place, count, resident, budget)
    if found == NONE or not (table.chains[found].rows or table.chains[found].group_channels):
        return INFINITE
    cycles = table.chains[found].cycles
    return _cost(cycles + cycles // MIN_CHAIN_GAIN_PART, table.chains[found].moved_bytes)


@routine
def _find_segment(
    search: StateSearch, table: ChainTable, place: int, count: int, resident: int, budget: int
) -> int:
    """The number of the best pieces of a chain, as `find_chain`."""
    where = table.search.count = 0
    for step in range(place, place + count):
        here, is_last = where_of(search, search.steps[step], resident), 1 if step == place + count - 1 else 0
        where = where * WHERES + add_node(table.search, search.kinds[step], here, is_last)
    return find_chain(table, search.chain_numbers[place * MAX_CHAIN + count - 1], where, budget)


@routine
def _cost(cycles: int, moved_bytes: int) -> int:
    return min(cycles, _MOST_CYCLES) * CYCLE + min(moved_bytes, _MOST_CYCLES)


@routine
def _is_done(search: StateSearch, table: ChainTable, place: int, state: int, used: int) -> bool:
    """Whether the node alone, with all its tensors in SRAM, takes hardly more than its work, so that a chain
    can hardly be better."""
    step = search.steps[place]
    budget, here = search.limit - used, state
    budget -= 0 if step.first & here else step.first_bytes
    here |= step.first
    budget -= 0 if step.second & here else step.second_bytes
    here |= step.second
    budget -= 0 if step.output & here else step.output_bytes
    here |= step.output
    if budget <= 0:
        return False
    number = search.kinds[place] * WHERES + where_of(search, step, here)
    found = find_tiling(table.tilings, number, budget)
    if found == NONE:
        return False
    problem = describe_problem(table.tilings, number)
    if loads_for_longer(problem):
        return False
    return is_near_work(problem, table.tilings.tilings[found])


@routine
def _fits_whole(search: StateSearch, table: ChainTable, limit: int) -> bool:
    """Whether all tensors together leave every node as much SRAM as it can use, and no chain can help."""
    for place in range(search.step_count):
        step = search.steps[place]
        number = search.kinds[place] * WHERES + where_of(search, step, step.first | step.second | step.output)
        budget = limit - step.alive_bytes
        shared = find_tiling(table.tilings, number, budget) if budget > 0 else NONE
        alone = find_tiling(table.tilings, number, limit)
        if table.tilings.is_full or shared == NONE or not table.tilings.tilings[shared].tasks:
            return False
        if table.tilings.tilings[shared].cycles > table.tilings.tilings[alone].cycles:
            return False
        is_linked = 1 if place and search.steps[place - 1].is_link else 0
        if is_linked and loads_for_longer(table.tilings.problems[number]):
            return False
    return True
