"""Passes that change the fastest plans: smaller tiles, so that both units work side by side, and other
prefetches, by the times that the computations were found to take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.addresses.sram_plan import NO_PREFETCHES, SramPlan
from dlasim.compiler_shim.lowering.splitting import changes_of_unit, hidden_cycles, split_rows
from dlasim.compiler_shim.planning.candidates import PlanCandidate, TimedPlan, fastest
from dlasim.compiler_shim.planning.plan_search import PlanSearch
from dlasim.compiler_shim.planning.worse_machines import deep_machine
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import units_overlap
from dlasim.sim.timing.duration import computation_cycles, computation_ends

MAX_APART = 2  # plans
# In which rows are computed where that lets both units work side by side.
FIRST_PARTS, OTHER_PARTS = 4, (2, 8)
MIXED = 0  # instead, where each change of unit has a number of its own
# The least number of plans that are tried in smaller tiles, and their layers. With 4, MobileNetV2 lost 0.9 %
# from queues of one operation to queues of three.
MIN_CUT, CUT_LAYERS = 5, 40
# Plans are timed with other prefetches if they take at most so many times the least. With one plan, the
# autoencoder lost 4.8 % from 9 to 16 weights per cycle.
KNOWN_RATIO, MAX_KNOWN = 1.02, 2
RESERVES = (1, 2)  # times what is needed is prefetched in plans by known times


def place_apart(search: PlanSearch) -> None:
    """Time the fastest plans with tensors and buffers at addresses that the steps just before do not use, so
    that fewer loads wait."""
    for timed in search.best(MAX_APART) if search.keeps_tensors else []:
        with suppress(InputError):
            plan = search.maker.plan(timed.kind, timed.candidate.size, apart=True)
            search.time(replace(timed.candidate, plan=plan))


def cut_at_changes_of_unit(search: PlanSearch) -> None:
    """Time promising plans in smaller tiles, so that the MAC and the VECTOR unit work in parallel.

    First each plan is cut into the same number of parts at all changes of unit, and the same with tensors in
    bytes that the previous step does not use. Then the best of these is cut
    into other numbers of parts, and into the best number at each change.
    """
    maker, found, wholes = search.maker, list[TimedPlan](), dict[SramPlan, PlanCandidate]()
    if not (search.keeps_tensors and units_overlap(maker.config)):
        return
    for candidate in _promising(search):
        plans = [candidate.plan]
        with suppress(InputError):
            plans.append(maker.plan(candidate.kind, candidate.size, apart=True))
        for plan in plans:
            wholes.setdefault(plan, replace(candidate, plan=plan))
    for whole in wholes.values():
        cut = _in_parts(search, whole, FIRST_PARTS)
        found += [cut] if cut is not None else []
    for best in fastest(found, 1):
        whole = replace(best.candidate, plan=best.candidate.whole, before_cutting=None)
        others = {parts: _in_parts(search, whole, parts) for parts in OTHER_PARTS}
        _in_best_parts(search, whole, {FIRST_PARTS: best, **others})


def _promising(search: PlanSearch) -> list[PlanCandidate]:
    """Plans that smaller tiles could make the fastest: first the fastest of them, then in turn those for each
    machine by its estimates, whose order matches that of the times with smaller tiles better. Of those that
    differ only in their prefetches, one is cut."""
    least, found = search.least_cycles, list[PlanCandidate]()
    for timed in sorted(search.timed, key=lambda timed: timed.cycles):
        hidden = hidden_cycles(timed.plan)
        if hidden and timed.cycles - hidden < least:
            found.append(timed.candidate)
    orders = defaultdict[DlaConfig, list[PlanCandidate]](list)
    for candidate in sorted(found[1:], key=lambda candidate: candidate.plan.estimated_cycles):
        if candidate.kind.network is found[0].kind.network:
            orders[candidate.kind.machine].append(candidate)
    by_turns = [candidate for turn in zip_longest(*orders.values()) for candidate in turn if candidate]
    different = dict[object, PlanCandidate]()
    for candidate in [*found[:1], *by_turns]:
        different.setdefault(candidate.layout(), candidate)
    return list(different.values())[: search.share(MIN_CUT, CUT_LAYERS)]


def _in_parts(search: PlanSearch, whole: PlanCandidate, parts: int) -> TimedPlan | None:
    """Time a plan with all nodes at changes of unit in this many parts; None where none can be cut."""
    steps = [step for site in changes_of_unit(whole.plan) for step in site]
    return _time_cut(search, whole, parts, dict.fromkeys(steps, parts))


def _in_best_parts(
    search: PlanSearch, whole: PlanCandidate, timed: Mapping[int, TimedPlan | None]
) -> TimedPlan | None:
    """Time a plan with each change of unit in the number of parts that is best there."""
    sites = changes_of_unit(whole.plan)
    if len(sites) < 2:
        return None
    ends = {1: _ends(search, search.maker.time(whole))}
    ends |= {parts: _ends(search, each) for parts, each in timed.items() if each is not None}
    return _time_cut(search, whole, MIXED, _best_parts(whole, sites, ends))


def _time_cut(
    search: PlanSearch, whole: PlanCandidate, key: int, parts: Mapping[int, int]
) -> TimedPlan | None:
    """Time a plan with some nodes cut into the given numbers of parts, and prefetches as for its kind."""
    known, plan = search.maker.memory.parted, whole.plan
    if (plan, key) not in known:
        smaller = split_rows(plan, parts)
        if smaller is not None and whole.kind.tiling == "auto" and not plan.kept.addresses:
            smaller = search.maker.with_prefetches(whole.kind, smaller)
        known[plan, key] = smaller
    smaller = known[plan, key]
    return search.time(replace(whole, plan=smaller, before_cutting=plan)) if smaller is not None else None


def _ends(search: PlanSearch, timed: TimedPlan) -> NDArray[np.int64]:
    """When the computations of each layer end."""
    return computation_ends(_program(search, timed), search.maker.timed_machine)


def _program(search: PlanSearch, timed: TimedPlan) -> Program:
    """A plan's program, if it was made for timing, else made now."""
    return (timed.lowered or search.maker.emit(timed.candidate, False)).program


def _best_parts(
    whole: PlanCandidate, sites: Sequence[Sequence[int]], ends: Mapping[int, NDArray[np.int64]]
) -> dict[int, int]:
    """By step in how many parts it takes the least time, if that is more than one."""
    steps, chosen = sorted(whole.plan.tilings), dict[int, int]()
    layers = {step: whole.layer(step) for step in steps}
    for site in sites:
        before, last = layers[steps[max(steps.index(site[0]) - 1, 0)]], layers[site[-1]]
        times = {parts: end[last] - end[before] for parts, end in ends.items()}
        parts = min(times, key=lambda each: times[each], default=1)
        if parts > 1:
            chosen |= dict.fromkeys(site, parts)
    return chosen


def use_known_times(search: PlanSearch) -> None:
    """Time the fastest plans with prefetches by the times that computations were found to take; without any;
    and with those of the deep machine, whose transfers are the same for all machines that are better."""
    different = dict[object, TimedPlan]()
    for timed in sorted(search.timed, key=lambda timed: timed.cycles):
        if timed.plan.prefetches.loads and timed.cycles <= KNOWN_RATIO * search.least_cycles:
            different.setdefault(timed.candidate.layout(), timed)
    for timed in list(different.values())[:MAX_KNOWN]:
        _use_known_times(search, timed)


def _use_known_times(search: PlanSearch, timed: TimedPlan) -> None:
    maker, plan, known = search.maker, timed.plan, search.maker.memory.known_times
    if plan not in known:
        computing, least = _computing(search, timed)
        if least >= search.least_cycles:
            return  # no other loads make it faster
        known[plan] = [
            *maker.prefetching(plan, maker.machine, computing, RESERVES),
            replace(plan, prefetches=NO_PREFETCHES),
            *maker.prefetching(plan, deep_machine(maker.machine), computing),
        ]
    for other in known[plan]:
        search.time(replace(timed.candidate, plan=other))


def _computing(search: PlanSearch, timed: TimedPlan) -> tuple[dict[int, int], int]:
    """The cycles of the computations of each step, and the least that the program takes.

    The cycles of a layer are divided among its steps in proportion to their estimates.
    """
    maker, plan, layer = search.maker, timed.plan, timed.candidate.layer
    cycles, least = computation_cycles(_program(search, timed), maker.timed_machine)
    shares, sums = dict[int, int](), defaultdict[int, int](int)
    for step, problem in plan.problems.items():
        tiling = plan.tilings[step]
        shares[step] = problem.facts(tiling, tiling.tasks, maker.cost_machine).compute_cycles
        sums[layer(step)] += shares[step]
    computing = {step: int(cycles[layer(step)]) * shares[step] // sums[layer(step)] for step in shares}
    return computing, least
