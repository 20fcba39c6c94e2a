"""What the passes of the planner work on: the plans that have been timed for one machine."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE
from dlasim.compiler_shim.lowering.tiles.tiling import CostAssumption
from dlasim.compiler_shim.placement import Placements
from dlasim.compiler_shim.planning.candidates import PlanCandidate, PlanKind, TimedPlan, ranked
from dlasim.compiler_shim.planning.plan_maker import PlanMaker
from dlasim.errors import InputError


class PlanSearch:
    """The plans of a network on a machine that have been timed, and why others could not be."""

    def __init__(self, placements: Placements, maker: PlanMaker, size: int) -> None:
        self.placements, self.maker, self.size = placements, maker, size
        self.zeal = 1  # times so many plans the passes try
        self.timed: list[TimedPlan] = []
        self.refusal: InputError | None = None

    def anew(self) -> PlanSearch:
        """One on the same machine in which nothing has been timed."""
        return PlanSearch(self.placements, self.maker, self.size)

    @property
    def keeps_tensors(self) -> bool:
        """Whether tensors may stay in SRAM, and weights be prefetched."""
        return self.maker.options.keeps_tensors

    @property
    def assumptions(self) -> Sequence[CostAssumption]:
        """The estimates for the machine itself: those that count on prefetches, where there may be any, and
        cautious ones."""
        cautious = CostAssumption.NO_OVERLAP
        return (CostAssumption.PREFETCHED, cautious) if self.keeps_tensors else (cautious,)

    def share(self, least: int, layers: int) -> int:
        """How many plans a pass times: at least so many, or more if they have so many layers together. So
        every network gets about the same effort."""
        return self.zeal * max(least, layers // max(len(self.fastest.plan.steps), 1))

    @property
    def least_cycles(self) -> int:
        """The cycles of the fastest plan."""
        return min((each.cycles for each in self.timed), default=INFINITE)

    @property
    def fastest(self) -> TimedPlan:
        """The fastest plan, of which there must be one."""
        return min(self.timed, key=lambda each: each.cycles)

    @property
    def cheapest(self) -> TimedPlan:
        """The plan that costs least by the objective, of several the fastest."""
        return min(self.timed, key=lambda each: (each.cost, each.cycles))

    def best(self, count: int) -> list[TimedPlan]:
        """The fastest plans, each with different commands."""
        return ranked(self.timed, lambda each: each.plan.commands)[:count]

    def placed(self, ratio: float, count: int) -> list[PlacedNetwork]:
        """The placements of the fastest plans, as long as they take at most `ratio` times the least."""
        near = [each for each in self.timed if each.cycles <= ratio * self.least_cycles]
        return [each.kind.network for each in ranked(near, lambda each: each.kind.network)][:count]

    def try_kind(self, kind: PlanKind, size: int | None = None) -> TimedPlan | None:
        """Time the plan of a kind for a size of SRAM, without one for the machine's; None where there is
        none."""
        size = size or self.size
        try:
            return self.time(PlanCandidate(kind, self.maker.plan(kind, size), size))
        except InputError as error:
            self._refuse(error)
            return None

    def time(self, candidate: PlanCandidate) -> TimedPlan | None:
        """Time a plan; None where it has too many tiles or operations."""
        try:
            timed = self.maker.time(candidate)
        except InputError as error:
            self._refuse(error)
            return None
        self.timed.append(timed)
        return timed

    def _refuse(self, error: InputError) -> None:
        # Its traceback would keep everything here alive.
        self.refusal = self.refusal or error.with_traceback(None)
