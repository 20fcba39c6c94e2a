"""What has been found for chains on one machine, by where their tensors are and by budget; routines."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.segments.group_search import cut_groups
from dlasim.compiler_shim.lowering.segments.stripe_search import ChainSearch, KnownChain, cut_stripes
from dlasim.compiler_shim.lowering.tiles.known_tilings import (
    NONE,
    WHERES,
    TilingTable,
    describe_problem,
    where_bits,
)
from dlasim.compiler_shim.lowering.tiles.tile_costs import task_cycles
from dlasim.native.record import Record, Records, member, pointer
from dlasim.native.routine import Numbers, routine


class ChainTable(Record):
    """Chains of nodes, and what has been found for them. `newest`: by number of a chain, the newest of what
    is known. `has_chains`: whether 64 bits hold the numbers that their search meets."""

    tilings: TilingTable = member(TilingTable)
    chains: Records[KnownChain] = pointer(KnownChain)
    newest: Numbers = pointer(int)
    count: int = 0
    capacity: int = 0
    has_chains: int = 0
    search: ChainSearch = member(ChainSearch)


@routine
def find_chain(table: ChainTable, chain: int, where: int, budget: int) -> int:
    """The number of the best pieces of a chain within a budget, NONE where there is no room for it. Its nodes
    have their problems in the search already."""
    place = table.newest[chain]
    while place != NONE:
        known = table.chains[place]
        if known.where == where and known.first <= budget < known.end:
            return place
        place = known.older
    if table.count == table.capacity:
        table.tilings.is_full = 1
        return NONE
    if not (table.has_chains and _describe(table)):
        return NONE
    search, known = table.search, table.chains[table.count]
    cut_stripes(search, budget)
    cut_groups(search, budget)
    known.assign(search.best)
    known.older, known.where = table.newest[chain], where
    table.newest[chain] = table.count
    table.count += 1
    return table.count - 1


@routine
def _describe(table: ChainTable) -> bool:
    """Fill in the nodes of a chain; whether there is room."""
    search = table.search
    for number in range(search.count):
        node = search.nodes[number]
        if table.tilings.count == table.tilings.capacity:
            table.tilings.is_full = 1
            return False
        node.kind = node.problem // WHERES
        node.work_cycles = describe_problem(table.tilings, node.problem).work_cycles
        node.task_cycles = task_cycles(search.costs[node.kind], search.sizes[node.problem].channels)
    return True


@routine
def add_node(search: ChainSearch, kind: int, where: int, is_last: int) -> int:
    """One more node of the chain that is looked at, where its outer tensors are so; what is between nodes
    never leaves SRAM. Returns where all are."""
    number = search.count
    where |= where_bits(1 if number else 0, 0, 1 - is_last, 0)
    search.nodes[number].problem = kind * WHERES + where
    search.count = number + 1
    return where
