"""Variables that operators write, in single-assignment form.

In the file, a variable is one buffer: an operator may read what the inference before left in it, and a later
one overwrite it. No pass after this needs to know of that order: within an inference a variable keeps its old
value, the new one is a tensor of its own, and the last operators copy it. SVDF alone updates in place.
"""

from __future__ import annotations

from dataclasses import replace

from dlasim.compiler_shim.network.graph import Graph, Operator
from dlasim.compiler_shim.tflite.writer import variable_tensors


def separate_states(graph: Graph) -> Graph:
    """The graph with a tensor of its own for the new value of each variable, behind those of the file."""
    written = {index for operator in graph.operators for index in operator.outputs}
    states = sorted(variable_tensors(graph) & written)
    if not states:
        return graph
    new = {state: len(graph.tensors) + position for position, state in enumerate(states)}
    tensors = [replace(graph.tensors[state], name=f"{graph.tensors[state].name}/next") for state in states]
    operators, current = [], dict[int, int]()
    for operator in graph.operators:
        inputs = tuple(current.get(index, index) for index in operator.inputs)
        current |= {index: new[index] for index in operator.outputs if index in new}
        outputs = tuple(new.get(index, index) for index in operator.outputs)
        operators.append(replace(operator, inputs=inputs, outputs=outputs))
    operators += [_copy(graph, state, new[state]) for state in states]
    outputs = tuple(new.get(index, index) for index in graph.outputs)
    return replace(graph, tensors=(*graph.tensors, *tensors), operators=tuple(operators), outputs=outputs)


def _copy(graph: Graph, state: int, source: int) -> Operator:
    shape = graph.tensors[state].shape
    return Operator("RESHAPE", (source,), (state,), {"new_shape": shape}, f"update of variable {state}")
