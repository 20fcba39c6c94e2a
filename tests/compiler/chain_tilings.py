"""The best pieces of a chain of nodes, which plans find one by one as they need them."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.compiler_shim.lowering.segments.known_chains import add_node, find_chain
from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.compiler_shim.lowering.segments.stripe_search import (
    ChainSearch,
    begin_stripe,
    cut_stripes,
    describe_stripes,
    end_stripe,
)
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE, WHERES
from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Routine

CHAINS = Routine(find_chain, "chains")


class ChainTiling(NamedTuple):
    """The pieces of a chain: rows of a stripe, or channels of a group, and what they cost."""

    size: int
    is_in_groups: bool
    cycles: int
    moved_bytes: int
    tensor_cycles: int


def chain_tiling(
    tables: KnownTables, problems: Sequence[int], budget: int, by_groups: bool = True
) -> ChainTiling | None:
    """The cheapest pieces within a budget, None where none fit."""
    (chain,) = tables.kinds.chains([tuple([problem // WHERES for problem in problems])])
    table, where = tables.table, 0
    table.search.count = 0
    for number, problem in enumerate(problems):
        is_last = int(number + 1 == len(problems))
        where = where * WHERES + add_node(table.search, problem // WHERES, problem % WHERES, is_last)
    place = tables.run(CHAINS, table, chain, where, budget)
    if place == NONE:
        return None
    if not by_groups:
        return _stripes(table.search, budget)
    known = table.chains[place]
    if not (known.rows or known.group_channels):
        return None
    costs = known.cycles, known.moved_bytes, known.tensor_cycles
    return ChainTiling(known.rows or known.group_channels, not known.rows, *costs)


def _stripes(search: ChainSearch, budget: int) -> ChainTiling | None:
    """The cheapest stripes of the chain that was asked for last."""
    cut_stripes(search, budget)
    best = search.best
    if not best.rows:
        return None
    return ChainTiling(best.rows, False, best.cycles, best.moved_bytes, best.tensor_cycles)


def stripe_bytes(tables: KnownTables, rows: int) -> int:
    """What stripes of so many rows take in SRAM, of the chain that was asked for last."""
    describe_stripes(tables.table.search, rows)
    return tables.table.search.sram_bytes


def stripe_ends(tables: KnownTables, rows: int, height: int) -> list[int]:
    """By stripe the row before which the last node of that chain stops."""
    chain, found = tables.table.search, list[int]()
    for node in chain.nodes:
        node.done = node.base = 0
    for end in range(rows, height + rows, rows):
        begin_stripe(chain, end)
        found.append(chain.nodes[chain.count - 1].need)
        end_stripe(chain)
    return found
