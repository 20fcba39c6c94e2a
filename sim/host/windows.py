"""Sliding windows over NHWC images: padding, and the pixels that each tap of a window sees."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np

from dlasim.sim.host.call import Array


def padded(
    image: Array, attributes: SimpleNamespace, grid: tuple[int, int], window: tuple[int, int], value: int
) -> Array:
    """The image with `value` around it, large enough for every window; `window` includes dilation."""
    pads = (
        (0, 0),
        _pads(image.shape[1], grid[0], attributes.stride_height, window[0], attributes.pad_top),
        _pads(image.shape[2], grid[1], attributes.stride_width, window[1], attributes.pad_left),
        (0, 0),
    )
    if not any(sum(pair) for pair in pads):
        return image
    return np.pad(image, pads, constant_values=value)


def _pads(size: int, windows: int, stride: int, window: int, before: int) -> tuple[int, int]:
    """Rows or columns before and after, so that every window lies inside and sees some of the image."""
    after = max(0, (windows - 1) * stride + window - before - size)
    if stride < 1 or window < 1 or not 0 <= before < window or after >= window:
        raise ValueError(f"{windows} windows of {window}, {stride} apart, from -{before} on in {size}")
    return before, after


def tap_views(
    image: Array, attributes: SimpleNamespace, grid: tuple[int, int], offsets: Iterator[tuple[int, int]]
) -> Iterator[Array]:
    """For each tap's offset from its window's corner, the pixels it sees: [N, rows, columns, C]."""
    rows, columns = attributes.stride_height, attributes.stride_width
    for top, left in offsets:
        yield image[:, top : top + grid[0] * rows : rows, left : left + grid[1] * columns : columns][
            :, : grid[0], : grid[1]
        ]


def tap_offsets(
    height: int, width: int, dilation_height: int = 1, dilation_width: int = 1
) -> Iterator[tuple[int, int]]:
    """The taps of a window in row-major order."""
    for row in range(height):
        for column in range(width):
            yield row * dilation_height, column * dilation_width
