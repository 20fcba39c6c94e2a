"""Operators with a memory of earlier inferences."""

from __future__ import annotations

import numpy as np

from dlasim.sim.arithmetic.interpolation import limited16, logistic16, low16, sigmoid_scale, tanh16
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, limit, requant, wrap32
from dlasim.sim.host.call import Array, Call
from dlasim.sim.host.convolution import exact_product


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


def lstm_cell(call: Call) -> list[Array]:
    """LSTM_CELL; the second result is the cell after it."""
    input_sums, recurrent_sums, cell, table = call.inputs
    at, (batch, units) = call.attributes, call.shape
    rows = input_sums[at.first_row + at.row_step * np.arange(batch)].reshape(batch, 4, units)
    gates = limited16(
        _gate_sums(rows, at.input_multiplier, at.input_shift)
        + _gate_sums(recurrent_sums.reshape(batch, 4, units), at.recurrent_multiplier, at.recurrent_shift)
    )
    entering, kept, shown = (logistic16(gates[:, gate], *_GATE_STEPS, table) for gate in (0, 1, 2))
    candidate = tanh16(gates[:, 3], *_GATE_STEPS, table)
    old = low16(cell).reshape(batch, units)
    new = limited16(
        limited16(requant(kept * old, at.forget_multiplier, at.forget_shift))
        + limited16(requant(entering * candidate, at.update_multiplier, at.update_shift))
    )
    new = np.clip(new, -at.cell_clip, at.cell_clip)
    result = tanh16(new, at.tanh_factor, at.tanh_shift, table) * shown
    scaled = requant(result, at.output_multiplier, at.output_shift)
    return [limit(scaled, at.output_zero_point, INT8_MIN, INT8_MAX), new.astype(np.int32).reshape(cell.shape)]


_GATE_STEPS = sigmoid_scale(-12)


def _gate_sums(sums: Array, multiplier: tuple[int, ...], shift: tuple[int, ...]) -> Array:
    """The sums of each batch's gates in steps of 2^-12."""
    return limited16(requant(sums, np.array(multiplier)[:, None], np.array(shift)[:, None]))


KERNELS = {"svdf": svdf, "lstm_cell": lstm_cell}
