"""Pooling and reduction of int8."""

from __future__ import annotations

import numpy as np

from dlasim.sim.arithmetic.numerics import (
    INT8_MAX,
    INT8_MIN,
    average_up,
    limit,
    requant,
    rounded_average,
    wrap32,
)
from dlasim.sim.host.call import Array, Call
from dlasim.sim.host.windows import Axis


def _axes(call: Call) -> tuple[Axis, Axis]:
    """The windows along height and width."""
    attributes, (_, height, width, _) = call.attributes, call.inputs[0].shape
    rows = Axis(height, call.shape[1], attributes.stride_height, attributes.pad_top, attributes.filter_height)
    columns = Axis(
        width, call.shape[2], attributes.stride_width, attributes.pad_left, attributes.filter_width
    )
    for axis in (rows, columns):
        axis.require_pixels()
    return rows, columns


def average_pool_2d(call: Call) -> list[Array]:
    """AVERAGE_POOL_2D: what lies outside counts neither in the sum nor in the number."""
    average = average_up if call.attributes.halves_up else rounded_average
    averages = average(*window_sums(call))
    return [limit(averages, 0, call.attributes.clamp_min, call.attributes.clamp_max)]


def window_sums(call: Call) -> tuple[Array, Array]:
    """The sum of each window, and of how many pixels it is."""
    rows, columns = _axes(call)
    sums = _sums(_sums(call.inputs[0].astype(np.int32), rows, 1), columns, 2)
    heights, widths = (high - low for low, high in (rows.bounds(), columns.bounds()))
    return sums, (heights[:, None] * widths)[:, :, None]


def _sums(values: Array, windows: Axis, axis: int) -> Array:
    """The sum of each window, from running sums in int32, whose differences are right though they wrap."""
    low, high = windows.bounds()
    shape = (*values.shape[:axis], windows.size + 1, *values.shape[axis + 1 :])
    running = np.zeros(shape, np.int32)
    inner = tuple(slice(1 if number == axis else 0, None) for number in range(values.ndim))
    np.cumsum(values, axis=axis, dtype=np.int32, out=running[inner])
    sums: Array = running.take(high, axis) - running.take(low, axis)
    return sums


def max_pool_2d(call: Call) -> list[Array]:
    """MAX_POOL_2D."""
    return [limit(pooled_maxima(call), 0, call.attributes.clamp_min, call.attributes.clamp_max)]


def pooled_maxima(call: Call) -> Array:
    """The greatest of each window."""
    rows, columns = _axes(call)
    return _maxima(_maxima(call.inputs[0], rows, 1), columns, 2)


def _maxima(values: Array, windows: Axis, axis: int) -> Array:
    """The greatest of each window: that of two runs of a power of two pixels which cover it."""
    low, high = windows.bounds()
    levels = np.frexp(high - low)[1] - 1  # floor(log2)
    shape = (*values.shape[:axis], windows.windows, *values.shape[axis + 1 :])
    result, runs = np.empty(shape, values.dtype), values
    for level in range(int(levels.max()) + 1):
        chosen = np.flatnonzero(levels == level)
        place = (slice(None),) * axis + (chosen,)
        result[place] = np.maximum(runs.take(low[chosen], axis), runs.take(high[chosen] - (1 << level), axis))
        if level < levels.max():
            count = runs.shape[axis] - (1 << level)
            runs = np.maximum(
                runs.take(range(count), axis), runs.take(range(1 << level, runs.shape[axis]), axis)
            )
    return result


def mean(call: Call) -> list[Array]:
    """MEAN."""
    values, attributes = call.inputs[0], call.attributes
    axes = tuple(axis for axis in range(values.ndim) if attributes.axis_mask >> axis & 1)
    count = int(np.prod([values.shape[axis] for axis in axes]))
    sums = wrap32(values.sum(axis=axes, dtype=np.int64) - count * attributes.input_zero_point)
    scaled = requant(sums, attributes.output_multiplier, attributes.output_shift)
    return [limit(scaled, attributes.output_zero_point, INT8_MIN, INT8_MAX)]


KERNELS = {"average_pool_2d": average_pool_2d, "max_pool_2d": max_pool_2d, "mean": mean}
