"""Graphs of one operator, TensorFlow's answer to them, and ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlasim.compiler_shim.graph import Graph, Operator, Option, Quantization, Tensor
from dlasim.compiler_shim.host_params import lower_host
from dlasim.compiler_shim.tflite.writer import variable_tensors, write_tflite
from dlasim.sim.host import TensorSpec, run_host_op
from tests.oracle import run_litert_reference, run_tflite_micro

Array = np.ndarray


@dataclass
class GraphBuilder:
    """Collects tensors and one operator."""

    tensors: list[Tensor] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)

    def add(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: float | Sequence[float] | None = None,
        zero_point: int = 0,
        axis: int = 0,
        data: Any = None,
        is_input: bool = False,
    ) -> int:
        """A tensor; its number."""
        quantization = None
        if scale is not None:
            scales = tuple(float(np.float32(s)) for s in np.atleast_1d(scale))
            quantization = Quantization(scales, (zero_point,) * len(scales), axis)
        if data is not None:
            data = np.ascontiguousarray(data, dtype=dtype).reshape(shape)
        number = len(self.tensors)
        self.tensors.append(Tensor(f"t{number}", tuple(shape), dtype, quantization, data))
        if is_input:
            self.inputs.append(number)
        return number

    def graph(
        self, kind: str, inputs: Sequence[int], outputs: Sequence[int], **options: Option
    ) -> Graph:
        """The graph of one operator."""
        operator = Operator(kind, tuple(inputs), tuple(outputs), options, "operator 0")
        return Graph("test", tuple(self.tensors), (operator,), tuple(self.inputs), tuple(outputs))


def run_on_host(graph: Graph, values: Sequence[Array], inferences: int = 1) -> dict[int, Array]:
    """Every computed tensor after the inferences, by host operators alone."""
    known = {number: np.zeros(graph.tensors[number].shape, graph.tensors[number].dtype)
             for number in variable_tensors(graph)}
    known |= {number: tensor.data for number, tensor in enumerate(graph.tensors) if tensor.data is not None}
    known |= dict(zip(graph.inputs, values, strict=True))
    for _ in range(inferences):
        for operator in graph.operators:
            for call in lower_host(operator, graph):
                inputs = [known[item] if isinstance(item, int) else item.data for item in call.inputs]
                outputs = [TensorSpec(graph.tensors[n].shape, graph.tensors[n].dtype) for n in call.outputs]
                results = run_host_op(call.code, call.attributes, inputs, outputs)
                known |= dict(zip(call.outputs, results, strict=True))
    return known


def random_values(rng: np.random.Generator, tensor: Tensor) -> Array:
    """Noise over the whole range of the tensor's type; for floats of a normal distribution."""
    if tensor.dtype == "float32":
        return rng.normal(0, 10, tensor.shape).astype(np.float32)
    if tensor.dtype == "bool":
        return rng.integers(0, 2, tensor.shape).astype(bool)
    limits = np.iinfo(tensor.dtype)
    return rng.integers(limits.min, limits.max, tensor.shape, dtype=tensor.dtype, endpoint=True)


def check(graph: Graph, values: Sequence[Array], litert: bool = False) -> None:
    """Holds every output to TensorFlow's, bit for bit."""
    run = run_litert_reference if litert else run_tflite_micro
    expected = run(write_tflite(graph), values)
    actual = run_on_host(graph, values)
    for number in graph.outputs:
        assert actual[number].dtype == expected[number].dtype
        np.testing.assert_array_equal(actual[number], expected[number], err_msg=str(graph.operators[0]))


def check_random(rng: np.random.Generator, graph: Graph, litert: bool = False) -> None:
    """As `check`, for noise."""
    check(graph, [random_values(rng, graph.tensors[number]) for number in graph.inputs], litert)
