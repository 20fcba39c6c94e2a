"""Reads of SRAM that nothing wrote: a map of written bytes, followed in program order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from dlasim.sim.programs.footprint import Box
from dlasim.sim.races.accesses import SRAM, AccessTable
from dlasim.sim.races.boxes import Ints

ACCESSES_AT_ONCE = 32  # followed before the map is asked again; 256 take 2 ms more for MobileNetV1


class WrittenMap:
    """Which bytes of the SRAM have been written since the start of the inference.

    The truth is one flag per byte. Intervals without a gap are also kept as a sorted list, which answers
    for nearly every access of a real program without touching the flags.
    """

    def __init__(self, sram_bytes: int) -> None:
        self._flags = np.zeros(sram_bytes, bool)
        self._starts: list[int] = []
        self._ends: list[int] = []

    def covers(self, low: Ints, high: Ints) -> NDArray[np.bool_]:
        """Whether each range lies in an interval known to be written; False may also mean unknown."""
        if not self._starts:
            return np.zeros(len(low), bool)
        interval = np.searchsorted(self._starts, low, side="right") - 1
        ends: NDArray[np.bool_] = high <= np.array(self._ends)[interval]
        return ends & (interval >= 0)

    def write(self, box: Box) -> None:
        """Mark the bytes of a box."""
        self._view(box)[...] = True
        self._learn(box)

    def first_unwritten(self, box: Box) -> int | None:
        """The lowest address in a box that was not written."""
        view = self._view(box)
        if view.all():
            self._learn(box)
            return None
        plane, run, byte = np.nonzero(~view)
        return int((box.address + plane * box.plane_stride + run * box.run_stride + byte).min())

    def _view(self, box: Box) -> NDArray[np.bool_]:
        """The flags of a box; np.ndarray checks that they lie inside the SRAM."""
        return np.ndarray(
            (box.planes, box.runs, box.run_bytes),
            bool,
            self._flags.data,
            box.address,
            (box.plane_stride, box.run_stride, 1),
        )

    def _learn(self, box: Box) -> None:
        """Take a box whose bytes are all written into the list of intervals, if it has no gap."""
        low, high = box.address, box.end
        if box.planes * box.runs > 1 and not self._flags[low:high].all():
            return
        first, last = bisect_left(self._ends, low), bisect_right(self._starts, high)
        if first < last:
            low, high = min(low, self._starts[first]), max(high, self._ends[last - 1])
        self._starts[first:last] = [low]
        self._ends[first:last] = [high]


def uninitialised_reads(table: AccessTable, written: WrittenMap, limit: int) -> list[tuple[int, int]]:
    """The first `limit` reads of bytes that nothing wrote, each as (access, lowest such byte).

    A byte is reported once: it counts as written from then on. `written` is brought up to date.
    """
    found: list[tuple[int, int]] = []
    pending = np.flatnonzero(table.space == SRAM)
    pending = pending[~written.covers(table.low[pending], table.high[pending])]
    if len(pending) > ACCESSES_AT_ONCE:
        # Whatever the first access to a box is, all of it counts as written afterwards.
        pending = pending[np.sort(np.unique(table.box_number[pending], return_index=True)[1])]
    while len(pending):
        for access in pending[:ACCESSES_AT_ONCE].tolist():
            byte = _follow(table, access, written)
            if byte is not None:
                found.append((access, byte))
                if len(found) == limit:
                    return found
        pending = pending[ACCESSES_AT_ONCE:]
        pending = pending[~written.covers(table.low[pending], table.high[pending])]
    return found


def _follow(table: AccessTable, access: int, written: WrittenMap) -> int | None:
    """Bring the map past one access; the lowest byte that it reads and nothing wrote."""
    box = table.boxes.one(access)
    byte = None if table.writes[access] else written.first_unwritten(box)
    if byte is not None or table.writes[access]:
        written.write(box)
    return byte
