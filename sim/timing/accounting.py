"""Where the cycles of a stream went: per unit, per layer kind, and in what overlapped with what."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import UNITS, Unit
from dlasim.sim.timing.stream_columns import Costs
from dlasim.sim.timing.timeline import BLOCK_COLUMNS, BLOCK_END, BLOCK_START, IS_QUEUE_FULL, Timeline

Spans = tuple[NDArray[np.int64], NDArray[np.int64]]


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


def account(timeline: Timeline, costs: Costs) -> Account:
    """The account of a stream."""
    is_compute = costs.unit[: len(timeline.start)] >= Unit.MAC
    compute = union(timeline.start[is_compute], timeline.end[is_compute])
    dma = union(timeline.start[~is_compute], timeline.end[~is_compute])
    either = union(np.concatenate((compute[0], dma[0])), np.concatenate((compute[1], dma[1])))
    computing, moving, active = length(compute), length(dma), length(either)
    both = computing + moving - active
    lengths = timeline.blocked[:, BLOCK_END] - timeline.blocked[:, BLOCK_START]
    by_queue = int(lengths @ timeline.blocked[:, IS_QUEUE_FULL])
    by_wait = int(lengths.sum()) - by_queue
    return Account(
        total=timeline.total,
        units=_unit_accounts(timeline, costs, by_wait, by_queue),
        issue_busy=timeline.issue_busy,
        stall_wait=by_wait,
        stall_queue=by_queue,
        only_compute=computing - both,
        only_dma=moving - both,
        both=both,
        neither=timeline.total - active,
    )


def compute_owner(timeline: Timeline, costs: Costs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cycles owned by each compute operation: those in which it is the oldest one running.

    Returns the numbers of the compute operations and their cycles.
    """
    numbers = np.flatnonzero((costs.unit == Unit.MAC) | (costs.unit == Unit.VECTOR))
    numbers = numbers[numbers < len(timeline.start)]
    start, end = timeline.start[numbers], timeline.end[numbers]
    edges = np.sort(np.concatenate((start, end)))
    edges = edges[np.diff(edges, prepend=-1) > 0]  # as np.unique, which is slow to import and to run
    owner = np.full(max(len(edges) - 1, 0), len(timeline.start), np.int64)
    for unit in (Unit.MAC, Unit.VECTOR):
        mine = numbers[costs.unit[numbers] == unit]
        if not len(mine) or not len(owner):
            continue
        latest = np.searchsorted(timeline.start[mine], edges[:-1], side="right") - 1
        running = (latest >= 0) & (edges[:-1] < timeline.end[mine][np.maximum(latest, 0)])
        owner = np.where(running, np.minimum(owner, mine[np.maximum(latest, 0)]), owner)
    cycles = (
        np.bincount(owner, weights=np.diff(edges), minlength=len(timeline.start) + 1)
        if len(owner)
        else (np.zeros(len(timeline.start) + 1))
    )
    return numbers, cycles[numbers].astype(np.int64)


def busy_cycles(
    start: NDArray[np.int64], end: NDArray[np.int64], owner: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Owners (-1 and up) of operations, and for each piece of time without a gap in which one owner's
    operations run its length: what two operations of one owner share counts once."""
    stretch = int(np.max(end, initial=0)) + 1  # each owner gets a stretch of time of its own
    begin = (owner + 1) * stretch
    first, last = union(start + begin, end + begin)
    return first // stretch - 1, last - first


def union(start: NDArray[np.int64], end: NDArray[np.int64]) -> Spans:
    """The same cycles as disjoint, ascending spans."""
    some = end > start
    start, end = start[some], end[some]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order]) if len(order) else end
    first = np.append(True, start[1:] > end[:-1]) if len(start) else np.zeros(0, bool)
    last = np.append(first[1:], True) if len(start) else first
    return start[first], end[last]


def length(spans: Spans) -> int:
    """Cycles in disjoint spans."""
    return int((spans[1] - spans[0]).sum())


def _unit_accounts(timeline: Timeline, costs: Costs, by_wait: int, by_queue: int) -> tuple[UnitAccount, ...]:
    """The account of each unit; what issue was blocked while it held an operation is not idle time of its."""
    start, end = timeline.start, timeline.end
    terms = np.stack(
        (costs.work, costs.fill, costs.drain, timeline.latency, costs.output_stall, costs.sram_stall)
    )[:, : len(start)]
    during = _blocked_before(timeline, end) - _blocked_before(timeline, start)
    columns = np.concatenate((terms, (end - start)[None], during))
    accounts = []
    for unit in UNITS:
        sums: list[int] = columns[:, costs.unit[: len(start)] == unit].sum(axis=1).tolist()
        *parts, busy, waiting, queueing = sums
        contention = busy - sum(parts)
        idle_wait, idle_queue = by_wait - waiting, by_queue - queueing
        idle_issue = timeline.total - busy - idle_wait - idle_queue
        accounts.append(UnitAccount(*(*parts, contention, idle_issue, idle_wait, idle_queue)))
    return tuple(accounts)


def _blocked_before(timeline: Timeline, cycles: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many cycles issue was blocked before each of these: by a wait, and by a full queue."""
    begin, end, by_queue, _ = np.concatenate(
        (np.zeros((1, len(BLOCK_COLUMNS)), np.int64), timeline.blocked)
    ).T
    lengths = (end - begin) * np.stack((by_queue == 0, by_queue == 1))
    row = np.searchsorted(begin[1:], cycles, side="right")
    passed = np.cumsum(lengths, axis=1) - lengths
    before: NDArray[np.int64] = passed[:, row] + np.minimum(cycles - begin[row], lengths[:, row])
    return before
