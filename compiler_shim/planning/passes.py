"""The passes of the planner, in their order.

Each proposes plans and has them timed; the next ones start from what is fastest so far. All networks are
treated alike: where plans of a pass could be many, they have so many layers together, and are at least a few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dlasim.compiler_shim.lowering.tiles.tile_costs import PRICE_UNIT
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE
from dlasim.compiler_shim.lowering.tiles.tiling import CostAssumption
from dlasim.compiler_shim.placement import Placements
from dlasim.compiler_shim.planning.candidates import PlanKind, TimedPlan
from dlasim.compiler_shim.planning.plan_search import PlanSearch
from dlasim.compiler_shim.planning.refinement import (
    BATCHES,
    CUT_LAYERS,
    LATENCY_PART,
    MAX_APART,
    MAX_ORDERED,
    MIN_CUT,
    cut_at_changes_of_unit,
    load_together,
    order_loads,
    place_apart,
)
from dlasim.compiler_shim.planning.worse_machines import deep_machine, slow_machine
from dlasim.dataclass import dataclass
from dlasim.sim.configuration.config import DlaConfig

# What follows was measured on random machines for each of 12 networks, some with float edges.
# A placement gets all kinds of plans if its fastest so far takes at most so many times the least cycles. With
# 1.03 and two placements, a WaveNet lost 10.4 % from 2 to 3 bytes per cycle.
PLACEMENT_RATIO, MAX_PLACEMENTS = 1.06, 3
# The least number of kinds that are tried for less SRAM, and how many layers their plans may have together.
# With 3 and 36, the autoencoder lost 2.1 % on one of 12 machines, ViT 1.7 %.
MIN_KINDS, KINDS_LAYERS = 5, 60
# A smaller size of SRAM is tried if it is expected to take at most so much more than the least: with 0.01,
# MobileNetV1 lost 3.1 % on one of eight machines.
LESS_SRAM_LOSS = 0.02
# Sizes are tried until so many gain nothing: with one, the autoencoder lost 0.5 % from 68 to 180 KiB.
PATIENCE = 2
# A kind is tried for less if its plan is faster than those of other kinds for the same size by such a part:
# else, a decoder of 30 layers gets 13 plans more, which gain nothing.
MIN_KIND_GAIN_PART = 256
SIZE_STEPS = 8  # of SRAM, between two powers of two, for which plans are tried
MIN_SRAM_PART = 64  # there are no plans for less than 1/64 of the SRAM
MAX_TASKS = 1 << 14  # plans for less SRAM have no more tasks
_Kind = tuple[DlaConfig, CostAssumption, int]  # with the price of a byte


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass: what it proposes, why, and the most plans that it times, as `docs/planner.md` says them."""

    run: Callable[[PlanSearch], None]
    proposes: str
    why: str
    plans: str

    @property
    def row(self) -> str:
        """Its row in the table of the page."""
        return f"| `{self.run.__name__}` | {self.proposes} | {self.why} | {self.plans} |"


def compare_placements(search: PlanSearch) -> None:
    """Time each placement by the estimates that are best most often: those that count on prefetches. Where
    these have no plan that can be timed, by cautious ones."""
    for assumption in search.assumptions:
        if not search.timed:
            time_placements(search, search.placements, assumption)


def time_placements(
    search: PlanSearch, placements: Placements, assumption: CostAssumption, byte_price: int = 0
) -> None:
    """Time any placements by estimates in which bytes have a price."""
    for network in placements.promising(search.size):
        search.try_kind(search.maker.kind(network, assumption=assumption, byte_price=byte_price))


def plan_for_deep_machine(search: PlanSearch) -> None:
    """Time the plans that a machine with a deeper pipeline gets by cautious estimates: tiles are larger."""
    _plan_for(search, [(deep_machine(search.maker.machine), CostAssumption.NO_OVERLAP, 0)])


def make_bytes_dear(search: PlanSearch) -> None:
    """Time plans by estimates in which each byte costs a cycle, for chains, in which units work side by side;
    or two where they count on prefetches, as these leave out what prefetches take of the bus."""
    machine = search.maker.machine
    cautious = machine, CostAssumption.NO_OVERLAP, PRICE_UNIT
    _plan_for(search, [cautious, (machine, CostAssumption.PREFETCHED, 2 * PRICE_UNIT)])


def assume_perfect_overlap(search: PlanSearch) -> None:
    """Time plans by estimates in which the tiles of a node overlap perfectly."""
    _plan_for(search, [(search.maker.machine, CostAssumption.OVERLAP, 0)])


def plan_for_worse_machines(search: PlanSearch) -> None:
    """Time plans that worse machines get by the usual estimates: the worst one with little bandwidth, which
    has second buffers for inputs, and whose prefetches are also right for machines that are better in
    latency; and the deep one, which gains nothing in the mean of 456 programs, but without which ResNet8
    loses 3.9 % on 16x16 with 64 KiB.

    With cautious estimates for the machine itself, one memory instead of several, or half the bandwidth, no
    program was faster by more than 0.4 %."""
    machines = [worse(search.maker.machine) for worse in (slow_machine, deep_machine)]
    _plan_for(search, [(machine, CostAssumption.PREFETCHED, 0) for machine in machines])


def _plan_for(search: PlanSearch, kinds: Sequence[_Kind]) -> None:
    if not search.keeps_tensors:
        return
    for network in search.placed(PLACEMENT_RATIO, MAX_PLACEMENTS):
        for machine, assumption, byte_price in kinds:
            kind = search.maker.kind(network, machine, assumption, byte_price)
            search.try_kind(kind)


def use_less_sram(search: PlanSearch) -> None:
    """Time plans of each kind for less and less SRAM, as long as they get faster: a larger tensor that stays,
    or a larger tile, looked profitable on its own. What a kind's first plan took more than estimated, the
    others are taken to take more, too; kinds come first whose next plans are expected to be the fastest.

    A plan with as many cycles as the one before counts as no try. Where one is hardly faster than that of
    another kind for the same size, it is much the same, and so are those for less.
    """
    if not search.keeps_tensors:
        return
    first = dict[PlanKind, TimedPlan]()  # of each kind its own plan, which comes before those made of it
    for timed in search.timed:
        if timed.candidate.size == search.size:
            first.setdefault(timed.kind, timed)
    can_shrink = [timed for timed in first.values() if _less_sram(search, timed)]
    promising = sorted(can_shrink, key=lambda timed: _expected(search, timed, _less_sram(search, timed)))
    found = dict[int, int]()  # by size, the least cycles
    patience = PATIENCE * search.zeal
    for whole in promising[: search.share(MIN_KINDS, KINDS_LAYERS)]:
        timed, least, tries = whole, whole.cycles, patience
        while tries:
            size = _less_sram(search, timed)
            most = (1 + LESS_SRAM_LOSS * search.zeal) * search.least_cycles
            if not size or _expected(search, whole, size) > most:
                break
            smaller = search.try_kind(timed.kind, size)
            if smaller is None or smaller.plan.tasks > MAX_TASKS:
                break
            if smaller.cycles + smaller.cycles // MIN_KIND_GAIN_PART >= found.get(size, INFINITE):
                break
            found[size] = smaller.cycles
            tries = patience if smaller.cycles < least else tries - (smaller.cycles != timed.cycles)
            timed, least = smaller, min(least, smaller.cycles)


def _less_sram(search: PlanSearch, timed: TimedPlan) -> int:
    """The next smaller size for a kind; 0 for none."""
    plan = timed.plan
    size = min(timed.candidate.size, max(plan.working_bytes, plan.changing_bytes))
    return _smaller_size(size, search.size // MIN_SRAM_PART)


def _expected(search: PlanSearch, first: TimedPlan, size: int) -> float:
    """The cycles that the plan of a kind for a size is expected to take; 0 where nothing can be said."""
    planner = first.kind.planner
    estimate = planner.estimate(search.size) or first.plan.estimated_cycles
    return first.cycles * planner.estimate(size) / max(estimate, 1)


def _smaller_size(used: int, least: int) -> int:
    """The largest of some sizes, the same for all machines, that is smaller than what a plan uses; 0 for
    none. With sizes between, the plan hardly changes."""
    step = max((1 << (used - 1).bit_length()) // (2 * SIZE_STEPS), 1)
    size = (used - 1) // step * step
    return size if size >= max(least, 1) else 0


PASSES = (
    Pass(
        compare_placements,
        "each placement, by estimates in which a quarter of the SRAM holds prefetched weights",
        "the estimates whose plans are the fastest most often",
        "1 for each placement",
    ),
    Pass(
        plan_for_deep_machine,
        "the best placements for the deep machine, by cautious estimates",
        "its tiles are larger; a better machine must not be slower",
        f"{MAX_PLACEMENTS}",
    ),
    Pass(
        make_bytes_dear,
        "the best placements by cautious estimates in which each byte costs a cycle, and by the usual ones in"
        " which it costs two",
        "chains, in which both units work side by side; and prefetches need the bus, too",
        "2 for each placement",
    ),
    Pass(
        assume_perfect_overlap,
        "the best placements by estimates in which tiles overlap perfectly",
        "buffers let loads, computation and stores overlap better than cautious estimates say",
        f"{MAX_PLACEMENTS}",
    ),
    Pass(
        plan_for_worse_machines,
        "the best placements for the worst machine with 2 bytes per cycle, and for the deep one, by the usual"
        " estimates",
        "a better machine must not be slower; plans for slow memories have second buffers for inputs",
        "2 for each placement",
    ),
    Pass(
        use_less_sram,
        "smaller sizes of SRAM, the same for all machines, as long as plans differ from those of other kinds"
        " and are expected to take at most 2 % longer than the fastest",
        "more SRAM must not cost time",
        f"of each kind until {PATIENCE} gain nothing; {MIN_KINDS} kinds or more, {KINDS_LAYERS} layers",
    ),
    Pass(
        place_apart,
        "the fastest plans with tensors and buffers at addresses that the steps just before do not use",
        "loads need not wait until these steps have ended",
        f"{MAX_APART}",
    ),
    Pass(
        cut_at_changes_of_unit,
        "promising plans, with tensors apart, in smaller tiles at changes between MAC and VECTOR: in 4 parts,"
        " the best also with tensors where they were, then in 2 and 8, and in the best number at each change",
        "both units work side by side",
        f"{MIN_CUT}, or {CUT_LAYERS} layers; 4 more",
    ),
    Pass(
        order_loads,
        "the fastest plans, each in other tiles, with all loads before the computations that they may"
        " overtake, and with none",
        "by estimates, loads go first where they take longer, if only by a little",
        f"{MAX_ORDERED}, each twice",
    ),
    Pass(
        load_together,
        "the fastest kind with places for all constants, which come in batches, each by one transfer; where a"
        f" latency for each layer takes a {LATENCY_PART}th of the time, and all fit",
        "constants of many small layers are transfers of few bytes, each with its latency",
        f"{BATCHES}",
    ),
)
_ONLY_USUAL = plan_for_deep_machine, make_bytes_dear, plan_for_worse_machines, use_less_sram
QUICK_PASSES = tuple(each for each in PASSES if each.run not in _ONLY_USUAL)
