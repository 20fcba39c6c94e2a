"""Chooses the program: makes several plans, emits them, and keeps the one that the simulator times fastest.

`docs/planner.md` explains the search and what it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from dlasim.compiler_shim.edges import cut_edges
from dlasim.compiler_shim.lowering.lower import Lowered
from dlasim.compiler_shim.lowering.policy import keeps_tensors
from dlasim.compiler_shim.lowering.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.tile_records import INFINITE
from dlasim.compiler_shim.lowering.tiling import CostAssumption
from dlasim.compiler_shim.nodes import PlacedNetwork
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.partition import UnplacedNetwork
from dlasim.compiler_shim.placement import Placements
from dlasim.compiler_shim.planning.candidates import (
    SMALL,
    SMALLER,
    PlanCandidate,
    PlanKind,
    ProgramDeduplicator,
    Timed,
    node_count,
)
from dlasim.compiler_shim.planning.plan_maker import PlanMaker, PlanMemory
from dlasim.compiler_shim.planning.refinement import Refinement
from dlasim.compiler_shim.planning.worse_machines import (
    deep_machine,
    slower_machines,
    worse_machines,
    worst_machine,
)
from dlasim.errors import InputError
from dlasim.sim.config import DlaConfig

SIMPLE_TILING_RATIO = 1.2  # the paper's tiling is tried where its estimate is within this of the other
SIZE_STEPS = 8  # of SRAM, between two powers of two, for which plans are tried
MIN_SRAM_PART = 64  # there are no plans for less than 1/64 of the SRAM
MAX_TASKS = 1 << 14  # plans for less SRAM have no more tasks
SCARCE_SRAM_PART = 32  # with 1/32 of what can be used, large networks get a plan for half the bandwidth
# A plan for less SRAM is tried while its estimate is within this of the best: of large and of small networks,
# and where tiles overlap perfectly, since more SRAM then lowers estimates without end; and while its cycles
# are within this of the least found.
SIZE_ESTIMATE_RATIO = 1.005
SMALL_SIZE_ESTIMATE_RATIO = 1.05
OVERLAP_SIZE_RATIO = 1.7
SIZE_CYCLES_RATIO = 1.05


def fastest_plan(
    network: UnplacedNetwork,
    config: DlaConfig,
    options: CompileOptions,
    memory: PlanMemory | None = None,
) -> ChosenPlan:
    """The fastest of the plans for a network on a machine."""
    maker = PlanMaker(config, options, memory or PlanMemory())
    if options.io == "int8":
        network = cut_edges(network)
    return _PlanSearch(network, maker).run()


class ChosenPlan:
    """The fastest plan for a machine."""

    def __init__(self, maker: PlanMaker, candidate: PlanCandidate, timed: Lowered | None) -> None:
        self._maker, self._candidate, self._timed = maker, candidate, timed

    @property
    def plan(self) -> SramPlan:
        """With one memory, machines with the same object get the same program for different SRAM sizes."""
        return self._candidate.plan

    @property
    def sufficient_sram_bytes(self) -> int | None:
        """The SRAM size from which on the program stays the same; None if the machine has less."""
        return self._maker.sufficient_sram_bytes

    def lower(self, with_constants: bool = True) -> Lowered:
        """The program; without constants it serves for timing only."""
        if self._timed is not None and not with_constants:
            return self._timed
        return self._maker.emit(self._candidate, with_constants)


class _PlanSearch:
    def __init__(self, network: UnplacedNetwork, maker: PlanMaker) -> None:
        self._maker, config, memory = maker, maker.config, maker.memory
        if memory.placements is None:
            memory.placements = Placements(
                network, maker.policy(config, maker.options.tiling, CostAssumption.NO_OVERLAP)
            )
            memory.sufficient_bytes = self._sufficient_bytes(memory.placements.most_on_dla())
        self._placements = memory.placements
        self._size = min(config.sram_bytes, memory.sufficient_bytes)
        self._refinement = Refinement(maker, self._is_extra)
        self._deduplicator, self._least = ProgramDeduplicator(), INFINITE
        self._timed: list[Timed] = []
        self._refusals: list[InputError] = []

    def _sufficient_bytes(self, network: PlacedNetwork) -> int:
        """The most SRAM that plans use: a machine with more gets the same program."""
        kind = PlanKind(network, self._maker.machine, self._maker.options.tiling)
        most = self._maker.planner(kind).sufficient_bytes()
        return 1 << max(most - 1, 0).bit_length()

    def run(self) -> ChosenPlan:
        """Time the plans and what they become; an InputError where there is none of which a program can be
        made."""
        for placed in self._placements.promising(self._size):
            try:
                self._try_placement(placed)
            except InputError as error:
                self._refusals.append(error.with_traceback(None))  # which would keep everything here alive
        if not self._timed:
            raise self._refusals[0]
        _, best, lowered = self._refinement.run(self._timed)
        return ChosenPlan(self._maker, best, lowered)

    def _try_placement(self, placed: PlacedNetwork) -> None:
        """Time the plans of a placement; an InputError where it has none."""
        estimate = 0
        for kind in self._kinds(placed):
            for plan in self._try_sizes(kind):
                estimate = max(estimate, plan.estimated_cycles)
        self._try_simpler(placed, estimate)

    def _time(self, candidate: PlanCandidate) -> int | None:
        """The cycles of a plan; None if one that gives the same program has been timed, or there is none."""
        if not self._deduplicator.is_new(candidate):
            return None
        timed, refusals = self._maker.time_all([candidate])
        self._timed += timed
        self._refusals += refusals
        if not timed:
            return None
        cycles, _, _ = timed[0]
        self._least = min(self._least, cycles)
        return cycles

    def _kinds(self, placed: PlacedNetwork) -> Iterator[PlanKind]:
        """The kinds of plans to try: with cautious and with optimistic estimates, for this machine and for
        worse ones, so that a better machine is never slower.

        The worst machine has the default's values wherever this one is better than the default. Small
        networks also get plans for machines that are worse in one way each, and for less bandwidth.
        """
        tiling = self._maker.options.tiling
        if not keeps_tensors(self._maker.options):
            yield PlanKind(placed, self._maker.machine, tiling)
            return
        nodes = node_count(placed)
        machines = self._own_and_worst(nodes)
        if nodes <= SMALL:
            machines += worse_machines(self._maker.machine)
        assumptions: Iterable[CostAssumption] = (CostAssumption.NO_OVERLAP, CostAssumption.PREFETCHED)
        if nodes <= SMALLER:
            assumptions = CostAssumption
            # Plans for slow memories have second buffers for inputs, which smaller tiles need.
            machines += slower_machines(self._maker.machine)[:1]
            machines += slower_machines(deep_machine(self._maker.machine))
        for machine in dict.fromkeys(machines):
            for assumption in assumptions:
                yield PlanKind(placed, machine, tiling, assumption)
        if nodes > SMALL and SCARCE_SRAM_PART * self._size <= self._maker.memory.sufficient_bytes:
            for slower in slower_machines(self._maker.machine)[:1]:
                yield PlanKind(placed, slower, tiling, CostAssumption.PREFETCHED)

    def _own_and_worst(self, nodes: int) -> list[DlaConfig]:
        """The machine, and the worst one where that is another; for networks of up to 32 layers, which also
        get plans for machines that are worse in one way, with a deep pipeline at that."""
        own = self._maker.machine
        worst = worst_machine(own)
        if worst == own:
            return [own]
        return [own, deep_machine(own) if nodes <= SMALL else worst]

    def _try_sizes(self, kind: PlanKind) -> Iterator[SramPlan]:
        """Time the plan for the machine's SRAM, and those for smaller sizes while they are nearly as good."""
        plan = self._maker.plan(kind, self._size)
        most, before = _size_estimate_ratio(kind) * plan.estimated_cycles, INFINITE
        for size in (self._size, *self._smaller_sizes(kind, plan)):
            try:
                plan = self._maker.plan(kind, size)
            except InputError:
                return
            if plan.estimated_cycles > most or (size < self._size and plan.tasks > MAX_TASKS):
                return
            cycles = self._time(PlanCandidate(kind, plan, size))
            yield plan
            if plan.has_groups:
                self._try_without_groups(kind, size)
            if cycles is not None:
                assumes_prefetch = kind.assumption is CostAssumption.PREFETCHED  # less of it with less SRAM
                if cycles > SIZE_CYCLES_RATIO * self._least and not (assumes_prefetch and cycles < before):
                    return
                before = cycles

    def _try_without_groups(self, kind: PlanKind, size: int) -> None:
        """Time the plan without chains in groups of channels, whose estimates leave out prefetches."""
        if size == self._size or node_count(kind.network) <= SMALL:
            other = replace(kind, by_groups=False)
            with suppress(InputError):
                self._time(PlanCandidate(other, self._maker.plan(other, size), size))

    def _smaller_sizes(self, kind: PlanKind, plan: SramPlan) -> Iterator[int]:
        """Powers of two, and steps between the largest of them and the machine's size. Where that size is a
        power of two itself, small networks get all those steps and large ones the first. Small networks also
        get steps below, if their VECTOR unit has no work that smaller tiles could hide."""
        if not keeps_tensors(self._maker.options) or self._is_extra(kind):
            return
        nodes = node_count(kind.network)
        is_small = nodes <= SMALLER and kind.machine in self._own_and_worst(nodes)
        power = 1 << (self._size - 1).bit_length() >> 1
        if self._size < 2 * power or is_small:
            yield from _steps(self._size, power)
        elif nodes > SMALL:
            yield from _steps(self._size, power)[:1]
        is_fine = is_small and not self._refinement.hidden_cycles(plan)
        while power * MIN_SRAM_PART >= self._size:
            yield power
            if is_fine:
                yield from _steps(power, power // 2)
            power >>= 1

    def _is_extra(self, kind: PlanKind) -> bool:
        """Whether it is a large network's plan for half the bandwidth, which is made for one size and not cut
        further."""
        nodes = node_count(kind.network)
        return nodes > SMALL and kind.machine not in self._own_and_worst(nodes)

    def _try_simpler(self, placed: PlacedNetwork, estimate: int) -> None:
        """Time the plan with the paper's tiling, which may be estimated too high where the SRAM is tiny.
        `estimate` is the highest of the others."""
        if self._maker.options.tiling != "auto":
            return
        kind = PlanKind(placed, self._maker.machine, "output-channel")
        with suppress(InputError):
            plan = self._maker.plan(kind, self._size)
            if plan.estimated_cycles <= SIMPLE_TILING_RATIO * estimate:
                self._time(PlanCandidate(kind, plan, self._size))


def _steps(size: int, power: int) -> range:
    """Sizes of SRAM below one and above a power of two."""
    step = max(power // SIZE_STEPS, 1)
    return range((size - 1) // step * step, power, -step)


def _size_estimate_ratio(kind: PlanKind) -> float:
    if kind.assumption is not CostAssumption.NO_OVERLAP:
        return OVERLAP_SIZE_RATIO
    return SMALL_SIZE_ESTIMATE_RATIO if node_count(kind.network) <= SMALLER else SIZE_ESTIMATE_RATIO
