"""Passes for other objectives than cycles.

They follow the passes for cycles, and propose what those leave out because it takes longer. So no plan for
cycles is better by the objective than what is chosen in the end.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.tiles.tiling import CostAssumption
from dlasim.compiler_shim.planning.candidates import PlanKind
from dlasim.compiler_shim.planning.passes import MAX_TASKS, Pass, time_placements
from dlasim.compiler_shim.planning.plan_search import PlanSearch
from dlasim.compiler_shim.planning.refinement import cut_at_changes_of_unit, order_loads
from dlasim.errors import InputError

# What a byte counts, as parts of what it takes in energy: all of it, and less, for plans that are hardly
# slower.
PRICE_PARTS = 1, 4


def move_fewer_bytes(search: PlanSearch) -> None:
    """Time plans by estimates in which bytes over the bus count by their energy, then the best of these in
    smaller tiles and with other orders of loads, as the fastest plans are."""
    priced, maker = search.anew(), search.maker
    weights = maker.objective.weights()
    for price in sorted({price // part for price in maker.objective.byte_prices() for part in PRICE_PARTS}):
        policy = maker.policy(maker.machine, CostAssumption.NO_OVERLAP, price)
        placements = search.placements.weighed(policy, weights)
        for assumption in search.assumptions:
            time_placements(priced, placements, assumption, price)
    if priced.timed:
        cut_at_changes_of_unit(priced)
        order_loads(priced)
    search.timed += priced.timed


def use_least_sram(search: PlanSearch) -> None:
    """Time plans for less and less SRAM, halfway between a size that suffices and one that does not."""
    for network in search.placements.promising(search.size):
        kind = search.maker.kind(network)
        refused, enough = 0, search.size + 1
        while enough - refused > 1:
            size = (refused + enough) // 2
            peak = _working_bytes(search, kind, size)
            refused, enough = (size, enough) if peak is None else (refused, min(size, peak))
    for kind in dict.fromkeys(timed.kind for timed in search.best(LEAST_SRAM_KINDS)):
        search.try_kind(kind, search.cheapest.plan.working_bytes)


def _working_bytes(search: PlanSearch, kind: PlanKind, size: int) -> int | None:
    """The SRAM that the plan for a size uses of it; None where there is none, or one of too many tiles."""
    try:
        if search.maker.plan(kind, size).tasks > MAX_TASKS:
            return None
    except InputError:
        return None
    timed = search.try_kind(kind, size)
    return timed.plan.working_bytes if timed is not None else None


LEAST_SRAM_KINDS = 4  # that are tried in the least SRAM, for fewer cycles
_FEWER_BYTES = Pass(
    move_fewer_bytes,
    "each placement by energy, by estimates in which bytes count by all or a quarter of their energy; the"
    " best in smaller tiles at changes of unit, and with other orders of loads",
    "a byte that the bus hides takes no time, but energy",
    "4 for each placement and energy of a byte, and as the passes above",
)
_LEAST_SRAM = Pass(
    use_least_sram,
    "each placement for less and less SRAM, halfway between a size that suffices and one that does not; the"
    " fastest kinds for the least",
    "the plans above use what there is",
    "about 17 for each placement",
)
PASSES_FOR = {"cycles": (), "energy": (_FEWER_BYTES,), "edp": (_FEWER_BYTES,), "sram": (_LEAST_SRAM,)}
