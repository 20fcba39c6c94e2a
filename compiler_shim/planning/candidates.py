"""The plans that are compared, and what they were made with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.dataclass import dataclass
from dlasim.sim.configuration.config import DlaConfig


@dataclass(frozen=True, slots=True, eq=False)
class PlanKind:
    """What plans are made with besides the SRAM: the placement, the machine that they are for, and by whose
    estimates they are planned, and prefetch. And those that there are, by size and whether they are apart, or
    why there is none. A search has one of each."""

    network: PlacedNetwork
    machine: DlaConfig
    planner: SramPlanner
    loading: MachineModel
    plans: dict[tuple[int, bool], SramPlan | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """A plan, and what it was made with."""

    kind: PlanKind
    plan: SramPlan
    size: int

    def made(self, plan: SramPlan) -> PlanCandidate:
        """A plan that was made of this one."""
        return PlanCandidate(self.kind, plan, self.size)


@dataclass(frozen=True, slots=True)
class TimedPlan:
    """A plan, its cycles, and what it costs by the objective."""

    cycles: int
    cost: float
    candidate: PlanCandidate

    @property
    def plan(self) -> SramPlan:
        """The plan that was timed."""
        return self.candidate.plan

    @property
    def kind(self) -> PlanKind:
        """What it was made with."""
        return self.candidate.kind


def ranked(timed: Iterable[TimedPlan], key: Callable[[TimedPlan], object]) -> list[TimedPlan]:
    """From the fastest on, the first of those that are alike by a key."""
    found = dict[object, TimedPlan]()
    for each in sorted(timed, key=lambda each: each.cycles):
        found.setdefault(key(each), each)
    return list(found.values())
