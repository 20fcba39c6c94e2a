"""TensorFlow's results for every tensor of a model, from TFLite Micro or else from LiteRT, or the other way.

The preferred interpreter first tries to run the whole model. If it lacks an operator, fails at one, or is
known to compute one wrongly (`kernel_faults`), each operator runs as a model of its own, and the other
interpreter computes the operators concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.checking.inexact import MOST_ULPS, tolerances
from dlasim.checking.interpreters import LITERT, MICRO, KernelProcess, Tensors, available, run
from dlasim.checking.kernel_faults import clear_unwritten, known_fault
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.network.graph import Graph, Numerics, Operator, Quantization, Tensor
from dlasim.compiler_shim.network.unsigned import flipped, without_rescaling
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import variable_tensors, write_tflite
from dlasim.dataclass import dataclass
from dlasim.errors import RunError
from dlasim.installation import extra_command

ADVICE = extra_command("verify")

Compute = Callable[[str, bytes, Sequence[NDArray[Any]], int], Tensors | None]


@dataclass(frozen=True, slots=True)
class Reference:
    """Tensors by their number in the model, and the name of the interpreter that computed them."""

    name: str
    tensors: Tensors
    disagreements: tuple[str, ...] = ()  # known faults of an interpreter that changed a result


@dataclass(frozen=True, slots=True)
class OtherResult:
    """What the other interpreter computes for a tensor from the same inputs."""

    name: str
    values: NDArray[Any]


class ReferenceModel:
    """A model for TensorFlow's interpreters; with `isolated` they run in a separate process."""

    def __init__(
        self, model: bytes, tensor_count: int, isolated: bool = True, numerics: str = Numerics.TFLM
    ) -> None:
        self._installed = available(numerics)
        if not self._installed:
            raise RunError(f"TensorFlow's reference kernels are not installed; run {ADVICE}")
        self._process = KernelProcess()
        self._compute: Compute = self._process.run if isolated else run
        source = read_model(model)
        # TFLite Micro does not look behind the flatbuffer.
        self._model = write_tflite(source.graph) if source.has_outside_data else model
        # The importer may add tensors, which the file does not have.
        self._tensor_count = min(tensor_count, len(source.graph.tensors))
        self._graph = prepare(source, "model")
        # Of the file too: the importer folds blocks of pixels into a dilated convolution.
        faults = any(
            _avoids(self._installed[0], graph, operator)
            for graph in (source.graph, self._graph)
            for operator in graph.operators
        )
        # TFLite Micro gives no tensor another shape than the file says.
        pairs = zip(source.graph.tensors, self._graph.tensors, strict=False)
        resizes = any(declared.shape != found.shape for declared, found in pairs)
        self.tolerances = tolerances(self._graph)
        exact = not self.tolerances
        signed = not any(tensor.is_unsigned for tensor in self._graph.tensors)
        self._as_a_whole = exact and signed and not faults and not resizes
        self._piecewise = _Piecewise(self._graph, self._installed, self._compute)

    @property
    def tensor_count(self) -> int:
        """The number of tensors in the model file; they come before those that the importer adds."""
        return self._tensor_count

    def run(self, inputs: Sequence[NDArray[Any]], given: Tensors | None = None) -> Reference:
        """One inference from a fresh state. Operators read what is `given` instead of what is computed."""
        if self._as_a_whole:
            tensors = self._compute(self._installed[0], self._model, inputs, self._tensor_count)
            if tensors is not None:
                clear_unwritten(self._graph, tensors)
                return Reference(self._installed[0], tensors)
            self._as_a_whole = False
        return self._piecewise.run(inputs, given or {})

    def compute_with_other(self, tensor: int, reference: Reference) -> OtherResult | None:
        """A tensor from the interpreter that `reference` did not use; None if that cannot compute it."""
        return self._piecewise.compute_with_other(tensor, reference)

    def close(self) -> None:
        """End the separate process, if one was started."""
        self._process.close()


class _Piecewise:
    """A model computed operator by operator."""

    def __init__(self, graph: Graph, installed: Sequence[str], compute: Compute) -> None:
        self._graph, self._variables = without_rescaling(graph), variable_tensors(graph)
        self._installed, self._compute = installed, compute
        self._others: dict[str, str] = {}  # not computed by the preferred one, with its fault
        self._disagreements: list[str] = []
        self._models: dict[tuple[int, ...], tuple[Graph, bytes]] = {}  # of operators, by their outputs

    def run(self, inputs: Sequence[NDArray[Any]], given: Tensors) -> Reference:
        """All tensors that can be computed; outputs of an operator that no interpreter runs are missing."""
        self._others.clear()
        self._disagreements.clear()
        tensors = {index: _initial_state(self._graph.tensors[index]) for index in self._variables}
        tensors |= zip(self._graph.inputs, inputs, strict=True)
        for operator in self._graph.operators:
            sources = self._sources(operator)
            known = all(index in tensors for index in sources)
            read = [given.get(index, tensors[index]) for index in sources] if known else []
            found = self._operator(operator, read) if known else {}
            tensors |= found
            for index in () if found else _states(operator):
                tensors.pop(index, None)  # nobody knows what it holds now
        if not any(operator.outputs[0] in tensors for operator in self._graph.operators):
            raise RunError(
                "cannot verify: neither TFLite Micro nor LiteRT can run any operator of this model"
            )
        return Reference(self._name(), tensors, tuple(self._disagreements))

    def compute_with_other(self, tensor: int, reference: Reference) -> OtherResult | None:
        """The tensor from the other interpreter's kernel, if the reference took it from the preferred one."""
        operator = next((op for op in self._graph.operators if tensor in op.outputs), None)
        preferred, *others = self._installed
        if operator is None or not others or _avoids(preferred, self._graph, operator):
            return None
        sources = self._sources(operator)
        if not all(index in reference.tensors for index in sources):
            return None
        found = self._outputs(others[0], operator, [reference.tensors[index] for index in sources])
        return None if found is None else OtherResult(others[0], found[tensor])

    def _name(self) -> str:
        name = f"{self._installed[0]}, operator by operator"
        others = [f"{kind} ({reason})" if reason else kind for kind, reason in self._others.items()]
        name = f"{name}, and {self._installed[1]} for {', '.join(others)}" if others else name
        inexact = tolerances(self._graph)
        kinds = {operator.kind for operator in self._graph.operators if operator.outputs[0] in inexact}
        apart = ", ".join(f"{kind} by {MOST_ULPS[kind]} ulp" for kind in sorted(kinds))
        return f"{name}, from which float32 may be apart in {apart}" if kinds else name

    def _sources(self, operator: Operator) -> list[int]:
        """The tensors that the operator takes as inputs: all but constants and its own state."""
        used = sorted({index for index in operator.inputs if index >= 0}.difference(_states(operator)))
        return [index for index in used if not self._graph.tensors[index].is_constant]

    def _model(self, operator: Operator) -> tuple[Graph, bytes]:
        """A model of the operator, and as a file."""
        if operator.outputs not in self._models:
            graph = self._single(operator)
            self._models[operator.outputs] = graph, write_tflite(graph)
        return self._models[operator.outputs]

    def _single(self, operator: Operator) -> Graph:
        """A model of one operator with only the tensors that it uses, in the original order."""
        graph, sources = self._graph, self._sources(operator)
        is_micro = self._installed[0] == MICRO
        if operator.kind == "FULLY_CONNECTED" and _is_unsigned(graph, operator) and is_micro:
            graph, operator = _as_convolution(graph, operator)
        used = _used(operator)
        number = {index: position for position, index in enumerate(used)} | {-1: -1}
        inputs = operator.inputs
        # A bias of -1 crashes TFLite Micro, an omitted one does not; of an LSTM it demands all inputs.
        while inputs[-1] < 0 and not _states(operator):
            inputs = inputs[:-1]
        moved = replace(
            operator,
            inputs=tuple(number[index] for index in inputs),
            outputs=tuple(number[index] for index in operator.outputs),
        )
        tensors = tuple(graph.tensors[index] for index in used)
        ins, outs = tuple(number[index] for index in sources), moved.outputs
        return Graph(operator.kind, tensors, (moved,), ins, outs)

    def _operator(self, operator: Operator, inputs: list[NDArray[Any]]) -> Tensors:
        """The outputs from the first interpreter that implements the operator; empty if none does."""
        preferred = self._installed[0]
        fault = known_fault(preferred, self._graph, operator)
        is_unsigned = preferred == MICRO and _is_unsigned(self._graph, operator)
        for name in self._installed:
            if _avoids(name, self._graph, operator):
                continue
            found = self._outputs(name, operator, inputs)
            if found is None:
                continue
            if name != preferred:
                self._others.setdefault(operator.kind, fault or ("uint8" if is_unsigned else ""))
            if fault:
                self._note_disagreement(operator, inputs, found, fault)
            return found
        return {}

    def _outputs(self, name: str, operator: Operator, inputs: list[NDArray[Any]]) -> Tensors | None:
        """An interpreter's values of the operator's outputs, and of its state."""
        used, tensors = _used(operator), self._graph.tensors
        sources, (single, model) = self._sources(operator), self._model(operator)
        shapes = [single.tensors[index].shape for index in single.inputs]
        given = [
            (flipped(values) if tensors[index].is_unsigned else values).reshape(shape)
            for index, values, shape in zip(sources, inputs, shapes, strict=True)
        ]
        found = self._compute(name, model, given, len(used))
        if found is None:
            return None
        written = {*operator.outputs, *_states(operator)}
        results = {index: np.reshape(found[used.index(index)], tensors[index].shape) for index in written}
        clear_unwritten(replace(self._graph, operators=(operator,)), results)
        return {
            index: flipped(values) if tensors[index].is_unsigned else values
            for index, values in results.items()
        }

    def _note_disagreement(
        self, operator: Operator, inputs: list[NDArray[Any]], found: Tensors, reason: str
    ) -> None:
        other = self._outputs(self._installed[0], operator, inputs)
        for index in operator.outputs if other else ():
            count = int(np.count_nonzero(other[index] != found[index])) if other else 0
            if count:
                name, size = self._graph.tensors[index].name, found[index].size
                self._disagreements.append(
                    f"{name} ({operator.kind}): {MICRO} and {LITERT} disagree in {count} of {size} elements: "
                    f"{reason}"
                )


def _states(operator: Operator) -> tuple[int, ...]:
    """The variables that the operator updates in place."""
    row = OPERATORS.get(operator.kind)
    return tuple(operator.inputs[position] for position in row.states) if row else ()


def _is_unsigned(graph: Graph, operator: Operator) -> bool:
    """Whether it computes in uint8 in the model, for which TFLite Micro has few kernels."""
    return any(graph.tensors[index].is_unsigned for index in _used(operator))


def _as_convolution(graph: Graph, operator: Operator) -> tuple[Graph, Operator]:
    """FULLY_CONNECTED as CONV_2D of single pixels: of uint8, LiteRT computes only the former in double."""
    source, weights, target = operator.inputs[0], operator.inputs[1], operator.outputs[0]
    units, depth = graph.tensors[weights].shape
    rows = graph.tensors[source].elements // depth
    shapes = {source: (rows, 1, 1, depth), weights: (units, 1, 1, depth), target: (rows, 1, 1, units)}
    tensors = list(graph.tensors)
    for index, shape in shapes.items():
        data = tensors[index].data
        tensors[index] = replace(
            tensors[index], shape=shape, data=None if data is None else data.reshape(shape)
        )
    options = {"padding": "VALID", "fused_activation_function": operator.options["fused_activation_function"]}
    inputs = operator.inputs[:3]
    if len(inputs) < 3 or inputs[2] < 0:  # LiteRT's CONV_2D of uint8 needs a bias
        zeros, scale = np.zeros(units, np.int32), _scale(tensors[source]) * _scale(tensors[weights])
        tensors.append(Tensor("bias", zeros.shape, "int32", Quantization((scale,), (0,)), zeros))
        inputs = (source, weights, len(tensors) - 1)
    convolution = replace(operator, kind="CONV_2D", inputs=inputs, options=options)
    return replace(graph, tensors=tuple(tensors)), convolution


def _scale(tensor: Tensor) -> float:
    assert tensor.quantization is not None
    return tensor.quantization.scale


def _avoids(name: str, graph: Graph, operator: Operator) -> bool:
    """Whether an interpreter lacks an operator or computes it wrongly."""
    is_lacking = name == MICRO and _is_unsigned(graph, operator)
    return is_lacking or known_fault(name, graph, operator) is not None


def _used(operator: Operator) -> list[int]:
    """The tensors that the operator reads or writes, by ascending number."""
    return sorted({index for index in (*operator.inputs, *operator.outputs) if index >= 0})


def _initial_state(tensor: Tensor) -> NDArray[Any]:
    """What a variable holds before the first inference: the zero point for int8, else zeros."""
    quantization = tensor.quantization
    if tensor.dtype != "int8" or quantization is None or quantization.per_channel:
        return np.zeros(tensor.shape, tensor.dtype)
    return np.full(tensor.shape, quantization.zero_point, tensor.dtype)


@contextmanager
def reference_model(
    model: bytes, tensor_count: int, numerics: str = Numerics.TFLM
) -> Iterator[ReferenceModel]:
    """A reference in a separate process, which ends with the `with` block."""
    reference = ReferenceModel(model, tensor_count, numerics=numerics)
    try:
        yield reference
    finally:
        reference.close()
