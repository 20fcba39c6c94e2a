"""The issue stage as it walks a stream: one pass in program order over the words that act, its events.

Units are in-order queues, so each start follows from what came before; only two transfers that share the bus
change each other's end, and `dma_bus` works those out.
"""

from __future__ import annotations

from dlasim.native.routine import Numbers, Routine, routine
from dlasim.sim import dma_bus
from dlasim.sim.dma_bus import ALONE, FIRST, PUSHED, STATE_SIZE, TRANSFERRING, UNIT_COUNT, catch_up, settle

# The kind of an event: the unit of an operation, WAIT and the unit waited for, IRQ or HALT.
WAIT = UNIT_COUNT
IRQ = WAIT + UNIT_COUNT
HALT = IRQ + 1

FROM, TO, BY_QUEUE, EVENT, BLOCK_SIZE = range(5)  # a row of `blocks`: why issue stood still, and at what
NOW, BLOCKS, MARKERS = STATE_SIZE, STATE_SIZE + 1, STATE_SIZE + 2  # what a walk leaves behind the bus's state
WALK_SIZE = MARKERS + 1


@routine
def walk(
    reached: Numbers, kinds: Numbers, arguments: Numbers, totals: Numbers, latencies: Numbers, works: Numbers,
    issued: Numbers, ends: Numbers, blocks: Numbers, markers: Numbers, state: Numbers,
    events: int, word_cycles: int, depth: int,
) -> int:  # fmt: skip
    """When each operation is issued, and ends. Of an event there are the words issued until then, the kind,
    and an argument: the place of an operation in the columns, or how many a WAIT leaves outstanding."""
    shares_bus = state[ALONE] > 0
    now = words = 0
    for event in range(events):
        now += (reached[event] - words) * word_cycles
        words = reached[event]
        kind = kinds[event]
        first, behind, allowed = 0, UNIT_COUNT, 0
        if kind < WAIT:
            first, behind, allowed = kind, kind + 1, depth - 1
        elif kind < IRQ:
            first, behind, allowed = kind - WAIT, kind - WAIT + 1, arguments[event]
        for unit in range(first, behind):
            index = state[PUSHED + unit] - allowed - 1
            if index < 0:
                continue
            if shares_bus and unit < TRANSFERRING:
                end = settle(state, issued, latencies, works, ends, unit, index)
            else:
                end = ends[state[FIRST + unit] + index]
            if end > now:
                row = state[BLOCKS] * BLOCK_SIZE
                blocks[row + FROM] = now
                blocks[row + TO] = end
                blocks[row + BY_QUEUE] = 1 if kind < WAIT else 0
                blocks[row + EVENT] = event
                state[BLOCKS] += 1
                now = end
        if kind < WAIT:
            place = arguments[event]
            issued[place] = now
            if shares_bus and kind < TRANSFERRING:
                catch_up(state, issued, latencies, works, ends, now)
            else:
                begin = now
                if state[PUSHED + kind] and ends[place - 1] > now:
                    begin = ends[place - 1]
                ends[place] = begin + totals[place]
            state[PUSHED + kind] += 1
        elif kind == IRQ:
            markers[state[MARKERS]] = now
            state[MARKERS] += 1
    state[NOW] = now
    return now


WALK = Routine(walk, "issue", (__name__, dma_bus.__name__, "dlasim.isa.instructions"))
