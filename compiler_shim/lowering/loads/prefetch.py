"""Plans which constants are prefetched: while earlier nodes compute, as far as the SRAM between allows.

`load_backlogs` finds what must be loaded before a segment begins, because it and those after it load for
longer than they compute; `load_schedule` then when each piece is loaded, and where to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dlasim.compiler_shim.lowering.addresses.packed_segments import PackedSegment
from dlasim.compiler_shim.lowering.addresses.sram_plan import (
    NO_PREFETCHES,
    Prefetch,
    PrefetchPlan,
    Segment,
    SramPlan,
)
from dlasim.compiler_shim.lowering.loads.load_backlogs import MAX_CYCLES
from dlasim.compiler_shim.lowering.loads.load_records import (
    NONE,
    FreedRange,
    LoadSchedule,
    OccupiedRange,
    PlannedLoad,
    TimedConstants,
    TimedPiece,
    TimedSegment,
)
from dlasim.compiler_shim.lowering.loads.load_schedule import LOADS
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.native.record import layout
from dlasim.native.storage import Store

_START = layout(TimedPiece).fields["start"].slot
_LOAD_FIRST = layout(TimedSegment).fields["is_load_first"].slot


class LoadMemory:
    """What the routine works on, for one plan after the other."""

    def __init__(self) -> None:
        self.schedule = LoadSchedule()
        self.segments, self.constants = Store(TimedSegment), Store(TimedConstants)
        self.ranges, self.freed = Store(OccupiedRange), Store(FreedRange)
        self.pieces, self.loads = Store(TimedPiece), Store(PlannedLoad)
        self.order, self.live, self.ends = Store(int), Store(int), Store(int)
        self._lists = [Store(int) for _ in range(4)]

    def describe(self, segments: Sequence[PackedSegment], limit: int, machine: MachineModel) -> None:
        """Begin a schedule of these segments."""
        schedule, pieces = self.schedule, sum([each.work.pieces for each in segments])
        self.segments.fill(b"".join([work.slots(len(ranges)) for work, ranges in segments]))
        self.constants.fill(b"".join([each.work.constant_slots for each in segments]))
        self.ranges.write(0, [slot for each in segments for part in each.ranges for slot in part])
        schedule.segment_count, schedule.piece_count = len(segments), pieces
        schedule.limit, schedule.port_share = limit, machine.port_share
        schedule.queue_depth, schedule.last = machine.queue_depth, max(machine.queue_depth, 2) - 1
        self.ends.reserve(schedule.last + 1, 0)
        self._reserve(pieces, len(self.ranges) + pieces + 1)

    def _reserve(self, pieces: int, ranges: int) -> None:
        """Make room for so many pieces, and for ranges of bytes."""
        of_pieces: tuple[Store[Any], ...] = self.pieces, self.loads, self.order, self.live
        for memory in of_pieces:
            memory.reserve(pieces, 0)
        self.freed.reserve(ranges, 0)
        for each in self._lists:
            each.reserve(ranges, 0)
        schedule, lists = self.schedule, iter(self._lists)
        for name in ("segments", "constants", "ranges", "pieces", "freed", "loads", "order", "live", "ends"):
            setattr(schedule, name, getattr(self, name).pointer)
        for both in (schedule.busy, schedule.blocked):
            both.starts, both.ends = next(lists).pointer, next(lists).pointer

    def load_first(self, steps: Sequence[Segment]) -> frozenset[int]:
        """The first steps of segments for which the bus has more to do than the units; of all where that
        holds for the whole."""
        flags = self.segments.view()[: len(steps), _LOAD_FIRST].tolist()
        return frozenset([each[0] for each, flag in zip(steps, flags, strict=True) if flag])

    def planned(
        self, steps: Sequence[Segment], segments: Sequence[PackedSegment], load_first: frozenset[int]
    ) -> PrefetchPlan:
        """The loads of pieces that have places, in the order in which they are made."""
        loads, addresses = defaultdict[int, list[Prefetch]](list), dict[int, tuple[int, ...]]()
        owners, first = list[int](), 0
        starts = self.pieces.view()[: self.schedule.piece_count, _START].tolist()
        for nodes, segment in zip(steps, segments, strict=True):
            for each in segment.work.constants:
                step = nodes[each.node]
                owners.append(step)
                found = tuple([start for start in starts[first : first + each.pieces] if start != NONE])
                first += each.pieces
                if found:
                    addresses[step] = found
        for number, owner, *load in self.loads.view()[: self.schedule.load_count].tolist():
            loads[steps[number][0]].append(Prefetch(owners[owner], *load))
        return PrefetchPlan(dict(loads), addresses, self.schedule.peak, load_first)


def add_prefetches(plan: SramPlan, machine: MachineModel, memory: LoadMemory | None = None) -> SramPlan:
    """The plan with prefetches by the times of a machine."""
    steps, segments = [each for each, _ in plan.parts], [nodes.on(machine) for _, nodes in plan.parts]
    return replace(plan, prefetches=plan_prefetches(steps, segments, plan.sram_bytes, machine, memory))


def plan_prefetches(
    steps: Sequence[Segment],
    segments: Sequence[PackedSegment],
    limit: int,
    machine: MachineModel,
    memory: LoadMemory | None = None,
) -> PrefetchPlan:
    """The loads that segments make for later tasks in an SRAM of `limit` bytes, by the times of a machine."""
    cycles = sum([each.work.most_cycles for each in segments])
    if not any(each.work.pieces for each in segments) or cycles >= MAX_CYCLES:
        return NO_PREFETCHES
    memory = memory or LoadMemory()
    memory.describe(segments, limit, machine)
    placed = LOADS(memory.schedule)
    load_first = memory.load_first(steps)
    if not placed:
        return replace(NO_PREFETCHES, load_first=load_first)
    return memory.planned(steps, segments, load_first)
