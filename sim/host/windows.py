"""Sliding windows over images, clipped to the image: nothing outside it is ever stored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TapSpan:
    """The windows whose tap number `tap` lies in the image, and the pixels that it meets there."""

    tap: int
    first: int
    end: int
    pixel: int
    stride: int

    @property
    def windows(self) -> slice:
        """The windows, `first` to `end`."""
        return slice(self.first, self.end)

    @property
    def pixels(self) -> slice:
        """The pixel of each of these windows."""
        return slice(self.pixel, self.pixel + (self.end - self.first - 1) * self.stride + 1, self.stride)

    def within(self, first: int, end: int) -> TapSpan | None:
        """The same for the windows from `first` to `end`, counted from there; None if there are none."""
        begin, stop = max(first, self.first), min(end, self.end)
        if begin >= stop:
            return None
        pixel = self.pixel + (begin - self.first) * self.stride
        return TapSpan(self.tap, begin - first, stop - first, pixel, self.stride)


@dataclass(frozen=True, slots=True)
class Axis:
    """Windows of `taps` taps along a dimension of `size` pixels; the first begins `pad` before it."""

    size: int
    windows: int
    stride: int
    pad: int
    taps: int
    dilation: int = 1

    def __post_init__(self) -> None:
        if min(self.size, self.windows, self.stride, self.taps, self.dilation) < 1 or self.pad < 0:
            raise ValueError(f"no such windows: {self}")

    @property
    def reach(self) -> int:
        """Pixels from a window's first tap to its last, both counted."""
        return (self.taps - 1) * self.dilation + 1

    def require_pixels(self) -> None:
        """Raise ValueError unless every window has some of the image between its first and its last tap."""
        after = (self.windows - 1) * self.stride + self.reach - self.pad - self.size
        if self.pad >= self.reach or after >= self.reach:
            raise ValueError(f"of these windows not all meet the image: {self}")

    def bounds(self) -> tuple[Ints, Ints]:
        """The first pixel of each window without dilation, and the one after its last, inside the image."""
        starts = np.arange(self.windows, dtype=np.int64) * self.stride - self.pad
        return np.maximum(starts, 0), np.minimum(starts + self.taps, self.size)

    def spans(self) -> list[TapSpan]:
        """The taps that meet the image at all."""
        offsets = np.arange(self.taps, dtype=np.int64) * self.dilation - self.pad
        firsts = np.maximum(-(offsets // self.stride), 0)
        ends = np.minimum((self.size - 1 - offsets) // self.stride + 1, self.windows)
        return [
            TapSpan(tap, first, end, first * self.stride + offset, self.stride)
            for tap, (first, end, offset) in enumerate(
                zip(firsts.tolist(), ends.tolist(), offsets.tolist(), strict=True)
            )
            if first < end
        ]


def pairs(rows: list[TapSpan], columns: list[TapSpan]) -> Iterator[tuple[TapSpan, TapSpan]]:
    """The taps of a window in row-major order, by row and column."""
    for row in rows:
        for column in columns:
            yield row, column
