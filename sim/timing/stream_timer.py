"""Times streams on a machine: reads and walks them in columns that serve for one stream after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.native.record import Record
from dlasim.native.storage import plain, pointer_to
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.contention import SPEED_STEPS, TRANSFERRING, UNIT_COUNT, Block, Walk
from dlasim.sim.timing.cost import (
    bus_shares,
    check_cycles,
    port_capacity,
    queue_depth,
    units_overlap,
    word_cycles,
)
from dlasim.sim.timing.issue import WALK
from dlasim.sim.timing.memory_timing import memories_of
from dlasim.sim.timing.read_columns import READ, START, WordReader, reading_machine
from dlasim.sim.timing.stream_columns import EVENT_COLUMNS, TERM_COLUMNS, WALK_COLUMNS, StreamColumns
from dlasim.sim.timing.timeline import BLOCK_COLUMNS, WalkedStream

LAST_CYCLE = 1 << 62  # time ends here; only a program written to get there does
_FIRST_ROOM = 1 << 8  # events
_FOUND_COLUMNS = ("issued", "ends", "markers")
_READ_COLUMNS = EVENT_COLUMNS + WALK_COLUMNS + TERM_COLUMNS
_WALKED_COLUMNS = EVENT_COLUMNS + WALK_COLUMNS + _FOUND_COLUMNS


class StreamTimer:
    """Times legal streams, or their words before a fault. The columns have room for the longest so far."""

    def __init__(self, config: DlaConfig) -> None:
        self.config, self._reading, self._file = config, reading_machine(config), START.copy()
        self._fresh_reader, self._fresh_walk = self._reading.reader(self._file), _new_walk(config)
        self._make_room(_FIRST_ROOM)

    def cycles(self, words: NDArray[np.uint64], streams: Sequence[tuple[int, int]]) -> list[int]:
        """The cycles of each of several streams, which write every register that they use, by their first
        words and lengths."""
        return [self._time(words[first : first + count]) for first, count in streams]

    def walk(
        self, words: NDArray[np.uint64], start: NDArray[np.int64] = START, faults_checked: bool = False
    ) -> WalkedStream:
        """A stream that finds these values in the operand registers; `faults_checked`: checks find the fault
        that ends it."""
        total = self._time(words, start, faults_checked)
        sizes = dict.fromkeys(EVENT_COLUMNS, self._events) | {"markers": self._walk.marker_count}
        its = {name: each[: sizes.get(name, self._operations)] for name, each in self._columns.items()}
        found = [its.pop(name) for name in _FOUND_COLUMNS]
        columns = StreamColumns([unit.first for unit in self._walk.units], **its)
        blocks, outstanding = self._blocks[: self._walk.block_count], _outstanding(self.config)
        return WalkedStream(columns, outstanding, self._issue_busy, total, blocks, *found)

    def _make_room(self, events: int) -> None:
        """Make columns for so many events, each of which may block for each unit. Routines work on copies of
        the fresh records."""
        self._room, names = events, (*_READ_COLUMNS, *_FOUND_COLUMNS)
        self._columns = dict(zip(names, np.empty((len(names), events), np.int64), strict=True))
        self._blocks = np.empty((events * UNIT_COUNT, len(BLOCK_COLUMNS)), np.int64)
        pointers = {name: pointer_to(column) for name, column in self._columns.items()}
        for record, columns in ((self._fresh_reader, _READ_COLUMNS), (self._fresh_walk, _WALKED_COLUMNS)):
            for name in columns:
                setattr(record, name, pointers[name])
        self._fresh_walk.blocks = pointer_to(self._blocks, Block)
        self._reader, self._walk = WordReader(), Walk()

    def _time(
        self, words: NDArray[np.uint64], start: NDArray[np.int64] = START, faults_checked: bool = False
    ) -> int:
        """The cycles of a stream, whose columns are filled in."""
        reader, walk, demand = self._read(words, start), self._walk, 0
        _copy(walk, self._fresh_walk)
        for mine, read in zip(walk.units, reader.units, strict=True):
            mine.first = read.first
            demand += read.most_demand
        if demand > walk.capacity > 0:
            walk.sharing = UNIT_COUNT
        walk.fault_cycles = walk.check_cycles * faults_checked
        checks = (self._operations + faults_checked) * walk.check_cycles
        self._issue_busy = reader.count * walk.word_cycles + checks
        if (reader.total + self._issue_busy) * (walk.alone if walk.sharing else 1) < LAST_CYCLE:
            return WALK(walk, self._events)
        return self._walk_with_any_numbers()

    def _read(self, words: NDArray[np.uint64], start: NDArray[np.int64]) -> WordReader:
        """The reader that has filled the columns; where 64 bits may not hold the numbers, one for any."""
        reader = self._reader
        _copy(reader, self._fresh_reader)
        self._count(READ, reader, words)
        if self._events > self._room:
            self._make_room(2 * self._events)
            return self._read(words, start)
        self._file[:] = start
        if self._reading.is_moderate and self._reading.fill(READ, reader):
            return reader
        reader = plain(WordReader)
        reader.assign(self._fresh_reader)
        reader.costing.is_any_size = 1
        self._count(READ.function, reader, words)
        self._file[:] = start
        fits = self._reading.fill(READ.function, reader)
        assert fits, "numbers of any size suffice"
        return reader

    def _count(self, read: Any, reader: WordReader, words: NDArray[np.uint64]) -> None:
        """How many events and operations there are up to HALT."""
        reader.words, reader.count = pointer_to(words.view(np.int64)), len(words)
        self._events, self._operations = read(reader, 1), reader.total

    def _walk_with_any_numbers(self) -> int:
        """In Python alone; cycles that no counter can hold become LAST_CYCLE."""
        walk: Any = plain(Walk)
        walk.assign(self._walk)
        walk.blocks = defaultdict(lambda: plain(Block))
        for name in _FOUND_COLUMNS:
            setattr(walk, name, defaultdict(int))
        WALK.function(walk, self._events)
        for name in _FOUND_COLUMNS:
            for place, cycle in getattr(walk, name).items():
                self._columns[name][place] = min(cycle, LAST_CYCLE)
        for place, block in walk.blocks.items():
            self._blocks[place] = [min(number, LAST_CYCLE) for number in block.flatten()]
        self._walk.block_count, self._walk.marker_count = walk.block_count, walk.marker_count
        return int(min(walk.now, LAST_CYCLE))


def _new_walk(config: DlaConfig) -> Walk:
    """A walk on a machine that has not begun and lacks columns."""
    outstanding, share = _outstanding(config), bus_shares(config)
    is_pipelined = max(outstanding) > 1
    alone, speeds = share or (1, [1] * TRANSFERRING * len(outstanding) ** 2)
    return Walk(
        sharing=TRANSFERRING if share or is_pipelined else 0,
        alone=alone * SPEED_STEPS,
        capacity=port_capacity(config),
        memory_count=len(outstanding),
        is_pipelined=int(is_pipelined),
        word_cycles=word_cycles(config),
        check_cycles=check_cycles(config),
        queue_depth=queue_depth(config),
        in_turns=int(not units_overlap(config)),
        speeds=pointer_to(np.array(speeds) * SPEED_STEPS),
        outstanding=pointer_to(np.array(outstanding)),
    )


def _outstanding(config: DlaConfig) -> list[int]:
    """By memory, the transfers whose latencies can overlap."""
    return [memory.outstanding if config.timing == "full" else 1 for memory in memories_of(config)]


def _copy(record: Record, other: Record) -> None:
    """Take over all of another record, which keeps alive what pointers lead to."""
    memoryview(record).cast("B")[:] = memoryview(other).cast("B")
