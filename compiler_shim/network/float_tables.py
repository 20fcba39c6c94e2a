"""float32 between conversions that depends on one 8-bit element only, or on one of each of two tensors: what
it makes of each value, or pair of values, is known beforehand.

TensorFlow's converter leaves operators that it has no int8 form of in float32: NEG in LayerNormalization, or
DIV in MoveNet. A network of images as bytes begins with CAST, QUANTIZE.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.folding import evaluate
from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall
from dlasim.compiler_shim.operators.factor_table import FactorTable, find_factors
from dlasim.compiler_shim.operators.host_calls import bind_known, lower
from dlasim.dataclass import dataclass
from dlasim.errors import DlasimError
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, Integers

_BEGINNINGS = ("DEQUANTIZE", "CAST", "TABLE")
_BYTES = ("int8", "uint8")
_PARTS = frozenset(
    {
        "ABS",
        "ADD",
        "CAST",
        "COS",
        "DEQUANTIZE",
        "DIV",
        "EXP",
        "FLOOR",
        "LOG",
        "MAXIMUM",
        "MINIMUM",
        "MUL",
        "NEG",
        "ROUND",
        "RSQRT",
        "SIN",
        "SQRT",
        "SQUARE",
        "SUB",
    }
)


@dataclass(frozen=True, slots=True)
class FloatTable:
    """Operators that end with a QUANTIZE, as a table.

    It has what they make of each value of their only 8-bit source from the least on, or the factors that make
    them a product of two sources. `before` are those, but for the last, that nothing else needs.
    """

    sources: tuple[int, ...]
    table: NDArray[np.int8] | FactorTable
    before: tuple[Operator, ...]

    def calls(self, op: BoundOperator, graph: Graph) -> list[KernelCall]:
        """The calls that stand for all of them; `op` is the last."""
        if isinstance(self.table, FactorTable):
            shapes = tuple(graph.tensors[number].shape for number in self.sources)
            return self.table.calls(op, self.sources, shapes)
        return [op.call("LUT", (*self.sources, op.new_constant("table", self.table)))]


def find_float_tables(graph: Graph) -> dict[str, FloatTable]:
    """All of them, by the location of the QUANTIZE."""
    return _Finder(graph).find()


class _Finder:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._writers = {number: place for place, op in enumerate(graph.operators) for number in op.outputs}
        self._readers: dict[int, list[int]] = defaultdict(list)
        for place, operator in enumerate(graph.operators):
            for number in operator.inputs:
                self._readers[number].append(place)
        for number in graph.outputs:
            self._readers[number].append(len(graph.operators))

    def find(self) -> dict[str, FloatTable]:
        """From each QUANTIZE to int8 backwards."""
        found: dict[int, tuple[list[int], FloatTable]] = {}
        for place, operator in enumerate(self._graph.operators):
            if operator.kind == "QUANTIZE" and self._types(operator) == ["float32", "int8"]:
                chosen = self._chosen(place)
                table = self._table([self._graph.operators[place] for place in chosen]) if chosen else None
                if table is not None:
                    found[place] = chosen, table
        replaced = {place for chosen, _ in found.values() for place in chosen}
        return {
            self._graph.operators[last].location: replace(table, before=self._unneeded(chosen[:-1], replaced))
            for last, (chosen, table) in found.items()
        }

    def _types(self, operator: Operator) -> list[str]:
        return [self._graph.tensors[number].dtype for number in (*operator.inputs, *operator.outputs)]

    def _unneeded(self, places: list[int], replaced: set[int]) -> tuple[Operator, ...]:
        operators = [self._graph.operators[place] for place in places]
        return tuple(op for op in operators if replaced.issuperset(self._readers[op.outputs[0]]))

    def _begins(self, operator: Operator) -> bool:
        if operator.kind not in _BEGINNINGS:
            return False
        source = self._graph.tensors[operator.inputs[0]]
        return source.dtype in _BYTES and not source.is_constant

    def _chosen(self, last: int) -> list[int]:
        """The operators between 8-bit tensors and the last one, in order; none where others take part."""
        chosen: set[int] = set()
        waiting = [-last]
        while waiting:
            place = -heapq.heappop(waiting)
            operator = self._graph.operators[place]
            if place in chosen:
                continue
            chosen.add(place)
            if place != last:
                if self._begins(operator):
                    continue
                if operator.kind not in _PARTS or not chosen.issuperset(self._readers[operator.outputs[0]]):
                    return []
            for number in operator.inputs:
                tensor = self._graph.tensors[number]
                if tensor.is_constant and tensor.elements == 1:
                    continue
                if number not in self._writers:
                    return []
                heapq.heappush(waiting, -self._writers[number])
        return sorted(chosen)

    def _table(self, chain: list[Operator]) -> FloatTable | None:
        """What the operators compute; None where the host lacks one of them, or where it is no product."""
        sources = tuple(dict.fromkeys(op.inputs[0] for op in chain if self._begins(op)))
        shapes = {1: ((256,),), 2: ((256, 1), (1, 256))}.get(len(sources))
        types = {self._graph.tensors[number].dtype for number in sources}
        if shapes is None or (len(sources) > 1 and types != {"int8"}):
            return None
        values = {
            number: self._all_values(number, *given) for number, given in zip(sources, shapes, strict=True)
        }
        try:
            for operator in chain:
                values[operator.outputs[0]] = self._evaluated(operator, values)
        except DlasimError:
            return None
        results = np.asarray(values[chain[-1].outputs[0]].data)
        if len(sources) == 1:
            return FloatTable(sources, results.astype(np.int8), ())
        return self._product(sources, results.astype(np.int64), chain[-1].outputs[0])

    def _all_values(self, number: int, *shape: int) -> Tensor:
        tensor = self._graph.tensors[number]
        limits = np.iinfo(tensor.dtype)
        values = np.arange(limits.min, limits.max + 1).astype(limits.dtype)
        return replace(tensor, shape=shape, data=values.reshape(shape))

    def _evaluated(self, operator: Operator, values: dict[int, Tensor]) -> Tensor:
        op = bind_known(operator, self._graph)
        inputs = [values.get(number, self._graph.tensors[number]) for number in operator.inputs]
        if self._begins(operator):
            shape = inputs[0].shape
        else:
            inputs = [_as_scalar(tensor) if tensor.elements == 1 else tensor for tensor in inputs]
            shape = np.broadcast_shapes(*(tensor.shape for tensor in inputs))
        output = replace(op.output(), shape=shape)
        (data,) = evaluate(replace(op, inputs=tuple(inputs), outputs=(output,)))
        return replace(output, data=data)

    def _product(self, sources: tuple[int, ...], results: Integers, output: int) -> FloatTable | None:
        """Either source may be the one that is rescaled."""
        for (first, second), found in ((sources, results), (sources[::-1], results.T)):
            values, entries = self._attained(first), self._attained(second)
            zero_points = self._zero_point(first), self._zero_point(output)
            attained = found[np.ix_(values - INT8_MIN, entries - INT8_MIN)]
            factors = find_factors(attained, values, entries, zero_points)
            if factors is not None:
                return FloatTable((first, second), factors, ())
        return None

    def _zero_point(self, number: int) -> int:
        quantization = self._graph.tensors[number].quantization
        assert quantization is not None, "it was converted"
        return quantization.zero_point

    def _attained(self, number: int) -> Integers:
        """The values that an int8 tensor can have: those in the table that makes it, if one does."""
        place = self._writers.get(number)
        try:
            calls = [] if place is None else lower(bind_known(self._graph.operators[place], self._graph))
        except DlasimError:  # which the partition reports
            calls = []
        if len(calls) == 1 and calls[0].name == "LUT":
            table = calls[0].inputs[1]
            assert isinstance(table, Tensor), "made by the call"
            return np.unique(np.asarray(table.data)).astype(np.int64)
        return np.arange(INT8_MIN, INT8_MAX + 1)


def _as_scalar(tensor: Tensor) -> Tensor:
    return replace(tensor, shape=(), data=np.asarray(tensor.data).reshape(()))
