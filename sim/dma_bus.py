"""Two transfers at once on a shared bus: each slows the other down, worked out from change to change.

Work is counted in fractions of a cycle: a transfer alone does `alone` of them in a cycle, one of two that
both want the bus does `shared`. What happens in a cycle is settled for the whole cycle.
"""

from __future__ import annotations

from dlasim.isa.instructions import UNITS, Unit
from dlasim.native.record import Record, Records, array, pointer, record
from dlasim.native.routine import Numbers, routine

UNIT_COUNT = len(UNITS)
TRANSFERRING = max(Unit.DMA_IN, Unit.DMA_OUT) + 1  # the first units, which share the bus


@record
class UnitState(Record):
    """A unit: the place of its first operation in the columns, where its others follow; how many have been
    pushed into its queue, and how many of those have ended. Of its current transfer: what has been done, and
    the cycle in which it reaches the bus."""

    first: int = 0
    pushed: int = 0
    done: int = 0
    progress: int = 0
    reaches: int = 0


@record
class Block(Record):
    """A time in which the issue stage stood still, from and to a cycle, at an event: for room in a queue, or
    in a WAIT."""

    start: int = 0
    end: int = 0
    is_queue_full: int = 0
    event: int = 0


@record
class Walk(Record):
    """The issue stage and the bus as a stream is walked.

    Of each event the columns hold the words issued until then, its kind and an argument; of each operation
    its cycles alone, and once it is known when it was issued and when it ends; of each transfer its latency
    and its work on the bus.
    """

    units: list[UnitState] = array(UnitState, UNIT_COUNT)
    bus_now: int = 0
    alone: int = 0
    shared: int = 0
    now: int = 0
    block_count: int = 0
    marker_count: int = 0
    word_cycles: int = 0
    queue_depth: int = 0
    reached: Numbers = pointer(int)
    kinds: Numbers = pointer(int)
    arguments: Numbers = pointer(int)
    totals: Numbers = pointer(int)
    latencies: Numbers = pointer(int)
    works: Numbers = pointer(int)
    issued: Numbers = pointer(int)
    ends: Numbers = pointer(int)
    markers: Numbers = pointer(int)
    blocks: Records[Block] = pointer(Block)


_IDLE = -1
_NO_LIMIT = -1


@routine
def catch_up(walk: Walk, now: int) -> None:
    """A transfer is about to reach its queue; nothing that comes later can change what was before."""
    while walk.bus_now < now and _step(walk, now):
        pass
    walk.bus_now = max(walk.bus_now, now)


@routine
def settle(walk: Walk, unit: int, index: int) -> int:
    """When a transfer ends, given all that have been pushed."""
    state = walk.units[unit]
    while state.done <= index:
        _step(walk, _NO_LIMIT)
    return walk.ends[state.first + index]


@routine
def _step(walk: Walk, limit: int) -> int:
    """Go to the next change on the bus, not beyond the limit; 0 when nothing is left to do."""
    now, until = walk.bus_now, limit
    waiting = active = 0
    for unit in range(TRANSFERRING):
        reaches = _reaches(walk, walk.units[unit])
        walk.units[unit].reaches = reaches
        waiting += 1 if reaches != _IDLE else 0
        active += 1 if 0 <= reaches <= now else 0
    if not waiting:
        return 0
    rate = walk.shared if active == TRANSFERRING else walk.alone
    for unit in range(TRANSFERRING):
        state = walk.units[unit]
        change = state.reaches
        if 0 <= change <= now:
            change = now - -_remaining(walk, state) // rate
        if change != _IDLE and (until == _NO_LIMIT or change < until):
            until = change
    for unit in range(TRANSFERRING):
        if 0 <= walk.units[unit].reaches <= now:
            _move(walk, walk.units[unit], rate, until)
    walk.bus_now = until
    return 1


@routine
def _reaches(walk: Walk, state: UnitState) -> int:
    """The cycle in which the first bytes of a unit's current transfer reach the bus."""
    done = state.done
    if done == state.pushed:
        return _IDLE
    place = state.first + done
    begin = walk.issued[place]
    if done and walk.ends[place - 1] > begin:
        begin = walk.ends[place - 1]
    return begin + walk.latencies[place]


@routine
def _remaining(walk: Walk, state: UnitState) -> int:
    """What is left of a unit's current transfer."""
    return walk.works[state.first + state.done] * walk.alone - state.progress


@routine
def _move(walk: Walk, state: UnitState, rate: int, until: int) -> None:
    """A unit's transfer goes on until then, when it may end."""
    state.progress += (until - walk.bus_now) * rate
    if _remaining(walk, state) <= 0:
        walk.ends[state.first + state.done] = until
        state.done += 1
        state.progress = 0
