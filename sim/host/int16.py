"""Operators of int16 activations and int8 weights."""

from __future__ import annotations

import numpy as np

from dlasim.isa.host_op_rows import INT16_ADD_LEFT_SHIFT, PoolFunction, SigmoidFunction, WideFunction
from dlasim.sim.arithmetic.interpolation import INT16_MAX, limited16, logistic16, lookup513, tanh16
from dlasim.sim.arithmetic.numerics import quotient, requant, requant_int64, rounded_average, wrap32
from dlasim.sim.host.call import Array, Call
from dlasim.sim.host.convolution import batch_sums, convolved, exact_product, transposed_sums
from dlasim.sim.host.pooling import pooled_maxima, window_sums


def conv_2d(call: Call) -> list[Array]:
    """CONV_2D_16."""
    image, weights, _ = call.inputs
    return [_finished(call, convolved(call, image.astype(np.float32), weights))]


def fully_connected(call: Call) -> list[Array]:
    """FULLY_CONNECTED_16."""
    values, weights, _ = call.inputs
    return [_finished(call, exact_product(values.reshape(-1, weights.shape[1]), weights))]


def batch_matmul(call: Call) -> list[Array]:
    """BATCH_MATMUL_16."""
    first, second = call.inputs
    at = call.attributes
    high, low = second >> 8, second & 0xFF  # so that a double holds every sum
    sums = (batch_sums(call, first, high) << 8) + batch_sums(call, first, low)
    return [limited16(requant_int64(sums, at.output_multiplier, at.output_shift)).astype(np.int16)]


def transpose_conv(call: Call) -> list[Array]:
    """TRANSPOSE_CONV_16."""
    image, weights, _ = call.inputs
    return [_finished(call, transposed_sums(call, image.astype(np.float32), weights))]


def _finished(call: Call, sums: Array) -> Array:
    """Bias, requantization and clamp, channel by channel."""
    low, high, multiplier, shift = call.inputs[2].astype(np.int64).T
    if call.attributes.wide_sums:
        scaled = requant_int64(sums + (high << 32) + (low & 0xFFFF_FFFF), multiplier, shift)
    else:
        scaled = requant(wrap32(sums + low), multiplier, shift)
    return _clamped(call, scaled).reshape(call.shape)


def _clamped(call: Call, values: Array) -> Array:
    """Limited to what the activation lets through."""
    attributes = call.attributes
    limited: Array = np.minimum(np.maximum(values, attributes.clamp_min), attributes.clamp_max)
    return limited.astype(np.int16)


def arithmetic(call: Call) -> list[Array]:
    """ARITHMETIC_16."""
    at = call.attributes
    first, second = (values.astype(np.int64) for values in call.inputs)
    if at.function == WideFunction.DIV:
        return [_clamped(call, quotient(first, second, at.output_multiplier, at.output_shift))]
    if at.function == WideFunction.MUL:
        result = first * second
    elif at.function == WideFunction.SQUARED_DIFFERENCE:
        one = requant(first, at.input1_multiplier, at.input1_shift)
        result = wrap32((one - requant(second, at.input2_multiplier, at.input2_shift)) ** 2)
    else:
        one = requant(first << INT16_ADD_LEFT_SHIFT, at.input1_multiplier, at.input1_shift)
        other = requant(second << INT16_ADD_LEFT_SHIFT, at.input2_multiplier, at.input2_shift)
        result = one + other if at.function == WideFunction.ADD else one - other
    return [_clamped(call, requant(result, at.output_multiplier, at.output_shift))]


def pool(call: Call) -> list[Array]:
    """POOL_16."""
    if call.attributes.function == PoolFunction.MAX:
        return [_clamped(call, pooled_maxima(call))]
    sums, counts = window_sums(call)
    return [_clamped(call, rounded_average(sums, counts))]


def mean(call: Call) -> list[Array]:
    """MEAN_16."""
    values, at = call.inputs[0], call.attributes
    axes = tuple(axis for axis in range(values.ndim) if at.axis_mask >> axis & 1)
    sums = wrap32(values.sum(axis=axes, dtype=np.int64))
    return [
        limited16(requant(sums, at.output_multiplier, at.output_shift)).astype(np.int16).reshape(call.shape)
    ]


def softmax(call: Call) -> list[Array]:
    """SOFTMAX_16."""
    values, exponentials, reciprocals = call.inputs
    at, wide = call.attributes, values.astype(np.int64)
    differences = requant(wide - wide.max(-1, keepdims=True), at.input_multiplier, at.input_shift)
    parts = lookup513(exponentials, limited16(wrap32(differences + INT16_MAX)))
    sums = np.maximum(parts.sum(-1, keepdims=True), 2)  # less only with a table of other contents
    headroom = 32 - np.frexp(sums.astype(np.float64))[1].astype(np.int64)  # leading zeros of 32 bits
    place = ((sums << (headroom - 1)) + (1 << 13) >> 14) - (3 << 15)
    reciprocal = lookup513(reciprocals, limited16(place))
    shift = 31 - headroom
    shares = parts * reciprocal + (1 << (shift - 1)) >> shift
    return [np.clip(shares, 0, INT16_MAX).astype(np.int16)]


def sigmoid(call: Call) -> list[Array]:
    """SIGMOID_16."""
    values, table = call.inputs
    at = call.attributes
    function = logistic16 if at.function == SigmoidFunction.LOGISTIC else tanh16
    return [function(values, at.factor, at.shift, table).astype(np.int16)]


def leaky(call: Call) -> list[Array]:
    """LEAKY_16."""
    at, values = call.attributes, call.inputs[0].astype(np.int64)
    positive = requant(values, at.positive_multiplier, at.positive_shift)
    negative = requant(values, at.negative_multiplier, at.negative_shift)
    return [_clamped(call, np.where(values >= 0, positive, negative))]


def lut(call: Call) -> list[Array]:
    """LUT_16."""
    values, table = call.inputs
    return [limited16(lookup513(table, values.astype(np.int64))).astype(np.int16)]


KERNELS = {
    "lut_16": lut,
    "conv_2d_16": conv_2d,
    "fully_connected_16": fully_connected,
    "batch_matmul_16": batch_matmul,
    "transpose_conv_16": transpose_conv,
    "arithmetic_16": arithmetic,
    "pool_16": pool,
    "mean_16": mean,
    "softmax_16": softmax,
    "sigmoid_16": sigmoid,
    "leaky_16": leaky,
}
