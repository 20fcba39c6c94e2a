"""Plans which constants are prefetched: while earlier nodes compute, as far as the SRAM between allows.

What must be loaded before a segment begins, because it and those after it load for longer than they compute,
is found from the last to the first. `load_schedule` then finds when each piece is loaded, and where to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
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
from dlasim.compiler_shim.lowering.loads.segment_columns import MAX_CYCLES, Rows, SegmentColumns
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.native.record import layout
from dlasim.native.storage import Store

_PIECE = layout(TimedPiece).fields
_START = _PIECE["start"].slot
_LOADED_TOGETHER = itemgetter(
    *[_PIECE[name].slot for name in ("constants", "loading_segment", "loading_slot")]
)


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
    columns = SegmentColumns(segments)
    cycles = columns.computing.sum() + columns.loading.sum()
    if not len(columns.pieces) or max(reserves) * cycles >= MAX_CYCLES:
        return [NO_PREFETCHES for _ in reserves]
    schedule, memories = _describe(segments, columns, limit, queue_depth)
    load_first = columns.loaded_first()
    without = replace(NO_PREFETCHES, load_first=load_first)
    return [
        _list_loads(columns, schedule, memories, load_first) if LOADS(schedule, reserve) else without
        for reserve in reserves
    ]


class _Memories:
    """What a schedule points at."""

    def __init__(
        self,
        segments: Rows,
        constants: Rows,
        gaps: Sequence[allocation.Gap],
        owners: Sequence[int],
        pieces: int,
    ) -> None:
        self.segments, self.constants = (
            Store(TimedSegment, len(segments)),
            Store(TimedConstants, len(constants)),
        )
        self.segments.view()[:], self.constants.view()[:] = segments, constants
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
    packed: Sequence[PackedSegment], columns: SegmentColumns, limit: int, queue_depth: int
) -> tuple[LoadSchedule, _Memories]:
    """What the routine reads of segments."""
    schedule, gaps, owners, constants = LoadSchedule(), list[allocation.Gap](), list[int](), 0
    for segment in packed:
        owner_of = dict[allocation.Gap, int]()
        for each in segment.constants:
            owner_of |= dict.fromkeys(each.gaps, constants)
            constants += 1
        gaps += segment.occupied.gaps
        owners += [owner_of.get(gap, NONE) for gap in segment.occupied.gaps]
    schedule.segment_count, schedule.piece_count = len(packed), int(columns.pieces.sum())
    schedule.limit, schedule.queue_depth, schedule.last = limit, queue_depth, max(queue_depth, 2) - 1
    rows = columns.segment_rows(limit), columns.constants_rows()
    memories = _Memories(*rows, gaps, owners, schedule.piece_count)
    memories.bind(schedule)
    return schedule, memories


def _list_loads(
    columns: SegmentColumns, schedule: LoadSchedule, memories: _Memories, load_first: frozenset[int]
) -> PrefetchPlan:
    """The loads of pieces that have places, in the order in which they are made."""
    loads, addresses = defaultdict[int, list[Prefetch]](list), defaultdict[int, list[int]](list)
    in_order = memories.pieces.array(schedule.piece_count)[memories.order.take(0, schedule.piece_count)]
    placed = in_order[in_order[:, _START] != NONE].tolist()
    for (constants, number, slot), pieces in groupby(placed, _LOADED_TOGETHER):
        step, starts = columns.steps_of_constants[constants], [piece[_START] for piece in pieces]
        found = Prefetch(step, columns.last_task(number, slot), len(addresses[step]), len(starts))
        loads[columns.steps[number]].append(found)
        addresses[step] += starts
    places = {step: tuple(found) for step, found in addresses.items()}
    return PrefetchPlan(dict(loads), places, schedule.peak, load_first)
