"""Pooling and reduction of int8."""

from __future__ import annotations

import numpy as np

from dlasim.sim.host.call import Array, Call
from dlasim.sim.host.windows import padded, tap_offsets, tap_views
from dlasim.sim.numerics import INT8_MAX, INT8_MIN, limit, requant, rounded_average, wrap32


def _taps(call: Call, image: Array, value: int) -> list[Array]:
    window = (call.attributes.filter_height, call.attributes.filter_width)
    grid = (call.shape[1], call.shape[2])
    field = padded(image, call.attributes, grid, window, value)
    return list(tap_views(field, call.attributes, grid, tap_offsets(*window)))


def average_pool_2d(call: Call) -> list[Array]:
    """AVERAGE_POOL_2D: what lies outside counts neither in the sum nor in the number."""
    image = call.inputs[0].astype(np.int32)
    sums = sum(_taps(call, image, 0))
    counts = sum(_taps(call, np.ones((1, *image.shape[1:3], 1), np.int32), 0))
    averages = rounded_average(sums, counts)
    return [limit(averages, 0, call.attributes.clamp_min, call.attributes.clamp_max)]


def max_pool_2d(call: Call) -> list[Array]:
    """MAX_POOL_2D."""
    taps = _taps(call, call.inputs[0], INT8_MIN)
    largest = taps[0].copy()
    for tap in taps[1:]:
        np.maximum(largest, tap, out=largest)
    return [limit(largest, 0, call.attributes.clamp_min, call.attributes.clamp_max)]


def mean(call: Call) -> list[Array]:
    """MEAN."""
    values, attributes = call.inputs[0], call.attributes
    axes = tuple(axis for axis in range(values.ndim) if attributes.axis_mask >> axis & 1)
    count = int(np.prod([values.shape[axis] for axis in axes]))
    sums = wrap32(values.sum(axis=axes, dtype=np.int64) - count * attributes.input_zero_point)
    scaled = requant(sums, attributes.output_multiplier, attributes.output_shift)
    return [limit(scaled, attributes.output_zero_point, INT8_MIN, INT8_MAX)]


KERNELS = {"average_pool_2d": average_pool_2d, "max_pool_2d": max_pool_2d, "mean": mean}
