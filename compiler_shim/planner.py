"""Chooses the program: makes several plans, emits them, and keeps the one that the simulator times fastest.

`docs/planner.md` explains the search and what it leaves out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.ahead import load_ahead
from dlasim.compiler_shim.lowering.lower import Lowered, emit
from dlasim.compiler_shim.lowering.policy import Policy, keeps_tensors
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.lowering.splitting import changes_of_unit, hidden_cycles, split_rows
from dlasim.compiler_shim.lowering.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.tiling import Hope
from dlasim.compiler_shim.nodes import DlaNode, PlacedNetwork
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.partition import UnplacedNetwork
from dlasim.compiler_shim.placement import Placements
from dlasim.compiler_shim.worse_machines import slower_machines, worse_machines, worst_machine
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.native.backend import Backend
from dlasim.sim.config import DlaConfig
from dlasim.sim.cost import units_overlap
from dlasim.sim.duration import computation_cycles, computation_ends, program_cycles

MAY_BE_FASTER = 1.2  # the paper's tiling is tried where its estimate is within so much of the other
SMALL, SMALLER = 32, 16  # nodes of networks for which there is time for more candidates
MOST_SRAM = 1 << 30
STEPS = 8  # in which SRAM grows from one power of two to the next, where plans for smaller sizes are tried
PARTS = (2, 4, 8)  # in which rows are computed where that lets both units work side by side
RESERVES = (1, 2)  # times what is needed is loaded ahead in plans by known times
MIXED = 0  # instead, where each change of unit has a number of its own
SPLIT_IF_LARGE = 2  # so many of the fastest plans of larger networks are tried in smaller tiles
LEAST_PART = 64  # of the SRAM: there are no plans for less than that
MOST_TASKS = 1 << 14  # nor such with more than that
SCARCE = 32  # with such a part of what can be used, large networks get a plan for half the bandwidth
NEAR = 1.005  # a plan for less SRAM is tried while its estimate is within so much of the best
NEAR_IF_SMALL = 1.05  # likewise
NEAR_WITH_HOPE = 1.7  # likewise, of plans that hope to load ahead: more SRAM only raises what they hope for


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a plan is made with besides the SRAM: the placement, the machine that it is for, the tiling, what
    estimates assume, and whether chains may be computed in groups of channels."""

    network: PlacedNetwork
    machine: DlaConfig
    tiling: str
    hope: Hope = Hope.NONE
    by_groups: bool = True


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A plan, and what it was made with."""

    kind: _Kind
    plan: SramPlan
    size: int

    def key(self, is_split: bool) -> object:
        """Of plans with the same key, one is timed. Small networks hardly take other time with other
        addresses, unless layers run side by side."""
        plan, network = self.plan, self.kind.network
        same = network, plan.addresses.keys(), plan.tilings, plan.chains, plan.ahead.loads
        if _nodes(network) <= SMALLER:
            return (*same, plan.addresses) if is_split else same
        return *same, plan.addresses, plan.buffers, plan.ahead.addresses

    def commands(self) -> object:
        """All that decides about the commands. Plans for different machines often have the same, but other
        estimates."""
        plan = self.plan
        return (
            self.kind.network,
            tuple(plan.addresses.items()),
            tuple(plan.buffers.items()),
            tuple([(step, tiling.cut) for step, tiling in plan.tilings.items()]),
            tuple([replace(chain, cycles=0, load_cycles=0) for chain in plan.chains.values()]),
            tuple([(step, tuple(loads)) for step, loads in plan.ahead.loads.items()]),
            tuple(plan.ahead.addresses.items()),
        )


_Timed = tuple[int, _Candidate, Lowered | None]


@dataclass(frozen=True, slots=True)
class _Parted:
    """A plan, and by the number of parts the same in smaller tiles, None where it cannot be cut."""

    whole: SramPlan
    smaller: dict[int, SramPlan | None] = field(default_factory=dict)

    def plans(self) -> Iterator[SramPlan]:
        """All of them."""
        yield self.whole
        yield from [plan for plan in self.smaller.values() if plan is not None]


@dataclass(slots=True)
class PlanMemory:
    """What has been found for one network on machines that differ only in their SRAM.

    A plan depends on the SRAM that it is for; its cycles do not depend on the SRAM that there is beside.
    """

    placements: Placements | None = None
    sufficient_bytes: int = 0
    policies: dict[tuple[DlaConfig, str, Hope, bool], Policy] = field(default_factory=dict)
    planners: dict[_Kind, SramPlanner] = field(default_factory=dict)
    plans: dict[tuple[_Kind, int, bool], SramPlan | str] = field(default_factory=dict)  # or why there is none
    parted: dict[int, _Parted] = field(default_factory=dict)  # by identity, a plan in smaller tiles
    known_times: dict[int, list[SramPlan]] = field(default_factory=dict)  # likewise, with other loads ahead
    cycles: dict[int, int] = field(default_factory=dict)  # by the identity of a plan that is kept here
    timed: dict[object, int] = field(default_factory=dict)  # cycles by what decides about the commands


def fastest_plan(
    network: UnplacedNetwork,
    config: DlaConfig,
    options: CompileOptions,
    backend: Backend,
    memory: PlanMemory | None = None,
) -> ChosenPlan:
    """The fastest of the plans for a network on a machine."""
    return _PlanSearch(network, config, options, backend, memory or PlanMemory()).run()


class ChosenPlan:
    """The fastest plan for a machine."""

    def __init__(self, search: _PlanSearch, candidate: _Candidate, timed: Lowered | None) -> None:
        self._search, self._candidate, self._timed = search, candidate, timed

    @property
    def plan(self) -> SramPlan:
        """With one memory, machines with the same object get the same program for different SRAM sizes."""
        return self._candidate.plan

    @property
    def sufficient_sram_bytes(self) -> int | None:
        """With so much SRAM or more the program is the same; None where the machine has less."""
        return self._search.sufficient_sram_bytes

    def lower(self, with_constants: bool = True) -> Lowered:
        """The program; without constants it serves for timing only."""
        if self._timed is not None and not with_constants:
            return self._timed
        return self._search.emit(self._candidate, with_constants)


class _PlanSearch:
    def __init__(
        self,
        network: UnplacedNetwork,
        config: DlaConfig,
        options: CompileOptions,
        backend: Backend,
        memory: PlanMemory,
    ) -> None:
        self._config, self._options, self._backend, self._memory = config, options, backend, memory
        # What a simulation leaves out must not change the program.
        self._timed = config.replace(timing="full")
        self._machine = config.replace(sram_bytes=MOST_SRAM)  # all sizes have the same
        self._own_and_worst = dict.fromkeys((self._machine, worst_machine(self._machine)))
        if memory.placements is None:
            memory.placements = Placements(network, self._policy(config, options.tiling, Hope.NONE))
            memory.sufficient_bytes = self._sufficient_bytes(memory.placements.most_on_dla())
        self._placements = memory.placements
        self._size = min(config.sram_bytes, memory.sufficient_bytes)
        self._may_split = keeps_tensors(options) and units_overlap(config)

    def _sufficient_bytes(self, network: PlacedNetwork) -> int:
        """Plans use no more SRAM than so much: a machine with more gets the same program."""
        most = self._planner(_Kind(network, self._machine, self._options.tiling)).sufficient_bytes()
        return 1 << max(most - 1, 0).bit_length()

    @property
    def sufficient_sram_bytes(self) -> int | None:
        """With so much SRAM or more the program is the same; None where the machine has less."""
        enough = self._memory.sufficient_bytes
        return enough if enough <= self._config.sram_bytes else None

    def run(self) -> ChosenPlan:
        """Time the plans where there are several."""
        found = _distinct(self._candidates())
        best, lowered = found[0], None
        if len(found) > 1 or self._hidden(best.plan):
            best, lowered = self._fastest(found)
        return ChosenPlan(self, best, lowered)

    def _fastest(self, candidates: Sequence[_Candidate]) -> tuple[_Candidate, Lowered | None]:
        """The fastest of those of which a program can be made, or of the best of these in smaller tiles; an
        InputError where there is none."""
        timed, refusals = self._time_all(candidates)
        if not timed:
            raise refusals[0]
        timed.sort(key=lambda each: each[0])
        timed += self._time_all(self._split_best([(each[0], each[1]) for each in timed]))[0]
        timed += self._time_all(self._mixed(timed))[0]
        timed += self._time_all(self._with_known_times(timed))[0]
        _, best, lowered = min(timed, key=lambda each: each[0])
        return best, lowered

    def _with_known_times(self, timed: Sequence[_Timed]) -> list[_Candidate]:
        """The best plan, its loads ahead by the times that its computations were found to take."""
        _, best, lowered = min(timed, key=lambda each: each[0])
        plan = best.plan
        if not plan.ahead.loads:
            return []
        known = self._memory.known_times
        if id(plan) not in known:
            program = (lowered or self.emit(best, False)).program
            computing = self._computing(best, program)
            known[id(plan)] = [self._load_ahead(plan, computing, reserve) for reserve in RESERVES]
        return [_Candidate(best.kind, other, best.size) for other in known[id(plan)]]

    def _computing(self, candidate: _Candidate, program: Program) -> dict[int, float]:
        """By step the cycles of its computations; those of a layer in the shares of their estimates."""
        machine = self._policy(self._machine, self._options.tiling, Hope.NONE).machine
        plan, cycles = candidate.plan, computation_cycles(program, self._timed, self._backend)
        shares, sums = dict[int, float](), defaultdict[int, float](float)
        for step, problem in plan.problems.items():
            shares[step] = problem.on(machine).compute_cycles(plan.tilings[step].tasks)
            sums[problem.node.layer] += shares[step]
        layers = {step: problem.node.layer for step, problem in plan.problems.items()}
        return {step: cycles[layers[step]] * share / sums[layers[step]] for step, share in shares.items()}

    def _mixed(self, timed: Sequence[_Timed]) -> list[_Candidate]:
        """The best plan in smaller tiles, each change of unit in the number of parts that is best there."""
        best = min(timed, key=lambda each: each[0])[1]
        origins = {id(plan): parted for parted in self._memory.parted.values() for plan in parted.plans()}
        parted = origins.get(id(best.plan))
        if parted is None or len(sites := changes_of_unit(parted.whole)) < 2:
            return []
        if MIXED not in parted.smaller:
            ends = self._ends_by_parts(parted, timed)
            parted.smaller[MIXED] = self._cut(parted.whole, _best_parts(parted.whole, sites, ends))
        mixed = parted.smaller[MIXED]
        return [] if mixed is None else [_Candidate(best.kind, mixed, best.size)]

    def _ends_by_parts(self, parted: _Parted, timed: Sequence[_Timed]) -> dict[int, NDArray[np.int64]]:
        """By the number of parts, when the computations of each layer end."""
        found = {}
        for _, candidate, lowered in timed:
            for parts, plan in ((1, parted.whole), *parted.smaller.items()):
                if plan is candidate.plan:
                    program = (lowered or self.emit(candidate, False)).program
                    found[parts] = computation_ends(program, self._timed, self._backend)
        return found

    def _split_best(self, timed: Sequence[tuple[int, _Candidate]]) -> list[_Candidate]:
        """The best plans in smaller tiles, those that could be faster than the fastest of them."""
        least, fastest = timed[0]
        if _nodes(fastest.kind.network) > SMALLER:
            others = [each for each in timed if not self._is_extra(each[1].kind)]  # which lose no place to it
            timed = _with_other_tiles(others)[:SPLIT_IF_LARGE]
        found: list[_Candidate] = []
        for number, (cycles, candidate) in enumerate(timed):
            hidden = self._hidden(candidate.plan)
            if hidden and cycles - hidden < least:
                found += self._split(candidate, not number)
        return _distinct(found, is_split=True)

    def _hidden(self, plan: SramPlan) -> int:
        """What smaller tiles could hide."""
        return hidden_cycles(plan) if self._may_split else 0

    def _split(self, candidate: _Candidate, is_best: bool) -> Iterator[_Candidate]:
        """A plan in smaller tiles, so that the MAC and the VECTOR unit work side by side; the best plan also
        with its own addresses."""
        kind, size, known = candidate.kind, candidate.size, self._memory.parted
        plans = [candidate.plan] if is_best else []
        with suppress(InputError):
            plans.append(self._plan(kind, size, apart=True))
        for plan in plans:
            parted = known.setdefault(id(plan), _Parted(plan))
            steps = [step for site in changes_of_unit(plan) for step in site]
            for parts in PARTS:
                if parts not in parted.smaller:
                    parted.smaller[parts] = self._cut(plan, dict.fromkeys(steps, parts))
                if (smaller := parted.smaller[parts]) is not None:
                    yield _Candidate(kind, smaller, size)

    def _cut(self, plan: SramPlan, parts: Mapping[int, int]) -> SramPlan | None:
        """The plan with some nodes in so many parts."""
        smaller = split_rows(plan, parts)
        return self._load_ahead(smaller) if smaller is not None and plan.ahead.loads else smaller

    def _time_all(self, candidates: Sequence[_Candidate]) -> tuple[list[_Timed], list[InputError]]:
        """The times of those of which a program can be made, and why there is none of others."""
        timed: list[_Timed] = []
        refusals: list[InputError] = []
        for candidate in candidates:
            try:
                cycles, lowered = self._time(candidate)
            except InputError as error:  # too many tiles or operations
                refusals.append(error.with_traceback(None))  # which would keep this list alive
            else:
                timed.append((cycles, candidate, lowered))
        return timed, refusals

    def _time(self, candidate: _Candidate) -> tuple[int, Lowered | None]:
        memory, plan = self._memory, id(candidate.plan)
        if plan in memory.cycles:
            return memory.cycles[plan], None
        commands, lowered = candidate.commands(), None
        cycles = memory.timed.get(commands)
        if cycles is None:
            lowered = self.emit(candidate, False)
            cycles = memory.timed[commands] = program_cycles(lowered.program, self._timed, self._backend)
        memory.cycles[plan] = cycles
        return cycles, lowered

    def emit(self, candidate: _Candidate, with_constants: bool) -> Lowered:
        """The program of a candidate."""
        network, sufficient = candidate.kind.network, self.sufficient_sram_bytes
        return emit(network, self._config, candidate.plan, sufficient, with_constants, self._backend)

    def _candidates(self) -> Iterator[_Candidate]:
        """The plans of every placement; an InputError only where none of them has a plan."""
        refusal, some = None, False
        for placed in self._placements.promising(self._size):
            try:
                least = 0
                for kind in self._kinds(placed):
                    for candidate in self._sizes(kind):
                        least = max(least, candidate.plan.estimated_cycles)
                        some = True
                        yield candidate
                yield from self._simpler(placed, least)
            except InputError as error:
                refusal = refusal or error.with_traceback(None)
        if not some:
            assert refusal is not None, "every network has a placement"
            raise refusal

    def _kinds(self, placed: PlacedNetwork) -> Iterator[_Kind]:
        """With low hopes and with high ones, also as for machines that are worse, since those may not be
        faster: for small networks in one way, for all in every way in which this one is better than the
        default."""
        tiling = self._options.tiling
        if not keeps_tensors(self._options):
            yield _Kind(placed, self._machine, tiling)
            return
        size = _nodes(placed)
        machines = list(self._own_and_worst)
        if size <= SMALL:
            machines += worse_machines(self._machine)
        if size <= SMALLER:
            # Plans for slow memories have second buffers for inputs, which smaller tiles need.
            machines += [slower for machine in self._own_and_worst for slower in slower_machines(machine)]
        for machine in dict.fromkeys(machines):
            for hope in Hope if size <= SMALLER else (Hope.NONE, Hope.AHEAD):
                yield _Kind(placed, machine, tiling, hope)
        if size > SMALL and SCARCE * self._size <= self._memory.sufficient_bytes:
            for slower in slower_machines(self._machine)[:1]:
                yield _Kind(placed, slower, tiling, Hope.AHEAD)

    def _sizes(self, kind: _Kind) -> Iterator[_Candidate]:
        """The plan for the machine's SRAM, and those for smaller sizes while their estimates are nearly as
        good."""
        plan = self._plan(kind, self._size)
        most = _near(kind) * plan.estimated_cycles
        for size in (self._size, *self._smaller_sizes(kind, plan)):
            try:
                plan = self._plan(kind, size)
            except InputError:
                return
            if plan.estimated_cycles > most or (size < self._size and plan.tasks > MOST_TASKS):
                return
            yield _Candidate(kind, plan, size)
            if plan.has_groups:
                yield from self._without_groups(kind, size)

    def _without_groups(self, kind: _Kind, size: int) -> Iterator[_Candidate]:
        """The plan without chains in groups of channels, whose estimates leave out loads ahead."""
        if size == self._size or _nodes(kind.network) <= SMALL:
            other = replace(kind, by_groups=False)
            with suppress(InputError):
                yield _Candidate(other, self._plan(other, size), size)

    def _smaller_sizes(self, kind: _Kind, plan: SramPlan) -> Iterator[int]:
        """Powers of two, and steps between the largest of them and the machine's size. Where that size is a
        power of two itself, small networks get all those steps and large ones the first. Small networks also
        get steps below, if their VECTOR unit has no work that smaller tiles could hide."""
        if not keeps_tensors(self._options) or self._is_extra(kind):
            return
        is_small = kind.machine in self._own_and_worst and _nodes(kind.network) <= SMALLER
        power = 1 << (self._size - 1).bit_length() >> 1
        if self._size < 2 * power or is_small:
            yield from _steps(self._size, power)
        elif _nodes(kind.network) > SMALL:
            yield from _steps(self._size, power)[:1]
        is_fine = is_small and not self._hidden(plan)
        while power * LEAST_PART >= self._size:
            yield power
            if is_fine:
                yield from _steps(power, power // 2)
            power >>= 1

    def _is_extra(self, kind: _Kind) -> bool:
        """Whether it is a large network's plan for half the bandwidth, which is made for one size and not cut
        further."""
        return _nodes(kind.network) > SMALL and kind.machine not in self._own_and_worst

    def _simpler(self, placed: PlacedNetwork, best_estimate: int) -> Iterator[_Candidate]:
        """The plan with the paper's tiling, which may be estimated too high where the SRAM is tiny."""
        if self._options.tiling != "auto":
            return
        kind = _Kind(placed, self._machine, "output-channel")
        try:
            plan = self._plan(kind, self._size)
        except InputError:
            return
        if plan.estimated_cycles <= MAY_BE_FASTER * best_estimate:
            yield _Candidate(kind, plan, self._size)

    def _plan(self, kind: _Kind, size: int, apart: bool = False) -> SramPlan:
        """The plan for so much SRAM; `apart` with tensors apart from the step before."""
        known, key = self._memory.plans, (kind, size, apart)
        if key not in known:
            try:
                plan = self._planner(kind).plan(size, apart)
                known[key] = self._load_ahead(plan) if keeps_tensors(self._options) else plan
            except InputError as error:
                known[key] = str(error)  # the error itself would keep everything here alive
        found = known[key]
        if isinstance(found, str):
            raise InputError(found)
        return found

    def _load_ahead(
        self, plan: SramPlan, computing: Mapping[int, float] | None = None, reserve: int = 1
    ) -> SramPlan:
        """The plan with loads ahead, by the times of the machine at hand."""
        machine = self._policy(self._machine, self._options.tiling, Hope.NONE).machine
        return load_ahead(plan, machine, computing, reserve, self._backend)

    def _planner(self, kind: _Kind) -> SramPlanner:
        known = self._memory.planners
        if kind not in known:
            policy = self._policy(kind.machine, kind.tiling, kind.hope, kind.by_groups)
            known[kind] = SramPlanner(kind.network, policy)
        return known[kind]

    def _policy(self, machine: DlaConfig, tiling: str, hope: Hope, by_groups: bool = True) -> Policy:
        known, key = self._memory.policies, (machine, tiling, hope, by_groups)
        if key not in known:
            options = replace(self._options, tiling=tiling)
            known[key] = Policy(machine, options, self._backend, hope, by_groups)
        return known[key]


def _distinct(candidates: Iterable[_Candidate], is_split: bool = False) -> list[_Candidate]:
    """The first of those that give the same program."""
    found: list[_Candidate] = []
    keys: defaultdict[int, list[object]] = defaultdict(list)  # by the estimate, which equal keys share
    for candidate in candidates:
        key, known = candidate.key(is_split), keys[candidate.plan.estimated_cycles]
        if key not in known:
            known.append(key)
            found.append(candidate)
    return found


def _best_parts(
    plan: SramPlan, sites: Sequence[Sequence[int]], ends: Mapping[int, NDArray[np.int64]]
) -> dict[int, int]:
    """By step in how many parts it takes the least time, if that is more than one."""
    steps, chosen = sorted(plan.tilings), dict[int, int]()
    layers = {step: plan.problems[step].node.layer for step in steps}
    for site in sites:
        before, last = layers[steps[max(steps.index(site[0]) - 1, 0)]], layers[site[-1]]
        times = {parts: end[last] - end[before] for parts, end in ends.items()}
        parts = min(times, key=lambda each: times[each])
        if parts > 1:
            chosen |= dict.fromkeys(site, parts)
    return chosen


def _steps(size: int, power: int) -> range:
    """Sizes of SRAM below one and above a power of two."""
    step = max(power // STEPS, 1)
    return range((size - 1) // step * step, power, -step)


def _near(kind: _Kind) -> float:
    if kind.hope is not Hope.NONE:
        return NEAR_WITH_HOPE
    return NEAR_IF_SMALL if _nodes(kind.network) <= SMALLER else NEAR


def _nodes(network: PlacedNetwork) -> int:
    return sum(isinstance(node, DlaNode) for node in network.nodes)


def _with_other_tiles(timed: Sequence[tuple[int, _Candidate]]) -> list[tuple[int, _Candidate]]:
    """Without those that only load at other times than a faster one."""
    found: dict[object, tuple[int, _Candidate]] = {}
    for cycles, candidate in timed:
        found.setdefault((candidate.kind, candidate.size), (cycles, candidate))
    return list(found.values())
