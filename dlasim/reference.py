"""TensorFlow's own results for a model: every tensor, from TFLite Micro or, where that cannot, LiteRT.

TFLite Micro computes the model as a whole. Where it lacks an operator, or stops at one, each operator is a
model of its own, and only what TFLite Micro cannot do comes from LiteRT's reference kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.graph import Graph, Operator
from dlasim.compiler_shim.importing import prepare
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import variable_tensors, write_tflite
from dlasim.errors import RunError
from dlasim.reference_kernels import LITERT, MICRO, KernelProcess, Tensors, available, run

ADVICE = "pip install 'dlasim[verify]'"

Compute = Callable[[str, bytes, Sequence[NDArray[Any]], int], Tensors | None]


@dataclass(frozen=True, slots=True)
class Reference:
    """Tensors by their number in the model, and who computed them."""

    name: str
    tensors: Tensors


class ReferenceModel:
    """A model for TensorFlow's interpreters; `isolated` runs them in a process of their own."""

    def __init__(self, model: bytes, tensor_count: int, isolated: bool = True) -> None:
        self._model, self._tensor_count = model, tensor_count
        self._installed = available()
        if not self._installed:
            raise RunError(f"nothing to verify against: TensorFlow's kernels are missing ({ADVICE})")
        self._process = KernelProcess()
        self._compute: Compute = self._process.run if isolated else run
        self._as_a_whole = MICRO in self._installed

    def run(self, inputs: Sequence[NDArray[Any]]) -> Reference:
        """One inference from a fresh state."""
        if self._as_a_whole:
            tensors = self._compute(MICRO, self._model, inputs, self._tensor_count)
            if tensors is not None:
                return Reference(MICRO, tensors)
            self._as_a_whole = False
        return _Piecewise(self._model, self._installed, self._compute).run(inputs)

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.close()


class _Piecewise:
    """A model computed operator by operator."""

    def __init__(self, model: bytes, installed: Sequence[str], compute: Compute) -> None:
        self._graph = prepare(read_model(model), "model")
        self._variables = variable_tensors(self._graph)
        self._installed, self._compute = installed, compute
        self._others: list[str] = []

    def run(self, inputs: Sequence[NDArray[Any]]) -> Reference:
        """What is known of every tensor; an operator that no interpreter runs leaves a gap."""
        tensors = dict(zip(self._graph.inputs, inputs, strict=True))
        for operator in self._graph.operators:
            single, sources = self._single(operator)
            if all(index in tensors for index in sources):
                found = self._operator(operator, single, [tensors[index] for index in sources])
                tensors |= zip(operator.outputs, found, strict=True) if found else ()
        if not any(operator.outputs[0] in tensors for operator in self._graph.operators):
            raise RunError("neither TFLite Micro nor LiteRT runs any operator of this model")
        return Reference(self._name(), tensors)

    def _name(self) -> str:
        name = f"{self._installed[0]}, operator by operator"
        return f"{name}, and {LITERT} for {', '.join(self._others)}" if self._others else name

    def _single(self, operator: Operator) -> tuple[bytes, list[int]]:
        """A model of one operator, and the tensors that it takes as inputs."""
        graph = self._graph
        used = sorted({index for index in (*operator.inputs, *operator.outputs) if index >= 0})
        number = {index: position for position, index in enumerate(used)} | {-1: -1}
        sources = [
            index
            for index in used
            if index in operator.inputs
            and not graph.tensors[index].is_constant
            and index not in self._variables
        ]
        inputs = operator.inputs
        while inputs[-1] < 0:  # TFLite Micro does not survive a bias of -1; one that is not there is fine
            inputs = inputs[:-1]
        moved = replace(
            operator,
            inputs=tuple(number[index] for index in inputs),
            outputs=tuple(number[index] for index in operator.outputs),
        )
        tensors = tuple(graph.tensors[index] for index in used)
        ins, outs = tuple(number[index] for index in sources), moved.outputs
        return write_tflite(Graph(operator.kind, tensors, (moved,), ins, outs)), sources

    def _operator(
        self, operator: Operator, model: bytes, inputs: list[NDArray[Any]]
    ) -> list[NDArray[Any]] | None:
        """Its outputs from the first interpreter that runs it."""
        used = sorted({index for index in (*operator.inputs, *operator.outputs) if index >= 0})
        for name in self._installed:
            found = self._compute(name, model, inputs, len(used))
            if found is not None:
                if name != self._installed[0] and operator.kind not in self._others:
                    self._others.append(operator.kind)
                shapes = [self._graph.tensors[index].shape for index in operator.outputs]
                values = [found[used.index(index)] for index in operator.outputs]
                return [np.reshape(value, shape) for value, shape in zip(values, shapes, strict=True)]
        return None


@contextmanager
def reference_model(model: bytes, tensor_count: int) -> Iterator[ReferenceModel]:
    """A reference in a process of its own, which ends with the block."""
    reference = ReferenceModel(model, tensor_count)
    try:
        yield reference
    finally:
        reference.close()
