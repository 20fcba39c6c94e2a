"""When everything happens in a stream, from what the issue stage's walk found."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.native.record import layout
from dlasim.sim.timing.contention import TRANSFERRING, Block
from dlasim.sim.timing.stream_columns import StreamColumns

BLOCK_COLUMNS = ("start", "end", "is_queue_full", "event")
BLOCK_START, BLOCK_END, IS_QUEUE_FULL, BLOCK_EVENT = (
    layout(Block).fields[name].slot for name in BLOCK_COLUMNS
)


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


@dataclass(frozen=True, slots=True)
class WalkedStream:
    """The columns of a stream, and what its walk found: when each operation is `issued` and `ends`, by its
    place, the cycles of the IRQs (`markers`), and when issue stood still. `outstanding`: by memory, the
    transfers whose latencies can overlap. All this lasts until the timer walks the next stream."""

    columns: StreamColumns
    outstanding: Sequence[int]
    issue_busy: int
    total: int
    blocks: NDArray[np.int64]
    issued: NDArray[np.int64]
    ends: NDArray[np.int64]
    markers: NDArray[np.int64]

    def timeline(self) -> Timeline:
        """What the walk found, by the number of the operation."""
        latency, places = self.columns.latencies, self.columns.places
        start = self._starts()
        if max(self.outstanding) > 1:
            latency = self._latencies(start)
        blocked, reached = self.blocks.copy(), self.columns.reached
        word = reached - 1
        word[-1] = reached[-1]
        blocked[:, BLOCK_EVENT] = word[blocked[:, BLOCK_EVENT]]
        return Timeline(
            self.issued[places], start[places], self.ends[places], latency[places],
            tuple(self.markers.tolist()), blocked, self.issue_busy, self.total,
        )  # fmt: skip

    def _starts(self) -> NDArray[np.int64]:
        """When each operation starts, by its place."""
        first, start = np.array(self.columns.first), self.issued.copy()
        start[1:] = np.maximum(self.issued[1:], self.ends[:-1])
        nothing_before = first[first < len(start)]
        start[nothing_before] = self.issued[nothing_before]
        return start

    def _latencies(self, begin: NDArray[np.int64]) -> NDArray[np.int64]:
        """What is left of each latency when the unit is free, by place: it counts from when the transfer was
        issued and fewer than `outstanding` were under way."""
        seen, memories = self.columns.latencies.copy(), self.columns.memories
        for start, stop in itertools.pairwise(self.columns.first[: TRANSFERRING + 1]):
            asked = self.issued[start:stop].copy()
            for number, behind in enumerate(self.outstanding):
                here = np.flatnonzero(memories[start:stop] == number)
                here = here[here >= behind]
                asked[here] = np.maximum(asked[here], self.ends[start:stop][here - behind])
            seen[start:stop] = np.maximum(asked + seen[start:stop] - begin[start:stop], 0)
        return seen
