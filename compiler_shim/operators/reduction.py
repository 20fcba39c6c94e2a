"""Operators that reduce dimensions, add along one, or order and scale rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.isa.host_op_rows import SUM_LEFT_SHIFT, ReduceFunction
from dlasim.sim.arithmetic.numerics import wrap32

_MAX_PRODUCT_SHIFT = 7  # of the fixed point in which TFLite multiplies int64
_FUNCTIONS = {
    "SUM": ReduceFunction.SUM,
    "REDUCE_PROD": ReduceFunction.PROD,
    "REDUCE_MAX": ReduceFunction.MAX,
    "REDUCE_MIN": ReduceFunction.MIN,
    "REDUCE_ANY": ReduceFunction.ANY,
    "REDUCE_ALL": ReduceFunction.ALL,
}


def reduction(op: BoundOperator) -> list[KernelCall]:
    """REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY and REDUCE_ALL, and SUM of what has no scale."""
    values, output = op.input(), op.output()
    int16 = ("int16",) if op.kind in ("REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD") else ()
    op.types(values, "int8", "int32", "int64", "bool", "float32", *int16)
    if values.dtype in ("int8", "int16") and op.kind == "REDUCE_PROD":
        return [_product(op, values, output)]
    if values.dtype in ("int8", "int16"):
        op.require(_scale(op, values) == _scale(op, output), "its output must have the scale of its input")
    return [
        op.call("REDUCE", op.input_numbers[:1], function=_FUNCTIONS[op.kind], axis_mask=_mask(op, values))
    ]


def _product(op: BoundOperator, values: Tensor, output: Tensor) -> KernelCall:
    """Each factor is rescaled by the n-th part of the whole, of which the output's scale is the n-th root."""
    op.require(
        not values.is_unsigned, "uint8 is not supported, because no reference kernel computes it with scales"
    )
    count = values.elements // max(output.elements, 1)
    op.require(count > 0, "its input is empty")
    multiplier, shift = op.multiplier(op.scale(values) / op.scale(output) ** (1.0 / count))
    op.require(shift <= _MAX_PRODUCT_SHIFT, "its scales give a factor of 2^7 or more")
    return _rescaled(op, "PRODUCT", (multiplier, shift))


def sum_(op: BoundOperator) -> list[KernelCall]:
    """SUM: of int8 and int16 what MEAN is, but for the division."""
    values, output = op.input(), op.output()
    if values.dtype not in ("int8", "int16"):
        return reduction(op)
    multiplier, shift = op.multiplier(op.scale(values) / op.scale(output))
    if values.dtype == "int16":
        scale = {"output_multiplier": multiplier, "output_shift": shift}
        return [op.call("MEAN_16", op.input_numbers[:1], axis_mask=_mask(op, values), **scale)]
    return [_rescaled(op, "MEAN", (multiplier, shift))]


def _rescaled(op: BoundOperator, name: str, factor: tuple[int, int]) -> KernelCall:
    """A call of a host operator that reduces integers to those of another scale."""
    values = op.input()
    return op.call(
        name,
        op.input_numbers[:1],
        axis_mask=_mask(op, values),
        input_zero_point=op.zero_point(values),
        output_zero_point=op.zero_point(op.output()),
        output_multiplier=factor[0],
        output_shift=factor[1],
    )


def _scale(op: BoundOperator, tensor: Tensor) -> tuple[float, int]:
    return op.scale(tensor), op.zero_point(tensor)


def _mask(op: BoundOperator, values: Tensor) -> int:
    rank = len(values.shape)
    return sum(1 << axis for axis in {op.axis(axis, rank) for axis in op.integers(1)})


def cumulative_sum(op: BoundOperator) -> list[KernelCall]:
    """CUMSUM."""
    values, output = op.input(), op.output()
    op.types(values, "int8", "int32", "int64", "float32")
    names = ("input_zero_point", "output_zero_point", "output_multiplier", "output_shift")
    rescaling = dict.fromkeys(names, 0)
    if values.dtype == "int8":
        pair = op.multiplier(op.scale(values) / ((1 << SUM_LEFT_SHIFT) * op.scale(output)))
        op.require(pair[1] <= 0, "its scales give a factor of 2^19 or more")
        found = (op.zero_point(values), op.zero_point(output), *pair)
        rescaling = dict(zip(names, found, strict=True))
    return [
        op.call(
            "CUMULATIVE_SUM",
            op.input_numbers[:1],
            **rescaling,
            axis=op.axis(op.scalar(1), len(values.shape)),
            exclusive=int(op.option("exclusive")),
            reverse=int(op.option("reverse")),
        )
    ]


def where_shape(op: BoundOperator) -> list[Shape]:
    """WHERE of what is known beforehand; of anything else the size depends on what the network computes."""
    condition = op.input(0)
    if condition.data is None:
        op.refuse("its condition must be constant, because the size of its output depends on it")
    return [(int(np.count_nonzero(condition.data)), len(condition.shape))]


def top_k(op: BoundOperator) -> list[KernelCall]:
    """TOPK_V2."""
    values = op.input()
    op.types(values, "int8", "int16", "int32", "int64", "float32")
    op.types(op.output(1), "int32")
    return [op.call("TOP_K", op.input_numbers[:1])]


def l2_normalization(op: BoundOperator) -> list[KernelCall]:
    """L2_NORMALIZATION."""
    found = (op.scale(op.output()), op.zero_point(op.output()))
    op.require(found == (1 / 128, 0), f"output has scale and zero point {found}, not (1/128, 0)")
    op.require(op.activation == "NONE", f"fused activation {op.activation} is not supported")
    return [
        op.call(
            "L2_NORMALIZATION",
            op.input_numbers,
            input_zero_point=op.zero_point(op.input()),
            early_bits=7 * op.input().is_unsigned,
        )
    ]


def top_k_shape(op: BoundOperator) -> list[Shape]:
    """TOPK_V2: k of each row."""
    shape, count = op.shape(0), op.scalar(1)
    op.require(
        bool(shape) and 1 <= count <= (1, *shape)[-1],
        f"k must be from 1 to {(1, *shape)[-1]}, the input's last dimension (got {count})",
    )
    return [(*shape[:-1], count)] * 2


_UNIT_BITS, _VARIANCE_BITS, _RECORD_BITS = 21, 12, 30  # of NORMALIZE, and of what its records hold
_MOST_OFFSET_SHIFT, _MOST_EPSILON, _LONGEST_ROW = 30, 1 << 56, 1 << 14
_MOST_STEPS = 1 << 17  # of an output, which a factor or offset stands for


def normalization(op: BoundOperator) -> list[KernelCall]:
    """NORMALIZATION: rows with a variance of 1, times a factor and with an offset for each channel.

    Both are real numbers; the channel is that of the element's number divided by `repeat`.
    """
    values, scales = op.input(), (op.scale(op.input()), op.scale(op.output()))
    op.types(op.input(1), "float32")
    op.types(op.input(2), "float32")
    real = [np.asarray(op.constant(position), np.float64).ravel() for position in (1, 2)]
    op.require(real[0].size == real[1].size > 0, "it must have as many factors as offsets")
    count = (1, *op.shape(0))[-1]
    reason = no_integer_normalization(count, op.option("epsilon"), scales, real)
    op.require(not reason, reason)
    epsilon = round(op.option("epsilon") * (count / scales[0]) ** 2 * (1 << _VARIANCE_BITS))
    factors, offsets = (numbers / scales[1] for numbers in real)
    offset_bits = _RECORD_BITS - _bits(offsets)
    shift = min(_RECORD_BITS - _bits(factors) + _UNIT_BITS, offset_bits + _MOST_OFFSET_SHIFT, 62)
    offset_bits = min(offset_bits, shift - 1)
    records = np.stack((np.ldexp(factors, shift - _UNIT_BITS), np.ldexp(offsets, offset_bits)), 1)
    return [
        op.call(
            "NORMALIZE",
            (op.input_numbers[0], op.new_constant("records", np.rint(records).astype(np.int32))),
            input_zero_point=op.zero_point(values),
            output_zero_point=op.zero_point(op.output()),
            is_centred=int(op.option("is_centred")),
            epsilon_low=int(wrap32(epsilon)),
            epsilon_high=epsilon >> 32,
            repeat=op.option("repeat"),
            shift=shift,
            offset_shift=shift - offset_bits,
        )
    ]


def no_integer_normalization(
    count: int, epsilon: float, scales: tuple[float, float], real: Sequence[NDArray[np.float64]]
) -> str:
    """Why integers do not suffice for rows of so many elements between two scales, with such factors and
    offsets; nothing if they do."""
    if not 0 < count <= _LONGEST_ROW:
        return f"a row must have from 1 to {_LONGEST_ROW:,} elements (got {count:,})"
    if not 0 <= epsilon * (count / scales[0]) ** 2 < _MOST_EPSILON >> _VARIANCE_BITS:
        return f"epsilon must be from 0, and not too large for its input scale (got {epsilon:g})"
    most = max(float(np.abs(numbers).max(initial=0)) for numbers in real) / scales[1]
    return "" if most < _MOST_STEPS else f"its factors and offsets reach {most:.3g} steps of its output"


def _bits(values: NDArray[np.float64]) -> int:
    """Bits before the point of the largest; 0 is as small as the smallest float32."""
    return int(np.frexp(max(float(np.abs(values).max()), 1e-38))[1])
