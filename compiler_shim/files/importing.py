"""A model file to a graph that every later pass can rely on, or one line that says why not.

After import all shapes are fixed and agree with the operators, what can be computed beforehand is constant,
and every operator is one of an int8 network; an operator not known stays, to be refused by name.
"""

from __future__ import annotations

from dataclasses import replace

from dlasim.compiler_shim.files.constant_budget import ConstantBudget
from dlasim.compiler_shim.network.float_updates import update_in_int8
from dlasim.compiler_shim.network.folding import fold
from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor
from dlasim.compiler_shim.network.rewrites import (
    fold_dilation,
    fold_transposes,
    separate_states,
    sink_conversions,
)
from dlasim.compiler_shim.network.unsigned import to_signed
from dlasim.compiler_shim.operators.bound import BoundOperator
from dlasim.compiler_shim.operators.host_calls import bind, infer_shapes
from dlasim.compiler_shim.tflite.reader import ReadModel
from dlasim.compiler_shim.tflite.type_check import TypeCheck
from dlasim.compiler_shim.tflite.writer import variable_tensors


def prepare(model: ReadModel, name: str) -> Graph:
    """The network of a file, checked, with shapes resolved and constants folded; errors call it `name`.

    Tensors keep the numbers that they have in the file, so a folded operator may leave unused ones.
    """
    check = TypeCheck(name)
    # First, so that a float model hears of that before anything else.
    check.inputs(model.graph)
    signed = _signed(model)
    graph = _resolve(replace(signed, graph=fold_dilation(separate_states(signed.graph))), name)
    graph = update_in_int8(sink_conversions(fold_transposes(graph)))
    check.operators(graph)
    check.interface(graph)
    return graph


def _signed(model: ReadModel) -> ReadModel:
    """The model with int8 for uint8; a new tensor has a dynamic shape if the one that it replaces has."""
    graph = to_signed(model.graph)
    new = range(len(model.graph.tensors), len(graph.tensors))
    open_shapes = model.open_shapes.union(new) if model.open_shapes else model.open_shapes
    return replace(model, graph=graph, open_shapes=open_shapes)


def _resolve(model: ReadModel, name: str) -> Graph:
    """Walks the operators once: shapes flow forward, and so do constants, on which shapes depend."""
    tensors = list(model.graph.tensors)
    variables = variable_tensors(model.graph)
    kept: list[Operator] = []
    # What tensors share in the file counts each time here, but the reader has bounded that.
    budget = ConstantBudget(sum(tensor.size_bytes for tensor in tensors if tensor.is_constant))
    for operator in model.graph.operators:
        op = bind(operator, tensors, name, model.graph.numerics)
        values = None
        if op is not None:
            _infer_shapes(op, tensors, model.open_shapes)
            if not variables.intersection(operator.outputs):
                values = fold(
                    replace(op, outputs=tuple(tensors[index] for index in operator.outputs)), budget
                )
        if values is None:
            kept.append(operator)
            continue
        for index, value in zip(operator.outputs, values, strict=True):
            tensors[index] = replace(tensors[index], data=value)
    return replace(model.graph, tensors=tuple(tensors), operators=tuple(kept))


def _infer_shapes(op: BoundOperator, tensors: list[Tensor], open_shapes: frozenset[int]) -> None:
    for index, shape in zip(op.output_numbers, infer_shapes(op), strict=True):
        declared = tensors[index].shape
        # TensorFlow's exporter does not know the shapes of what ends a detection network: its options tell.
        is_open = index in open_shapes or op.kind == "DETECTION_POSTPROCESS"
        op.require(
            declared == shape or is_open,
            f"its output is declared {list(declared)}, but its inputs and options give {list(shape)}",
        )
        tensors[index] = replace(tensors[index], shape=shape)
