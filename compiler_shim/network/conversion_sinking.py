"""Conversions to float32 that can wait until operators which only pick elements have run in int8.

TensorFlow's converter leaves the SPLIT of an unrolled GRU in float32, between DEQUANTIZE and QUANTIZE. Behind
the SPLIT the same DEQUANTIZE and a QUANTIZE are a table of 256 elements: see `float_tables`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor

_PICKS = frozenset(
    {
        "EXPAND_DIMS",
        "RESHAPE",
        "SLICE",
        "SPLIT",
        "SPLIT_V",
        "SQUEEZE",
        "STRIDED_SLICE",
        "TRANSPOSE",
        "UNPACK",
    }
)


def sink_conversions(graph: Graph) -> Graph:
    """The graph with such a DEQUANTIZE at each QUANTIZE of its result; new tensors come last."""
    return _Sinking(graph).run()


class _Sinking:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._tensors = list(graph.tensors)
        self._readers: dict[int, list[Operator]] = defaultdict(list)
        for operator in graph.operators:
            for number in operator.inputs:
                self._readers[number].append(operator)
        self._converted: dict[int, int] = {}  # the int8 tensor that a float32 one comes from

    def run(self) -> Graph:
        """Operators keep their order; each QUANTIZE gets the DEQUANTIZE that it needs."""
        operators: list[Operator] = []
        for operator in self._graph.operators:
            sources = [number for number in operator.inputs if number in self._converted]
            if operator.kind == "DEQUANTIZE" and self._can_sink(operator):
                self._converted[operator.outputs[0]] = operator.inputs[0]
            elif not sources:
                operators.append(operator)
            elif operator.kind == "QUANTIZE":
                operators += self._converting(operator, sources[0])
            else:
                operators.append(self._in_int8(operator, sources[0]))
        if not self._converted:
            return self._graph
        return replace(self._graph, tensors=tuple(self._tensors), operators=tuple(operators))

    def _can_sink(self, operator: Operator) -> bool:
        """Whether all that reads the result picks elements, at least once, for a QUANTIZE to int8."""
        source, result = operator.inputs[0], operator.outputs[0]
        if self._tensors[source].dtype != "int8" or self._tensors[source].is_constant:
            return False
        readers = self._readers[result]
        return any(reader.kind != "QUANTIZE" for reader in readers) and self._is_only_picked(result)

    def _is_only_picked(self, number: int) -> bool:
        if number in self._graph.outputs:
            return False
        return all(
            self._tensors[reader.outputs[0]].dtype == "int8"
            if reader.kind == "QUANTIZE"
            else reader.kind in _PICKS and all(self._is_only_picked(result) for result in reader.outputs)
            for reader in self._readers[number]
        )

    def _in_int8(self, operator: Operator, source: int) -> Operator:
        """The same operator on the int8 tensor."""
        picked = self._tensors[self._converted[source]]
        outputs = tuple(
            self._add(replace(picked, name=f"{result.name}/int8", shape=result.shape))
            for result in (self._tensors[number] for number in operator.outputs)
        )
        self._converted |= zip(operator.outputs, outputs, strict=True)
        inputs = tuple(self._converted[source] if number == source else number for number in operator.inputs)
        return replace(operator, inputs=inputs, outputs=outputs)

    def _converting(self, quantize: Operator, source: int) -> tuple[Operator, Operator]:
        number = self._add(replace(self._tensors[source], name=f"{self._tensors[source].name}/float"))
        dequantize = Operator(
            "DEQUANTIZE", (self._converted[source],), (number,), location=f"before {quantize.location}"
        )
        return dequantize, replace(quantize, inputs=(number,))

    def _add(self, tensor: Tensor) -> int:
        self._tensors.append(tensor)
        return len(self._tensors) - 1
