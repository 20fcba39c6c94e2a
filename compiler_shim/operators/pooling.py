"""Pooling, reduction, and operators along one dimension."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators import int16
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.windows import window_attributes, window_grid
from dlasim.sim.arithmetic.numerics import mean_multiplier, single_rounding_multiplier, softmax_table

_SCALE_TOLERANCE = 0.001  # TensorFlow's, for int16: its converter writes 1/65535


def pool(op: BoundOperator) -> list[KernelCall]:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    if int16.is_int16(op):
        return int16.pool(op)
    op.types(op.input(), "int8")
    height, width = op.option("filter_height"), op.option("filter_width")
    return [
        op.call(
            op.kind,
            op.input_numbers,
            **window_attributes(op, height, width),
            filter_height=height,
            filter_width=width,
            **({"halves_up": int(op.input().is_unsigned)} if op.kind == "AVERAGE_POOL_2D" else {}),
            **op.clamp(),
        )
    ]


def mean(op: BoundOperator) -> list[KernelCall]:
    """MEAN over constant axes."""
    values, output = op.input(), op.output()
    axes = {op.axis(axis, len(values.shape)) for axis in op.integers(1)}
    if int16.is_int16(op):
        return int16.mean(op, axes)
    op.types(values, "int8")
    count = 1
    for axis in axes:
        count *= values.shape[axis]
    ratio = op.scale(values) / op.scale(output)
    op.multiplier(ratio)  # refuses what is too large
    once = single_rounding_multiplier(ratio / count) if op.rounds_once else (0, -1)
    multiplier, shift = once if once[1] == 0 else mean_multiplier(ratio, count)
    return [
        op.call(
            "MEAN",
            op.input_numbers[:1],
            axis_mask=sum(1 << axis for axis in axes),
            input_zero_point=op.zero_point(values),
            output_zero_point=op.zero_point(output),
            output_multiplier=multiplier,
            output_shift=shift,
        )
    ]


def softmax(op: BoundOperator) -> list[KernelCall]:
    """SOFTMAX."""
    if int16.is_int16(op):
        return int16.softmax(op)
    values, output = op.input(), op.output()
    if values.dtype == "float32":
        op.same_types(values, output)
        beta = op.option("beta")
        op.require(beta > 0, f"its beta must be above 0 (got {beta:g})")
        return [op.call("SOFTMAX_FLOAT", op.input_numbers, beta=beta)]
    op.types(values, "int8")
    op.types(output, "int8", "int16")
    found = (op.scale(output), op.zero_point(output))
    steps, tolerance = (256, 0.0) if output.dtype == "int8" else (65536, _SCALE_TOLERANCE)
    fits = abs(found[0] * steps - 1) <= tolerance and found[1] == -steps // 2
    op.require(fits, f"output has scale and zero point {found}, not (1/{steps}, {-steps // 2})")
    table = softmax_table(float(np.float32(op.option("beta"))), op.scale(values))
    return [op.call("SOFTMAX", (op.input_numbers[0], op.new_constant("exponentials", table)))]


def arg_max(op: BoundOperator) -> list[KernelCall]:
    """ARG_MAX; what the DLA may search in is found as int32."""
    values = op.input()
    op.types(values, "int8", "int32", "int64", "float32")
    op.types(op.output(), "int32", "int64")
    axes = op.integers(1)
    op.require(len(axes) == 1, f"it must have 1 axis (got {len(axes)})")
    axis, output = op.axis(axes[0], len(values.shape)), op.output()
    if values.dtype != "int8" or output.dtype == "int32":
        return [op.call("ARG_MAX", op.input_numbers[:1], axis=axis)]
    found = Tensor(f"{output.name}/int32", output.shape, "int32")
    return [op.call("ARG_MAX", op.input_numbers[:1], (found,), axis=axis), op.call("CAST", (found,))]


def pool_shape(op: BoundOperator) -> list[Shape]:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    shape = op.shape(0, 4)
    height, width = op.option("filter_height"), op.option("filter_width")
    op.require(height >= 1 and width >= 1, f"the filter must be at least 1x1 (got {height}x{width})")
    return [(*window_grid(op, shape, height, width), shape[3])]


def mean_shape(op: BoundOperator) -> list[Shape]:
    """MEAN and other reductions over constant axes."""
    shape = op.shape(0)
    axes = {op.axis(axis, len(shape)) for axis in op.integers(1)}
    keep = op.option("keep_dims")
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes]
    return [tuple(sizes)]


def arg_max_shape(op: BoundOperator) -> list[Shape]:
    """ARG_MAX: the axis goes."""
    shape = op.shape(0)
    axis = op.axis(op.scalar(1), len(shape))
    return [shape[:axis] + shape[axis + 1 :]]
