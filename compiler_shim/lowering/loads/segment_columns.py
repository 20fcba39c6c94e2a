"""The segments of a plan in columns, as the routine that plans prefetches reads them."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.addresses.packed_segments import PackedSegment

MAX_SLOTS = 16  # in which the tasks of a segment are looked at
MAX_CYCLES = 1 << 60  # of all segments: with more, 64 bits do not hold every number that is met
Rows = NDArray[np.int64]


class SegmentColumns:
    """By segment its first step, its tasks, looked at in groups, the slots; for how many cycles it computes,
    loads tensors, and loads in all; and how long the first loads take, without which it cannot begin: as many
    pieces as there are buffers for. For the constants of all nodes: their steps, segments, and pieces."""

    def __init__(self, segments: Sequence[PackedSegment]) -> None:
        self.steps = [each.step for each in segments]
        rows = [
            (
                each.tasks,
                each.is_chain,
                each.is_other_unit,
                len(each.occupied.gaps),
                each.occupied.covered_bytes,
                len(each.constants),
            )
            for each in segments
        ]
        self._tasks, self._is_chain, self._is_other, self._ranges, self._covered, self._counts = (
            np.array(rows, np.int64).reshape(-1, 6).T
        )
        cycles = np.array([(each.compute_cycles, each.tensor_cycles) for each in segments], float)
        self.computing, self._tensors = cycles.reshape(-1, 2).T
        self._tasks_of_slot = -(-self._tasks // MAX_SLOTS)
        self._slots = -(-self._tasks // self._tasks_of_slot)
        constants = [each for segment in segments for each in segment.constants]
        self.steps_of_constants = [each.step for each in constants]
        of_constants = [
            (each.pieces, each.piece_bytes, each.is_loaded_again, len(each.gaps)) for each in constants
        ]
        self.pieces, self._bytes, self._again, self._buffers = (
            np.array(of_constants, np.int64).reshape(-1, 4).T
        )
        self._piece_cycles = np.array([each.piece_cycles for each in constants], float)
        self._segments = np.repeat(np.arange(len(segments)), self._counts)
        self._own = self.pieces * self._piece_cycles
        self.loading = self._tensors + self._by_segment(self._own)
        self._first = self._by_segment(np.minimum(self._buffers, self.pieces) * self._piece_cycles)

    def _by_segment(self, cycles: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(self._segments, cycles, len(self.steps)).astype(float)

    def loaded_first(self) -> frozenset[int]:
        """The steps of nodes for which the bus has more to do than the units; all where that holds for the
        whole."""
        more = self.loading - self.computing
        return frozenset(np.array(self.steps)[(more > 0) | (fsum(more.tolist()) > 0)].tolist())

    def last_task(self, number: int, slot: int) -> int:
        """The last task of a slot of a segment."""
        return int(min((slot + 1) * self._tasks_of_slot[number], self._tasks[number])) - 1

    def segment_rows(self, limit: int) -> Rows:
        """The slots of a `TimedSegment` each, in an SRAM of `limit` bytes."""
        return np.column_stack((
            self._tasks, self._tasks_of_slot, self._slots, self._is_chain, self._is_other,
            np.trunc(self.computing / self._slots), np.trunc(self._tensors / self._slots),
            np.trunc(self._backlogs(limit)), np.trunc(self._next_tensors()),
            np.cumsum(self._ranges) - self._ranges, self._ranges,
            np.cumsum(self._counts) - self._counts, self._counts,
        )).astype(np.int64)  # fmt: skip

    def constants_rows(self) -> Rows:
        """The slots of a `TimedConstants` each: how many tasks use a piece; in a chain, any of them may."""
        tasks = self._tasks[self._segments] // self.pieces
        is_any = (self._is_chain[self._segments] | self._again) > 0
        found = np.zeros((len(self.pieces), 10), np.int64)
        found[:, :6] = np.column_stack((
            self._segments, self.pieces, np.where(is_any, 1, tasks), self._bytes,
            np.rint(self._piece_cycles), self._again,
        ))  # fmt: skip
        return found

    def _backlogs(self, limit: int) -> list[float]:
        """For each segment, the cycles of prefetches that must be done before it ends.

        These are the loads for which later segments have no time, limited by the free SRAM and by the bus
        time that this and earlier segments have left.
        """
        free = limit - self._covered
        size = int((self.pieces * self._bytes).sum())
        room = (np.minimum(free[:-1], free[1:]) * (fsum(self._own.tolist()) / max(size, 1))).tolist()
        slack = (np.maximum(self.computing, self._tensors) - self.loading).tolist()
        first, backlogs = self._first.tolist(), [0.0] * (len(slack) + 1)
        for number in range(len(slack) - 1, 0, -1):
            backlog = max(backlogs[number + 1] - slack[number], first[number])
            backlogs[number] = min(backlog, room[number - 1])
        possible = 0.0
        for number, more in enumerate(slack):
            possible = backlogs[number + 1] = max(min(backlogs[number + 1], possible + more), 0)
        return backlogs[1:]

    def _next_tensors(self) -> list[float]:
        """By segment, how many cycles after its end the next load of tensors must begin, so that no task has
        to wait for it; below 0 if before. As good as never where there is none."""
        cycles, found = float(MAX_CYCLES), list[float]()
        each = zip(self.computing.tolist(), (self._tensors / self._slots).tolist(), strict=True)
        for computing, tensors in reversed(list(each)):
            found.append(cycles)
            cycles = -tensors if tensors else cycles + computing
        return found[::-1]
