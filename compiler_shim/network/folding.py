"""Operators whose inputs are all constant, computed at import: mostly the arithmetic of dynamic shapes.

The kernels are those that the simulator runs on the host. Leaving an operator in place is always right, so
whatever is unusual stays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.files.constant_budget import ConstantBudget
from dlasim.compiler_shim.operators.bound import BoundOperator
from dlasim.compiler_shim.operators.definition import CLASSES, Trait
from dlasim.compiler_shim.operators.host_calls import lower
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.errors import DlasimError

Values = list[NDArray[Any]]
# Shapes are short. Nothing else may grow, or a small file could ask for gigabytes.
_MAX_GROWN_ELEMENTS = 1 << 16


def fold(op: BoundOperator, budget: ConstantBudget) -> Values | None:
    """The results of an operator with known shapes if all that it reads is known, else None."""
    if op.kind == "SHAPE" and op.output().dtype in ("int32", "int64"):
        return [np.asarray(op.shape(0), dtype=op.output().dtype)]
    finds_places = op.kind == "WHERE" and op.output().dtype == "int64"
    if not finds_places and not _is_foldable(op):
        return None
    read = sum(tensor.size_bytes for tensor in op.inputs if tensor is not None)
    budget.spend(read + sum(output.size_bytes for output in op.outputs), op.where)
    if finds_places:
        return [np.argwhere(op.constant(0)).astype(np.int64)]
    try:
        return evaluate(op)
    except DlasimError:
        # The host cannot compute it; placement will say so if it matters.
        return None


def _is_foldable(op: BoundOperator) -> bool:
    inputs = [tensor for tensor in op.inputs if tensor is not None]
    folds = Trait.FOLDS in OPERATORS[op.kind].traits
    if not folds or not inputs or not all(tensor.is_constant for tensor in inputs):
        return False
    elements = sum(math.prod(output.shape) for output in op.outputs)
    most = max(_MAX_GROWN_ELEMENTS, sum(tensor.elements for tensor in inputs))
    return elements <= most and _types_fit(op)


def _types_fit(op: BoundOperator) -> bool:
    """Whether operands that must share a type do so, whichever it is."""
    classes = OPERATORS[op.kind].signature.classes(len(op.inputs), len(op.outputs))
    tensors = zip(classes, (*op.inputs, *op.outputs), strict=True)
    operands = [(class_, tensor.dtype) for class_, tensor in tensors if tensor is not None]
    shared = {dtype for class_, dtype in operands if class_ in "xq"}
    return len(shared) <= 1 and all(dtype in CLASSES["i"] for class_, dtype in operands if class_ == "i")


def evaluate(op: BoundOperator) -> Values:
    """The results of an operator whose inputs are all known."""
    # Most models have nothing to fold, and need not wait for the kernels.
    from dlasim.sim.host import TensorSpec, run_host_op

    tensors = dict(zip(op.input_numbers, op.inputs, strict=True))
    outputs = {
        number: TensorSpec(tensor.shape, tensor.dtype)
        for number, tensor in zip(op.output_numbers, op.outputs, strict=True)
    }
    found: dict[int, NDArray[Any]] = {}
    for call in lower(op):
        operands = [tensors[operand] if isinstance(operand, int) else operand for operand in call.inputs]
        written = [index for index in call.outputs if isinstance(index, int)]
        specs = [outputs[index] for index in written]
        data = [np.asarray(operand.data) for operand in operands if operand is not None]
        found |= zip(written, run_host_op(call.code, call.words, data, specs), strict=True)
    return [found[index] for index in op.output_numbers]
