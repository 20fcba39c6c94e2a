"""The plans that are compared, and what they were made with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.lowering.tiles.tiling import CostAssumption, MachineModel
from dlasim.dataclass import dataclass
from dlasim.sim.configuration.config import DlaConfig


@dataclass(frozen=True, slots=True, eq=False)
class PlanKind:
    """What a plan is made with besides the SRAM: the placement, the machine that it is for, what estimates
    assume, and what a byte over the bus counts beside its time, in 1/1024 of a cycle. What plans them, the
    machine by whose times they prefetch, and those that there are, by size and whether they are apart, or why
    there is none. A search has one of each."""

    network: PlacedNetwork
    machine: DlaConfig
    assumption: CostAssumption
    byte_price: int
    planner: SramPlanner
    loading: MachineModel
    plans: dict[tuple[int, bool], SramPlan | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """A plan, and what it was made with; where it is one in smaller tiles, also the plan before that."""

    kind: PlanKind
    plan: SramPlan
    size: int
    before_cutting: SramPlan | None = None

    @property
    def whole(self) -> SramPlan:
        """The plan before it was cut into smaller tiles."""
        return self.before_cutting or self.plan

    def layer(self, step: int) -> int:
        """The layer of a step."""
        node = self.kind.network.nodes[step]
        assert isinstance(node, DlaNode)
        return node.layer

    def shapes(self) -> object:
        """How nodes are cut, and which tensors stay in SRAM."""
        return self.kind.network, self.plan.shapes

    def layout(self) -> object:
        """All that decides about the commands but prefetches. Plans for different machines often have the
        same, but other estimates."""
        return self.kind.network, self.plan.layout

    def commands(self) -> object:
        """All that decides about the commands."""
        return self.kind.network, self.plan.layout, self.plan.prefetches.commands()


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


def fastest(timed: Iterable[TimedPlan], count: int) -> list[TimedPlan]:
    """The `count` fastest, each with different commands."""
    return _first(sorted(timed, key=lambda each: each.cycles), count)


def cheapest(timed: Iterable[TimedPlan], count: int) -> list[TimedPlan]:
    """The `count` that cost least by the objective, and of those that cost the same the fastest."""
    return _first(sorted(timed, key=lambda each: (each.cost, each.cycles)), count)


def _first(timed: Iterable[TimedPlan], count: int) -> list[TimedPlan]:
    """The first with different commands."""
    found = dict[object, TimedPlan]()
    for each in timed:
        if len(found) == count:
            break
        found.setdefault(each.candidate.commands(), each)
    return list(found.values())
