"""Changes the best plans: smaller tiles, so that both units work side by side, and other loads ahead, by the
times that the computations were found to take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.policy import keeps_tensors
from dlasim.compiler_shim.lowering.splitting import changes_of_unit, hidden_cycles, split_rows
from dlasim.compiler_shim.lowering.sram_plan import SramPlan
from dlasim.compiler_shim.planning.candidates import (
    SMALLER,
    PlanCandidate,
    PlanKind,
    Timed,
    distinct,
    node_count,
)
from dlasim.compiler_shim.planning.plan_maker import PartedPlan, PlanMaker
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.sim.cost import units_overlap
from dlasim.sim.duration import computation_cycles, computation_ends

PARTS = (2, 4, 8)  # in which rows are computed where that lets both units work side by side
MIXED = 0  # instead, where each change of unit has a number of its own
SPLIT_IF_LARGE = 2  # so many of the fastest plans of larger networks are tried in smaller tiles
RESERVES = (1, 2)  # times what is needed is loaded ahead in plans by known times


class Refinement:
    """Makes candidates from plans that have been timed. Plans of some kinds are extra: they are not cut
    further."""

    def __init__(self, maker: PlanMaker, is_extra: Callable[[PlanKind], bool]) -> None:
        self._maker, self._is_extra = maker, is_extra
        self._may_split = keeps_tensors(maker.options) and units_overlap(maker.config)

    def run(self, timed: Sequence[Timed]) -> Timed:
        """The fastest of plans, or of what they become."""
        found = sorted(timed, key=lambda each: each[0])
        found += self._maker.time_all(self._split_best(found))[0]
        found += self._maker.time_all(self._mixed(found))[0]
        found += self._maker.time_all(self._with_known_times(found))[0]
        return min(found, key=lambda each: each[0])

    def may_gain(self, plan: SramPlan) -> bool:
        """Whether a plan may become another."""
        return bool(plan.ahead.loads or self.hidden_cycles(plan))

    def hidden_cycles(self, plan: SramPlan) -> int:
        """What smaller tiles could hide."""
        return hidden_cycles(plan) if self._may_split else 0

    def _split_best(self, timed: Sequence[Timed]) -> list[PlanCandidate]:
        """The best plans in smaller tiles, those that could be faster than the fastest of them."""
        least, fastest, _ = timed[0]
        if node_count(fastest.kind.network) > SMALLER:
            others = [each for each in timed if not self._is_extra(each[1].kind)]  # which lose no place to it
            timed = others[:SPLIT_IF_LARGE]
        found: list[PlanCandidate] = []
        for number, (cycles, candidate, _) in enumerate(timed):
            hidden = self.hidden_cycles(candidate.plan)
            if hidden and cycles - hidden < least:
                found += self._split(candidate, not number)
        return distinct(found, is_split=True)

    def _split(self, candidate: PlanCandidate, is_best: bool) -> Iterator[PlanCandidate]:
        """A plan in smaller tiles, so that the MAC and the VECTOR unit work side by side; the best plan also
        with its own addresses."""
        kind, size, known = candidate.kind, candidate.size, self._maker.memory.parted
        plans = [candidate.plan] if is_best else []
        with suppress(InputError):
            plans.append(self._maker.plan(kind, size, apart=True))
        for plan in plans:
            parted = known.setdefault(id(plan), PartedPlan(plan))
            steps = [step for site in changes_of_unit(plan) for step in site]
            for parts in PARTS:
                if parts not in parted.smaller:
                    parted.smaller[parts] = self._cut(plan, dict.fromkeys(steps, parts))
                if (smaller := parted.smaller[parts]) is not None:
                    yield PlanCandidate(kind, smaller, size)

    def _cut(self, plan: SramPlan, parts: Mapping[int, int]) -> SramPlan | None:
        """The plan with some nodes in so many parts."""
        smaller = split_rows(plan, parts)
        return self._maker.load_ahead(smaller) if smaller is not None and plan.ahead.loads else smaller

    def _mixed(self, timed: Sequence[Timed]) -> list[PlanCandidate]:
        """The best plan in smaller tiles, each change of unit in the number of parts that is best there."""
        best = min(timed, key=lambda each: each[0])[1]
        origins = {
            id(plan): parted for parted in self._maker.memory.parted.values() for plan in parted.plans()
        }
        parted = origins.get(id(best.plan))
        if parted is None or len(sites := changes_of_unit(parted.whole)) < 2:
            return []
        if MIXED not in parted.smaller:
            ends = self._ends_by_parts(parted, timed)
            parted.smaller[MIXED] = self._cut(parted.whole, _best_parts(parted.whole, sites, ends))
        mixed = parted.smaller[MIXED]
        return [] if mixed is None else [PlanCandidate(best.kind, mixed, best.size)]

    def _ends_by_parts(self, parted: PartedPlan, timed: Sequence[Timed]) -> dict[int, NDArray[np.int64]]:
        """By the number of parts, when the computations of each layer end."""
        found = {}
        for _, candidate, lowered in timed:
            for parts, plan in ((1, parted.whole), *parted.smaller.items()):
                if plan is candidate.plan:
                    program = (lowered or self._maker.emit(candidate, False)).program
                    found[parts] = computation_ends(program, self._maker.timed_machine, self._maker.backend)
        return found

    def _with_known_times(self, timed: Sequence[Timed]) -> list[PlanCandidate]:
        """The best plan, its loads ahead by the times that its computations were found to take."""
        _, best, lowered = min(timed, key=lambda each: each[0])
        plan, known = best.plan, self._maker.memory.known_times
        if not plan.ahead.loads:
            return []
        if id(plan) not in known:
            program = (lowered or self._maker.emit(best, False)).program
            computing = self._computing(best, program)
            known[id(plan)] = [self._maker.load_ahead(plan, computing, reserve) for reserve in RESERVES]
        return [PlanCandidate(best.kind, other, best.size) for other in known[id(plan)]]

    def _computing(self, candidate: PlanCandidate, program: Program) -> dict[int, float]:
        """By step the cycles of its computations; those of a layer in the shares of their estimates."""
        machine, plan = self._maker.cost_machine, candidate.plan
        cycles = computation_cycles(program, self._maker.timed_machine, self._maker.backend)
        shares, sums = dict[int, int](), defaultdict[int, int](int)
        for step, problem in plan.problems.items():
            shares[step] = problem.on(machine).compute_cycles(plan.tilings[step].tasks)
            sums[problem.node.layer] += shares[step]
        return {
            step: int(cycles[problem.node.layer]) * shares[step] / sums[problem.node.layer]
            for step, problem in plan.problems.items()
        }


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
