"""Many strided boxes at once, each brought to the simplest box that covers the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.sim.programs.footprint import Box

Ints = NDArray[np.int64]

MAX_RUN_BYTES = 1 << 60  # keeps sums of a few boxes within 64 bits


@dataclass(frozen=True, slots=True)
class Boxes:
    """Columns of `footprint.Box`: box i is `planes[i]` x `runs[i]` runs of `run_bytes[i]` bytes."""

    address: Ints
    planes: Ints
    plane_stride: Ints
    runs: Ints
    run_stride: Ints
    run_bytes: Ints

    def __len__(self) -> int:
        return len(self.address)

    @property
    def columns(self) -> tuple[Ints, ...]:
        """The six columns, in the order of the constructor."""
        return (
            self.address,
            self.planes,
            self.plane_stride,
            self.runs,
            self.run_stride,
            self.run_bytes,
        )

    @property
    def end(self) -> Ints:
        """One past the last byte of each."""
        reach = (self.planes - 1) * self.plane_stride + (self.runs - 1) * self.run_stride
        return self.address + reach + self.run_bytes

    @property
    def gap(self) -> Ints:
        """The largest step of which every run's start is a multiple away from the first; 0 for one run."""
        return np.gcd(self.plane_stride, self.run_stride)

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> Boxes:
        """The boxes of these numbers."""
        return Boxes(*(column[chosen] for column in self.columns))

    def one(self, number: int) -> Box:
        """One box, in plain integers."""
        return Box(*(int(column[number]) for column in self.columns))


def stack(parts: Sequence[Boxes]) -> Boxes:
    """All boxes of several tables."""
    return Boxes(
        *(np.concatenate(columns) for columns in zip(*(part.columns for part in parts), strict=True))
    )


def canonical(box: Box, count: int) -> Boxes:
    """`count` boxes with the same bytes in as few and as long runs as this form allows.

    Afterwards a level of one step has stride 0, a box with one level has it in the runs, runs are apart
    from each other, and planes step further than runs.
    """
    address, planes, plane_stride, runs, run_stride, run_bytes = (
        np.array(np.broadcast_to(column, count), np.int64)
        for column in (box.address, box.planes, box.plane_stride, box.runs, box.run_stride, box.run_bytes)
    )
    run_bytes = np.minimum(run_bytes, MAX_RUN_BYTES)
    planes = np.where(plane_stride == 0, 1, planes)
    runs = np.where(run_stride == 0, 1, runs)
    for _ in range(2):  # once runs have merged, planes may
        swap = (planes > 1) & ((runs == 1) | (plane_stride < run_stride))
        planes, runs = np.where(swap, runs, planes), np.where(swap, planes, runs)
        plane_stride, run_stride = (
            np.where(swap, run_stride, plane_stride),
            np.where(swap, plane_stride, run_stride),
        )
        touching = run_stride <= run_bytes
        run_bytes = np.where(touching, run_bytes + (runs - 1) * run_stride, run_bytes)
        runs = np.where(touching, 1, runs)
    # Planes that continue where the runs of the previous plane end are more runs.
    steps = plane_stride // np.maximum(run_stride, 1)
    even = (planes > 1) & (runs > 1) & (steps * run_stride == plane_stride) & (steps <= runs)
    runs = np.where(even, runs + (planes - 1) * steps, runs)
    planes = np.where(even, 1, planes)
    plane_stride = np.where(planes == 1, 0, plane_stride)
    run_stride = np.where(runs == 1, 0, run_stride)
    return Boxes(address, planes, plane_stride, runs, run_stride, run_bytes)


def expand(counts: Ints, most: int) -> Iterator[tuple[Ints, Ints]]:
    """Row numbers, each repeated by its count, and the position within the row; at most `most` at a time."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for first in range(0, total, most):
        if total <= most:
            rows = np.repeat(np.arange(len(counts)), counts)
            yield rows, np.arange(total) - (ends - counts)[rows]
            return
        flat = np.arange(first, min(first + most, total))
        rows = np.searchsorted(ends, flat, side="right")
        yield rows, flat - (ends - counts)[rows]
