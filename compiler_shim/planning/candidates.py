"""What plans are made with, and the plans that are compared."""

from __future__ import annotations

from collections import defaultdict

from dlasim.compiler_shim.lowering.lower import Lowered
from dlasim.compiler_shim.lowering.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.tiling import CostAssumption
from dlasim.compiler_shim.nodes import DlaNode, PlacedNetwork
from dlasim.dataclass import dataclass
from dlasim.sim.config import DlaConfig

SMALL, SMALLER = 32, 16  # nodes of networks for which there is time for more candidates


@dataclass(frozen=True, slots=True)
class PlanKind:
    """What a plan is made with besides the SRAM: the placement, the machine that it is for, the tiling, what
    estimates assume, and whether chains may be computed in groups of channels."""

    network: PlacedNetwork
    machine: DlaConfig
    tiling: str
    assumption: CostAssumption = CostAssumption.NO_OVERLAP
    by_groups: bool = True


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """A plan, and what it was made with."""

    kind: PlanKind
    plan: SramPlan
    size: int

    def key(self) -> object:
        """Of plans with the same key, one is timed. Small networks hardly take other time with other
        addresses."""
        plan, network = self.plan, self.kind.network
        same = network, plan.addresses.keys(), plan.tilings, plan.chains, plan.prefetches.loads
        if node_count(network) <= SMALLER:
            return same
        return *same, plan.addresses, plan.buffers, plan.prefetches.addresses

    def commands(self) -> object:
        """All that decides about the commands. Plans for different machines often have the same, but other
        estimates. The first stripe of a chain decides about the others."""
        plan, chains = self.plan, self.plan.chains.values()
        return (
            self.kind.network,
            tuple(plan.addresses.items()),
            tuple(plan.buffers.items()),
            tuple([(step, tiling.tile_shape) for step, tiling in plan.tilings.items()]),
            tuple([(each.steps, each.schedule[:1], each.groups, each.inner_addresses) for each in chains]),
            tuple([(step, tuple(loads)) for step, loads in plan.prefetches.loads.items()]),
            tuple(plan.prefetches.addresses.items()),
        )


Timed = tuple[int, PlanCandidate, Lowered | None]  # its cycles, and the program if it was made for that


def node_count(network: PlacedNetwork) -> int:
    """How many nodes run on the DLA."""
    return sum(isinstance(node, DlaNode) for node in network.nodes)


class ProgramDeduplicator:
    """Tells candidates that give the same program as one before."""

    def __init__(self) -> None:
        self._keys = defaultdict[int, list[object]](list)  # by the estimate, which equal keys share

    def is_new(self, candidate: PlanCandidate) -> bool:
        """Whether it is the first of its program."""
        key, known = candidate.key(), self._keys[candidate.plan.estimated_cycles]
        if key in known:
            return False
        known.append(key)
        return True
