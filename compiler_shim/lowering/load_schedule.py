"""Follows tasks and loads in time, and finds places for pieces of constants that are loaded ahead; a routine.

A task's own loads come first. While the bus would wait for a task to end, it loads pieces of constants for
later tasks, in the order of their use: each into a place in SRAM that nothing else uses from then on until
its own use. Not much more is loaded ahead than the segments that load for longer than they compute need.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.tile_buffers import ALIGNMENT
from dlasim.native.record import Record, Records, array, pointer, record
from dlasim.native.routine import Numbers, Routine, routine

QUEUED = 4  # operations that a unit's queue holds, the running one included
LAST = QUEUED - 1
NONE = -1


@record
class TimedSegment(Record):
    """A node or a chain: its tasks, looked at in groups, the slots; the cycles in which a slot computes and
    loads tensors; what it occupies and its constants, each from a first on.

    When it ends, `backlog` cycles of loads for later segments should have been made. The next load of tensors
    after it must begin `next_tensors` cycles after its end.
    """

    tasks: int = 0
    tasks_of_slot: int = 0
    slots: int = 0
    is_chain: int = 0
    is_other_unit: int = 0  # than that of the segment before: their tasks may run side by side
    compute: int = 0
    tensors: int = 0
    backlog: int = 0
    next_tensors: int = 0
    first_range: int = 0
    ranges: int = 0
    first_constants: int = 0
    constants: int = 0


@record
class TimedConstants(Record):
    """The constants of a node: their segment and pieces; how many tasks use one, its bytes and cycles. The
    first `placed` have places; once some are given up, the tasks that need them load the others, up to
    `loaded` so far."""

    segment: int = 0
    pieces: int = 0
    tasks: int = 0
    size: int = 0
    cycles: int = 0
    is_loaded_again: int = 0
    first_piece: int = 0
    placed: int = 0
    is_given_up: int = 0
    loaded: int = 0


@record
class TimedPiece(Record):
    """A piece: its constants, the first slot that uses it and the end of those that do; its place, when it is
    there, and the segment and slot after which it is loaded."""

    constants: int = 0
    first_slot: int = 0
    end_slot: int = 0
    start: int = 0
    arrival: int = 0
    host: int = 0
    host_slot: int = 0


@record
class UsedPlace(Record):
    """Bytes that have been used, and the cycle in which that ends."""

    start: int = 0
    end: int = 0
    time: int = 0


@record
class LoadSchedule(Record):
    """Segments in order, in an SRAM of `limit` bytes. Up to `reserve` times what is needed is loaded ahead.

    Ranges are the bytes that a segment occupies; buffers of constants (`range_owners`) are free once all of
    these are loaded ahead. `order` are the pieces in the order of their use, from `waiting` on those without
    a place. `live` are those that are in their places. Two lists of ranges, `busy` and `apart`, serve to find
    a place; `apart` has the piece's buffers, too.
    """

    segments: Records[TimedSegment] = pointer(TimedSegment)
    range_starts: Numbers = pointer(int)
    range_ends: Numbers = pointer(int)
    range_owners: Numbers = pointer(int)
    constants: Records[TimedConstants] = pointer(TimedConstants)
    pieces: Records[TimedPiece] = pointer(TimedPiece)
    used: Records[UsedPlace] = pointer(UsedPlace)
    order: Numbers = pointer(int)
    live: Numbers = pointer(int)
    busy_starts: Numbers = pointer(int)
    busy_ends: Numbers = pointer(int)
    apart_starts: Numbers = pointer(int)
    apart_ends: Numbers = pointer(int)
    segment_count: int = 0
    piece_count: int = 0
    limit: int = 0
    reserve: int = 0
    waiting: int = 0
    live_count: int = 0
    used_count: int = 0
    busy_count: int = 0
    apart_count: int = 0
    ends: list[int] = array(int, QUEUED)  # of the last slots
    bus: int = 0
    issued: int = 0
    stock: int = 0  # cycles of loads for later segments
    is_from_top: int = 0
    last_constants: int = 0
    without_place: int = 0  # the piece at which nothing was found, until a place becomes free
    best_start: int = 0
    best_time: int = 0
    best_is_written: int = 0
    peak: int = 0


@routine
def plan_loads(schedule: LoadSchedule) -> int:
    """Plan the loads of one slot after the other. Returns how many pieces have places."""
    schedule.is_from_top, schedule.last_constants, schedule.without_place = 1, NONE, NONE
    _list_pieces(schedule)
    for number in range(schedule.segment_count):
        segment = schedule.segments[number]
        for each in range(segment.first_constants, segment.first_constants + segment.constants):
            schedule.stock -= schedule.constants[each].placed * schedule.constants[each].cycles
        for slot in range(segment.slots):
            _forget(schedule, number, slot)
            _compute(schedule, segment, slot)
            _load_ahead(schedule, segment, number, slot)
        _forget(schedule, number, segment.slots)
        _leave(schedule, segment)
    for number in range(schedule.segment_count):
        schedule.peak = max(schedule.peak, _covered(schedule, number))
    placed = 0
    for piece in range(schedule.piece_count):
        placed += 1 if schedule.pieces[piece].start != NONE else 0
    return placed


LOADS = Routine(plan_loads, "loads", (__name__, "dlasim.compiler_shim.lowering.tile_buffers"))


@routine
def _list_pieces(schedule: LoadSchedule) -> None:
    """Note which slots use each piece, and the order of their use. A chain may use any piece to its end."""
    count, listed = 0, 0
    for number in range(schedule.segment_count):
        segment, most = schedule.segments[number], 0
        for each in range(segment.first_constants, segment.first_constants + segment.constants):
            constants = schedule.constants[each]
            constants.first_piece = count
            for place in range(constants.pieces):
                piece = schedule.pieces[count + place]
                first, end = place * constants.tasks, (place + 1) * constants.tasks
                if segment.is_chain:
                    first, end = min(place, segment.tasks - 1), segment.tasks
                piece.constants, piece.start = each, NONE
                piece.first_slot = first // segment.tasks_of_slot
                piece.end_slot = -(-end // segment.tasks_of_slot)
            count += constants.pieces
            most = max(most, constants.pieces)
        for place in range(most):
            for each in range(segment.first_constants, segment.first_constants + segment.constants):
                if place < schedule.constants[each].pieces:
                    schedule.order[listed] = schedule.constants[each].first_piece + place
                    listed += 1


@routine
def _forget(schedule: LoadSchedule, number: int, end_slot: int) -> None:
    """Pieces that have been used up leave their places."""
    kept = 0
    for place in range(schedule.live_count):
        index = schedule.live[place]
        piece = schedule.pieces[index]
        constants = schedule.constants[piece.constants]
        if constants.segment == number and piece.end_slot <= end_slot:
            _note_used(schedule, piece.start, piece.start + constants.size)
        else:
            schedule.live[kept] = index
            kept += 1
    schedule.live_count = kept


@routine
def _leave(schedule: LoadSchedule, segment: TimedSegment) -> None:
    """What a segment occupies is free when it ends."""
    for each in range(segment.first_range, segment.first_range + segment.ranges):
        if not _is_free(schedule, each):
            _note_used(schedule, schedule.range_starts[each], schedule.range_ends[each])
    schedule.without_place = NONE


@routine
def _note_used(schedule: LoadSchedule, start: int, end: int) -> None:
    used = schedule.used[schedule.used_count]
    used.start, used.end, used.time = start, end, schedule.ends[LAST]
    schedule.used_count += 1
    schedule.without_place = NONE


@routine
def _compute(schedule: LoadSchedule, segment: TimedSegment, slot: int) -> None:
    """The loads that the tasks of a slot make for themselves, and the tasks."""
    own, arrival = segment.tensors, 0
    for each in range(segment.first_constants, segment.first_constants + segment.constants):
        constants = schedule.constants[each]
        for number in range(constants.pieces):
            piece = schedule.pieces[constants.first_piece + number]
            if piece.first_slot == slot:
                if piece.start != NONE:
                    arrival = max(arrival, piece.arrival)
                else:
                    own += constants.cycles
                    constants.is_given_up, constants.loaded = 1, number + 1
    if own:
        schedule.bus = max(schedule.bus, schedule.ends[LAST - 1]) + own
        arrival = max(arrival, schedule.bus)
    schedule.issued = max(schedule.issued, max(arrival, schedule.ends[0]))
    end = max(schedule.ends[LAST], arrival) + segment.compute
    for place in range(LAST):
        schedule.ends[place] = schedule.ends[place + 1]
    schedule.ends[LAST] = end


@routine
def _load_ahead(schedule: LoadSchedule, segment: TimedSegment, number: int, slot: int) -> None:
    """Loads for later tasks while the bus would wait."""
    latest = NONE
    while schedule.waiting < schedule.piece_count and schedule.bus < schedule.ends[LAST]:
        index = schedule.order[schedule.waiting]
        piece = schedule.pieces[index]
        constants = schedule.constants[piece.constants]
        if constants.is_given_up:
            schedule.waiting += 1
            continue
        is_later = 1 if constants.segment > number else 0
        if is_later and schedule.stock >= schedule.reserve * segment.backlog + constants.cycles:
            return
        if index == schedule.without_place:
            return
        if latest == NONE:
            latest = _latest(schedule, segment, slot)
        if max(schedule.bus, schedule.issued) + constants.cycles > latest:
            return
        # A wait for the segment before would keep tasks from running beside it.
        is_beside = 1 if number and segment.is_other_unit and slot + 1 < segment.slots else 0
        _find_place(schedule, piece, constants, number - is_beside)
        if schedule.best_start == NONE:
            schedule.without_place = NONE if is_beside else index
            return
        if schedule.best_time + constants.cycles > latest:
            return
        if is_beside and schedule.best_time > max(schedule.bus, schedule.issued):
            return
        schedule.waiting += 1
        schedule.bus = schedule.best_time + constants.cycles
        piece.start, piece.arrival = schedule.best_start, schedule.bus
        piece.host, piece.host_slot = number, slot
        schedule.live[schedule.live_count] = index
        schedule.live_count += 1
        constants.placed += 1
        if is_later:
            schedule.stock += constants.cycles


@routine
def _is_free(schedule: LoadSchedule, number: int) -> int:
    """Whether a range is a buffer that is not needed, since all pieces have places of their own."""
    owner = schedule.range_owners[number]
    if owner == NONE:
        return 0
    constants = schedule.constants[owner]
    return 1 if constants.placed == constants.pieces and not constants.is_loaded_again else 0


@routine
def _latest(schedule: LoadSchedule, segment: TimedSegment, slot: int) -> int:
    """When the loads for later tasks must end, so that no task has to wait for its own."""
    following = slot + 1 if segment.tensors else segment.slots
    for each in range(segment.first_constants, segment.first_constants + segment.constants):
        constants = schedule.constants[each]
        if constants.is_given_up and constants.loaded < constants.pieces:
            piece = schedule.pieces[constants.first_piece + constants.loaded]
            following = min(following, piece.first_slot)
    cycles = (following - slot - 1) * segment.compute
    if following >= segment.slots:
        cycles = (segment.slots - slot - 1) * segment.compute + segment.next_tensors
    else:
        cycles -= segment.tensors
        for each in range(segment.first_constants, segment.first_constants + segment.constants):
            constants = schedule.constants[each]
            if constants.is_given_up:
                for number in range(constants.loaded, constants.pieces):
                    if schedule.pieces[constants.first_piece + number].first_slot == following:
                        cycles -= constants.cycles
    return max(schedule.ends[LAST - 1], schedule.ends[LAST] + cycles)


@routine
def _find_place(schedule: LoadSchedule, piece: TimedPiece, constants: TimedConstants, number: int) -> None:
    """Find a place that is free from a segment on until the piece is used up, and the cycle in which its load
    can begin. Best is one that is free now, and that the segment after the piece's does not use either: a
    single piece's own buffer, or a place apart from the buffers, which are for pieces that have no place."""
    if piece.constants != schedule.last_constants:  # the next one has room while this one is in use
        schedule.last_constants, schedule.is_from_top = piece.constants, 1 - schedule.is_from_top
    now = max(schedule.bus, schedule.issued)
    kept = 0
    for place in range(schedule.used_count):
        used = schedule.used[place]
        if used.time > now:
            schedule.used[kept].assign(used)
            kept += 1
    schedule.used_count = kept
    schedule.best_start = NONE
    _collect(schedule, piece.constants, constants.segment, number)
    starts, ends = schedule.busy_starts, schedule.busy_ends
    segment = schedule.segments[constants.segment]
    if constants.pieces == 1 and not constants.is_loaded_again:
        for each in range(segment.first_range, segment.first_range + segment.ranges):
            if schedule.range_owners[each] == piece.constants:
                start, end = schedule.range_starts[each], schedule.range_ends[each]
                _try_between(schedule, constants, starts, ends, schedule.busy_count, start, end, now)
    apart, apart_ends, count = schedule.apart_starts, schedule.apart_ends, schedule.apart_count
    _try_between(schedule, constants, apart, apart_ends, count, 0, schedule.limit, now)
    if not constants.is_loaded_again:
        _try_between(schedule, constants, starts, ends, schedule.busy_count, 0, schedule.limit, now)


@routine
def _collect(schedule: LoadSchedule, own: int, last: int, number: int) -> None:
    """List what segments occupy, from one to another, and pieces that are in their places; apart, with the
    buffers of some constants, too."""
    schedule.busy_count = 0
    for between in range(number, last + 1):
        segment = schedule.segments[between]
        for each in range(segment.first_range, segment.first_range + segment.ranges):
            if not _is_free(schedule, each) and (between < last or schedule.range_owners[each] != own):
                start, end = schedule.range_starts[each], schedule.range_ends[each]
                schedule.busy_count = _insert(
                    schedule.busy_starts, schedule.busy_ends, schedule.busy_count, start, end
                )
    for place in range(schedule.live_count):
        piece = schedule.pieces[schedule.live[place]]
        end = piece.start + schedule.constants[piece.constants].size
        schedule.busy_count = _insert(
            schedule.busy_starts, schedule.busy_ends, schedule.busy_count, piece.start, end
        )
    for place in range(schedule.busy_count):
        schedule.apart_starts[place] = schedule.busy_starts[place]
        schedule.apart_ends[place] = schedule.busy_ends[place]
    schedule.apart_count = schedule.busy_count
    segment = schedule.segments[last]
    for each in range(segment.first_range, segment.first_range + segment.ranges):
        if schedule.range_owners[each] == own:
            start, end = schedule.range_starts[each], schedule.range_ends[each]
            schedule.apart_count = _insert(
                schedule.apart_starts, schedule.apart_ends, schedule.apart_count, start, end
            )


@routine
def _insert(starts: Numbers, ends: Numbers, count: int, start: int, end: int) -> int:
    """Add a range to a list of ranges in order, of which none touches another; returns how many there are."""
    if start >= end:
        return count
    first = 0
    while first < count and ends[first] < start:
        first += 1
    last = first
    while last < count and starts[last] <= end:
        start, end = min(start, starts[last]), max(end, ends[last])
        last += 1
    if last == first:
        for number in range(count - first):
            starts[count - number] = starts[count - number - 1]
            ends[count - number] = ends[count - number - 1]
    else:
        for place in range(last, count):
            starts[place - last + first + 1], ends[place - last + first + 1] = starts[place], ends[place]
    starts[first], ends[first] = start, end
    return count + 1 - (last - first)


@routine
def _try_between(
    schedule: LoadSchedule,
    constants: TimedConstants,
    starts: Numbers,
    ends: Numbers,
    count: int,
    low: int,
    high: int,
    now: int,
) -> None:
    """Try the gaps of a list of ranges, between two addresses."""
    for number in range(count + 1):
        gap = count - number if schedule.is_from_top else number
        start = ends[gap - 1] if gap else 0
        end = starts[gap] if gap < count else schedule.limit
        _try_gap(schedule, constants, max(start, low), min(end, high), now)


@routine
def _try_gap(schedule: LoadSchedule, constants: TimedConstants, start: int, end: int, now: int) -> None:
    """Try both ends of a gap."""
    low = -(-start // ALIGNMENT) * ALIGNMENT
    high = (end - constants.size) // ALIGNMENT * ALIGNMENT
    if low <= high:
        _try_place(schedule, constants, high if schedule.is_from_top else low, now)
        _try_place(schedule, constants, low if schedule.is_from_top else high, now)


@routine
def _try_place(schedule: LoadSchedule, constants: TimedConstants, start: int, now: int) -> None:
    """Keep a place if it is the best so far."""
    if schedule.best_start != NONE and schedule.best_time == now and not schedule.best_is_written:
        return
    end, time, is_written = start + constants.size, now, 0
    for place in range(schedule.used_count):
        used = schedule.used[place]
        if used.start < end and start < used.end:
            time = max(time, used.time)
    if constants.segment + 1 < schedule.segment_count:
        following = schedule.segments[constants.segment + 1]
        for each in range(following.first_range, following.first_range + following.ranges):
            is_met = schedule.range_starts[each] < end and start < schedule.range_ends[each]
            if is_met and not _is_free(schedule, each):
                is_written = 1
    if schedule.best_start == NONE or (time, is_written) < (schedule.best_time, schedule.best_is_written):
        schedule.best_start, schedule.best_time, schedule.best_is_written = start, time, is_written


@routine
def _covered(schedule: LoadSchedule, number: int) -> int:
    """Bytes that are in use during a segment."""
    segment, count = schedule.segments[number], 0
    for each in range(segment.first_range, segment.first_range + segment.ranges):
        if not _is_free(schedule, each):
            start, end = schedule.range_starts[each], schedule.range_ends[each]
            count = _insert(schedule.busy_starts, schedule.busy_ends, count, start, end)
    for index in range(schedule.piece_count):
        piece = schedule.pieces[index]
        constants = schedule.constants[piece.constants]
        if piece.start != NONE and piece.host <= number and number <= constants.segment:
            end = piece.start + constants.size
            count = _insert(schedule.busy_starts, schedule.busy_ends, count, piece.start, end)
    total = 0
    for place in range(count):
        total += schedule.busy_ends[place] - schedule.busy_starts[place]
    return total
