"""DYNAMIC_UPDATE_SLICE in float32 between conversions, as TensorFlow's converter leaves it, run in int8.

It only picks elements, so conversions in front of it give the same. They convert nothing where the scales are
equal but for a rounding, as those of a cache and of its rows are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.float_tables import FloatTable, find_float_tables
from dlasim.compiler_shim.network.graph import Graph, Operator
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN

_KIND, _SOURCES = "DYNAMIC_UPDATE_SLICE", ("cache", "rows")


def update_in_int8(graph: Graph) -> Graph:
    """The graph with a QUANTIZE at each source of such an update, where it changes anything, instead of one
    behind it; new tensors come last."""
    early = _with_early_conversions(graph)
    return graph if early is None else _without_idle(early, len(graph.tensors))


def _with_early_conversions(graph: Graph) -> Graph | None:
    """With a QUANTIZE at each source in any case; None where there is no such update."""
    readers, writers = graph.readers(), graph.writers()
    tensors, operators, gone = list(graph.tensors), list[Operator](), set[str]()
    for operator in graph.operators:
        behind = _conversion(graph, operator, readers, writers)
        if behind is None:
            operators.append(operator)
            continue
        first, result = len(tensors), graph.tensors[behind.outputs[0]]
        for number, what in zip(operator.inputs, _SOURCES, strict=False):
            tensor, place = graph.tensors[number], f"{what} of {operator.location}"
            operators.append(Operator("QUANTIZE", (number,), (len(tensors),), {}, place))
            tensors.append(replace(result, name=f"{tensor.name}/int8", shape=tensor.shape))
        inputs = first, first + 1, *operator.inputs[2:]
        operators.append(replace(operator, inputs=inputs, outputs=behind.outputs))
        gone.add(behind.location)
    kept = [operator for operator in operators if operator.location not in gone]
    return replace(graph, tensors=tuple(tensors), operators=tuple(kept)) if gone else None


def _conversion(
    graph: Graph, operator: Operator, readers: dict[int, list[Operator]], writers: dict[int, Operator]
) -> Operator | None:
    """The QUANTIZE to int8 that alone reads an update of int8 numbers in float32."""
    after = readers[operator.outputs[0]]
    if operator.kind != _KIND or operator.outputs[0] in graph.outputs or len(after) != 1:
        return None
    before = [writers.get(number) for number in operator.inputs[: len(_SOURCES)]]
    if after[0].kind != "QUANTIZE" or graph.tensors[after[0].outputs[0]].dtype != "int8":
        return None
    if any(each is None or each.kind != "DEQUANTIZE" for each in before):
        return None
    return after[0]


def _without_idle(graph: Graph, first: int) -> Graph:
    """Without a new QUANTIZE that leaves each number as it is, and what only it reads; new are tensors from
    the first on."""
    tables, idle = find_float_tables(graph), dict[int, int]()
    for operator in graph.operators:
        table = tables.get(operator.location)
        if table is not None and operator.outputs[0] >= first and _is_identity(table):
            (idle[operator.outputs[0]],) = table.sources
    operators = [
        replace(operator, inputs=tuple([idle.get(number, number) for number in operator.inputs]))
        for operator in graph.operators
        if operator.outputs[0] not in idle
    ]
    read = {number for operator in operators for number in operator.inputs} | set(graph.outputs)
    needed = [each for each in operators if each.kind != "DEQUANTIZE" or each.outputs[0] in read]
    return replace(graph, operators=tuple(needed))


def _is_identity(table: FloatTable) -> bool:
    return isinstance(table.table, np.ndarray) and table.table.tolist() == [*range(INT8_MIN, INT8_MAX + 1)]
