"""The best pieces of a chain of nodes, which plans find one by one as they need them."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.segments.known_chains import add_node, find_chain
from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE, WHERES
from dlasim.native.routine import Routine

CHAINS = Routine(find_chain, "chains")


def chain_tiling(
    tables: KnownTables, problems: Sequence[int], budget: int, by_groups: bool = True
) -> ChainTiling | None:
    """The cheapest pieces within a budget, None where none fit."""
    (chain,) = tables.kinds.chains([tuple([problem // WHERES for problem in problems])])
    table, where = tables.table, 0
    table.search.count, table.by_groups = 0, int(by_groups)
    for number, problem in enumerate(problems):
        is_last = int(number + 1 == len(problems))
        where = where * WHERES + add_node(table.search, problem // WHERES, problem % WHERES, is_last)
    place = tables.run(CHAINS, table, chain, where, budget)
    if place == NONE or not (table.chains[place].rows or table.chains[place].group_channels):
        return None
    return tables.chain_at(place, problems)
