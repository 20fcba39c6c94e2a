"""What has been found for nodes on one machine: their tilings by budget, each searched once; routines.

A problem is a kind of node with its tensors in SRAM or in memory. Its number is WHERES times that of the
kind, plus what `where_bits` says.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.tiles.search import MAX_OVERHEAD_PART, KnownTiling, Search, search
from dlasim.compiler_shim.lowering.tiles.tile_buffers import constant_bytes
from dlasim.compiler_shim.lowering.tiles.tile_costs import constants_load_cycles, constants_price, work_cycles
from dlasim.compiler_shim.lowering.tiles.tile_records import (
    INFINITE,
    MachineCosts,
    NodeSizes,
)
from dlasim.native.record import Record, Records, member, pointer
from dlasim.native.routine import Routine, routine

WHERES = 16
NONE = -1
MOST_NEW = 64  # tilings that one question can add: one for each power of two, and for the budget


class KnownProblem(Record):
    """What does not depend on the budget: the cycles of pure work, of loading all constants where estimates
    count them, and what their bytes count besides; bytes that are written to memory; the budget above which
    nothing changes, the tiling for that, and the newest."""

    is_described: int = 0
    work_cycles: int = 0
    constants_cycles: int = 0
    constants_price: int = 0
    written_bytes: int = 0
    sufficient_bytes: int = 0
    most: int = 0
    newest: int = 0


class TilingTable(Record):
    """Problems, and the tilings that have been found for them; `is_full` when there is no room for more.
    `by_channels` for the paper's tiling."""

    sizes: Records[NodeSizes] = pointer(NodeSizes)
    costs: Records[MachineCosts] = pointer(MachineCosts)
    problems: Records[KnownProblem] = pointer(KnownProblem)
    tilings: Records[KnownTiling] = pointer(KnownTiling)
    count: int = 0
    capacity: int = 0
    is_full: int = 0
    by_channels: int = 0
    search: Search = member(Search)


@routine
def where_bits(first: int, second: int, output: int, constants: int) -> int:
    """What of a node is in SRAM: its first input, its second or its matrix, its output; and whether constants
    are there from the first inference on."""
    return first | second << 1 | output << 2 | constants << 3


@routine
def find_tiling(table: TilingTable, number: int, budget: int) -> int:
    """The number of a problem's tiling within a budget; NONE where there is no room for it.

    What is best within the next larger power of two, and fits, is taken. So the answer does not depend on
    what has been asked before. Where constants are prefetched, tilings depend on the exact budget.
    """
    if table.count + MOST_NEW > table.capacity:
        table.is_full = 1
        return NONE
    problem = describe_problem(table, number)
    found = problem.most
    if budget >= problem.sufficient_bytes or not table.tilings[found].tasks:
        return found
    if table.costs[number // WHERES].assumes_prefetch:
        return _searched(table, number, budget)
    power = 1
    while power < problem.sufficient_bytes:
        power *= 2
    while power > budget:
        power = max(power // 2, budget)
        if table.tilings[found].sram_bytes > power:
            found = _searched(table, number, power)
            if not table.tilings[found].tasks:
                return found
    return found


TILINGS = Routine(find_tiling, "tilings")


@routine
def describe_problem(table: TilingTable, number: int) -> KnownProblem:
    """A problem, once its numbers are there. There must be room for a tiling."""
    problem = table.problems[number]
    if not problem.is_described:
        sizes, costs = table.sizes[number], table.costs[number // WHERES]
        problem.is_described, problem.newest = 1, NONE
        problem.work_cycles = work_cycles(sizes, costs, sizes.channels, sizes.depth)
        size = constant_bytes(sizes, sizes.channels, sizes.depth)
        if size and not costs.assumes_prefetch:
            problem.constants_cycles = constants_load_cycles(sizes, costs)
        problem.constants_price = constants_price(sizes, costs)
        problem.written_bytes = sizes.height * sizes.width * sizes.channels * sizes.output_bytes
        problem.most = _searched(table, number, INFINITE - 1)
        problem.sufficient_bytes = table.search.sufficient_bytes
    return problem


@routine
def loads_for_longer(problem: KnownProblem) -> bool:
    """Whether a node's constants take longer than its work, so that a chain may hide some of it."""
    return problem.constants_cycles > problem.work_cycles


@routine
def is_near_work(problem: KnownProblem, tiling: KnownTiling) -> bool:
    """Whether a tiling takes hardly more than the work alone."""
    least = problem.work_cycles + problem.work_cycles // MAX_OVERHEAD_PART + problem.constants_cycles
    return tiling.tasks > 0 and tiling.cycles <= least + problem.constants_price


@routine
def _searched(table: TilingTable, number: int, budget: int) -> int:
    """The number of what the search finds for a budget."""
    problem, place = table.problems[number], table.problems[number].newest
    while place != NONE:
        if table.tilings[place].budget == budget:
            return place
        place = table.tilings[place].older
    place, found = table.count, table.search
    table.count = place + 1
    search(table.sizes[number], table.costs[number // WHERES], found, budget, table.by_channels)
    tiling = table.tilings[place]
    tiling.assign(found.best)
    tiling.older, tiling.budget = problem.newest, budget
    problem.newest = place
    return place
