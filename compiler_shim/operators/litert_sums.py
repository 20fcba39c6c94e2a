"""FULLY_CONNECTED as LiteRT's reference kernel rounds it: sums times a float64, halves away from zero."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall
from dlasim.compiler_shim.operators.step_search import as_bytes, hits_all, near_pairs, step_points, sum_bounds
from dlasim.sim.arithmetic.numerics import (
    INT32_MAX,
    INT32_MIN,
    Integers,
    quantize_multiplier,
    scaled_once,
    single_rounding_multiplier,
)

Bounds = tuple[int, int]


def rounded(op: BoundOperator, records: Tensor) -> tuple[Tensor, bool]:
    """The records of FULLY_CONNECTED with such multipliers, and whether they are for `requant` of the DLA.

    If some channel has no such multiplier, all are for one rounding, which only the CPU has.
    """
    values, weights, output = op.input(0), op.input(1), op.output()
    found = np.array(records.data, np.int32)
    bias = found[:, 0].astype(np.int64)
    quantization = op.quantization(weights, may_be_zero=True)
    scales = np.broadcast_to(np.array(quantization.scales, np.float64), bias.shape)
    factors = (op.factor(values) * scales / op.scale(output)).tolist()
    centred = op.constant(1).astype(np.int64) - quantization.zero_points[0]
    low, high = sum_bounds(centred, bias, op.zero_point(values))
    if low.min() < INT32_MIN or high.max() > INT32_MAX:  # sums wrap, and so may be any
        low, high = np.full_like(low, INT32_MIN), np.full_like(high, INT32_MAX)
    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    zero_point = op.zero_point(output)
    pairs = [_pair(*each, zero_point) for each in zip(factors, bounds, strict=True)]
    for_requant = all(pair is not None for pair in pairs)
    if not for_requant:
        pairs = [_pair_once(*each, zero_point) for each in zip(factors, bounds, strict=True)]
        op.require(None not in pairs, "its scales give a factor that no integer stands for as LiteRT rounds")
    found[:, 1:] = np.array(pairs)
    return op.new_constant("records", found), for_requant


def on_cpu(op: BoundOperator, records: Tensor) -> list[KernelCall]:
    """The sums, and what rounds them once, which the CPU does."""
    is_centred = not any(op.quantization(op.input(1), may_be_zero=True).zero_points)
    op.require(is_centred, "with a zero point of its weights, some sums cannot be rounded as LiteRT does")
    sums = Tensor(f"{op.output().name}/int32", op.output().shape, "int32")
    point = op.zero_point(op.input(0))
    return [
        op.call("MATRIX_SUMS", (*op.input_numbers[:2], records), (sums,), input_zero_point=point),
        op.call(
            "REQUANT",
            (sums, records),
            output_zero_point=op.zero_point(op.output()),
            **op.clamp(),
            rounds_once=1,
        ),
    ]


def _expected(factor: float, bounds: Bounds, zero_point: int) -> tuple[Integers, Integers]:
    """Sums around each step, and the bytes that LiteRT makes of them."""
    points = step_points(factor, zero_point, *bounds)
    real = points * factor
    steps = np.copysign(np.floor(np.abs(real) + 0.5), real).clip(-(2.0**40), 2.0**40)
    return points, as_bytes(steps.astype(np.int64), zero_point)


def _pair(factor: float, bounds: Bounds, zero_point: int) -> tuple[int, int] | None:
    points, expected = _expected(factor, bounds, zero_point)
    starts = dict.fromkeys((single_rounding_multiplier(factor), quantize_multiplier(factor)))
    found = (pair for start in starts for pair in near_pairs(start))
    return next((pair for pair in found if hits_all(pair, points, expected, zero_point)), None)


def _pair_once(factor: float, bounds: Bounds, zero_point: int) -> tuple[int, int] | None:
    points, expected = _expected(factor, bounds, zero_point)
    found = (pair for pair in near_pairs(quantize_multiplier(factor)) if -31 <= pair[1] <= 0)
    hits = (
        pair for pair in found if np.array_equal(as_bytes(scaled_once(points, *pair), zero_point), expected)
    )
    return next(hits, None)
