"""Plans which constants are prefetched: while earlier nodes compute, as far as the SRAM between allows.

`load_backlogs` finds what must be loaded before a segment begins, because it and those after it load for
longer than they compute; `load_schedule` then when each piece is loaded, and where to.
"""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.lowering.addresses.packed_records import PackedNode, PackedSegment
from dlasim.compiler_shim.lowering.addresses.sram_plan import (
    NO_PIECES,
    NO_PREFETCHES,
    PlacedPieces,
    PrefetchPlan,
    SramPlan,
)
from dlasim.compiler_shim.lowering.loads.load_backlogs import MAX_CYCLES
from dlasim.compiler_shim.lowering.loads.load_records import (
    LoadSchedule,
    OccupiedRange,
    TimedConstants,
    TimedPiece,
    TimedSegment,
)
from dlasim.compiler_shim.lowering.loads.load_schedule import LOADS
from dlasim.compiler_shim.lowering.loads.segment_times import TIMES, SegmentTimes
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.native.record import layout
from dlasim.native.storage import PointedMemory, pointer_to

_START = layout(TimedPiece).fields["start"].slot
_LOAD_FIRST, _CONSTANTS = (layout(TimedSegment).fields[name].slot for name in ("is_load_first", "constants"))
_PLACE, _PLACED = (layout(TimedConstants).fields[name].slot for name in ("place", "placed"))


class LoadMemory:
    """What the routines work on, for one plan after the other."""

    def __init__(self) -> None:
        self.schedule, self._times = LoadSchedule(), SegmentTimes()
        self.of_schedule = PointedMemory(self.schedule)
        self._lists = PointedMemory(self.schedule.busy), PointedMemory(self.schedule.blocked)

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
        self.of_schedule.reserve(
            segments=len(plan.segments), constants=len(plan.nodes), ranges=len(plan.ranges)
        )
        return TIMES(times, schedule) > 0 and times.most_cycles < MAX_CYCLES

    def run(self, limit: int, machine: MachineModel) -> None:
        """Plan the loads of what has been described, in an SRAM of so many bytes."""
        schedule, pieces = self.schedule, self.schedule.piece_count
        schedule.limit, schedule.port_share = limit, machine.port_share
        schedule.queue_depth, schedule.last = machine.queue_depth, max(machine.queue_depth, 2) - 1
        ranges = len(self.of_schedule["ranges"]) + pieces + 1
        self.of_schedule.reserve(
            ends=schedule.last + 1, pieces=pieces, loads=pieces, order=pieces, live=pieces, freed=ranges
        )
        for each in self._lists:
            each.reserve(starts=ranges, ends=ranges)
        LOADS(schedule)

    def found(self, node_count: int) -> PrefetchPlan:
        """What has been planned for so many nodes."""
        schedule = self.schedule
        segments = self.of_schedule["segments"].view()[: schedule.segment_count]
        load_first = segments[:, _LOAD_FIRST].copy()
        if not schedule.load_count:
            return PrefetchPlan(NO_PREFETCHES.loads, NO_PIECES, load_first)
        constants = self.of_schedule["constants"].view()[: int(segments[:, _CONSTANTS].sum())]
        counts, loads = np.zeros(node_count, np.int64), self.of_schedule["loads"].array(schedule.load_count)
        counts[constants[:, _PLACE]] = constants[:, _PLACED]
        starts = self.of_schedule["pieces"].view()[: schedule.piece_count, _START]
        return PrefetchPlan(loads, PlacedPieces(counts, starts[starts != NONE]), load_first, schedule.peak)


def add_prefetches(plan: SramPlan, machine: MachineModel, memory: LoadMemory | None = None) -> SramPlan:
    """The plan with prefetches by the times of a machine."""
    memory = memory or LoadMemory()
    prefetches = NO_PREFETCHES
    if memory.describe(plan, machine):
        memory.run(plan.sram_bytes, machine)
        prefetches = memory.found(plan.path.count)
    return plan.with_prefetches(prefetches)
