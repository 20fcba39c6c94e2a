"""Operators that are computed at import: those whose inputs are all constant, mostly the arithmetic of
dynamic shapes; and float32 between conversions that depends on one 8-bit element only, or on one of each of
two tensors: what it makes of each value, or pair of values, is known beforehand.

TensorFlow's converter leaves operators that it has no int8 form of in float32: NEG in LayerNormalization, or
DIV in MoveNet. A network of images as bytes begins with CAST, QUANTIZE. The kernels are those that the
simulator runs on the host. Leaving an operator in place is always right, so whatever is unusual stays.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.files.constant_budget import ConstantBudget
from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall
from dlasim.compiler_shim.operators.definition import CLASSES, Trait
from dlasim.compiler_shim.operators.factor_table import FactorTable, find_factors
from dlasim.compiler_shim.operators.host_calls import bind_known, lower
from dlasim.compiler_shim.operators.table import OPERATORS
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
Values = list[NDArray[Any]]
# Shapes are short. Nothing else may grow, or a small file could ask for gigabytes.
_MAX_GROWN_ELEMENTS = 1 << 16


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
