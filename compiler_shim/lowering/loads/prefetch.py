"""Plans which constants are prefetched: while earlier nodes compute, as far as the SRAM between allows.

`load_backlogs` finds what must be loaded before a segment begins, because it and those after it load for
longer than they compute; `load_schedule` then when each piece is loaded, and where to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dlasim.compiler_shim.lowering.addresses.packed_records import PackedNode, PackedSegment
from dlasim.compiler_shim.lowering.addresses.sram_plan import (
    NO_PREFETCHES,
    PlacedPieces,
    PrefetchPlan,
    SramPlan,
)
from dlasim.compiler_shim.lowering.emission.records import Load
from dlasim.compiler_shim.lowering.loads.load_backlogs import MAX_CYCLES
from dlasim.compiler_shim.lowering.loads.load_records import (
    NONE,
    FreedRange,
    LoadSchedule,
    OccupiedRange,
    TimedConstants,
    TimedPiece,
    TimedSegment,
)
from dlasim.compiler_shim.lowering.loads.load_schedule import LOADS
from dlasim.compiler_shim.lowering.loads.segment_times import TIMES, SegmentTimes
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.native.record import layout
from dlasim.native.storage import Store, pointer_to

_START = layout(TimedPiece).fields["start"].slot
_LOAD_FIRST, _CONSTANTS = (layout(TimedSegment).fields[name].slot for name in ("is_load_first", "constants"))
_PLACE, _PLACED = (layout(TimedConstants).fields[name].slot for name in ("place", "placed"))


class LoadMemory:
    """What the routines work on, for one plan after the other."""

    def __init__(self) -> None:
        self.schedule, self._times = LoadSchedule(), SegmentTimes()
        self.segments, self.constants = Store(TimedSegment), Store(TimedConstants)
        self.ranges, self.freed = Store(OccupiedRange), Store(FreedRange)
        self.pieces, self.loads = Store(TimedPiece), Store(Load)
        self.order, self.live, self.ends = Store(int), Store(int), Store(int)
        self._lists = [Store(int) for _ in range(4)]

    def describe(self, plan: SramPlan, machine: MachineModel) -> bool:
        """Say what the segments of a plan are, and how long they take on a machine; whether any loads
        constants, and 64 bits hold what is met."""
        schedule, times, costs = self.schedule, self._times, plan.tables.costs_on(machine)
        if not costs.is_moderate:
            return False
        times.segment_count, times.port_share = len(plan.segments), machine.port_share
        for name, kind in (("nodes", PackedNode), ("segments", PackedSegment), ("ranges", OccupiedRange)):
            setattr(times, name, pointer_to(getattr(plan, name), kind))
        times.sizes, times.costs = plan.tables.kinds.sizes.pointer, costs.memory.pointer
        times.numbers, times.units = plan.path.numbers.pointer, plan.path.units.pointer
        times.bus.assign(machine.constants)
        self.segments.reserve(len(plan.segments), 0)
        self.constants.reserve(len(plan.nodes), 0)
        self.ranges.reserve(len(plan.ranges), 0)
        schedule.segments, schedule.constants = self.segments.pointer, self.constants.pointer
        schedule.ranges = self.ranges.pointer
        return TIMES(times, schedule) > 0 and times.most_cycles < MAX_CYCLES

    def run(self, limit: int, machine: MachineModel) -> None:
        """Plan the loads of what has been described, in an SRAM of so many bytes."""
        schedule, pieces = self.schedule, self.schedule.piece_count
        schedule.limit, schedule.port_share = limit, machine.port_share
        schedule.queue_depth, schedule.last = machine.queue_depth, max(machine.queue_depth, 2) - 1
        self.ends.reserve(schedule.last + 1, 0)
        of_pieces: tuple[Store[Any], ...] = self.pieces, self.loads, self.order, self.live
        for memory in of_pieces:
            memory.reserve(pieces, 0)
        ranges, lists = len(self.ranges) + pieces + 1, iter(self._lists)
        self.freed.reserve(ranges, 0)
        for each in self._lists:
            each.reserve(ranges, 0)
        for name in ("segments", "constants", "ranges", "pieces", "freed", "loads", "order", "live", "ends"):
            setattr(schedule, name, getattr(self, name).pointer)
        for both in (schedule.busy, schedule.blocked):
            both.starts, both.ends = next(lists).pointer, next(lists).pointer
        LOADS(schedule)

    def found(self, node_count: int) -> PrefetchPlan:
        """What has been planned for so many nodes."""
        schedule = self.schedule
        segments = self.segments.view()[: schedule.segment_count]
        load_first = segments[:, _LOAD_FIRST].copy()
        if not schedule.load_count:
            return replace(NO_PREFETCHES, load_first=load_first)
        constants = self.constants.view()[: int(segments[:, _CONSTANTS].sum())]
        counts, loads = np.zeros(node_count, np.int64), self.loads.array(schedule.load_count)
        counts[constants[:, _PLACE]] = constants[:, _PLACED]
        starts = self.pieces.view()[: schedule.piece_count, _START]
        return PrefetchPlan(loads, PlacedPieces(counts, starts[starts != NONE]), load_first, schedule.peak)


def add_prefetches(plan: SramPlan, machine: MachineModel, memory: LoadMemory | None = None) -> SramPlan:
    """The plan with prefetches by the times of a machine."""
    memory = memory or LoadMemory()
    prefetches = NO_PREFETCHES
    if memory.describe(plan, machine):
        memory.run(plan.sram_bytes, machine)
        prefetches = memory.found(plan.path.count)
    return plan.with_prefetches(prefetches)
