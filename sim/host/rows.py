"""Operators that look along dimensions: reductions, running sums, orders, and what is relative to a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dlasim.isa.host_op_rows import SUM_LEFT_SHIFT, ReduceFunction
from dlasim.sim.arithmetic import numerics
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, limit, requant, wrap32
from dlasim.sim.host.call import Array, Call


def softmax(call: Call) -> list[Array]:
    """SOFTMAX."""
    values, table = call.inputs
    return [numerics.softmax(values, table, 8 * call.dtype.itemsize)]


def arg_max(call: Call) -> list[Array]:
    """ARG_MAX."""
    values, axis = call.inputs[0], call.attributes.axis
    if values.dtype.kind != "f":
        return [np.argmax(values, axis=axis).astype(call.dtype)]
    # Nothing is greater than NaN, nor NaN than anything.
    greatest = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=axis)
    return [np.where(np.isnan(values.take(0, axis)), 0, greatest).astype(call.dtype)]


_REDUCE: Mapping[int, Callable[[Array, Array], Array]] = {
    ReduceFunction.SUM: np.add,
    ReduceFunction.PROD: np.multiply,
    ReduceFunction.MAX: lambda result, values: np.where(values > result, values, result),
    ReduceFunction.MIN: lambda result, values: np.where(values < result, values, result),
    ReduceFunction.ANY: np.logical_or,
    ReduceFunction.ALL: np.logical_and,
}


def reduce(call: Call) -> list[Array]:
    """REDUCE; floats in the order in which TensorFlow takes them, one after the other."""
    result, *others = _columns_of(call.inputs[0], call.attributes.axis_mask)
    function = _REDUCE[call.attributes.function]
    for values in others:
        result = function(result, values)
    return [result]


def _columns_of(values: Array, axis_mask: int) -> list[Array]:
    """What is combined, in the order of the reduced dimensions."""
    kept = [axis for axis in range(values.ndim) if not axis_mask >> axis & 1]
    reduced = [axis for axis in range(values.ndim) if axis_mask >> axis & 1]
    rows = values.transpose(*kept, *reduced).reshape(*(values.shape[axis] for axis in kept), -1)
    return [rows[..., position] for position in range(rows.shape[-1])]


def cumulative_sum(call: Call) -> list[Array]:
    """CUMULATIVE_SUM."""
    values, at = call.inputs[0], call.attributes
    is_rescaled = values.dtype == np.int8
    if is_rescaled:
        values = (values.astype(np.int32) - np.int32(at.input_zero_point)) << np.int32(SUM_LEFT_SHIFT)
    terms = np.moveaxis(values, at.axis, 0)
    terms = terms[::-1] if at.reverse else terms
    sums, total = np.empty_like(terms), np.zeros_like(terms[0])
    if is_rescaled:  # TFLite Micro begins with what an integer of 0 stands for
        total -= np.int32(at.input_zero_point << SUM_LEFT_SHIFT)
    for position, term in enumerate(terms):
        after = total + term
        sums[position] = total if at.exclusive else after
        total = after
    found = np.moveaxis(sums[::-1] if at.reverse else sums, 0, at.axis)
    if is_rescaled:
        scaled = requant(found, at.output_multiplier, at.output_shift)
        found = limit(scaled, at.output_zero_point, INT8_MIN, INT8_MAX)
    return [found]


def product(call: Call) -> list[Array]:
    """PRODUCT."""
    values, at = call.inputs[0].astype(np.int64) - call.attributes.input_zero_point, call.attributes
    scale = at.output_multiplier, at.output_shift
    result, *others = _columns_of(values, at.axis_mask)
    for factor in others:
        result = numerics.rescaled_narrowly(result * factor, *scale)
    limits = np.iinfo(call.dtype.name)
    moved = numerics.rescaled_narrowly(result, *scale) + at.output_zero_point
    return [np.clip(moved, limits.min, limits.max).astype(call.dtype)]


def top_k(call: Call) -> list[Array]:
    """TOP_K."""
    values, count = call.inputs[0], call.shape[-1]
    order = np.argsort(-values.astype(np.float64 if values.dtype.kind == "f" else object), -1, kind="stable")
    chosen = order[..., :count]
    return [np.take_along_axis(values, chosen, -1), chosen.astype(np.int32)]


def l2_normalization(call: Call) -> list[Array]:
    """L2_NORMALIZATION."""
    values = call.inputs[0].astype(np.int64) - call.attributes.input_zero_point
    rows, early = values.reshape(-1, values.shape[-1]), call.attributes.early_bits
    roots = map(numerics.inverse_square_root, wrap32((rows * rows).sum(-1)).tolist())
    multipliers, shifts = np.array(list(roots), np.int64).T[..., np.newaxis]
    scaled = requant(rows << early, multipliers, shifts + 7 - early)
    return [limit(scaled, 0, INT8_MIN, INT8_MAX)]


_UNIT_BITS, _VARIANCE_BITS = 21, 12  # below the point: of a normalized number, of a variance


def normalize(call: Call) -> list[Array]:
    """NORMALIZE."""
    (values, records), at = call.inputs, call.attributes
    centred = values.astype(np.int64) - at.input_zero_point
    rows, count = centred.reshape(-1, values.shape[-1]), values.shape[-1]
    sums = rows.sum(-1) * at.is_centred
    variances = count * (rows * rows).sum(-1) - sums * sums
    epsilon = (at.epsilon_high << 32) + (at.epsilon_low & 0xFFFF_FFFF)
    units = np.empty_like(rows)
    for row, (total, variance) in enumerate(zip(sums, variances.tolist(), strict=True)):
        root, exponent = numerics.wide_inverse_square_root((variance << _VARIANCE_BITS) + epsilon)
        left = 1 + _UNIT_BITS + _VARIANCE_BITS // 2 + exponent
        units[row] = ((rows[row] * count - total << left) * root) >> 32
    factor, offset = records.astype(np.int64)[np.arange(rows.size) // at.repeat % len(records)].T
    found = (units.ravel() * factor + (offset << at.offset_shift) + (1 << (at.shift - 1))) >> at.shift
    limited = np.clip(found + at.output_zero_point, INT8_MIN, INT8_MAX)
    return [limited.astype(np.int8).reshape(call.shape)]


KERNELS = {
    "softmax": softmax,
    "arg_max": arg_max,
    "reduce": reduce,
    "cumulative_sum": cumulative_sum,
    "product": product,
    "top_k": top_k,
    "l2_normalization": l2_normalization,
    "normalize": normalize,
}
