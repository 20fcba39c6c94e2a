"""Operators that change an image's size; the compiler has tabulated which pixels go where."""

from __future__ import annotations

import numpy as np

from dlasim.isa.host_op_rows import RESIZE_FRACTION_BITS
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, limit
from dlasim.sim.host.call import Array, Call

_BYTE_OFFSET, _MAX_BYTE = 128, 255
_ONE = 1 << RESIZE_FRACTION_BITS


def resize_nearest(call: Call) -> list[Array]:
    """RESIZE_NEAREST."""
    image, rows, columns = call.inputs
    height, width = image.shape[1:3]
    return [image[:, np.clip(rows, 0, height - 1)[:, None], np.clip(columns, 0, width - 1)]]


def resize_bilinear(call: Call) -> list[Array]:
    """RESIZE_BILINEAR."""
    image = call.inputs[0]
    rows, columns = (_limited(*given) for given in zip(call.inputs[1:], image.shape[1:3], strict=True))
    left, right = (
        _blended(
            _corner(image, rows[:, 0], columns[:, side]),
            _corner(image, rows[:, 1], columns[:, side]),
            rows[:, 2, None, None],
        )
        for side in (0, 1)
    )
    sums = _blended(left, right, columns[:, 2, None])
    half = _ONE * _ONE // 2
    rounded = np.sign(sums) * ((np.abs(sums) + half) // (_ONE * _ONE))
    return [limit(rounded, 0, INT8_MIN, INT8_MAX)]


def _limited(table: Array, size: int) -> Array:
    """Lower and upper positions inside the image, and a fraction of one."""
    limited: Array = np.clip(table, 0, [size - 1, size - 1, _ONE])
    return limited


def _corner(image: Array, rows: Array, columns: Array) -> Array:
    """One of the four pixels from which each pixel of the output is blended."""
    corner: Array = image[:, rows[:, None], columns].astype(np.int64)
    return corner


def _blended(lower: Array, upper: Array, fraction: Array) -> Array:
    blend: Array = lower * (_ONE - fraction) + upper * fraction
    return blend


def resize_float(call: Call) -> list[Array]:
    """RESIZE_FLOAT: in TensorFlow's order, products from left to right."""
    image, is_int8 = call.inputs[0], call.inputs[0].dtype == np.int8
    numbers = image.astype(np.float32) + np.float32(_BYTE_OFFSET if is_int8 else 0)
    (low_y, high_y, y), (low_x, high_x, x) = (
        _places(*given) for given in zip(call.inputs[1:], image.shape[1:3], strict=True)
    )
    y, one = y[:, None, None], np.float32(1)
    with np.errstate(all="ignore"):
        corners = (
            numbers[:, rows[:, None], columns] * down * across[:, None]
            for columns, across in ((low_x, one - x), (high_x, x))
            for rows, down in ((low_y, one - y), (high_y, y))
        )
        total = next(corners)
        for corner in corners:
            total = total + corner
    if not is_int8:
        return [total]
    with np.errstate(all="ignore"):
        byte = np.nan_to_num(total + np.float32(0.5), nan=0).clip(0, _MAX_BYTE)
    return [(byte.astype(np.int64) - _BYTE_OFFSET).astype(np.int8)]


def _places(table: Array, size: int) -> tuple[Array, Array, Array]:
    """Lower and upper positions inside the image, and the fraction."""
    lower, upper = np.clip(table[:, :2], 0, size - 1).T
    return lower, upper, np.ascontiguousarray(table[:, 2]).view(np.float32)


KERNELS = {"resize_float": resize_float, "resize_nearest": resize_nearest, "resize_bilinear": resize_bilinear}
