"""When everything happens in a stream: its words as events for the issue stage, and what that finds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.native.record import layout
from dlasim.native.storage import plain, pointer_to
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing import issue
from dlasim.sim.timing.contention import SPEED_STEPS, TRANSFERRING, UNIT_COUNT, Block, Walk
from dlasim.sim.timing.cost import (
    bus_shares,
    check_cycles,
    port_capacity,
    queue_depth,
    units_overlap,
    word_cycles,
)
from dlasim.sim.timing.memory_timing import memories_of
from dlasim.sim.timing.stream_columns import EVENT_COLUMNS, WALK_COLUMNS, StreamColumns

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

    def reached(self, word: int, cycles_before: int) -> int:
        """The cycle in which the issue stage gets to a word: all before it are issued, which takes these
        cycles where nothing holds them up."""
        before = self.blocked[self.blocked[:, BLOCK_EVENT] < word]
        return cycles_before + int((before[:, BLOCK_END] - before[:, BLOCK_START]).sum())


class WalkedStream:
    """A walk and the columns that it fills; `faults_checked`: checks find the fault that ends the stream."""

    def __init__(self, config: DlaConfig, columns: StreamColumns, faults_checked: bool = False) -> None:
        self.columns, words, checks = columns, word_cycles(config), check_cycles(config)
        checked = len(columns.totals) + faults_checked
        self._issue_busy = int(columns.reached[-1]) * words + checked * checks
        share, capacity = bus_shares(config), port_capacity(config)
        memories = memories_of(config)
        outstanding = [memory.outstanding if config.timing == "full" else 1 for memory in memories]
        is_pipelined = max(outstanding) > 1
        sharing = TRANSFERRING if share or is_pipelined else 0
        if capacity and columns.most_demand > capacity:
            sharing = UNIT_COUNT
        alone, speeds = share or (1, [1] * TRANSFERRING * len(memories) ** 2)
        speed = alone * SPEED_STEPS if sharing else 1
        most = (columns.cycles + float(self._issue_busy)) * speed
        self._fits = most < LAST_CYCLE  # in 64 bits
        walk = self._walk = Walk() if self._fits else plain(Walk)
        walk.sharing, walk.capacity = sharing, capacity
        walk.alone, walk.memory_count, walk.is_pipelined = (
            alone * SPEED_STEPS,
            len(memories),
            int(is_pipelined),
        )
        walk.word_cycles, walk.queue_depth = words, queue_depth(config)
        walk.check_cycles, walk.fault_cycles = checks, checks * faults_checked
        walk.in_turns = int(not units_overlap(config))
        for unit, first in enumerate(columns.first):
            walk.units[unit].first = first
        events, operations = len(columns.kinds), len(columns.totals)
        self._issued, self._ends, self._markers = (
            np.zeros(size, np.int64) for size in (operations, operations, events)
        )
        numbers = {name: getattr(columns, name) for name in EVENT_COLUMNS + WALK_COLUMNS}
        numbers |= {
            "speeds": np.array(speeds) * SPEED_STEPS,
            "outstanding": np.array(outstanding),
            "issued": self._issued,
            "ends": self._ends,
            "markers": self._markers,
        }
        waits_for_all = int(np.count_nonzero(columns.kinds >= issue.IRQ))
        most_blocks = events + (UNIT_COUNT - 1) * waits_for_all
        self._blocks = np.zeros((most_blocks, len(BLOCK_COLUMNS)), np.int64)
        if self._fits:
            for name, array in numbers.items():
                setattr(walk, name, pointer_to(array))
            walk.blocks = pointer_to(self._blocks, Block)
            issue.WALK(walk, events)
        else:
            self._walk_with_any_numbers(numbers, events)
        self._outstanding = outstanding

    def times(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """When each operation is issued, starts and ends, by its place."""
        end, issued, first = self._ends, self._issued, np.array(self.columns.first)
        begin = issued.copy()
        begin[1:] = np.maximum(issued[1:], end[:-1])
        nothing_before = first[first < len(begin)]
        begin[nothing_before] = issued[nothing_before]
        return issued, begin, end

    def timeline(self) -> Timeline:
        """What the walk found, by the number of the operation."""
        issued, begin, end = self.times()
        latency, places = self.columns.latencies, self.columns.places
        if self._walk.is_pipelined:
            latency = self._latencies(issued, begin, end)
        blocked, reached = self._blocks[: self._walk.block_count].copy(), self.columns.reached
        word = reached - 1
        word[-1] = reached[-1]
        blocked[:, BLOCK_EVENT] = word[blocked[:, BLOCK_EVENT]]
        return Timeline(
            issued[places], begin[places], end[places], latency[places],
            tuple(self._markers[: self._walk.marker_count].tolist()), blocked,
            self._issue_busy, self.total,
        )  # fmt: skip

    @property
    def total(self) -> int:
        """The cycle in which all is done."""
        return min(self._walk.now, LAST_CYCLE)

    def _latencies(
        self, issued: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """What is left of each latency when the unit is free, by place: it counts from when the transfer was
        issued and fewer than `outstanding` were under way."""
        seen, memories = self.columns.latencies.copy(), self.columns.memories
        for start, stop in itertools.pairwise(self.columns.first[: TRANSFERRING + 1]):
            asked = issued[start:stop].copy()
            for number in range(self._walk.memory_count):
                behind = self._outstanding[number]
                here = np.flatnonzero(memories[start:stop] == number)
                here = here[here >= behind]
                asked[here] = np.maximum(asked[here], end[start:stop][here - behind])
            seen[start:stop] = np.maximum(asked + seen[start:stop] - begin[start:stop], 0)
        return seen

    def _walk_with_any_numbers(self, numbers: dict[str, NDArray[np.int64]], events: int) -> None:
        """In Python alone; cycles that no counter can hold become LAST_CYCLE."""
        walk: Any = self._walk
        for name, array in numbers.items():
            setattr(walk, name, array.tolist())
        walk.blocks = [plain(Block) for _ in self._blocks]
        issue.WALK.function(walk, events)
        for array, found in (
            (self._issued, walk.issued),
            (self._ends, walk.ends),
            (self._markers, walk.markers),
            (self._blocks, [block.flatten() for block in walk.blocks]),
        ):
            array[...] = np.minimum(np.array(found, object).reshape(array.shape), LAST_CYCLE).astype(np.int64)
