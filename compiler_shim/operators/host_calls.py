"""The table's rules applied to the operators of a graph: shapes, and host calls."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Numerics, Operator, Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.errors import InputError

_MAX_ELEMENTS = (1 << 31) - 1


def bind(
    operator: Operator, tensors: Sequence[Tensor], name: str, numerics: Numerics = Numerics.TFLM
) -> BoundOperator | None:
    """The operator with what it names, None if the table lacks it; `name` is how errors call the model."""
    definition = OPERATORS.get(operator.kind)
    if definition is None:
        return None
    options = operator.options
    if any(field is not None and field.name not in options for field in definition.options.fields):
        options = {**definition.option_defaults, **options}
    inputs = tuple(tensors[index] if index >= 0 else None for index in operator.inputs)
    outputs = tuple(tensors[index] for index in operator.outputs)
    return BoundOperator(operator, inputs, outputs, options, _where(operator, name), numerics)


def infer_shapes(op: BoundOperator) -> list[Shape]:
    """The shapes of the operator's outputs.

    The rules are those of TensorFlow's own kernels when they prepare; a model that passes here gives later
    passes no shape that does not fit.
    """
    shapes = OPERATORS[op.kind].shapes(op)
    for shape in shapes:
        op.require(all(size > 0 for size in shape), f"its output would have shape {list(shape)}")
        op.require(math.prod(shape) <= _MAX_ELEMENTS, f"its output {list(shape)} is larger than 2 GiB")
    count = len(op.outputs)
    op.require(len(shapes) == count, f"it has {count} outputs, but its inputs and options give {len(shapes)}")
    return shapes


def lower(op: BoundOperator) -> list[KernelCall]:
    """The host calls that compute the operator, in order; an InputError where there are none that can."""
    definition = OPERATORS[op.kind]
    if definition.lower is None:
        op.refuse("its result is not known before the first inference, and the CPU has no form of it")
    with np.errstate(over="ignore"):  # beyond float32 is infinite, as in the references
        calls = definition.lower(op)
    names = {call.name for call in calls}
    assert names <= set(definition.host), f"{op.kind} became {names}, its row says {definition.host}"
    return calls


def bind_known(operator: Operator, graph: Graph) -> BoundOperator:
    """As `bind`, for an operator of a graph; an InputError where the table lacks it."""
    name = graph.name or "model"
    op = bind(operator, graph.tensors, name, graph.numerics)
    if op is None:
        raise InputError(f"{_where(operator, name)}: the operator is not supported")
    return op


def _where(operator: Operator, name: str) -> str:
    place = " ".join(part for part in (operator.location, f"({operator.kind})") if part)
    return f"{name}: {place}"
