"""Graphs of one operator, TensorFlow's answer to them, and ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Option, Quantization, Tensor
from dlasim.compiler_shim.operators.bound import KernelCall
from dlasim.compiler_shim.operators.host_calls import bind_known, lower
from dlasim.compiler_shim.tflite.writer import variable_tensors, write_tflite
from dlasim.sim.host import TensorSpec, run_host_op
from tests.oracle import run_litert_reference, run_tflite_micro
from tests.round_scales import round_scale

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

    def graph(self, kind: str, inputs: Sequence[int], outputs: Sequence[int], **options: Option) -> Graph:
        """The graph of one operator."""
        operator = Operator(kind, tuple(inputs), tuple(outputs), options, "operator 0")
        return Graph("test", tuple(self.tensors), (operator,), tuple(self.inputs), tuple(outputs))


def lower_operator(operator: Operator, graph: Graph) -> list[KernelCall]:
    """The host calls of an operator of a graph."""
    return lower(bind_known(operator, graph))


class HostRun:
    """A network run by host operators alone; its state lasts from one inference to the next."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.calls = [call for operator in graph.operators for call in lower_operator(operator, graph)]
        self.known = {number: _initial_state(graph.tensors[number]) for number in variable_tensors(graph)}
        self.known |= {n: tensor.data for n, tensor in enumerate(graph.tensors) if tensor.data is not None}

    def infer(self, values: Sequence[Array]) -> dict[int, Array]:
        """Every tensor after the next inference."""
        tensors = self.graph.tensors
        self.known |= dict(zip(self.graph.inputs, values, strict=True))
        new = {}
        for call in self.calls:
            inputs = [
                self.known[item] if isinstance(item, int) else new.get(id(item), item.data)
                for item in call.inputs
            ]
            written = [tensors[item] if isinstance(item, int) else item for item in call.outputs]
            outputs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in written]
            results = run_host_op(call.code, call.words, inputs, outputs)
            for item, result in zip(call.outputs, results, strict=True):
                if isinstance(item, int):
                    self.known[item] = result
                else:
                    new[id(item)] = result
        return dict(self.known)


def _initial_state(tensor: Tensor) -> Array:
    zero_point = tensor.quantization.zero_point if tensor.quantization else 0
    return np.full(tensor.shape, zero_point, tensor.dtype)


def run_on_host(graph: Graph, values: Sequence[Array]) -> dict[int, Array]:
    """Every tensor after one inference by host operators alone."""
    return HostRun(graph).infer(values)


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


def random_scale(rng: np.random.Generator) -> float:
    """A scale as networks have them: with all bits of a float32 in use, or a round one."""
    drawn = float(np.exp(rng.uniform(np.log(0.002), np.log(0.5))))
    round_ones = np.random.default_rng(int(drawn * 2.0**40))  # so that a seed's other draws stay the same
    return round_scale(round_ones, drawn) if round_ones.random() < 0.4 else float(np.float32(drawn))


def tied_scale(rng: np.random.Generator, product: float) -> float:
    """A scale that is a simple multiple of a product, but for its rounding to float32.

    Many results then lie on ties, and show in which precision TensorFlow multiplies and divides the scales.
    """
    return float(np.float32(product * rng.choice([4 / 3, 2 / 3, 1.5, 0.75, 2, 4, 1, 0.5])))


def random_zero_point(rng: np.random.Generator) -> int:
    """Any int8, the ends and the middle more often."""
    return int(rng.choice([-128, 0, 127, int(rng.integers(-128, 128)), int(rng.integers(-128, 128))]))
