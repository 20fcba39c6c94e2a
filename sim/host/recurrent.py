"""Operators with a memory of earlier inferences."""

from __future__ import annotations

import numpy as np

from dlasim.sim.host.call import Array, Call
from dlasim.sim.host.convolution import exact_product
from dlasim.sim.numerics import INT8_MAX, INT8_MIN, limit, requant, wrap32


def svdf(call: Call) -> list[Array]:
    """SVDF; the second result is the state after it."""
    values, feature_weights, time_weights, bias, state = call.inputs
    attributes = call.attributes
    memory = state.reshape(len(values), *time_weights.shape).copy()
    memory[:, :, :-1] = memory[:, :, 1:]
    memory[:, :, -1] = _features(call, values, feature_weights, state.dtype)
    centred = memory.astype(np.int64) - attributes.state_zero_point
    filters = (centred * time_weights.astype(np.int64)).sum(axis=2)
    units = filters.reshape(len(values), -1, attributes.rank).sum(axis=2)
    scaled = requant(wrap32(units + bias), attributes.output_multiplier, attributes.output_shift)
    return [limit(scaled, attributes.output_zero_point, INT8_MIN, INT8_MAX), memory]


def _features(call: Call, values: Array, weights: Array, dtype: np.dtype[np.generic]) -> Array:
    """What each filter sees now, as it enters the state."""
    attributes = call.attributes
    sums = exact_product(values.astype(np.int16) - np.int16(attributes.input_zero_point), weights)
    scaled = requant(wrap32(sums), attributes.feature_multiplier, attributes.feature_shift)
    limits = np.iinfo(np.dtype(dtype.name))
    # The zero point comes after the limits, so the sum may wrap: as in TFLite Micro.
    entering: Array = np.clip(scaled, limits.min, limits.max) + attributes.state_zero_point
    return entering.astype(dtype)


KERNELS = {"svdf": svdf}
