"""The records of the routine that plans prefetches."""

from __future__ import annotations

from dlasim.native.record import Record, Records, member, pointer, record
from dlasim.native.routine import Numbers

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
    loading_segment: int = 0
    loading_slot: int = 0


@record
class FreedRange(Record):
    """Bytes that have been used, and the cycle from which on they are free."""

    start: int = 0
    end: int = 0
    time: int = 0


@record
class RangeList(Record):
    """Ranges of bytes in order, of which none touches another."""

    starts: Numbers = pointer(int)
    ends: Numbers = pointer(int)
    count: int = 0


@record
class LoadSchedule(Record):
    """Segments in order, in an SRAM of `limit` bytes. Up to `reserve` times what is needed is prefetched.

    Ranges are the bytes that a segment occupies; buffers of constants (`range_owners`) are free once all of
    these are prefetched. `order` are the pieces in the order of their use, from `waiting` on those without
    a place. `live` are those that are in their places. Two lists of ranges, `busy` and `blocked`, serve to
    find an address; `blocked` has the piece's buffers, too. `ends` are when the last slots end, at `last` the
    latest: two, or as many as a unit's queue holds, the running one included.
    """

    segments: Records[TimedSegment] = pointer(TimedSegment)
    range_starts: Numbers = pointer(int)
    range_ends: Numbers = pointer(int)
    range_owners: Numbers = pointer(int)
    constants: Records[TimedConstants] = pointer(TimedConstants)
    pieces: Records[TimedPiece] = pointer(TimedPiece)
    freed: Records[FreedRange] = pointer(FreedRange)
    order: Numbers = pointer(int)
    live: Numbers = pointer(int)
    ends: Numbers = pointer(int)
    busy: RangeList = member(RangeList)
    blocked: RangeList = member(RangeList)
    last: int = 0
    queue_depth: int = 0
    segment_count: int = 0
    piece_count: int = 0
    limit: int = 0
    reserve: int = 0
    waiting: int = 0
    live_count: int = 0
    freed_count: int = 0
    bus: int = 0
    issued: int = 0
    prefetched_cycles: int = 0  # cycles of loads for later segments
    is_from_top: int = 0
    last_constants: int = 0
    unplaced_piece: int = 0  # the piece at which nothing was found, until a range becomes free
    best_start: int = 0
    best_time: int = 0
    best_is_written: int = 0
    peak: int = 0
