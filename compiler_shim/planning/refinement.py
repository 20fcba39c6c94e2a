"""Changes the best plans: smaller tiles, so that both units work side by side, and other prefetches, by the
times that the computations were found to take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.lower import Lowered
from dlasim.compiler_shim.lowering.packed_segments import PackedPlan
from dlasim.compiler_shim.lowering.policy import keeps_tensors
from dlasim.compiler_shim.lowering.splitting import changes_of_unit, hidden_cycles, split_rows
from dlasim.compiler_shim.lowering.sram_plan import NO_PREFETCHES, SramPlan
from dlasim.compiler_shim.planning.candidates import (
    SMALL,
    SMALLER,
    PlanCandidate,
    PlanKind,
    Timed,
    node_count,
)
from dlasim.compiler_shim.planning.plan_maker import PartedPlan, PlanMaker
from dlasim.compiler_shim.planning.worse_machines import deep_machine
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.sim.cost import units_overlap
from dlasim.sim.duration import computation_cycles, computation_ends

# In which rows are computed where that lets both units work side by side.
FIRST_PARTS, OTHER_PARTS = (4,), (2, 8)
ALL_PARTS = tuple(sorted(FIRST_PARTS + OTHER_PARTS))
MIXED = 0  # instead, where each change of unit has a number of its own
MAX_IF_LARGE = 10  # plans of larger networks that are tried in smaller tiles
MAX_IN_OTHERS = 2  # of these, tried in other numbers of parts
MAX_MIXED = 2  # plans of networks that are not large in which each change of unit has a number of its own
MAX_BY_TIMES = 3  # plans whose prefetches are planned again
RESERVES = (1, 2)  # times what is needed is prefetched in plans by known times


class Refinement:
    """Makes candidates from plans that have been timed. Plans of some kinds are extra: they are not cut
    further."""

    def __init__(self, maker: PlanMaker, is_extra: Callable[[PlanKind], bool]) -> None:
        self._maker, self._is_extra = maker, is_extra
        self._deep = deep_machine(maker.machine)
        self._may_split = keeps_tensors(maker.options) and units_overlap(maker.config)

    def run(self, timed: Sequence[Timed]) -> Timed:
        """The fastest of plans, or of what they become."""
        found = sorted(timed, key=_cycles)
        found += self._split_promising(found)
        found += self._maker.time_all(self._mixed(found))[0]
        found += self._with_known_times(found)
        return min(found, key=_cycles)

    def hidden_cycles(self, plan: SramPlan) -> int:
        """What smaller tiles could hide."""
        return hidden_cycles(plan) if self._may_split else 0

    def _split_promising(self, timed: Sequence[Timed]) -> list[Timed]:
        """Promising plans in smaller tiles, so that the MAC and the VECTOR unit work in parallel.

        First each plan is cut into the same number of parts at all changes of unit, with tensors in bytes
        that the previous step does not use; the first plan also with its own addresses. Then the best of
        these are also cut into other numbers of parts.
        """
        firsts = list[PlanCandidate]()
        for number, candidate in enumerate(self._promising(timed)):
            plans = [] if number else [candidate.plan]
            with suppress(InputError):
                plans.append(self._maker.plan(candidate.kind, candidate.size, apart=True))
            for plan in plans:
                firsts += self._in_parts(candidate, plan, FIRST_PARTS)
        found = self._maker.time_all(firsts)[0]
        others = list[PlanCandidate]()
        for _, candidate, _ in _fastest(found, MAX_IN_OTHERS):
            whole = self._origin(candidate.plan).whole
            others += self._in_parts(candidate, whole, OTHER_PARTS)
        return found + self._maker.time_all(others)[0]

    def _promising(self, timed: Sequence[Timed]) -> list[PlanCandidate]:
        """The plans that smaller tiles could make the fastest.

        Of a large network only some: taken in turn from the list sorted by time and from those sorted by each
        machine's estimates, because that order often matches the times with smaller tiles.
        """
        least, fastest, _ = timed[0]
        found = list[PlanCandidate]()
        for cycles, candidate, _ in timed:
            hidden = self.hidden_cycles(candidate.plan)
            if hidden and cycles - hidden < least:
                found.append(candidate)
        if node_count(fastest.kind.network) <= SMALLER:
            return found
        found = [candidate for candidate in found if not self._is_extra(candidate.kind)]
        orders = [found]
        for machine in dict.fromkeys([candidate.kind.machine for candidate in found]):
            same = [candidate for candidate in found if candidate.kind.machine == machine]
            orders.append(sorted(same, key=lambda candidate: candidate.plan.estimated_cycles))
        by_turns = [candidate for turn in zip_longest(*orders) for candidate in turn if candidate is not None]
        return list({id(candidate): candidate for candidate in by_turns}.values())[:MAX_IF_LARGE]

    def _in_parts(
        self, candidate: PlanCandidate, plan: SramPlan, counts: Sequence[int]
    ) -> Iterator[PlanCandidate]:
        """A plan of a candidate's kind and size in smaller tiles, in several numbers of parts."""
        for parts in counts:
            if (smaller := self._smaller(candidate.kind, plan, parts)) is not None:
                yield replace(candidate, plan=smaller)

    def _smaller(self, kind: PlanKind, plan: SramPlan, parts: int) -> SramPlan | None:
        """A kind's plan with all nodes at changes of unit in this many parts; None where none can be cut."""
        known = self._maker.memory.parted.setdefault(id(plan), PartedPlan(plan)).smaller
        if parts not in known:
            steps = [step for site in changes_of_unit(plan) for step in site]
            known[parts] = self._cut(kind, plan, dict.fromkeys(steps, parts))
        return known[parts]

    def _origin(self, plan: SramPlan) -> PartedPlan:
        """The plan that one in smaller tiles was made of; another is its own."""
        for parted in self._maker.memory.parted.values():
            if any(plan is each for each in parted.smaller.values()):
                return parted
        return self._maker.memory.parted.setdefault(id(plan), PartedPlan(plan))

    def _cut(self, kind: PlanKind, plan: SramPlan, parts: Mapping[int, int]) -> SramPlan | None:
        """The plan with some nodes cut into the given numbers of parts, and prefetches as for its kind."""
        smaller = split_rows(plan, parts)
        if smaller is None or not plan.prefetches.loads:
            return smaller
        return self._maker.with_prefetches(kind, smaller)

    def _mixed(self, timed: Sequence[Timed]) -> list[PlanCandidate]:
        """The best plans in smaller tiles, each change of unit in the number of parts that is best there."""
        count = MAX_MIXED if node_count(timed[0][1].kind.network) <= SMALL else 1
        best = dict[int, PlanCandidate]()  # by identity of the plan before it was cut
        for _, candidate, _ in sorted(timed, key=_cycles):
            best.setdefault(id(self._origin(candidate.plan)), candidate)
            if len(best) == count:
                break
        programs = {id(candidate.plan): lowered for _, candidate, lowered in timed}
        mixed = [(candidate, self._in_best_parts(candidate, programs)) for candidate in best.values()]
        return [replace(candidate, plan=plan) for candidate, plan in mixed if plan is not None]

    def _in_best_parts(
        self, candidate: PlanCandidate, programs: Mapping[int, Lowered | None]
    ) -> SramPlan | None:
        """A candidate's plan with each change of unit in its best number of parts, None where it has no two.
        `programs` are those that were made for timing, by identity of the plan."""
        parted = self._origin(candidate.plan)
        sites = changes_of_unit(parted.whole)
        if self._is_extra(candidate.kind) or not self.hidden_cycles(parted.whole) or len(sites) < 2:
            return None
        if MIXED not in parted.smaller:
            kind, whole = candidate.kind, parted.whole
            plans = {1: whole} | {parts: self._smaller(kind, whole, parts) for parts in ALL_PARTS}
            ends = dict[int, NDArray[np.int64]]()
            for parts, plan in plans.items():
                if plan is not None:
                    with suppress(InputError):  # too many tiles or operations
                        ends[parts] = self._ends(replace(candidate, plan=plan), programs.get(id(plan)))
            parted.smaller[MIXED] = self._cut(kind, whole, _best_parts(whole, sites, ends))
        return parted.smaller[MIXED]

    def _ends(self, candidate: PlanCandidate, lowered: Lowered | None) -> NDArray[np.int64]:
        """When the computations of each layer end."""
        program = self._program(candidate, lowered)
        return computation_ends(program, self._maker.timed_machine)

    def _program(self, candidate: PlanCandidate, lowered: Lowered | None) -> Program:
        """A candidate's program, if it was made for timing, else made now."""
        return (lowered or self._maker.emit(candidate, False)).program

    def _with_known_times(self, timed: Sequence[Timed]) -> list[Timed]:
        """The best plans, their prefetches by the times that computations were found to take; without any;
        and the best by the estimates of the deep machine."""
        found, known = list[Timed](), self._maker.memory.known_times
        promising = _fastest(timed, MAX_BY_TIMES)
        for _, candidate, lowered in promising:
            plan, identity = candidate.plan, id(candidate.plan)
            if identity not in known and plan.prefetches.loads:
                computing, least = self._computing(candidate, self._program(candidate, lowered))
                if least >= min(promising[:1] + found, key=_cycles)[0]:
                    continue  # no other loads make it the fastest
                packed = PackedPlan(plan)
                known[identity] = [
                    *self._maker.prefetching(packed, self._maker.machine, computing, RESERVES),
                    replace(plan, prefetches=NO_PREFETCHES),
                ]
            others = list(known.get(identity, ()))
            if others and candidate is promising[0][1]:
                others.append(self._with_deep_prefetches(plan))
            found += self._maker.time_all([replace(candidate, plan=other) for other in others])[0]
        return found

    def _with_deep_prefetches(self, plan: SramPlan) -> SramPlan:
        """A plan with prefetches by the estimates of the deep machine."""
        known, identity = self._maker.memory.deep_prefetches, id(plan)
        if identity not in known:
            (known[identity],) = self._maker.prefetching(PackedPlan(plan), self._deep)
        return known[identity]

    def _computing(self, candidate: PlanCandidate, program: Program) -> tuple[dict[int, float], int]:
        """The cycles of the computations of each step, and the least that the program takes.

        The cycles of a layer are divided among its steps in proportion to their estimates.
        """
        machine, plan = self._maker.cost_machine, candidate.plan
        cycles, least = computation_cycles(program, self._maker.timed_machine)
        shares, sums = dict[int, int](), defaultdict[int, int](int)
        for step, problem in plan.problems.items():
            shares[step] = problem.on(machine).compute_cycles(plan.tilings[step].tasks)
            sums[problem.node.layer] += shares[step]
        computing = {
            step: int(cycles[problem.node.layer]) * shares[step] / sums[problem.node.layer]
            for step, problem in plan.problems.items()
        }
        return computing, least


def _cycles(timed: Timed) -> int:
    return timed[0]


def _fastest(timed: Sequence[Timed], count: int) -> list[Timed]:
    """The `count` fastest, each with different commands."""
    found = dict[object, Timed]()
    for each in sorted(timed, key=_cycles):
        if len(found) == count:
            break
        found.setdefault(each[1].commands(), each)
    return list(found.values())


def _best_parts(
    plan: SramPlan, sites: Sequence[Sequence[int]], ends: Mapping[int, NDArray[np.int64]]
) -> dict[int, int]:
    """By step in how many parts it takes the least time, if that is more than one."""
    steps, chosen = sorted(plan.tilings), dict[int, int]()
    layers = {step: plan.problems[step].node.layer for step in steps}
    for site in sites:
        before, last = layers[steps[max(steps.index(site[0]) - 1, 0)]], layers[site[-1]]
        times = {parts: end[last] - end[before] for parts, end in ends.items()}
        parts = min(times, key=lambda each: times[each], default=1)
        if parts > 1:
            chosen |= dict.fromkeys(site, parts)
    return chosen
