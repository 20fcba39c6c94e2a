"""The records of the routine that plans prefetches."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.range_list import RangeList
from dlasim.compiler_shim.lowering.emission.records import Load
from dlasim.native.record import Record, Records, member, pointer
from dlasim.native.routine import Numbers


class TimedSegment(Record):
    """A node or a chain: its tasks, its first and last unit, the cycles in which it computes and loads
    tensors, those that what it computes with takes to cross the SRAM's ports, and which ranges it occupies
    and constants it has.

    The rest is found. Tasks are looked at in groups, the slots, which compute and load tensors for so many
    cycles. When it ends, `backlog` cycles of loads for later segments should have been made. The next load of
    tensors after it must begin `next_tensors` cycles after its end.
    """

    tasks: int = 0
    is_chain: int = 0
    first_unit: int = 0
    last_unit: int = 0
    compute_cycles: int = 0
    tensor_cycles: int = 0
    port_cycles: int = 0
    first_range: int = 0
    ranges: int = 0
    first_constants: int = 0
    constants: int = 0
    tasks_of_slot: int = 0
    slots: int = 0
    is_other_unit: int = 0  # than that of the segment before: their tasks may run side by side
    compute: int = 0
    tensors: int = 0
    ports: int = 0
    load_cycles: int = 0  # of all loads
    first_cycles: int = 0  # of as many pieces as there are buffers for: it cannot begin without
    covered_bytes: int = 0
    backlog: int = 0
    next_tensors: int = 0
    is_load_first: int = 0  # its tiles are each loaded before the tile before is computed


class TimedConstants(Record):
    """The constants of a node: its place and its step, their pieces; how many tasks use one, its bytes and
    cycles; and how many buffers they have. Found are their segment and what comes after. The first `placed`
    have places; once some are given up, the tasks that need them load the others, up to `loaded` so far."""

    place: int = 0
    step: int = 0
    pieces: int = 0
    tasks: int = 0
    size: int = 0
    cycles: int = 0
    is_loaded_again: int = 0
    buffers: int = 0
    segment: int = 0
    first_piece: int = 0
    placed: int = 0
    is_given_up: int = 0
    loaded: int = 0
    listed: int = 0
    meets: int = 0


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


class OccupiedRange(Record):
    """Bytes that a segment occupies; of buffers of constants, `owner` is the number of these."""

    start: int = 0
    end: int = 0
    owner: int = 0


class FreedRange(Record):
    """Bytes that have been used, and the cycle from which on they are free."""

    start: int = 0
    end: int = 0
    time: int = 0


class LoadSchedule(Record):
    """Segments in order, in an SRAM of `limit` bytes.

    Ranges are the bytes that a segment occupies; buffers of constants are free once all of these are
    prefetched. `order` are the pieces in the order of their use, from `waiting` on those without a place.
    `live` are those that are in their places. Two lists of ranges, `busy` and `blocked`, serve to find an
    address; `blocked` has the piece's buffers, too. `loads` are what is planned. `ends` are when the last
    slots end, at `last` the latest: two, or as many as a unit's queue holds, the running one included. Where
    transfers share the SRAM's ports with the units, a cycle of a load takes `port_share` of WHOLE of
    them; of the last slot and of the loads that may run beside it, `beside` are the cycles.
    """

    segments: Records[TimedSegment] = pointer(TimedSegment)
    ranges: Records[OccupiedRange] = pointer(OccupiedRange)
    constants: Records[TimedConstants] = pointer(TimedConstants)
    pieces: Records[TimedPiece] = pointer(TimedPiece)
    freed: Records[FreedRange] = pointer(FreedRange)
    loads: Records[Load] = pointer(Load)
    order: Numbers = pointer(int)
    live: Numbers = pointer(int)
    ends: Numbers = pointer(int)
    busy: RangeList = member(RangeList)
    blocked: RangeList = member(RangeList)
    last: int = 0
    queue_depth: int = 0
    port_share: int = 0
    beside: int = 0
    slot_ports: int = 0
    slot_cycles: int = 0
    segment_count: int = 0
    piece_count: int = 0
    limit: int = 0
    waiting: int = 0
    live_count: int = 0
    load_count: int = 0
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
