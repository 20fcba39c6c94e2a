"""Finds SRAM addresses for pieces of constants that are prefetched: routines."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.range_list import RangeList, covered_bytes, insert_range
from dlasim.compiler_shim.lowering.loads.load_records import (
    LoadSchedule,
    TimedConstants,
    TimedPiece,
    TimedSegment,
)
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT
from dlasim.native.routine import routine


@routine
def find_address(schedule: LoadSchedule, piece: TimedPiece, constants: TimedConstants, number: int) -> None:
    """Find an address that is free from a segment on until the piece is used up, and the cycle in which its
    load can begin. Best is one that is free now, and that the segment after the piece's does not use either:
    a single piece's own buffer, or a range apart from the buffers, which are for pieces that have no
    address."""
    if piece.constants != schedule.last_constants:  # the next one has room while this one is in use
        schedule.last_constants, schedule.is_from_top = piece.constants, 1 - schedule.is_from_top
    now = max(schedule.bus, schedule.issued)
    kept = 0
    for place in range(schedule.freed_count):
        freed = schedule.freed[place]
        if freed.time > now:
            schedule.freed[kept].assign(freed)
            kept += 1
    schedule.freed_count = kept
    schedule.best_start = NONE
    _collect(schedule, piece.constants, constants.segment, number)
    segment = schedule.segments[constants.segment]
    if constants.pieces == 1 and not constants.is_loaded_again:
        for each in range(segment.first_range, segment.first_range + segment.ranges):
            if schedule.ranges[each].owner == piece.constants:
                start, end = schedule.ranges[each].start, schedule.ranges[each].end
                _try_between(schedule, constants, schedule.busy, start, end)
    _try_between(schedule, constants, schedule.blocked, 0, schedule.limit)
    if not constants.is_loaded_again:
        _try_between(schedule, constants, schedule.busy, 0, schedule.limit)


@routine
def is_free(schedule: LoadSchedule, number: int) -> int:
    """Whether a range is a buffer that is not needed, since all pieces have places of their own."""
    owner = schedule.ranges[number].owner
    if owner == NONE:
        return 0
    constants = schedule.constants[owner]
    return 1 if constants.placed == constants.pieces and not constants.is_loaded_again else 0


@routine
def peak_bytes(schedule: LoadSchedule) -> int:
    """The most bytes that are in use during a segment. Pieces are used, and so loaded, in their order."""
    peak = first = 0
    for number in range(schedule.segment_count):
        cover_ranges(schedule, schedule.segments[number])
        while first < schedule.piece_count and _segment(schedule, first) < number:
            first += 1
        for place in range(first, schedule.piece_count):
            piece = schedule.pieces[schedule.order[place]]
            if piece.start != NONE:
                if piece.loading_segment > number:
                    break
                size = schedule.constants[piece.constants].size
                insert_range(schedule.busy, piece.start, piece.start + size)
        peak = max(peak, covered_bytes(schedule.busy))
    return peak


@routine
def _segment(schedule: LoadSchedule, place: int) -> int:
    """That of a piece, by its place in the order."""
    return schedule.constants[schedule.pieces[schedule.order[place]].constants].segment


@routine
def cover_ranges(schedule: LoadSchedule, segment: TimedSegment) -> None:
    """Busy is what a segment occupies."""
    schedule.busy.count = 0
    for each in range(segment.first_range, segment.first_range + segment.ranges):
        if not is_free(schedule, each):
            insert_range(schedule.busy, schedule.ranges[each].start, schedule.ranges[each].end)


@routine
def _collect(schedule: LoadSchedule, own: int, last: int, number: int) -> None:
    """List what segments occupy, from one to another, and pieces that are in their places; blocked, with the
    buffers of some constants, too."""
    busy, blocked = schedule.busy, schedule.blocked
    busy.count = 0
    for between in range(number, last + 1):
        segment = schedule.segments[between]
        for each in range(segment.first_range, segment.first_range + segment.ranges):
            if not is_free(schedule, each) and (between < last or schedule.ranges[each].owner != own):
                insert_range(busy, schedule.ranges[each].start, schedule.ranges[each].end)
    for place in range(schedule.live_count):
        piece = schedule.pieces[schedule.live[place]]
        insert_range(busy, piece.start, piece.start + schedule.constants[piece.constants].size)
    for place in range(busy.count):
        blocked.starts[place], blocked.ends[place] = busy.starts[place], busy.ends[place]
    blocked.count = busy.count
    segment = schedule.segments[last]
    for each in range(segment.first_range, segment.first_range + segment.ranges):
        if schedule.ranges[each].owner == own:
            insert_range(blocked, schedule.ranges[each].start, schedule.ranges[each].end)


@routine
def _try_between(
    schedule: LoadSchedule, constants: TimedConstants, ranges: RangeList, low: int, high: int
) -> None:
    """Try the gaps of a list of ranges, between two addresses."""
    for number in range(ranges.count + 1):
        gap = ranges.count - number if schedule.is_from_top else number
        start = ranges.ends[gap - 1] if gap else 0
        end = ranges.starts[gap] if gap < ranges.count else schedule.limit
        _try_gap(schedule, constants, max(start, low), min(end, high))


@routine
def _try_gap(schedule: LoadSchedule, constants: TimedConstants, start: int, end: int) -> None:
    """Try both ends of a gap."""
    low = -(-start // ALIGNMENT) * ALIGNMENT
    high = (end - constants.size) // ALIGNMENT * ALIGNMENT
    if low <= high:
        _try_address(schedule, constants, high if schedule.is_from_top else low)
        _try_address(schedule, constants, low if schedule.is_from_top else high)


@routine
def _try_address(schedule: LoadSchedule, constants: TimedConstants, start: int) -> None:
    """Keep an address if it is the best so far."""
    now = max(schedule.bus, schedule.issued)
    if schedule.best_start != NONE and schedule.best_time == now and not schedule.best_is_written:
        return
    end, time, is_written = start + constants.size, now, 0
    for place in range(schedule.freed_count):
        freed = schedule.freed[place]
        if freed.start < end and start < freed.end:
            time = max(time, freed.time)
    if constants.segment + 1 < schedule.segment_count:
        following = schedule.segments[constants.segment + 1]
        for each in range(following.first_range, following.first_range + following.ranges):
            is_met = schedule.ranges[each].start < end and start < schedule.ranges[each].end
            if is_met and not is_free(schedule, each):
                is_written = 1
    if schedule.best_start == NONE or (time, is_written) < (schedule.best_time, schedule.best_is_written):
        schedule.best_start, schedule.best_time, schedule.best_is_written = start, time, is_written
