"""When everything happens in a stream: its words as events for the issue stage, and what that finds."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS, UNITS
from dlasim.native.backend import PLAIN, Backend
from dlasim.native.number_memory import Column
from dlasim.native.record import layout
from dlasim.native.shipped import SHIPPED
from dlasim.native.storage import RecordMemory, bind, create
from dlasim.sim import issue
from dlasim.sim.config import DlaConfig
from dlasim.sim.contention import DEMAND_STEPS, SPEED_STEPS, TRANSFERRING, UNIT_COUNT, Block, Walk
from dlasim.sim.cost import (
    Costs,
    bus_shares,
    dma_shares_ports,
    port_rate,
    units_overlap,
    word_cycles,
)
from dlasim.sim.memory_timing import memories_of
from dlasim.sim.stream import DecodedStream

_UNIT_FIELD = BY_MNEMONIC["WAIT"].field("unit")
_OUTSTANDING_FIELD = BY_MNEMONIC["WAIT"].field("max_outstanding")
_NO_EVENT = 255
_KIND = np.full(256, _NO_EVENT, np.uint8)
for _row in INSTRUCTIONS:
    if _row.is_operation:
        _KIND[_row.opcode] = _row.unit
for _name, _kind in (("WAIT", issue.WAIT), ("IRQ", issue.IRQ), ("HALT", issue.HALT)):
    _KIND[BY_MNEMONIC[_name].opcode] = _kind
BLOCK_COLUMNS = ("start", "end", "is_queue_full", "event")
BLOCK_START, BLOCK_END, IS_QUEUE_FULL, BLOCK_EVENT = (
    layout(Block).fields[name].slot for name in BLOCK_COLUMNS
)
LAST_CYCLE = 1 << 62  # time ends here; only a program written to get there does


@dataclass(frozen=True, slots=True)
class Timeline:
    """Cycles from the doorbell. A row of `blocked` says when issue stood still, and why: from, to, by a full
    queue rather than a wait, and the word that was held up (the end of the stream, where a fault drains it).
    `latency` is what an operation waits for its first byte after its start.
    """

    issued: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    latency: NDArray[np.int64]
    markers: tuple[int, ...]
    blocked: NDArray[np.int64]
    issue_busy: int
    total: int

    def reached(self, word: int, word_cycles: int) -> int:
        """The cycle in which the issue stage gets to a word: all before it are issued."""
        before = self.blocked[self.blocked[:, BLOCK_EVENT] < word]
        return word * word_cycles + int((before[:, BLOCK_END] - before[:, BLOCK_START]).sum())


def schedule(
    config: DlaConfig,
    stream: DecodedStream,
    costs: Costs,
    stop: int | None = None,
    backend: Backend = SHIPPED,
) -> Timeline:
    """The timeline of a stream, up to the word `stop` where a fault ends it."""
    stop = len(stream.words) if stop is None else stop
    places = _Places(costs.unit)
    events = _events(stream, places, stop)
    return _Walk(config, costs, places, events, backend).timeline(places, events, stop)


def total_cycles(config: DlaConfig, stream: DecodedStream, costs: Costs, backend: Backend = SHIPPED) -> int:
    """The total of the timeline of a whole stream."""
    places = _Places(costs.unit)
    return _Walk(config, costs, places, _events(stream, places, len(stream.words)), backend).total


class _Places:
    """The operations in the order of their units, each unit's behind each other."""

    def __init__(self, unit: NDArray[np.int64]) -> None:
        self.numbers = np.argsort(unit.astype(np.uint8), kind="stable")
        self.of = np.empty_like(self.numbers)
        self.of[self.numbers] = np.arange(len(unit))
        counts = np.bincount(unit, minlength=len(UNITS))
        self.first = np.cumsum(counts) - counts

    def count(self, units: int) -> int:
        """The operations of the first units."""
        return int(self.first[units]) if units < len(self.first) else len(self.of)


@dataclass(frozen=True, slots=True)
class _Events:
    """The words that act, as the issue stage wants them; the last is the end of the stream."""

    words: NDArray[np.int64]
    reached: NDArray[np.int64]
    kinds: NDArray[np.int64]
    arguments: NDArray[np.int64]

    @property
    def most_blocks(self) -> int:
        """How often issue can stand still: once at each, once for each unit where all must finish."""
        return len(self.kinds) + (len(UNITS) - 1) * int(np.count_nonzero(self.kinds >= issue.IRQ))


def _events(stream: DecodedStream, places: _Places, stop: int) -> _Events:
    kinds = _KIND[stream.opcodes[:stop]]
    at = np.flatnonzero(kinds != _NO_EVENT)
    kinds, words = kinds[at].astype(np.int64), stream.words[at]
    arguments = codec.extract(words, _OUTSTANDING_FIELD)
    arguments[kinds < issue.WAIT] = places.of
    kinds += np.where(kinds == issue.WAIT, codec.extract(words, _UNIT_FIELD), 0)
    at = np.append(at, stop)
    reached = at + 1
    reached[-1] = stop
    return _Events(at, reached, np.append(kinds, issue.HALT), np.append(arguments, 0))


class _Walk:
    """A walk and the columns that it fills, compiled or not: numbers beyond 64 bits are for Python."""

    def __init__(
        self, config: DlaConfig, costs: Costs, places: _Places, events: _Events, backend: Backend
    ) -> None:
        words, active = word_cycles(config), costs.active
        share = bus_shares(config)
        memories = memories_of(config)
        outstanding = [memory.outstanding if config.timing == "full" else 1 for memory in memories]
        is_pipelined = max(outstanding) > 1
        capacity = port_rate(config) * DEMAND_STEPS if config.timing == "full" else 0
        demands = _demands(costs.sram_bytes, active, capacity)
        if not dma_shares_ports(config):
            demands[costs.unit < TRANSFERRING] = 0
        sharing = TRANSFERRING if share or is_pipelined else 0
        if capacity and _most_together(costs.unit, demands) > capacity:
            sharing = UNIT_COUNT
        alone, speeds = share or (1, [1] * TRANSFERRING * len(memories) ** 2)
        totals = costs.total[places.numbers]
        sharers = places.numbers[: places.count(sharing)]
        speed = alone * SPEED_STEPS if sharing else 1
        most = (totals.sum(dtype=np.float64) + float(events.reached[-1]) * words) * speed
        run = (backend if most < LAST_CYCLE else PLAIN).runner(issue.WALK)
        self._is_compiled = run.is_compiled
        walk = self._walk = create(Walk, self._is_compiled)
        walk.sharing, walk.capacity = sharing, capacity
        walk.alone, walk.memory_count, walk.is_pipelined = (
            alone * SPEED_STEPS,
            len(memories),
            int(is_pipelined),
        )
        walk.word_cycles, walk.queue_depth = words, config.queue_depth
        walk.in_turns = int(not units_overlap(config))
        for unit, first in enumerate(places.first.tolist()):
            walk.units[unit].first = first
        self._issued, self._ends = self._room(len(totals)), self._room(len(totals))
        self._markers = self._room(len(events.kinds))
        self._blocks = RecordMemory(Block, self._is_compiled)
        self._blocks.reserve(events.most_blocks, 0)
        columns = {
            "reached": self._column(events.reached),
            "kinds": self._column(events.kinds),
            "arguments": self._column(events.arguments),
            "totals": self._column(totals),
            "heads": self._column((costs.latency + costs.fill)[sharers]),
            "actives": self._column(active[sharers]),
            "tails": self._column(costs.drain[sharers]),
            "demands": self._column(demands[sharers]),
            "memories": self._column(costs.memory[sharers]),
            "speeds": self._column(np.array(speeds) * SPEED_STEPS),
            "outstanding": self._column(np.array(outstanding)),
            "issued": self._issued,
            "ends": self._ends,
            "markers": self._markers,
            "blocks": self._blocks,
        }
        for name, column in columns.items():
            bind(walk, name, column)
        run(walk, len(events.kinds))
        self._word_cycles, self._latency = words, costs.latency
        self._outstanding, self._memory = outstanding, costs.memory

    def timeline(self, places: _Places, events: _Events, stop: int) -> Timeline:
        """What the walk found, by the number of the operation."""
        end, issued = _found(self._ends), _found(self._issued)
        begin = issued.copy()
        begin[1:] = np.maximum(issued[1:], end[:-1])
        nothing_before = places.first[places.first < len(begin)]
        begin[nothing_before] = issued[nothing_before]
        latency = self._latencies(places, issued, begin, end) if self._walk.is_pipelined else self._latency
        blocked = self._blocked()
        blocked[:, BLOCK_EVENT] = events.words[blocked[:, BLOCK_EVENT]]
        return Timeline(
            issued[places.of], begin[places.of], end[places.of], latency,
            tuple(_found(self._markers)[: self._walk.marker_count].tolist()), blocked,
            stop * self._word_cycles, self.total,
        )  # fmt: skip

    @property
    def total(self) -> int:
        """The cycle in which all is done."""
        return min(self._walk.now, LAST_CYCLE)

    def _latencies(
        self, places: _Places, issued: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """What is left of each latency when the unit is free: it counts from when the transfer was issued and
        fewer than `outstanding` were under way."""
        seen = self._latency[places.numbers]
        first = places.first[: TRANSFERRING + 1].tolist()
        for start, stop in itertools.pairwise(first):
            asked = issued[start:stop].copy()
            for number in range(self._walk.memory_count):
                behind = self._outstanding[number]
                here = np.flatnonzero(self._memory[places.numbers[start:stop]] == number)
                here = here[here >= behind]
                asked[here] = np.maximum(asked[here], end[start:stop][here - behind])
            seen[start:stop] = np.maximum(asked + seen[start:stop] - begin[start:stop], 0)
        return seen[places.of]

    def _blocked(self) -> NDArray[np.int64]:
        count = self._walk.block_count
        if self._is_compiled:
            return self._blocks.array(count)
        rows = [[min(number, LAST_CYCLE) for number in self._blocks[row].flatten()] for row in range(count)]
        return np.array(rows, np.int64).reshape(count, len(BLOCK_COLUMNS))

    def _column(self, numbers: NDArray[np.int64]) -> Column:
        return Column(numbers, self._is_compiled)

    def _room(self, count: int) -> Column:
        return self._column(np.zeros(count, np.int64))


def _demands(moved: NDArray[np.int64], active: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """What each operation wants of the ports in a cycle, in DEMAND_STEPS."""
    wanted = np.ceil(moved * float(DEMAND_STEPS) / np.maximum(active, 1))
    return np.where(active > 0, np.minimum(wanted, capacity), 0).astype(np.int64)


def _most_together(unit: NDArray[np.int64], demands: NDArray[np.int64]) -> int:
    """The most that operations of different units can want of the ports at once."""
    return sum(int(demands[unit == each].max(initial=0)) for each in UNITS)


def _found(column: Column) -> NDArray[np.int64]:
    """The numbers as an array; cycles that no counter can hold become LAST_CYCLE."""
    if column.address:
        return column.array
    try:
        return np.array(column.numbers, np.int64)
    except OverflowError:
        return np.array([min(number, LAST_CYCLE) for number in column.numbers], np.int64)
