"""Follows tasks and loads in time, and plans when pieces of constants are prefetched; a routine.

A task's own loads come first. While the bus would wait for a task to end, it loads pieces of constants for
later tasks, in the order of their use: each into a place in SRAM that nothing else uses from then on until
its own use. Not much more is prefetched than the segments that load for longer than they compute need.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.loads.load_backlogs import prepare_segments
from dlasim.compiler_shim.lowering.loads.load_records import LoadSchedule, TimedSegment
from dlasim.compiler_shim.lowering.loads.prefetch_addresses import find_address, is_free, peak_bytes
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_costs import WHOLE
from dlasim.native.routine import Routine, routine


@routine
def plan_loads(schedule: LoadSchedule) -> int:
    """Plan the loads of one slot after the other. Returns how many there are."""
    prepare_segments(schedule)
    _start(schedule)
    _list_pieces(schedule)
    for number in range(schedule.segment_count):
        segment = schedule.segments[number]
        for each in range(segment.first_constants, segment.first_constants + segment.constants):
            schedule.prefetched_cycles -= schedule.constants[each].placed * schedule.constants[each].cycles
        for slot in range(segment.slots):
            _forget(schedule, number, slot)
            _compute(schedule, segment, slot)
            _prefetch(schedule, segment, number, slot)
        _forget(schedule, number, segment.slots)
        _leave(schedule, segment)
    schedule.peak = peak_bytes(schedule)
    return _list_loads(schedule)


LOADS = Routine(plan_loads, "loads")


@routine
def _start(schedule: LoadSchedule) -> None:
    """As if nothing had been planned yet."""
    schedule.is_from_top, schedule.last_constants, schedule.unplaced_piece = 1, NONE, NONE
    schedule.waiting = schedule.prefetched_cycles = 0
    schedule.live_count = schedule.freed_count = schedule.bus = schedule.issued = 0
    schedule.beside = schedule.slot_cycles = schedule.slot_ports = 0
    for place in range(schedule.last + 1):
        schedule.ends[place] = 0


@routine
def _list_pieces(schedule: LoadSchedule) -> None:
    """Note which slots use each piece, and the order of their use. A chain may use any piece to its end."""
    count, listed = 0, 0
    for number in range(schedule.segment_count):
        segment, most = schedule.segments[number], 0
        for each in range(segment.first_constants, segment.first_constants + segment.constants):
            constants = schedule.constants[each]
            constants.first_piece = count
            constants.is_given_up = constants.loaded = constants.listed = 0
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
def _list_loads(schedule: LoadSchedule) -> int:
    """List the loads of pieces that have places, those after one task together; how many there are."""
    count = 0
    for place in range(schedule.piece_count):
        piece = schedule.pieces[schedule.order[place]]
        if piece.start != NONE:
            constants, load = schedule.constants[piece.constants], schedule.loads[max(count - 1, 0)]
            segment = schedule.segments[piece.loading_segment]
            task = min((piece.loading_slot + 1) * segment.tasks_of_slot, segment.tasks) - 1
            is_same = load.step == constants.step and load.task == task
            if count == 0 or not is_same or load.segment != piece.loading_segment:
                load, count = schedule.loads[count], count + 1
                load.segment, load.step, load.task = piece.loading_segment, constants.step, task
                load.first, load.pieces = constants.listed, 0
            load.pieces += 1
            constants.listed += 1
    schedule.load_count = count
    return count


@routine
def _forget(schedule: LoadSchedule, number: int, end_slot: int) -> None:
    """Pieces that have been used up leave their places."""
    kept = 0
    for place in range(schedule.live_count):
        index = schedule.live[place]
        piece = schedule.pieces[index]
        constants = schedule.constants[piece.constants]
        if constants.segment == number and piece.end_slot <= end_slot:
            _note_freed(schedule, piece.start, piece.start + constants.size)
        else:
            schedule.live[kept] = index
            kept += 1
    schedule.live_count = kept


@routine
def _leave(schedule: LoadSchedule, segment: TimedSegment) -> None:
    """What a segment occupies is free when it ends."""
    for each in range(segment.first_range, segment.first_range + segment.ranges):
        if not is_free(schedule, each):
            _note_freed(schedule, schedule.ranges[each].start, schedule.ranges[each].end)
    schedule.unplaced_piece = NONE


@routine
def _note_freed(schedule: LoadSchedule, start: int, end: int) -> None:
    freed = schedule.freed[schedule.freed_count]
    freed.start, freed.end, freed.time = start, end, schedule.ends[schedule.last]
    schedule.freed_count += 1
    schedule.unplaced_piece = NONE


@routine
def _compute(schedule: LoadSchedule, segment: TimedSegment, slot: int) -> None:
    """The loads that the tasks of a slot make for themselves, and the tasks. A load waits for the last slot
    to end if that uses its buffer, else for the one before."""
    own, arrival, free = segment.tensors, 0, schedule.ends[schedule.last - 1]
    for each in range(segment.first_constants, segment.first_constants + segment.constants):
        constants = schedule.constants[each]
        for number in range(constants.pieces):
            piece = schedule.pieces[constants.first_piece + number]
            if piece.first_slot == slot:
                if piece.start != NONE:
                    arrival = max(arrival, piece.arrival)
                else:
                    own += constants.cycles
                    if constants.meets if number == 0 else constants.buffers == 1:
                        free = schedule.ends[schedule.last]
                    constants.is_given_up, constants.loaded = 1, number + 1
    if own:
        schedule.bus = max(schedule.bus, free) + own
        arrival, schedule.beside = max(arrival, schedule.bus), schedule.beside + own
    _contend(schedule, arrival)
    left_queue = schedule.ends[schedule.last + 1 - schedule.queue_depth]
    if slot == 0 and segment.is_other_unit:  # it waits for what the other unit computes
        left_queue = schedule.ends[schedule.last]
    schedule.issued = max(schedule.issued, max(arrival, left_queue))
    end = max(schedule.ends[schedule.last], arrival) + segment.compute
    if segment.is_chain and segment.first_unit != segment.last_unit:  # so do its last tasks
        schedule.issued = end
    schedule.slot_cycles, schedule.slot_ports = segment.compute, segment.ports
    for place in range(schedule.last):
        schedule.ends[place] = schedule.ends[place + 1]
    schedule.ends[schedule.last] = end


@routine
def _contend(schedule: LoadSchedule, arrival: int) -> None:
    """Let the last slot end later where it and the loads beside it have more for the ports than it computes;
    what is loaded until the next one begins is no longer beside anything."""
    beside = min(schedule.beside, schedule.slot_cycles)
    ports = schedule.slot_ports + beside * schedule.port_share // WHOLE
    schedule.ends[schedule.last] += max(ports - schedule.slot_cycles, 0) if beside else 0
    schedule.beside = max(schedule.beside - beside - max(arrival - schedule.ends[schedule.last], 0), 0)


@routine
def _prefetch(schedule: LoadSchedule, segment: TimedSegment, number: int, slot: int) -> None:
    """Loads for later tasks while the bus would wait."""
    latest = NONE
    while schedule.waiting < schedule.piece_count and schedule.bus < schedule.ends[schedule.last]:
        index = schedule.order[schedule.waiting]
        piece = schedule.pieces[index]
        constants = schedule.constants[piece.constants]
        if constants.is_given_up:
            schedule.waiting += 1
            continue
        is_later = 1 if constants.segment > number else 0
        if is_later and schedule.prefetched_cycles >= segment.backlog + constants.cycles:
            return
        if index == schedule.unplaced_piece:
            return
        if latest == NONE:
            latest = _latest(schedule, segment, slot)
        if max(schedule.bus, schedule.issued) + constants.cycles > latest:
            return
        # A wait for the segment before would keep tasks from running in parallel with it.
        is_beside = 1 if number and segment.is_other_unit and slot + 1 < segment.slots else 0
        find_address(schedule, piece, constants, number - is_beside)
        if schedule.best_start == NONE:
            schedule.unplaced_piece = NONE if is_beside else index
            return
        if schedule.best_time + constants.cycles > latest:
            return
        if is_beside and schedule.best_time > max(schedule.bus, schedule.issued):
            return
        schedule.waiting += 1
        schedule.bus, schedule.beside = (
            schedule.best_time + constants.cycles,
            schedule.beside + constants.cycles,
        )
        piece.start, piece.arrival = schedule.best_start, schedule.bus
        piece.loading_segment, piece.loading_slot = number, slot
        schedule.live[schedule.live_count] = index
        schedule.live_count += 1
        constants.placed += 1
        if is_later:
            schedule.prefetched_cycles += constants.cycles


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
    return max(schedule.ends[schedule.last - 1], schedule.ends[schedule.last] + cycles)
