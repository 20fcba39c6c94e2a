"""Two transfers at once on a shared bus: each slows the other down, worked out from change to change.

Work is counted in fractions of a cycle: a transfer alone does ALONE of them in a cycle, one of two that both
want the bus does SHARED. What happens in a cycle is settled for the whole cycle.

The columns hold a unit's operations behind each other, from its FIRST on; PUSHED of them have reached its
queue, and DONE of those have ended.
"""

from __future__ import annotations

from dlasim.isa.instructions import UNITS, Unit
from dlasim.native.routine import Numbers, routine

UNIT_COUNT = len(UNITS)
TRANSFERRING = max(Unit.DMA_IN, Unit.DMA_OUT) + 1  # so many of the first units share the bus

# The state: of each unit FIRST and PUSHED; of each that transfers DONE, PROGRESS of its current transfer, and
# when that REACHES the bus; of the bus its time, and what is done in a cycle.
FIRST = 0
PUSHED = FIRST + UNIT_COUNT
DONE = PUSHED + UNIT_COUNT
PROGRESS = DONE + TRANSFERRING
REACHES = PROGRESS + TRANSFERRING
BUS_NOW = REACHES + TRANSFERRING
ALONE, SHARED = BUS_NOW + 1, BUS_NOW + 2
STATE_SIZE = SHARED + 1

_IDLE = -1
_NO_LIMIT = -1


@routine
def catch_up(
    state: Numbers, issued: Numbers, latencies: Numbers, works: Numbers, ends: Numbers, now: int
) -> None:
    """A transfer is about to reach its queue; nothing that comes later can change what was before."""
    while state[BUS_NOW] < now and _step(state, issued, latencies, works, ends, now):
        pass
    state[BUS_NOW] = max(state[BUS_NOW], now)


@routine
def settle(
    state: Numbers, issued: Numbers, latencies: Numbers, works: Numbers, ends: Numbers, unit: int, index: int
) -> int:
    """When a transfer ends, given all that have been pushed."""
    while state[DONE + unit] <= index:
        _step(state, issued, latencies, works, ends, _NO_LIMIT)
    return ends[state[FIRST + unit] + index]


@routine
def _step(
    state: Numbers, issued: Numbers, latencies: Numbers, works: Numbers, ends: Numbers, limit: int
) -> int:
    """Go to the next change on the bus, not beyond the limit; 0 when nothing is left to do."""
    now, until = state[BUS_NOW], limit
    waiting = active = 0
    for unit in range(TRANSFERRING):
        reaches = _reaches(state, issued, latencies, ends, unit)
        state[REACHES + unit] = reaches
        waiting += 1 if reaches != _IDLE else 0
        active += 1 if 0 <= reaches <= now else 0
    if not waiting:
        return 0
    rate = state[SHARED] if active == TRANSFERRING else state[ALONE]
    for unit in range(TRANSFERRING):
        change = state[REACHES + unit]
        if 0 <= change <= now:
            change = now - -_remaining(state, works, unit) // rate
        if change != _IDLE and (until == _NO_LIMIT or change < until):
            until = change
    for unit in range(TRANSFERRING):
        if 0 <= state[REACHES + unit] <= now:
            _move(state, works, ends, unit, rate, until)
    state[BUS_NOW] = until
    return 1


@routine
def _reaches(state: Numbers, issued: Numbers, latencies: Numbers, ends: Numbers, unit: int) -> int:
    """The cycle in which the first bytes of a unit's current transfer reach the bus."""
    done = state[DONE + unit]
    if done == state[PUSHED + unit]:
        return _IDLE
    place = state[FIRST + unit] + done
    begin = issued[place]
    if done and ends[place - 1] > begin:
        begin = ends[place - 1]
    return begin + latencies[place]


@routine
def _remaining(state: Numbers, works: Numbers, unit: int) -> int:
    """What is left of a unit's current transfer."""
    return works[state[FIRST + unit] + state[DONE + unit]] * state[ALONE] - state[PROGRESS + unit]


@routine
def _move(state: Numbers, works: Numbers, ends: Numbers, unit: int, rate: int, until: int) -> None:
    """A unit's transfer goes on until then, when it may end."""
    state[PROGRESS + unit] += (until - state[BUS_NOW]) * rate
    if _remaining(state, works, unit) <= 0:
        ends[state[FIRST + unit] + state[DONE + unit]] = until
        state[DONE + unit] += 1
        state[PROGRESS + unit] = 0
