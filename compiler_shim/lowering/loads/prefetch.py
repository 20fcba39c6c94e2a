"""Plans which constants are prefetched: while earlier nodes compute, as far as the SRAM between allows.

What must be loaded before a segment begins, because it and those after it load for longer than they compute,
is found from the last to the first. `load_schedule` then finds when each piece is loaded, and where to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from math import fsum
from operator import itemgetter

from dlasim.compiler_shim.lowering.addresses import allocation
from dlasim.compiler_shim.lowering.addresses.packed_segments import PackedPlan, PackedSegment
from dlasim.compiler_shim.lowering.addresses.sram_plan import NO_PREFETCHES, Prefetch, PrefetchPlan, SramPlan
from dlasim.compiler_shim.lowering.loads.load_records import (
    NONE,
    FreedRange,
    LoadSchedule,
    TimedConstants,
    TimedPiece,
    TimedSegment,
)
from dlasim.compiler_shim.lowering.loads.load_schedule import LOADS
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.native.record import layout
from dlasim.native.storage import Store

_Row = tuple[int, ...]
_PIECE = layout(TimedPiece).fields
_START = _PIECE["start"].slot
_LOADED_TOGETHER = itemgetter(
    *[_PIECE[name].slot for name in ("constants", "loading_segment", "loading_slot")]
)
_MAX_CYCLES = 1 << 60  # of all segments: with more, 64 bits do not hold every number that is met


def add_prefetches(
    plan: PackedPlan,
    machine: MachineModel,
    computing: Mapping[int, float] | None = None,
    reserves: Sequence[int] = (1,),
) -> list[SramPlan]:
    """The plan with prefetches; `computing` are the cycles of the nodes by step, if they have been timed. For
    each of the reserves: so many times what is needed may be prefetched."""
    segments, limit = plan.segments(machine, computing), plan.plan.sram_bytes
    found = plan_prefetches(segments, limit, machine.queue_depth, reserves)
    return [replace(plan.plan, prefetches=prefetches) for prefetches in found]


def plan_prefetches(
    segments: Sequence[PackedSegment],
    limit: int,
    queue_depth: int,
    reserves: Sequence[int] = (1,),
) -> list[PrefetchPlan]:
    """The loads that segments make for later tasks in an SRAM of `limit` bytes, on a machine whose units have
    queues of such a depth; for each of the reserves."""
    cycles = sum([segment.compute_cycles + segment.load_cycles for segment in segments])
    pieces = sum([each.pieces for segment in segments for each in segment.constants])
    if not pieces or max(reserves) * cycles >= _MAX_CYCLES:
        return [NO_PREFETCHES for _ in reserves]
    schedule, memories = _describe(segments, limit, queue_depth)
    load_first = _loaded_first(segments)
    without = replace(NO_PREFETCHES, load_first=load_first)
    return [
        _list_loads(segments, schedule, memories, load_first) if LOADS(schedule, reserve) else without
        for reserve in reserves
    ]


def _loaded_first(segments: Sequence[PackedSegment]) -> frozenset[int]:
    """The steps of nodes for which the bus has more to do than the units; all where that holds for the
    whole."""
    whole = fsum([each.load_cycles - each.compute_cycles for each in segments]) > 0
    return frozenset([each.step for each in segments if whole or each.load_cycles > each.compute_cycles])


class _Memories:
    """What a schedule points at."""

    def __init__(
        self,
        segments: list[_Row],
        constants: list[_Row],
        gaps: list[allocation.Gap],
        owners: list[int],
        pieces: int,
    ) -> None:
        self.segments, self.constants = Store(TimedSegment), Store(TimedConstants)
        for rows, whole in ((segments, self.segments), (constants, self.constants)):
            whole.write(0, list(chain.from_iterable(rows)))
        self.range_starts, self.range_ends, self.range_owners = (Store(int) for _ in range(3))
        for memory, numbers in (
            (self.range_starts, [start for start, _ in gaps]),
            (self.range_ends, [end for _, end in gaps]),
            (self.range_owners, owners),
        ):
            memory.write(0, numbers)
        self.pieces, self.freed = Store(TimedPiece, pieces), Store(FreedRange, len(gaps) + pieces)
        self.order, self.live = Store(int, pieces), Store(int, pieces)

    def bind(self, schedule: LoadSchedule) -> None:
        """Let a schedule point at it."""
        for name, memory in vars(self).items():
            setattr(schedule, name, memory.pointer)
        most_ranges = len(self.freed) + 1
        for ranges in (schedule.busy, schedule.blocked):
            ranges.starts, ranges.ends = (
                Store(int, most_ranges).pointer,
                Store(int, most_ranges).pointer,
            )
        schedule.ends = Store(int, schedule.last + 1).pointer


def _describe(
    packed: Sequence[PackedSegment], limit: int, queue_depth: int
) -> tuple[LoadSchedule, _Memories]:
    """What the routine reads of segments."""
    schedule = LoadSchedule()
    segments, constants = list[_Row](), list[_Row]()  # the slots of their records
    gaps, owners = list[allocation.Gap](), list[int]()
    following = zip(_backlogs(packed, limit), _next_tensors(packed), strict=True)
    for number, (segment, (backlog, next_tensors)) in enumerate(zip(packed, following, strict=True)):
        slots = segment.slots
        segments.append(
            (
                segment.tasks,
                segment.tasks_of_slot,
                slots,
                segment.is_chain,
                segment.is_other_unit,
                int(segment.compute_cycles / slots),
                int(segment.tensor_cycles / slots),
                int(backlog),
                int(next_tensors),
                len(gaps),
                len(segment.occupied.gaps),
                len(constants),
                len(segment.constants),
            )
        )
        owner_of = dict[allocation.Gap, int]()
        for each in segment.constants:
            owner_of |= dict.fromkeys(each.gaps, len(constants))
            cycles, again = round(each.piece_cycles), int(each.is_loaded_again)
            tasks = segment.tasks_of(each)
            constants.append((number, each.pieces, tasks, each.piece_bytes, cycles, again, 0, 0, 0, 0))
        gaps += segment.occupied.gaps
        owners += [owner_of.get(gap, NONE) for gap in segment.occupied.gaps]
    schedule.segment_count, schedule.piece_count = (
        len(segments),
        sum([each.pieces for segment in packed for each in segment.constants]),
    )
    schedule.limit, schedule.queue_depth, schedule.last = limit, queue_depth, max(queue_depth, 2) - 1
    memories = _Memories(segments, constants, gaps, owners, schedule.piece_count)
    memories.bind(schedule)
    return schedule, memories


def _list_loads(
    segments: Sequence[PackedSegment],
    schedule: LoadSchedule,
    memories: _Memories,
    load_first: frozenset[int],
) -> PrefetchPlan:
    """The loads of pieces that have places, in the order in which they are made."""
    loads, addresses = defaultdict[int, list[Prefetch]](list), defaultdict[int, list[int]](list)
    steps = [each.step for segment in segments for each in segment.constants]
    in_order = memories.pieces.array(schedule.piece_count)[memories.order.take(0, schedule.piece_count)]
    placed = in_order[in_order[:, _START] != NONE].tolist()
    for (constants, number, slot), pieces in groupby(placed, _LOADED_TOGETHER):
        step, segment, starts = steps[constants], segments[number], [piece[_START] for piece in pieces]
        task = min((slot + 1) * segment.tasks_of_slot, segment.tasks) - 1
        loads[segment.step].append(Prefetch(step, task, len(addresses[step]), len(starts)))
        addresses[step] += starts
    places = {step: tuple(found) for step, found in addresses.items()}
    return PrefetchPlan(dict(loads), places, schedule.peak, load_first)


def _backlogs(segments: Sequence[PackedSegment], limit: int) -> list[float]:
    """For each segment, the cycles of prefetches that must be done before it ends.

    These are the loads for which later segments have no time, limited by the free SRAM and by the bus time
    that this and earlier segments have left.
    """
    free = [limit - segment.occupied.covered_bytes for segment in segments]
    constants = [each for segment in segments for each in segment.constants]
    size = sum([each.pieces * each.piece_bytes for each in constants])
    cycles_per_byte = fsum([each.pieces * each.piece_cycles for each in constants]) / max(size, 1)
    slack_cycles = [max(each.compute_cycles, each.tensor_cycles) - each.load_cycles for each in segments]
    backlogs = [0.0] * (len(segments) + 1)
    for number in range(len(segments) - 1, 0, -1):
        backlog = max(backlogs[number + 1] - slack_cycles[number], segments[number].first_cycles)
        backlogs[number] = min(backlog, min(free[number - 1], free[number]) * cycles_per_byte)
    possible = 0.0
    for number, more in enumerate(slack_cycles):
        possible = backlogs[number + 1] = max(min(backlogs[number + 1], possible + more), 0)
    return backlogs[1:]


def _next_tensors(segments: Sequence[PackedSegment]) -> list[float]:
    """By segment, how many cycles after its end the next load of tensors must begin, so that no task has to
    wait for it; below 0 if before. As good as never where there is none."""
    cycles, found = float(_MAX_CYCLES), list[float]()
    for segment in reversed(segments):
        found.append(cycles)
        tensors = segment.tensor_cycles / segment.slots
        cycles = -tensors if tensors else cycles + segment.compute_cycles
    return found[::-1]
