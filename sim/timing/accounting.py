"""Where the cycles of a stream went: per unit, per layer, and in what overlapped with what."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import Unit
from dlasim.named_tuple import NamedTuple
from dlasim.native.record import Record, Records, array, pointer
from dlasim.native.routine import Numbers, Routine, routine
from dlasim.native.storage import lead_to
from dlasim.sim.timing.contention import UNIT_COUNT, Block
from dlasim.sim.timing.stream_columns import Costs
from dlasim.sim.timing.timeline import BLOCK_END, BLOCK_START, IS_QUEUE_FULL, Timeline

_MAC, _VECTOR = int(Unit.MAC), int(Unit.VECTOR)
_NEVER = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class UnitAccount:
    """Every cycle of one unit, each counted once; the parts add up to the stream's total.

    Busy: work, fill, drain, latency; while it holds an operation and waits: output, sram, contention; idle,
    by what the issue stage was doing meanwhile: issuing, blocked by a wait, blocked by a full queue.
    """

    work: int
    fill: int
    drain: int
    latency: int
    output: int
    sram: int
    contention: int
    idle_issue: int
    idle_wait: int
    idle_queue: int

    @property
    def busy(self) -> int:
        """Cycles in which it held an operation."""
        hindered = self.output + self.sram + self.contention
        return self.work + self.fill + self.drain + self.latency + hindered

    @property
    def total(self) -> int:
        """All its cycles."""
        return self.busy + self.idle_issue + self.idle_wait + self.idle_queue

    def __add__(self, other: UnitAccount) -> UnitAccount:
        return UnitAccount(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Account:
    """Where the cycles of a stream went."""

    total: int
    units: tuple[UnitAccount, ...]
    issue_busy: int
    stall_wait: int
    stall_queue: int
    only_compute: int
    only_dma: int
    both: int
    neither: int

    def __add__(self, other: Account) -> Account:
        plain = {
            f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "units"
        }
        units = tuple(a + b for a, b in zip(self.units, other.units, strict=True))
        return Account(units=units, **plain)


class Cycles(NamedTuple):
    """The account of a stream. By operation, the cycles that it owns: those in which it is the oldest one
    that computes. By layer, the cycles in which some operation of it computes; the first are of no layer."""

    account: Account
    owned: NDArray[np.int64]
    busy: NDArray[np.int64]


class UnitTimes(Record):
    """A unit: its operation at hand, or its next one; the cycles in which it holds one, and those of them in
    which a wait or a full queue blocks the issue stage."""

    operation: int = 0
    busy: int = 0
    waiting: int = 0
    queueing: int = 0


class CycleCounter(Record):
    """The operations of a stream in its order, with their layers from 1 on, 0 for none; when the issue stage
    is blocked; and what is counted."""

    operations: int = 0
    blocks: int = 0
    computing: int = 0
    moving: int = 0
    active: int = 0
    units: list[UnitTimes] = array(UnitTimes, UNIT_COUNT)
    unit: Numbers = pointer(int)
    start: Numbers = pointer(int)
    end: Numbers = pointer(int)
    layers: Numbers = pointer(int)
    blocked: Records[Block] = pointer(Block)
    owned: Numbers = pointer(int)
    busy: Numbers = pointer(int)


@routine
def count_cycles(counter: CycleCounter) -> int:
    """Count from each cycle in which something changes to the next, up to the last, which is returned."""
    for unit in range(UNIT_COUNT):
        counter.units[unit].operation = _next_operation(counter, unit, 0)
    now = block = 0
    until = _change_after(counter, 0)
    while until < _NEVER:
        while block < counter.blocks and counter.blocked[block].end <= now:
            block += 1
        waits, queues = 0, 0
        if block < counter.blocks:
            blocked = counter.blocked[block]
            if blocked.start <= now:
                waits, queues = 1 - blocked.is_queue_full, blocked.is_queue_full
            until = min(until, blocked.end if blocked.start <= now else blocked.start)
        _count_span(counter, now, until - now, waits, queues)
        now = until
        until = _change_after(counter, now)
    return now


ACCOUNT = Routine(count_cycles, "account")


@routine
def _next_operation(counter: CycleCounter, unit: int, number: int) -> int:
    """The first operation of a unit from a number on."""
    while number < counter.operations and counter.unit[number] != unit:
        number += 1
    return number


@routine
def _change_after(counter: CycleCounter, now: int) -> int:
    """The next cycle in which an operation begins or ends. Those at hand are then those that have not ended
    by now."""
    change = _NEVER
    for unit in range(UNIT_COUNT):
        state = counter.units[unit]
        while state.operation < counter.operations and counter.end[state.operation] <= now:
            state.operation = _next_operation(counter, unit, state.operation + 1)
        if state.operation < counter.operations:
            start, end = counter.start[state.operation], counter.end[state.operation]
            change = min(change, start if start > now else end)
    return change


@routine
def _count_span(counter: CycleCounter, now: int, cycles: int, waits: int, queues: int) -> None:
    """Count cycles from now on in which the same operations run; whether the issue stage waits for a unit, or
    for room in a queue."""
    first, units = counter.operations, 0
    for unit in range(UNIT_COUNT):
        state = counter.units[unit]
        if state.operation < counter.operations and counter.start[state.operation] <= now:
            units |= 1 << unit
            state.busy += cycles
            state.waiting += waits * cycles
            state.queueing += queues * cycles
            if unit >= _MAC:
                layer = counter.layers[state.operation]
                if first == counter.operations or counter.layers[first] != layer:
                    counter.busy[layer] += cycles
                first = min(first, state.operation)
    if first < counter.operations:
        counter.owned[first] += cycles
        counter.computing += cycles
    if units & ((1 << _MAC) - 1):
        counter.moving += cycles
    if units:
        counter.active += cycles


def account_cycles(
    timeline: Timeline, costs: Costs, layers: NDArray[np.int64] | None = None, layer_count: int = 0
) -> Cycles:
    """Where the cycles of a stream went, whose operations are of these layers, -1 for none."""
    count = len(timeline.start)
    owned, busy = np.zeros(count, np.int64), np.zeros(layer_count + 1, np.int64)
    counter = CycleCounter(count, len(timeline.blocked))
    lead_to(counter, unit=costs.unit, start=timeline.start, end=timeline.end, blocked=timeline.blocked)
    lead_to(
        counter, layers=np.zeros(count, np.int64) if layers is None else layers + 1, owned=owned, busy=busy
    )
    ACCOUNT(counter)
    return Cycles(_account(timeline, costs, counter), owned, busy)


def _account(timeline: Timeline, costs: Costs, counter: CycleCounter) -> Account:
    lengths = timeline.blocked[:, BLOCK_END] - timeline.blocked[:, BLOCK_START]
    by_queue = int(lengths @ timeline.blocked[:, IS_QUEUE_FULL])
    by_wait = int(lengths.sum()) - by_queue
    both = counter.computing + counter.moving - counter.active
    return Account(
        total=timeline.total,
        units=_unit_accounts(timeline, costs, counter, by_wait, by_queue),
        issue_busy=timeline.issue_busy,
        stall_wait=by_wait,
        stall_queue=by_queue,
        only_compute=counter.computing - both,
        only_dma=counter.moving - both,
        both=both,
        neither=timeline.total - counter.active,
    )


def _unit_accounts(
    timeline: Timeline, costs: Costs, counter: CycleCounter, by_wait: int, by_queue: int
) -> tuple[UnitAccount, ...]:
    """The account of each unit; what issue was blocked while it held an operation is not idle time of its."""
    terms = np.stack(
        (costs.work, costs.fill, costs.drain, timeline.latency, costs.output_stall, costs.sram_stall)
    )
    accounts = []
    for unit, times in enumerate(counter.units):
        parts: list[int] = terms[:, costs.unit == unit].sum(axis=1).tolist()
        contention = times.busy - sum(parts)
        idle_wait, idle_queue = by_wait - times.waiting, by_queue - times.queueing
        idle_issue = timeline.total - times.busy - idle_wait - idle_queue
        accounts.append(UnitAccount(*(*parts, contention, idle_issue, idle_wait, idle_queue)))
    return tuple(accounts)
