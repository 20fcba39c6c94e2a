"""Exact integer convolutions on float arrays, fast through BLAS; NHWC activations with the zero point off.

Every sum is an integer that the float type holds exactly, so that the order of additions, and with it the
machine, cannot change a result: built-in networks are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[Any]
# The largest activation without its zero point, and the integers that float32 holds.
_MAX_ACTIVATION = 255
_EXACT_FLOAT32 = 1 << 24


def convolve(values: FloatArray, weights: NDArray[np.int8], stride: int, padding: str) -> FloatArray:
    """Convolution with weights [OC][KH][KW][IC]."""
    channels, height, width, _ = weights.shape
    columns = np.concatenate(list(_taps(values, height, width, stride, padding)), axis=-1)
    return multiply(columns, weights.reshape(channels, -1))


def convolve_depthwise(
    values: FloatArray, weights: NDArray[np.int8], stride: int, padding: str
) -> FloatArray:
    """Depthwise convolution with weights [1][KH][KW][C]."""
    _, height, width, channels = weights.shape
    sums: FloatArray | None = None
    taps = _taps(values, height, width, stride, padding)
    for tap, factor in zip(taps, weights.reshape(-1, channels).astype(values.dtype), strict=True):
        product = tap * factor
        sums = product if sums is None else np.add(sums, product, out=sums)
    assert sums is not None
    return sums


def multiply(rows: FloatArray, weights: NDArray[np.int8]) -> FloatArray:
    """Rows times weights [OC][IC]."""
    largest_sum = _MAX_ACTIVATION * int(np.abs(weights.astype(np.int32)).sum(axis=1).max())
    dtype = "float32" if largest_sum < _EXACT_FLOAT32 else "float64"
    sums: FloatArray = rows.astype(dtype, copy=False) @ weights.astype(dtype).T
    return sums


def pool_max(values: FloatArray, size: int, stride: int, padding: str) -> FloatArray:
    """Maximum over square windows; positions outside never win."""
    result: FloatArray | None = None
    for tap in _taps(values, size, size, stride, padding, outside=-np.inf):
        result = tap.copy() if result is None else np.maximum(result, tap, out=result)
    assert result is not None
    return result


def _taps(
    values: FloatArray, height: int, width: int, stride: int, padding: str, outside: float = 0.0
) -> Iterator[FloatArray]:
    """What each weight of the window sees, as views of one padded copy."""
    rows, above, below = _extent(values.shape[1], height, stride, padding)
    columns, left, right = _extent(values.shape[2], width, stride, padding)
    margins = ((0, 0), (above, below), (left, right), (0, 0))
    padded = np.pad(values, margins, constant_values=outside) if above + below + left + right else values
    for row in range(height):
        for column in range(width):
            last_row, last_column = row + (rows - 1) * stride + 1, column + (columns - 1) * stride + 1
            yield padded[:, row:last_row:stride, column:last_column:stride, :]


def _extent(size: int, window: int, stride: int, padding: str) -> tuple[int, int, int]:
    """Outputs along one axis, and padding before and after; SAME puts the odd one after."""
    if padding == "VALID":
        return (size - window) // stride + 1, 0, 0
    count = -(-size // stride)
    total = max((count - 1) * stride + window - size, 0)
    return count, total // 2, total - total // 2
