"""Many strided boxes at once, each brought to the simplest box that covers the same bytes, and whether two of
them have a byte in common: exactly, and without listing their bytes."""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.sim.programs.footprint import Box

Ints = NDArray[np.int64]

MAX_RUN_BYTES = 1 << 60  # keeps sums of a few boxes within 64 bits
TERMS = 4  # strides of two boxes: two of each
MAX_AT_ONCE = 1 << 18  # rows that are open at once: bounds memory, not the result


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
        return (self.address, self.planes, self.plane_stride, self.runs, self.run_stride, self.run_bytes)

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


def intersect(left: Boxes, right: Boxes) -> NDArray[np.bool_]:
    """For each pair of canonical boxes, whether some byte belongs to both."""
    found = (left.address < right.end) & (right.address < left.end)
    chosen = np.flatnonzero(found)
    if len(chosen):
        found[chosen] = _Search(left.take(chosen), right.take(chosen)).run()
    return found


def may_overlap(distance: Ints, divisor: Ints, left_bytes: Ints, right_bytes: Ints) -> NDArray[np.bool_]:
    """Whether runs of these lengths can have a byte in common, the right one `distance` and any multiple of
    `divisor` further: cheap, and enough to part most channel slices."""
    low = 1 - right_bytes
    nearest: Ints = low + (distance - low) % np.maximum(divisor, 1)
    return nearest < left_bytes


def common_byte(left: Boxes, right: Boxes) -> int | None:
    """A byte that belongs to both of two canonical boxes (tables of one): the first one of the first run of
    the first plane of `left` that has one.

    Run x of one box and run y of the other overlap when y - x lies in an open window as wide as both runs.
    The difference is a sum of at most four terms, count times stride. The search fixes one count after the
    other, largest stride first: what the smaller strides can still add bounds each count, and their common
    divisor rules most cases out at once (the channel slices of one tensor differ by no multiple of its pixel
    stride).
    """
    if not intersect(left, right)[0]:
        return None

    def cut(**column: int) -> Boxes:
        return dataclasses.replace(left, **{name: np.array([value]) for name, value in column.items()})

    planes = _least(int(left.planes[0]), lambda count: bool(intersect(cut(planes=count), right)[0]))
    left = cut(address=int(left.address[0] + (planes - 1) * left.plane_stride[0]), planes=1)
    runs = _least(int(left.runs[0]), lambda count: bool(intersect(cut(runs=count), right)[0]))
    left = cut(address=int(left.address[0] + (runs - 1) * left.run_stride[0]), runs=1)
    size = _least(int(left.run_bytes[0]), lambda count: bool(intersect(cut(run_bytes=count), right)[0]))
    return int(left.address[0]) + size - 1


def _least(most: int, holds: Callable[[int], bool]) -> int:
    """The least number from 1 to `most` for which `holds`, which from there on it does."""
    return 1 + bisect_left(range(1, most), True, key=holds)


@dataclass(frozen=True, slots=True)
class _Level:
    """One term of each pair's difference: its count and stride, and what the terms after it can add."""

    count: Ints
    stride: Ints
    rest: Ints
    divisor: Ints  # of this stride and those after it; 0 where no term is left


class _Search:
    """The pairs of one call, and which of them are known to overlap."""

    def __init__(self, left: Boxes, right: Boxes) -> None:
        self._low, self._high = 1 - right.run_bytes, left.run_bytes - 1
        self._offset = (
            right.address
            - left.address
            - (left.planes - 1) * left.plane_stride
            - (left.runs - 1) * left.run_stride
        )
        self._levels = _levels(
            np.stack((left.planes, left.runs, right.planes, right.runs)),
            np.stack((left.plane_stride, left.run_stride, right.plane_stride, right.run_stride)),
        )
        self._found = np.zeros(len(left), bool)

    def run(self) -> NDArray[np.bool_]:
        """Whether each pair overlaps."""
        self._descend(0, np.arange(len(self._found)), self._offset)
        return self._found

    def _descend(self, depth: int, pairs: Ints, value: Ints) -> None:
        """Try to bring `value` of each pair into its window with the terms from `depth` on."""
        level = self._levels[depth]
        kept = self._is_reachable(level.divisor[pairs], pairs, value)
        pairs, value = pairs[kept], value[kept]
        stride = np.maximum(level.stride[pairs], 1)
        least = np.maximum(-((value + level.rest[pairs] - self._low[pairs]) // stride), 0)
        most = np.minimum((self._high[pairs] - value) // stride, level.count[pairs] - 1)
        if depth == TERMS - 1:
            self._found[pairs[least <= most]] = True
            return
        for rows, position in expand(np.maximum(most - least + 1, 0), MAX_AT_ONCE):
            open_rows = ~self._found[pairs[rows]]
            rows, position = rows[open_rows], position[open_rows]
            if len(rows):
                self._descend(depth + 1, pairs[rows], value[rows] + (least[rows] + position) * stride[rows])

    def _is_reachable(self, divisor: Ints, pairs: Ints, value: Ints) -> NDArray[np.bool_]:
        """Whether some number in the window differs from `value` by a multiple of the divisor."""
        low, high = self._low[pairs], self._high[pairs]
        nearest = low + (value - low) % np.maximum(divisor, 1)
        return np.where(divisor == 0, (low <= value) & (value <= high), nearest <= high)


def _levels(counts: Ints, strides: Ints) -> list[_Level]:
    """The terms, largest stride first, those with equal strides made one."""
    order = np.argsort(-strides, axis=0, kind="stable")
    counts, strides = np.take_along_axis(counts, order, 0), np.take_along_axis(strides, order, 0)
    for i in range(TERMS - 1):
        equal = strides[i] == strides[i + 1]
        counts[i + 1] = np.where(equal, counts[i] + counts[i + 1] - 1, counts[i + 1])
        counts[i] = np.where(equal, 1, counts[i])
    levels: list[_Level] = []
    rest = divisor = np.zeros_like(counts[0])
    for count, stride in zip(counts[::-1], strides[::-1], strict=True):
        divisor = np.where(count > 1, np.gcd(divisor, stride), divisor)
        levels.insert(0, _Level(count, stride, rest, divisor))
        rest = rest + (count - 1) * stride
    return levels
