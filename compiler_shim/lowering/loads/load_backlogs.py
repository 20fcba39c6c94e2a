"""What segments mean for each other before loads are planned: how much must be loaded before each begins."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.range_list import covered_bytes
from dlasim.compiler_shim.lowering.loads.load_records import LoadSchedule, OccupiedRange, TimedSegment
from dlasim.compiler_shim.lowering.loads.prefetch_addresses import cover_ranges
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.native.routine import routine

MAX_SLOTS = 64  # in which the tasks of a segment are looked at; with 16, long ones were timed too roughly
MAX_CYCLES = 1 << 60  # of all segments: with more, 64 bits do not hold every number that is met


@routine
def prepare_segments(schedule: LoadSchedule) -> None:
    """Find what depends on other segments."""
    unit, whole = NONE, 0
    for number in range(schedule.segment_count):
        segment = schedule.segments[number]
        _describe(schedule, segment, number)
        segment.is_other_unit = 1 if unit != NONE and unit != segment.first_unit else 0
        unit = segment.last_unit
        whole += segment.load_cycles - segment.compute_cycles
    for number in range(schedule.segment_count):
        segment = schedule.segments[number]
        segment.is_load_first = 1 if whole > 0 or segment.load_cycles > segment.compute_cycles else 0
    _find_next_tensors(schedule)
    _find_backlogs(schedule)


@routine
def _describe(schedule: LoadSchedule, segment: TimedSegment, number: int) -> None:
    """Slots, sums over constants, and what a segment covers."""
    segment.tasks_of_slot = -(-segment.tasks // MAX_SLOTS)
    segment.slots = -(-segment.tasks // segment.tasks_of_slot)
    segment.compute, segment.tensors, segment.ports = (
        segment.compute_cycles // segment.slots,
        segment.tensor_cycles // segment.slots,
        segment.port_cycles // segment.slots,
    )
    segment.load_cycles, segment.first_cycles = segment.tensor_cycles, 0
    for each in range(segment.first_constants, segment.first_constants + segment.constants):
        constants = schedule.constants[each]
        constants.segment, constants.placed, constants.meets = number, 0, 0
        segment.load_cycles += constants.pieces * constants.cycles
        segment.first_cycles += min(constants.buffers, constants.pieces) * constants.cycles
    for each in range(segment.first_range, segment.first_range + segment.ranges):
        buffer = schedule.ranges[each]
        if number and buffer.owner != NONE and _meets(schedule, schedule.segments[number - 1], buffer):
            schedule.constants[buffer.owner].meets = 1
    cover_ranges(schedule, segment)
    segment.covered_bytes = covered_bytes(schedule.busy)


@routine
def _meets(schedule: LoadSchedule, segment: TimedSegment, buffer: OccupiedRange) -> bool:
    """Whether a segment uses bytes of a buffer."""
    for each in range(segment.first_range, segment.first_range + segment.ranges):
        if schedule.ranges[each].start < buffer.end and buffer.start < schedule.ranges[each].end:
            return True
    return False


@routine
def _find_next_tensors(schedule: LoadSchedule) -> None:
    """By segment, how many cycles after its end the next load of tensors must begin, so that no task has to
    wait for it; below 0 if before. As good as never where there is none."""
    cycles = MAX_CYCLES
    for place in range(schedule.segment_count):
        segment = schedule.segments[schedule.segment_count - 1 - place]
        segment.next_tensors = cycles
        cycles = -segment.tensors if segment.tensor_cycles else cycles + segment.compute_cycles


@routine
def _find_backlogs(schedule: LoadSchedule) -> None:
    """For each segment, the cycles of prefetches that must be done before it ends.

    These are the loads for which later segments have no time, limited by the free SRAM and by the bus time
    that this and earlier segments have left.
    """
    size, cycles, backlog, last = 0, 0, 0, schedule.segment_count - 1
    for number in range(schedule.segment_count):
        segment = schedule.segments[number]
        for each in range(segment.first_constants, segment.first_constants + segment.constants):
            size += schedule.constants[each].pieces * schedule.constants[each].size
            cycles += schedule.constants[each].pieces * schedule.constants[each].cycles
    schedule.segments[last].backlog = 0
    for place in range(last):
        number = last - place
        before, segment = schedule.segments[number - 1], schedule.segments[number]
        free = schedule.limit - max(before.covered_bytes, segment.covered_bytes)
        most = free * (cycles // size) + free * (cycles % size) // size
        backlog = min(max(backlog - _slack(segment), segment.first_cycles), most)
        before.backlog = backlog
    possible = 0
    for number in range(last + 1):
        segment = schedule.segments[number]
        segment.backlog = possible = max(min(segment.backlog, possible + _slack(segment)), 0)


@routine
def _slack(segment: TimedSegment) -> int:
    """The cycles in which a segment leaves the bus free; below 0 where it loads for longer."""
    return max(segment.compute_cycles, segment.tensor_cycles) - segment.load_cycles
