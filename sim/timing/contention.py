"""Operations that share the DMA bus and the SRAM's ports: what each does meanwhile, from change to change.

An operation first fills its pipeline, or waits for its first byte; then it is active for as many cycles as
it takes alone, in which it moves its bytes evenly; then it drains. Active operations share: two transfers
halve a bus or a memory that is too slow for both, and the ports serve the units in turn, so that none gets
less than an equal part while it wants more. An operation that lacks a part of its bytes is slower by as much.
The latency of a transfer can pass while earlier ones of its unit are active.

Progress is counted in fractions of a cycle, so many for an operation that nothing hinders. What happens in a
cycle is settled for the whole cycle.
"""

from __future__ import annotations

from dlasim.isa.instruction_rows import UNITS, Unit
from dlasim.native.record import Record, Records, array, pointer
from dlasim.native.routine import Numbers, routine

UNIT_COUNT = len(UNITS)
TRANSFERRING = max(Unit.DMA_IN, Unit.DMA_OUT) + 1  # the first units, which share the bus
SPEED_STEPS = 1 << 12  # of an operation that the ports slow down
DEMAND_STEPS = 1 << 10  # of a byte per cycle


class UnitState(Record):
    """A unit: the place of its first operation in the columns, where its others follow; how many have been
    pushed into its queue, and how many of those have been active. Of its current operation: what it has done,
    the cycle in which it gets active, what it wants of the ports, and how fast it is."""

    first: int = 0
    pushed: int = 0
    done: int = 0
    progress: int = 0
    begins: int = 0
    demand: int = 0
    speed: int = 0


class Block(Record):
    """A time in which the issue stage stood still, from and to a cycle, at an event: for room in a queue, or
    in a WAIT."""

    start: int = 0
    end: int = 0
    is_queue_full: int = 0
    event: int = 0


class Walk(Record):
    """The issue stage and what units share, as a stream is walked.

    The first `sharing` units may slow each other down. `alone`: the speed of an operation alone. `speeds`:
    the speeds of a read and a write that run at the same time, by the memory of each, of which there are
    `memory_count`. `capacity`: bytes that the ports move, 0 for no limit. `outstanding`: by memory, the
    transfers whose latencies can overlap; `is_pipelined`: whether any do.

    The columns hold, for each event, the words issued until then, its kind and an argument. For each
    operation they hold its cycles alone and, once known, when it was issued and when it ends. Where units
    share, they also hold its cycles before, while and after it is active, its demand on the ports meanwhile,
    and its memory.
    """

    units: list[UnitState] = array(UnitState, UNIT_COUNT)
    sharing: int = 0
    settled: int = 0
    alone: int = 0
    capacity: int = 0
    memory_count: int = 0
    is_pipelined: int = 0
    now: int = 0
    block_count: int = 0
    marker_count: int = 0
    word_cycles: int = 0
    check_cycles: int = 0
    fault_cycles: int = 0
    queue_depth: int = 0
    in_turns: int = 0
    reached: Numbers = pointer(int)
    kinds: Numbers = pointer(int)
    arguments: Numbers = pointer(int)
    totals: Numbers = pointer(int)
    heads: Numbers = pointer(int)
    actives: Numbers = pointer(int)
    tails: Numbers = pointer(int)
    demands: Numbers = pointer(int)
    memories: Numbers = pointer(int)
    speeds: Numbers = pointer(int)
    outstanding: Numbers = pointer(int)
    issued: Numbers = pointer(int)
    ends: Numbers = pointer(int)
    markers: Numbers = pointer(int)
    blocks: Records[Block] = pointer(Block)


_IDLE = -1
_NO_LIMIT = -1


@routine
def catch_up(walk: Walk, now: int) -> None:
    """An operation is about to reach its queue; nothing that comes later can change what was before."""
    while walk.settled < now and _step(walk, now):
        pass
    walk.settled = max(walk.settled, now)


@routine
def find_end(walk: Walk, unit: int, index: int) -> int:
    """When an operation ends, given all that have been pushed."""
    state = walk.units[unit]
    while state.done <= index:
        _step(walk, _NO_LIMIT)
    return walk.ends[state.first + index]


@routine
def _step(walk: Walk, limit: int) -> int:
    """Go to the next change, not beyond the limit; 0 when nothing is left to do."""
    now, until = walk.settled, limit
    waiting = wanted = 0
    on_bus = _find_active(walk, now)
    for unit in range(walk.sharing):
        state = walk.units[unit]
        if state.begins == _IDLE:
            continue
        waiting = 1
        if state.begins > now:
            if until == _NO_LIMIT or state.begins < until:
                until = state.begins
            continue
        state.speed, state.demand = walk.alone, walk.demands[state.first + state.done]
        if unit < TRANSFERRING and on_bus == TRANSFERRING:
            state.speed = walk.speeds[_pair(walk) * TRANSFERRING + unit]
            state.demand = state.demand * state.speed // walk.alone
        wanted += state.demand
    if not waiting:
        return 0
    if wanted > walk.capacity and walk.capacity:
        _share_ports(walk, now)
    for unit in range(walk.sharing):
        state = walk.units[unit]
        if 0 <= state.begins <= now:
            end = now - -_remaining(walk, state) // state.speed
            if until == _NO_LIMIT or end < until:
                until = end
    for unit in range(walk.sharing):
        if 0 <= walk.units[unit].begins <= now:
            _move(walk, walk.units[unit], until)
    walk.settled = until
    return 1


@routine
def _find_active(walk: Walk, now: int) -> int:
    """When the current operation of each unit gets active; how many transfers are."""
    on_bus = 0
    for unit in range(walk.sharing):
        state = walk.units[unit]
        state.begins = _begins(walk, state)
        if unit < TRANSFERRING and 0 <= state.begins <= now:
            on_bus += 1
    return on_bus


@routine
def _pair(walk: Walk) -> int:
    """The memories of both current transfers as one number."""
    read, written = walk.units[0], walk.units[1]
    number = walk.memories[read.first + read.done] * walk.memory_count
    return number + walk.memories[written.first + written.done]


@routine
def _begins(walk: Walk, state: UnitState) -> int:
    """The cycle in which a unit's current operation gets active."""
    done = state.done
    if done == state.pushed:
        return _IDLE
    place = state.first + done
    begin = walk.issued[place]
    if walk.is_pipelined and place < walk.units[TRANSFERRING].first:
        behind = walk.outstanding[walk.memories[place]]
        if done >= behind and walk.ends[place - behind] > begin:
            begin = walk.ends[place - behind]
        begin += walk.heads[place]
        return max(begin, walk.ends[place - 1]) if done else begin
    if done and walk.ends[place - 1] > begin:
        begin = walk.ends[place - 1]
    return begin + walk.heads[place]


@routine
def _share_ports(walk: Walk, now: int) -> None:
    """Equal parts for those that want more than that; what the others leave is shared again."""
    left, sharers, above = walk.capacity, 0, -1
    for unit in range(walk.sharing):
        if 0 <= walk.units[unit].begins <= now:
            sharers += 1
    part = left // sharers
    while part > above:  # all that want no more than `above` have it
        for unit in range(walk.sharing):
            state = walk.units[unit]
            if 0 <= state.begins <= now and above < state.demand <= part:
                left -= state.demand
                sharers -= 1
        above, part = part, left // sharers
    for unit in range(walk.sharing):
        state = walk.units[unit]
        if 0 <= state.begins <= now and state.demand > part:
            state.speed = max(state.speed * part // state.demand, 1)


@routine
def _remaining(walk: Walk, state: UnitState) -> int:
    """What is left of a unit's current operation."""
    return walk.actives[state.first + state.done] * walk.alone - state.progress


@routine
def _move(walk: Walk, state: UnitState, until: int) -> None:
    """A unit's operation goes on until then, when it may end."""
    state.progress += (until - walk.settled) * state.speed
    if _remaining(walk, state) <= 0:
        place = state.first + state.done
        walk.ends[place] = until + walk.tails[place]
        state.done += 1
        state.progress = 0
