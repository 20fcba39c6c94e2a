"""The output shapes of each operator, from its inputs: resolves open dimensions and catches contradictions.

The rules are those of TensorFlow's own kernels when they prepare; a model that passes here gives later passes
no shape that does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dlasim.compiler_shim.tflite import shapes_compute as compute
from dlasim.compiler_shim.tflite import shapes_move as move
from dlasim.compiler_shim.tflite.shape_step import Shape, Step

_MAX_ELEMENTS = (1 << 31) - 1
Rule = Callable[[Step], list[Shape]]


def infer_shapes(step: Step) -> list[Shape] | None:
    """The shapes of the operator's outputs; None for an operator that is not known."""
    rule = RULES.get(step.operator.kind)
    if rule is None:
        return None
    shapes = rule(step)
    for shape in shapes:
        step.require(all(size > 0 for size in shape), f"its output would have shape {list(shape)}")
        step.require(math.prod(shape) <= _MAX_ELEMENTS, f"its output {list(shape)} is larger than 2 GiB")
    count = len(step.operator.outputs)
    step.require(len(shapes) == count, f"it has {count} outputs, its inputs and options give {len(shapes)}")
    return shapes


_UNARY = (
    "ABS CAST DEQUANTIZE HARD_SWISH LEAKY_RELU LOGISTIC NEG QUANTIZE RELU RELU6 RELU_N1_TO_1 SOFTMAX SQRT "
    "TANH"
)
_BINARY = "ADD DIV FLOOR_DIV MAXIMUM MINIMUM MUL SUB"
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_UNARY.split(), compute.same),
    **dict.fromkeys(_BINARY.split(), compute.broadcast),
    "ARG_MAX": compute.arg_max,
    "AVERAGE_POOL_2D": compute.pool,
    "CONCATENATION": move.concatenation,
    "CONV_2D": compute.convolution,
    "DEPTHWISE_CONV_2D": compute.depthwise,
    "EXPAND_DIMS": move.expand_dims,
    "FULLY_CONNECTED": compute.fully_connected,
    "GATHER": move.gather,
    "GATHER_ND": move.gather_nd,
    "MAX_POOL_2D": compute.pool,
    "MEAN": compute.mean,
    "PACK": move.pack,
    "PAD": move.pad,
    "PADV2": move.pad,
    "PRELU": compute.prelu,
    "RESHAPE": move.reshape,
    "RESIZE_BILINEAR": move.resize,
    "RESIZE_NEAREST_NEIGHBOR": move.resize,
    "SHAPE": move.shape,
    "SLICE": move.slice_,
    "SPLIT": move.split,
    "SPLIT_V": move.split_v,
    "SQUEEZE": move.squeeze,
    "STRIDED_SLICE": move.strided_slice,
    "SVDF": compute.svdf,
    "TILE": move.tile,
    "TRANSPOSE": move.transpose,
    "TRANSPOSE_CONV": compute.transpose_convolution,
    "UNPACK": move.unpack,
}
