"""Operators that change an image's size; the compiler has tabulated which pixels go where."""

from __future__ import annotations

import numpy as np

from dlasim.isa.host_ops import RESIZE_FRACTION_BITS
from dlasim.sim.host.call import Array, Call
from dlasim.sim.numerics import INT8_MAX, INT8_MIN, limit

_ONE = 1 << RESIZE_FRACTION_BITS


def resize_nearest(call: Call) -> list[Array]:
    """RESIZE_NEAREST."""
    image, rows, columns = call.inputs
    _require_size(call, image, rows, columns)
    return [image[:, rows[:, None], columns]]


def resize_bilinear(call: Call) -> list[Array]:
    """RESIZE_BILINEAR."""
    image, rows, columns = call.inputs
    _require_size(call, image, rows, columns)
    left, right = (
        _blended(_corner(call, 0, side), _corner(call, 1, side), rows[:, 2, None, None]) for side in (0, 1)
    )
    sums = _blended(left, right, columns[:, 2, None])
    half = _ONE * _ONE // 2
    rounded = np.sign(sums) * ((np.abs(sums) + half) // (_ONE * _ONE))
    return [limit(rounded, 0, INT8_MIN, INT8_MAX)]


def _require_size(call: Call, image: Array, rows: Array, columns: Array) -> None:
    call.require_elements(len(image) * len(rows) * len(columns) * image.shape[3])


def _corner(call: Call, row: int, column: int) -> Array:
    """One of the four pixels from which each pixel of the output is blended."""
    image, rows, columns = call.inputs
    corner: Array = image[:, rows[:, row, None], columns[:, column]].astype(np.int64)
    return corner


def _blended(lower: Array, upper: Array, fraction: Array) -> Array:
    blend: Array = lower * (_ONE - fraction) + upper * fraction
    return blend


KERNELS = {"resize_nearest": resize_nearest, "resize_bilinear": resize_bilinear}
