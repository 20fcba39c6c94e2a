"""Makes the plans of a kind, and times them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from dlasim.compiler_shim.lowering.addresses.packed_segments import PackedPlan
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.loads.prefetch import add_prefetches
from dlasim.compiler_shim.lowering.lower import Lowered, emit
from dlasim.compiler_shim.lowering.policy import Policy, keeps_tensors
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.lowering.tiles.tiling import CostAssumption, MachineModel
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.placement import Placements
from dlasim.compiler_shim.planning.candidates import PlanCandidate, PlanKind, TimedPlan
from dlasim.compiler_shim.planning.worse_machines import worst_machine
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import fully_timed
from dlasim.sim.timing.duration import program_cycles

MAX_SRAM = 1 << 30


@dataclass(slots=True)
class PlanMemory:
    """What has been found for one network on machines that differ only in their SRAM.

    A plan depends on the SRAM that it is for; its cycles do not depend on how much more SRAM the machine has.
    """

    machine: DlaConfig | None = None
    placements: Placements | None = None
    sufficient_bytes: int = 0
    policies: dict[tuple[DlaConfig, str, CostAssumption], Policy] = field(default_factory=dict)
    planners: dict[PlanKind, SramPlanner] = field(default_factory=dict)
    # Or why there is none.
    plans: dict[tuple[PlanKind, int, bool], SramPlan | str] = field(default_factory=dict)
    # A plan in a number of parts; None where it cannot be cut.
    parted: dict[tuple[SramPlan, int], SramPlan | None] = field(default_factory=dict)
    known_times: dict[SramPlan, list[SramPlan]] = field(default_factory=dict)  # it with other prefetches
    cycles: dict[SramPlan, int] = field(default_factory=dict)
    timed: dict[object, int] = field(default_factory=dict)  # cycles by what decides about the commands


class PlanMaker:
    """Makes plans for a machine, and remembers them for others that differ only in their SRAM."""

    def __init__(self, config: DlaConfig, options: CompileOptions, memory: PlanMemory) -> None:
        self.config, self.options, self.memory = config, options, memory
        self.timed_machine = fully_timed(config)
        if memory.machine is None:
            memory.machine = config.replace(sram_bytes=MAX_SRAM)
        self.machine = memory.machine  # one object for all sizes: comparing others takes longer

    @property
    def sufficient_sram_bytes(self) -> int | None:
        """The SRAM size from which on the program stays the same; None if the machine has less."""
        enough = self.memory.sufficient_bytes
        return enough if enough <= self.config.sram_bytes else None

    @property
    def cost_machine(self) -> MachineModel:
        """The cost model of the machine at hand."""
        return self.costs_on(self.machine)

    def costs_on(self, machine: DlaConfig) -> MachineModel:
        """The cost model of a machine."""
        return self.policy(machine, self.options.tiling, CostAssumption.NO_OVERLAP).machine

    def plan(self, kind: PlanKind, size: int, apart: bool = False) -> SramPlan:
        """The plan for a size of SRAM; with `apart`, tensors are in bytes that the previous step does not
        use, and nothing is prefetched yet."""
        known, key = self.memory.plans, (kind, size, apart)
        if key not in known:
            try:
                plan = self.planner(kind).plan(size, apart)
                may_prefetch = kind.tiling == "auto" and keeps_tensors(self.options) and not apart
                known[key] = self.with_prefetches(kind, plan) if may_prefetch else plan
            except InputError as error:
                known[key] = str(error)  # the error itself would keep everything here alive
        found = known[key]
        if isinstance(found, str):
            raise InputError(found)
        return found

    def with_prefetches(self, kind: PlanKind, plan: SramPlan) -> SramPlan:
        """A plan of a kind with prefetches by the estimates of the kind's machine, so that it is the plan of
        that machine; of a slower one with the worst machine's bandwidth, which only its tiles are for."""
        machine, least = kind.machine, worst_machine(self.machine).dma_bandwidth
        if machine.dma_bandwidth < least:
            machine = machine.replace(dma_bandwidth=least)
        return self.prefetching(PackedPlan(plan), machine)[0]

    def prefetching(
        self,
        plan: PackedPlan,
        machine: DlaConfig,
        computing: Mapping[int, float] | None = None,
        reserves: Sequence[int] = (1,),
    ) -> list[SramPlan]:
        """A plan with prefetches by the times of a machine, for each of the reserves."""
        return add_prefetches(plan, self.costs_on(machine), computing, reserves)

    def planner(self, kind: PlanKind) -> SramPlanner:
        """Plans the SRAM of a kind's network."""
        known = self.memory.planners
        if kind not in known:
            policy = self.policy(kind.machine, kind.tiling, kind.assumption)
            known[kind] = SramPlanner(kind.network, policy, kind.by_groups)
        return known[kind]

    def policy(self, machine: DlaConfig, tiling: str, assumption: CostAssumption) -> Policy:
        """Picks tilings for a machine."""
        known, key = self.memory.policies, (machine, tiling, assumption)
        if key not in known:
            options = replace(self.options, tiling=tiling)
            known[key] = Policy(machine, options, assumption)
        return known[key]

    def time(self, candidate: PlanCandidate) -> TimedPlan:
        """A candidate with its cycles; an InputError where it has too many tiles or operations."""
        memory, plan = self.memory, candidate.plan
        if plan in memory.cycles:
            return TimedPlan(memory.cycles[plan], candidate, None)
        commands, lowered = candidate.commands(), None
        cycles = memory.timed.get(commands)
        if cycles is None:
            lowered = self.emit(candidate, False)
            cycles = memory.timed[commands] = program_cycles(lowered.program, self.timed_machine)
        memory.cycles[plan] = cycles
        return TimedPlan(cycles, candidate, lowered)

    def emit(self, candidate: PlanCandidate, with_constants: bool) -> Lowered:
        """The program of a candidate."""
        network, sufficient = candidate.kind.network, self.sufficient_sram_bytes
        return emit(network, self.config, candidate.plan, sufficient, with_constants)
