"""Products of two matrices that the network computes."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.int16 import MAX_INT64_SHIFT, is_int16
from dlasim.errors import InputError


def batch_matmul(op: BoundOperator) -> list[KernelCall]:
    """BATCH_MATMUL."""
    first, second, output = op.input(0), op.input(1), op.output()
    if is_int16(op):
        return [_batch_matmul16(op)]
    for tensor in (first, second, output):
        op.types(tensor, "int8")
    product = op.factor(first) * op.factor(second)
    if op.is_litert:  # TFLite Micro's product is a float64
        product = float(np.float32(product))
    multiplier, shift = op.product_multiplier(product / op.scale(output))
    return [
        op.call(
            "BATCH_MATMUL",
            op.input_numbers,
            input1_zero_point=op.zero_point(first),
            input2_zero_point=op.zero_point(second),
            output_zero_point=op.zero_point(output),
            output_multiplier=multiplier,
            output_shift=shift,
            transposed1=int(op.option("adj_x")),
            transposed2=int(op.option("adj_y")),
        )
    ]


def _batch_matmul16(op: BoundOperator) -> KernelCall:
    is_int16(op, 1)
    op.types(op.input(1), "int16")
    product = op.factor(op.input(0)) * op.factor(op.input(1))
    if op.is_litert:
        product = float(np.float32(product))
    multiplier, shift = op.product_multiplier(product / op.scale(op.output()))
    op.require(shift <= MAX_INT64_SHIFT, f"its scales give a factor of 2^{MAX_INT64_SHIFT} or more")
    return op.call(
        "BATCH_MATMUL_16",
        op.input_numbers,
        output_multiplier=multiplier,
        output_shift=shift,
        transposed1=int(op.option("adj_x")),
        transposed2=int(op.option("adj_y")),
    )


def batch_matmul_shape(op: BoundOperator) -> list[Shape]:
    """BATCH_MATMUL: the last two dimensions are matrices, those before them batches that broadcast."""
    first, second = op.shape(0), op.shape(1)
    shapes = f"{list(first)} and {list(second)}"
    op.require(min(len(first), len(second)) >= 2, f"both inputs need 2 dimensions or more (got {shapes})")
    rows, depth = first[-2:] if not op.option("adj_x") else first[:-3:-1]
    other_depth, columns = second[-2:] if not op.option("adj_y") else second[:-3:-1]
    op.require(depth == other_depth, f"rows and columns must be equally long (got {depth} and {other_depth})")
    try:
        return [(*np.broadcast_shapes(first[:-2], second[:-2]), rows, columns)]
    except ValueError:
        raise InputError(f"{op.where}: batches {list(first)} and {list(second)} do not match") from None


def batch_matmul_macs(op: BoundOperator) -> int:
    """Multiply-accumulates of BATCH_MATMUL."""
    return op.output().elements * op.shape(0)[-2 if op.option("adj_x") else -1]
