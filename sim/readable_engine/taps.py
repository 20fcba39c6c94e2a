"""Windows over an image: the input pixels that one tap of a kernel reads, for all outputs at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.sim.programs.operation import Operation
from dlasim.sim.readable_engine.operands import Integers


@dataclass(frozen=True, slots=True)
class Tap:
    """One position in the kernel, and the input rows and columns that it reads for the outputs."""

    y: int
    x: int
    rows: Integers
    columns: Integers

    def inside(self, image: Integers) -> NDArray[np.bool_]:
        """[row, column]: whether that pixel lies in the image."""
        height, width, _ = image.shape
        return _within(self.rows, height)[:, None] & _within(self.columns, width)[None, :]

    def read(self, image: Integers, outside: int) -> Integers:
        """[row, column, channel]: those pixels, with `outside` where there is none."""
        height, width, _ = image.shape
        rows, columns = self.rows.clip(0, height - 1), self.columns.clip(0, width - 1)
        return np.where(self.inside(image)[:, :, None], image[rows[:, None], columns[None, :]], outside)


def taps(operation: Operation) -> Iterator[Tap]:
    """Every tap of the operation's kernel."""
    height, width = operation.pair("KERNEL")
    for y in range(height):
        for x in range(width):
            yield Tap(y, x, _positions(operation, 0, y), _positions(operation, 1, x))


def inside_taps(operation: Operation) -> Iterator[Tap]:
    """The taps that read any input pixel: a pooling window may be far larger than the input."""
    height, width = operation.pair("KERNEL")
    columns = [
        (x, found) for x in range(width) if _is_inside(operation, 1, found := _positions(operation, 1, x))
    ]
    for y in range(height):
        rows = _positions(operation, 0, y)
        if _is_inside(operation, 0, rows):
            for x, found in columns:
                yield Tap(y, x, rows, found)


def _is_inside(operation: Operation, axis: int, positions: Integers) -> bool:
    return bool(_within(positions, operation.pair("IN_SIZE")[axis]).any())


def _positions(operation: Operation, axis: int, tap: int) -> Integers:
    """Input row (axis 0) or column (axis 1) that this tap reads for each output position."""
    size, stride, dilation, pad = (
        operation.pair(name)[axis] for name in ("OUT_SIZE", "STRIDE", "DILATION", "PAD")
    )
    return np.arange(size, dtype=np.int64) * stride + tap * dilation - pad


def _within(positions: Integers, size: int) -> NDArray[np.bool_]:
    return (positions >= 0) & (positions < size)
