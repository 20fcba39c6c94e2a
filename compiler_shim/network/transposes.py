"""Transposes before a product of matrices that only make its operand a transposed one.

BATCH_MATMUL takes either form. On the DLA the depth of an operand must be its last dimension; where that is
so before a TRANSPOSE but not after it, the TRANSPOSE leaves the last two dimensions as they are instead.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor

_FLAGS = ("adj_x", "adj_y")


def fold_transposes(graph: Graph) -> Graph:
    """The graph with the other form of such products; new tensors come after those of the file."""
    uses = Counter(index for operator in graph.operators for index in operator.inputs) + Counter(
        graph.outputs
    )
    writers = {operator.outputs[0]: operator for operator in graph.operators if operator.kind == "TRANSPOSE"}
    tensors = list(graph.tensors)
    replaced: dict[int, Operator] = {}
    for operator in graph.operators:
        if operator.kind != "BATCH_MATMUL":
            continue
        inputs, options = list(operator.inputs), dict(operator.options)
        for position, flag in enumerate(_FLAGS):
            writer = writers.get(inputs[position])
            is_deep_last = bool(options.get(flag, False)) == bool(position)
            if writer is None or is_deep_last or uses[inputs[position]] != 1:
                continue
            found = _kept(tensors, writer)
            if found is not None:
                replaced[id(writer)] = found
                inputs[position], options[flag] = found.outputs[0], not options.get(flag, False)
        if tuple(inputs) != operator.inputs:
            replaced[id(operator)] = replace(operator, inputs=tuple(inputs), options=options)
    if not replaced:
        return graph
    operators = tuple(replaced.get(id(operator), operator) for operator in graph.operators)
    return replace(graph, tensors=tuple(tensors), operators=operators)


def _kept(tensors: list[Tensor], writer: Operator) -> Operator | None:
    """The TRANSPOSE without its change of the last two dimensions, if that leaves the last where it is."""
    order, result = tensors[writer.inputs[1]].data, tensors[writer.outputs[0]]
    rank = len(result.shape)
    if order is None or rank < 2:
        return None
    axes = [int(axis) % rank for axis in order.ravel()]
    if axes[-2] != rank - 1:
        return None
    axes[-2:] = axes[:-3:-1]
    shape = (*result.shape[:-2], result.shape[-1], result.shape[-2])
    tensors.append(Tensor(f"{result.name}/order", (rank,), "int32", None, np.array(axes, np.int32)))
    tensors.append(replace(result, name=f"{result.name}/kept", shape=shape))
    return replace(writer, inputs=(writer.inputs[0], len(tensors) - 2), outputs=(len(tensors) - 1,))
