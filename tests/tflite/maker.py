"""Collects what a network of one operator consists of: tensors of random shapes and quantizations."""

from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from tests.round_scales import round_scale


def one_scale(scale: float) -> Quantization:
    """A symmetric quantization, its scale as a file can hold it."""
    return Quantization((float(np.float32(scale)),), (0,))


ACTIVATIONS = ("NONE", "RELU", "RELU6")


class Maker:
    """Collects tensors; random shapes and quantizations come from one generator."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        # Of every other seed scales are round, from a generator of their own, which leaves all else the same.
        self.round = np.random.default_rng([seed, 4]) if seed % 2 else None
        self.scales: list[float] = []
        self.tensors: list[Tensor] = []
        self.inputs: list[int] = []

    def number(self, lowest: int, highest: int) -> int:
        return int(self.rng.integers(lowest, highest + 1))

    def choice(self, *values: Any) -> Any:
        return values[self.number(0, len(values) - 1)]

    def scale(self, drawn: float) -> float:
        """A scale as a file holds it: the one drawn, or one near it that makes ties with those before."""
        scale = round_scale(self.round, drawn, self.scales) if self.round else float(np.float32(drawn))
        self.scales.append(scale)
        return scale

    def quantization(self) -> Quantization:
        scale = self.scale(self.rng.uniform(0.01, 0.2))
        return Quantization((scale,), (self.number(-128, 127),))

    def activation(self) -> dict[str, Any]:
        """The option of an activation that the operator ends with."""
        return {"fused_activation_function": self.choice(*ACTIVATIONS)}

    def shape(self, rank: int) -> tuple[int, ...]:
        return (1, *(self.number(2, 9) for _ in range(rank - 1)))

    def input(self, shape: tuple[int, ...], quantization: Quantization | None = None) -> int:
        index = self.tensor(f"input_{len(self.inputs)}", shape, quantization or self.quantization())
        self.inputs.append(index)
        return index

    def plain(self, name: str, shape: tuple[int, ...], dtype: str) -> int:
        """An input without a scale."""
        self.inputs.append(self.tensor(name, shape, None, dtype))
        return self.inputs[-1]

    def tensor(
        self, name: str, shape: tuple[int, ...], quantization: Quantization | None, dtype: str = "int8"
    ) -> int:
        self.tensors.append(Tensor(name, shape, dtype, quantization))
        return len(self.tensors) - 1

    def constant(self, name: str, data: Any, quantization: Quantization | None = None) -> int:
        data = np.asarray(data)
        data = data.astype(np.int32) if data.dtype == np.int64 else data
        self.tensors.append(Tensor(name, data.shape, data.dtype.name, quantization, data))
        return len(self.tensors) - 1

    def quantization_of(self, index: int) -> Quantization:
        quantization = self.tensors[index].quantization
        assert quantization is not None
        return quantization

    def weights(self, shape: tuple[int, ...], axis: int | None, source: int) -> tuple[int, int]:
        """Weights and a bias that suits them; per channel along `axis`, or with one scale."""
        count = 1 if axis is None else shape[axis]
        scales = tuple(self.scale(scale) for scale in self.rng.uniform(0.001, 0.02, count))
        data = self.rng.integers(-127, 128, shape, dtype=np.int8)
        weights = self.constant("weights", data, Quantization(scales, (0,) * count, axis or 0))
        input_scale = np.float32(self.quantization_of(source).scale)
        bias_scales = tuple(float(input_scale * np.float32(scale)) for scale in scales)
        self.scales += bias_scales
        channels = shape[axis if axis is not None else 0]
        bias = self.rng.integers(-2000, 2000, channels).astype(np.int32)
        return weights, self.constant("bias", bias, Quantization(bias_scales, (0,) * count))

    def graph(self, kind: str, inputs: list[int], outputs: list[int], options: dict[str, Any]) -> Graph:
        operator = Operator(kind, tuple(inputs), tuple(outputs), options, "operator 0")
        return Graph(kind.lower(), tuple(self.tensors), (operator,), tuple(self.inputs), tuple(outputs))

    def unary(self, kind: str, options: dict[str, Any], output: Quantization | None = None) -> Graph:
        source = self.input(self.shape(self.number(2, 4)))
        result = self.tensor("output", self.tensors[source].shape, output or self.quantization())
        return self.graph(kind, [source], [result], options)

    def moved(
        self, kind: str, source: int, others: list[int], shape: tuple[int, ...], options: dict[str, Any]
    ) -> Graph:
        """An operator that moves data of its first input, whose quantization stays."""
        result = self.tensor("output", shape, self.quantization_of(source))
        return self.graph(kind, [source, *others], [result], options)
