"""Operators that look along dimensions: reductions, running sums, orders, and what is relative to a row."""

from __future__ import annotations

import numpy as np

from dlasim.isa.host_ops import ReduceFunction
from dlasim.sim import numerics
from dlasim.sim.host.call import Array, Call
from dlasim.sim.numerics import INT8_MAX, INT8_MIN, limit, requant, wrap32


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


_REDUCE = {
    ReduceFunction.SUM: np.add,
    ReduceFunction.PROD: np.multiply,
    ReduceFunction.MAX: np.maximum,
    ReduceFunction.MIN: np.minimum,
    ReduceFunction.ANY: np.logical_or,
    ReduceFunction.ALL: np.logical_and,
}


def reduce(call: Call) -> list[Array]:
    """REDUCE; floats in the order in which TensorFlow takes them, one after the other."""
    values, attributes = call.inputs[0], call.attributes
    kept = [axis for axis in range(values.ndim) if not attributes.axis_mask >> axis & 1]
    reduced = [axis for axis in range(values.ndim) if attributes.axis_mask >> axis & 1]
    rows = values.transpose(*kept, *reduced).reshape(*(values.shape[axis] for axis in kept), -1)
    function = _REDUCE[attributes.function]
    result = rows[..., 0].copy()
    for position in range(1, rows.shape[-1]):
        function(result, rows[..., position], out=result)
    return [result]


def cumulative_sum(call: Call) -> list[Array]:
    """CUMULATIVE_SUM."""
    values, at = call.inputs[0], call.attributes
    terms = np.moveaxis(values, at.axis, 0)
    terms = terms[::-1] if at.reverse else terms
    sums, total = np.empty_like(terms), np.zeros_like(terms[0])
    for position, term in enumerate(terms):
        after = total + term
        sums[position] = total if at.exclusive else after
        total = after
    return [np.moveaxis(sums[::-1] if at.reverse else sums, 0, at.axis)]


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
    results = []
    for row, total in zip(rows, wrap32((rows * rows).sum(-1)).tolist(), strict=True):
        multiplier, shift = numerics.inverse_square_root(total)
        scaled = requant(row << early, multiplier, shift + 7 - early)
        results.append(limit(scaled, 0, INT8_MIN, INT8_MAX))
    return [np.array(results, np.int8)]


KERNELS = {
    "softmax": softmax,
    "arg_max": arg_max,
    "reduce": reduce,
    "cumulative_sum": cumulative_sum,
    "top_k": top_k,
    "l2_normalization": l2_normalization,
}
