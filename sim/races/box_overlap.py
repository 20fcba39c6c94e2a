"""Whether two strided boxes have a byte in common: exactly, and without listing their bytes.

Run x of one box and run y of the other overlap when y - x lies in an open window as wide as both runs. The
difference is a sum of at most four terms, count times stride. The search fixes one count after the other,
largest stride first: what the smaller strides can still add bounds each count, and their common divisor
rules most cases out at once (the channel slices of one tensor differ by no multiple of its pixel stride).
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.sim.races.boxes import Boxes, Ints, expand

TERMS = 4  # strides of two boxes: two of each
MAX_AT_ONCE = 1 << 18  # rows that are open at once: bounds memory, not the result


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
    the first plane of `left` that has one."""
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
