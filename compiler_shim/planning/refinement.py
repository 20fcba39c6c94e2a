"""Passes that change the fastest plans: addresses and smaller tiles with which both units work side by side,
and other orders of loads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.splitting import changes_of_unit, hidden_cycles, split_rows
from dlasim.compiler_shim.planning.candidates import PlanCandidate, TimedPlan, ranked
from dlasim.compiler_shim.planning.plan_search import PlanSearch
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import units_overlap

# With 2 plans, DS-CNN lost 1.0 % from 21 to 29 bytes per cycle of the SRAM.
MAX_APART = 3
# In which rows are computed where that lets both units work side by side.
FIRST_PARTS, OTHER_PARTS = 4, (2, 8)
MIXED = 0  # instead, where each change of unit has a number of its own
# The least number of plans that are tried in smaller tiles, and their layers. With 4, MobileNetV2 lost 0.9 %
# from queues of one operation to queues of three.
MIN_CUT, CUT_LAYERS = 5, 40
# Plans are timed with other orders of loads if they take at most so many times the least. With 2 plans, the
# autoencoder lost 0.5 % from 9 to 16 weights per cycle.
ORDERED_RATIO, MAX_ORDERED = 1.02, 4
# Constants are loaded together if a latency for each node takes at least such a part of the time: with a
# 16th, a lower latency, for which that was not tried, could cost 2 %.
LATENCY_PART = 128
BATCHES = 3  # sizes that are timed, of powers of two: from what the bus moves during a latency on


def place_apart(search: PlanSearch) -> None:
    """Time the fastest plans with tensors and buffers at addresses that the steps just before do not use, so
    that fewer loads wait."""
    for timed in search.best(MAX_APART) if search.keeps_tensors else []:
        search.time(_apart(search, timed.candidate))


def cut_at_changes_of_unit(search: PlanSearch) -> None:
    """Time promising plans in smaller tiles, so that the MAC and the VECTOR unit work in parallel.

    First each plan is cut into the same number of parts at all changes of unit, with tensors in bytes that
    the previous step does not use, then the best of them with tensors where they were. The better one of the
    two is cut into other numbers of parts, and into the best number at each change.
    """
    if not (search.keeps_tensors and units_overlap(search.maker.config)):
        return
    found = list[tuple[PlanCandidate, PlanCandidate, TimedPlan]]()
    for candidate in _promising(search):
        whole = _apart(search, candidate)
        cut = _in_parts(search, whole, FIRST_PARTS)
        if cut is not None:
            found.append((candidate, whole, cut))
    if not found:
        return
    candidate, whole, cut = min(found, key=lambda each: each[2].cycles)
    cut_there = _in_parts(search, candidate, FIRST_PARTS)
    if cut_there is not None and cut_there.cycles < cut.cycles:
        whole, cut = candidate, cut_there
    others = {parts: _in_parts(search, whole, parts) for parts in OTHER_PARTS}
    _in_best_parts(search, whole, {FIRST_PARTS: cut, **others})


def _apart(search: PlanSearch, candidate: PlanCandidate) -> PlanCandidate:
    """The plan with tensors and buffers in bytes that the steps just before do not use; itself where they do
    not fit."""
    with suppress(InputError):
        return candidate.made(search.maker.plan(candidate.kind, candidate.size, apart=True))
    return candidate


def _own(search: PlanSearch, candidate: PlanCandidate) -> PlanCandidate:
    """The plan of a kind with tensors where they are for that, from which those apart are made."""
    with suppress(InputError):
        return candidate.made(search.maker.plan(candidate.kind, candidate.size))
    return candidate


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
        own = _own(search, candidate)
        different.setdefault(own.plan.layout, own)
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
    candidates = {1: whole} | {parts: each.candidate for parts, each in timed.items() if each is not None}
    ends = {parts: search.maker.ends(each) for parts, each in candidates.items()}
    return _time_cut(search, whole, MIXED, _best_parts(whole, sites, ends))


def _time_cut(
    search: PlanSearch, whole: PlanCandidate, key: int, parts: Mapping[int, int]
) -> TimedPlan | None:
    """Time a plan with some nodes cut into the given numbers of parts, and prefetches as for its kind."""
    known, plan = search.maker.memory.parted, whole.plan
    if (plan, key) not in known:
        smaller = split_rows(plan, parts)
        if smaller is not None and not plan.places_constants:
            smaller = search.maker.with_prefetches(whole.kind, smaller)
        known[plan, key] = smaller
    smaller = known[plan, key]
    return search.time(whole.made(smaller)) if smaller is not None else None


def _best_parts(
    whole: PlanCandidate, sites: Sequence[Sequence[int]], ends: Mapping[int, NDArray[np.int64]]
) -> dict[int, int]:
    """By step in how many parts it takes the least time, if that is more than one."""
    steps, chosen = whole.plan.steps, dict[int, int]()
    layers = {step: whole.plan.path.nodes[step].layer for step in steps}
    for site in sites:
        before, last = layers[steps[max(steps.index(site[0]) - 1, 0)]], layers[site[-1]]
        times = {parts: end[last] - end[before] for parts, end in ends.items()}
        parts = min(times, key=lambda each: times[each], default=1)
        if parts > 1:
            chosen |= dict.fromkeys(site, parts)
    return chosen


def order_loads(search: PlanSearch) -> None:
    """Time the fastest plans with all loads before the computations that they may overtake, and with none;
    each of them in other tiles, and hardly slower than the fastest of all."""
    most = ORDERED_RATIO * search.least_cycles
    near = [timed for timed in search.timed if len(timed.plan.prefetches.loads) and timed.cycles <= most]
    for timed in ranked(near, lambda timed: timed.plan.shapes)[:MAX_ORDERED]:
        _order_loads(search, timed)


def load_together(search: PlanSearch) -> None:
    """Time the plan of the fastest kind that leaves room for all constants, which come in batches, each by
    one transfer."""
    best, maker = search.fastest, search.maker
    memory = maker.policy(maker.machine).machine.constants
    is_worth = LATENCY_PART * memory.latency * len(best.plan.steps) >= best.cycles
    if not (is_worth and search.keeps_tensors) or best.plan.places_constants:
        return
    during_latency = memory.latency * max(memory.rate, 1) // memory.rate_cycles
    plan = maker.with_own_places(best.kind)
    if plan is None:
        return
    for bits in range(BATCHES):
        kept = plan.kept._replace(batch_bytes=1 << during_latency.bit_length() + bits)
        search.time(PlanCandidate(best.kind, replace(plan, kept=kept), plan.sram_bytes))


def _order_loads(search: PlanSearch, timed: TimedPlan) -> None:
    prefetches = timed.plan.prefetches
    for flag in (0, 1):
        if (prefetches.load_first != flag).any():
            load_first = np.full_like(prefetches.load_first, flag)
            plan = timed.plan.with_prefetches(replace(prefetches, load_first=load_first))
            search.time(timed.candidate.made(plan))
