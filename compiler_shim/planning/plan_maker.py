"""Makes the plans of a kind, and times them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.constants import MEMORY_ALIGNMENT
from dlasim.compiler_shim.lowering.addresses.kept_constants import kept_bytes, place_kept
from dlasim.compiler_shim.lowering.addresses.plan_packer import PlanPacker
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.emission.emitter import EmissionMemory
from dlasim.compiler_shim.lowering.emission.network_nodes import WeightCut
from dlasim.compiler_shim.lowering.loads.prefetch import LoadMemory, add_prefetches
from dlasim.compiler_shim.lowering.lower import Lowered, emit, plan_cycles, plan_ends
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.lowering.tiles.node_kinds import NodeKinds
from dlasim.compiler_shim.lowering.tiles.tiling import CostAssumption
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.placement import Placements
from dlasim.compiler_shim.planning.candidates import PlanCandidate, PlanKind, TimedPlan
from dlasim.compiler_shim.planning.objectives import Objective, PlanFigures
from dlasim.compiler_shim.planning.worse_machines import prefetching_machine
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.program_counts import count_program
from dlasim.sim.timing.cost import fully_timed
from dlasim.sim.timing.stream_timer import StreamTimer

MAX_SRAM = 1 << 30  # bytes, of the machine that stands for all sizes


@dataclass(slots=True)
class PlanMemory:
    """What has been found for one network on machines that differ only in their SRAM.

    A plan depends on the SRAM that it is for; its cycles do not depend on how much more SRAM the machine has.
    """

    machine: DlaConfig | None = None
    placements: Placements | None = None
    sufficient_bytes: int = 0
    constants_bytes: int = 0  # of all that may have places of their own
    node_kinds: NodeKinds = field(default_factory=NodeKinds)
    packer: PlanPacker = field(default_factory=PlanPacker)
    loads: LoadMemory = field(default_factory=LoadMemory)
    policies: dict[tuple[DlaConfig, CostAssumption, int], Policy] = field(default_factory=dict)
    kinds: dict[tuple[object, ...], PlanKind] = field(default_factory=dict)
    # A plan in a number of parts; None where it cannot be cut.
    parted: dict[tuple[SramPlan, int], SramPlan | None] = field(default_factory=dict)
    figures: dict[SramPlan, PlanFigures] = field(default_factory=dict)
    timed: dict[object, PlanFigures] = field(default_factory=dict)  # by what decides about the commands
    emission: EmissionMemory = field(default_factory=EmissionMemory)
    timer: StreamTimer | None = None


class PlanMaker:
    """Makes plans for a machine, and remembers them for others that differ only in their SRAM."""

    def __init__(self, config: DlaConfig, options: CompileOptions, memory: PlanMemory) -> None:
        self.config, self.options, self.memory = config, options, memory
        timed_machine = fully_timed(config)
        self.objective = Objective(options.objective, timed_machine)
        if memory.machine is None:
            memory.machine = config.replace(sram_bytes=MAX_SRAM)
        self.timer = memory.timer = memory.timer or StreamTimer(timed_machine)
        self.machine = memory.machine  # one object for all sizes: comparing others takes longer

    @property
    def kept_bytes(self) -> int:
        """Bytes of the constants that stay in SRAM."""
        return self.memory.constants_bytes if self.options.keeps_constants else 0

    @property
    def sufficient_sram_bytes(self) -> int | None:
        """The SRAM size from which on the program stays the same; None if the machine has less, or if
        energies decide, which depend on that size."""
        if self.objective.counts_energy:
            return None
        enough = self.memory.sufficient_bytes + self.memory.constants_bytes
        return enough if enough <= self.config.sram_bytes else None

    def kind(
        self,
        network: PlacedNetwork,
        machine: DlaConfig | None = None,
        assumption: CostAssumption = CostAssumption.NO_OVERLAP,
        byte_price: int = 0,
    ) -> PlanKind:
        """A kind of plans, by default for the machine itself. Prefetches are by the estimates of the kind's
        machine, so that it is the plan of that machine; of a slower one with the worst machine's bandwidth,
        which only its tiles are for."""
        machine = machine or self.machine
        key = network, machine, assumption, byte_price
        found = self.memory.kinds.get(key)
        if found is None:
            policy = self.policy(machine, assumption, byte_price)
            planner = SramPlanner(network, policy, self.memory.packer)
            loading = self.policy(prefetching_machine(self.machine, machine), assumption).machine
            found = self.memory.kinds[key] = PlanKind(network, machine, planner, loading)
        return found

    def plan(self, kind: PlanKind, size: int, apart: bool = False) -> SramPlan:
        """The plan for a size of SRAM; with `apart`, tensors and buffers are in bytes that the steps just
        before do not use."""
        known, key = kind.plans, (size, apart)
        if key not in known:
            try:
                known[key] = self._make_plan(kind, size, apart)
            except InputError as error:
                known[key] = str(error)  # the error itself would keep everything here alive
        found = known[key]
        if isinstance(found, str):
            raise InputError(found)
        return found

    def _make_plan(self, kind: PlanKind, size: int, apart: bool) -> SramPlan:
        if self.options.keeps_constants:
            return self._with_kept_constants(kind, size, apart)
        plan = kind.planner.plan(size, apart)
        return self.with_prefetches(kind, plan) if self.options.keeps_tensors else plan

    def _with_kept_constants(self, kind: PlanKind, size: int, apart: bool) -> SramPlan:
        """A plan with all constants behind it. There is room for whole ones; pieces take a little more, which
        is taken from the plan."""
        most = size + kept_bytes(kind.network)
        while True:
            plan = kind.planner.plan(size, apart)
            cuts = {step: WeightCut(tile.channels, tile.depth) for step, tile in plan.tile_shapes.items()}
            kept = place_kept(kind.network, size, cuts)
            excess = size + kept.size_bytes + MEMORY_ALIGNMENT - most
            if excess <= 0:
                return replace(plan, kept=kept)
            size -= excess

    def with_own_places(self, kind: PlanKind) -> SramPlan | None:
        """A plan with all constants behind it, tensors apart; None where there is no room for them."""
        room = min(self.config.sram_bytes - kept_bytes(kind.network), self.memory.sufficient_bytes)
        with suppress(InputError):
            return self._with_kept_constants(kind, room, apart=True) if room > 0 else None
        return None

    def with_prefetches(self, kind: PlanKind, plan: SramPlan) -> SramPlan:
        """A plan of a kind with prefetches."""
        return add_prefetches(plan, kind.loading, self.memory.loads)

    def policy(
        self,
        machine: DlaConfig,
        assumption: CostAssumption = CostAssumption.NO_OVERLAP,
        byte_price: int = 0,
    ) -> Policy:
        """Picks tilings for a machine."""
        known, key = self.memory.policies, (machine, assumption, byte_price)
        if key not in known:
            known[key] = Policy(machine, self.options, assumption, byte_price, self.memory.node_kinds)
        return known[key]

    def time(self, candidate: PlanCandidate) -> TimedPlan:
        """A candidate with its cycles; an InputError where it has too many tiles or operations."""
        memory, plan = self.memory, candidate.plan
        figures = memory.figures.get(plan)
        if figures is None:
            commands = plan.commands
            figures = memory.timed.get(commands)
            if figures is None:
                figures = memory.timed[commands] = self._figures(candidate)
            memory.figures[plan] = figures
        return TimedPlan(figures.cycles, self.objective.cost(figures, plan), candidate)

    def _figures(self, candidate: PlanCandidate) -> PlanFigures:
        """What a candidate's cost is worked out from; only where energy matters a program is made for it."""
        if self.objective.counts_energy:
            counts = count_program(self.emit(candidate, False).program, self.timer)
            return PlanFigures(counts.cycles, counts)
        network, memory = candidate.kind.network, self.memory.emission
        return PlanFigures(plan_cycles(network, self.config, candidate.plan, self.timer, memory))

    def ends(self, candidate: PlanCandidate) -> NDArray[np.int64]:
        """By layer when its last computation ends."""
        network, memory = candidate.kind.network, self.memory.emission
        return plan_ends(network, self.config, candidate.plan, self.timer, memory)

    def emit(self, candidate: PlanCandidate, with_constants: bool) -> Lowered:
        """The program of a candidate."""
        network, sufficient = candidate.kind.network, self.sufficient_sram_bytes
        return emit(network, self.config, candidate.plan, sufficient, with_constants)
