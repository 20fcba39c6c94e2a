"""The issue stage as it walks a stream: one pass in program order over the words that act, its events.

Units are in-order queues, so each start follows from what came before; only operations that share the bus or
the SRAM's ports change each other's end, and `contention` works those out.
"""

from __future__ import annotations

from dlasim.isa.instruction_rows import Unit
from dlasim.native.routine import Routine, routine
from dlasim.sim.timing.contention import UNIT_COUNT, Walk, catch_up, find_end

# The kind of an event: the unit of an operation, WAIT and the unit waited for, IRQ or HALT.
WAIT = UNIT_COUNT
IRQ = WAIT + UNIT_COUNT
HALT = IRQ + 1
_MAC, _VECTOR = int(Unit.MAC), int(Unit.VECTOR)  # the last units


@routine
def walk_events(walk: Walk, events: int) -> int:
    """When each operation is issued, and ends. The argument of an event is the place of an operation in the
    columns, or how many a WAIT leaves outstanding. Checks precede an operation, or the fault that they find.
    """
    words = 0
    for event in range(events):
        walk.now += (walk.reached[event] - words) * walk.word_cycles
        words = walk.reached[event]
        kind = walk.kinds[event]
        if kind < WAIT:
            walk.now += walk.check_cycles
            if walk.in_turns and kind >= _MAC:
                _wait_for(walk, _MAC + _VECTOR - kind, 0, event)
            _wait_for(walk, kind, walk.queue_depth - 1, event)
            _issue(walk, kind, walk.arguments[event])
        elif kind < IRQ:
            _wait_for(walk, kind - WAIT, walk.arguments[event], event)
        else:
            if event == events - 1:
                walk.now += walk.fault_cycles
            for unit in range(UNIT_COUNT):
                _wait_for(walk, unit, 0, event)
            if kind == IRQ:
                walk.markers[walk.marker_count] = walk.now
                walk.marker_count += 1
    return walk.now


WALK = Routine(walk_events, "issue")


@routine
def _wait_for(walk: Walk, unit: int, allowed: int, event: int) -> None:
    """Stall until at most `allowed` operations of a unit are outstanding."""
    state = walk.units[unit]
    index = state.pushed - allowed - 1
    if index < 0:
        return
    end = find_end(walk, unit, index) if unit < walk.sharing else walk.ends[state.first + index]
    if end > walk.now:
        block = walk.blocks[walk.block_count]
        block.start, block.end = walk.now, end
        block.is_queue_full = 1 if walk.kinds[event] < WAIT else 0
        block.event = event
        walk.block_count += 1
        walk.now = end


@routine
def _issue(walk: Walk, unit: int, place: int) -> None:
    """Push an operation into its unit's queue."""
    state, now = walk.units[unit], walk.now
    walk.issued[place] = now
    if unit < walk.sharing:
        catch_up(walk, now)
    else:
        begin = now
        if state.pushed and walk.ends[place - 1] > now:
            begin = walk.ends[place - 1]
        walk.ends[place] = begin + walk.totals[place]
    state.pushed += 1
