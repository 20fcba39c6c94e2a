"""Operators whose inputs are all constant, computed at import: mostly the arithmetic of open shapes.

The kernels are those that the simulator runs on the host. Leaving an operator in place is always right, so
whatever is unusual stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.graph import Graph, Tensor
from dlasim.compiler_shim.tflite.schema import OPERATORS
from dlasim.compiler_shim.tflite.shape_step import Step
from dlasim.errors import DlasimError

Values = list[NDArray[Any]]
# Operators whose work is in proportion to what they read and write: no file can make import take long.
_FOLDED = frozenset(
    {
        "ABS",
        "ADD",
        "CAST",
        "CONCATENATION",
        "DEQUANTIZE",
        "DIV",
        "EXPAND_DIMS",
        "FLOOR_DIV",
        "GATHER",
        "MAXIMUM",
        "MINIMUM",
        "MUL",
        "PACK",
        "PAD",
        "QUANTIZE",
        "RESHAPE",
        "SLICE",
        "SPLIT",
        "SPLIT_V",
        "SQUEEZE",
        "STRIDED_SLICE",
        "SUB",
        "TRANSPOSE",
        "UNPACK",
    }
)
# Shapes are short. Nothing else may grow, or a small file could ask for gigabytes.
_MAX_GROWN_ELEMENTS = 1 << 16


def fold(step: Step, tensors: Sequence[Tensor]) -> Values | None:
    """The operator's results if they are known before the first inference, else None.

    `tensors` are the graph's, those of the operator's outputs with their shapes settled.
    """
    outputs = [tensors[index] for index in step.operator.outputs]
    if step.operator.kind == "SHAPE" and outputs[0].dtype in ("int32", "int64"):
        return [np.asarray(step.shape(0), dtype=outputs[0].dtype)]
    if not _is_foldable(step, outputs):
        return None
    try:
        return _computed(step, tensors)
    except DlasimError:
        # The host cannot compute it; placement will say so if it matters.
        return None


def _is_foldable(step: Step, outputs: Sequence[Tensor]) -> bool:
    inputs = [tensor for tensor in step.inputs if tensor is not None]
    if step.operator.kind not in _FOLDED or not inputs or not all(tensor.is_constant for tensor in inputs):
        return False
    elements = sum(math.prod(output.shape) for output in outputs)
    most = max(_MAX_GROWN_ELEMENTS, sum(tensor.elements for tensor in inputs))
    return elements <= most and _types_fit(step, outputs)


def _types_fit(step: Step, outputs: Sequence[Tensor]) -> bool:
    """Whether operands that must share a type do so, whichever it is."""
    signature = OPERATORS[step.operator.kind].signature
    operands = [
        (signature.class_of_input(position), tensor.dtype)
        for position, tensor in enumerate(step.inputs)
        if tensor is not None
    ]
    operands += [(signature.outputs[0][0], output.dtype) for output in outputs]
    shared = {dtype for class_, dtype in operands if class_ in "xq"}
    return len(shared) <= 1 and all(
        dtype in ("int32", "int64") for class_, dtype in operands if class_ == "i"
    )


def _computed(step: Step, tensors: Sequence[Tensor]) -> Values:
    # Most models have nothing to fold, and need not wait for the kernels.
    from dlasim.compiler_shim.operators import lower_host
    from dlasim.sim.host import TensorSpec, run_host_op

    graph = Graph("", tuple(tensors), (step.operator,), (), ())
    found: dict[int, NDArray[Any]] = {}
    for call in lower_host(step.operator, graph):
        operands = [tensors[operand] if isinstance(operand, int) else operand for operand in call.inputs]
        specs = [TensorSpec(tensors[index].shape, tensors[index].dtype) for index in call.outputs]
        data = [np.asarray(operand.data) for operand in operands]
        found |= zip(call.outputs, run_host_op(call.code, call.attributes, data, specs), strict=True)
    return [found[index] for index in step.operator.outputs]
