"""Builds an int8 network layer by layer, running it on calibration inputs as it goes.

Weights are seeded noise. Each layer's weight scales and biases are set as folded batch normalization would
set them: every output channel gets a seeded mean and spread over the calibration inputs. The output's scale
then covers what was seen, so that activations use their eight bits and hardly saturate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Graph, Operator, Option, Quantization, Tensor
from dlasim.compiler_shim.topologies.arithmetic import (
    FloatArray,
    convolve,
    convolve_depthwise,
    multiply,
    pool_max,
)
from dlasim.compiler_shim.topologies.normalization import (
    ACTIVATED,
    LOGITS,
    Normalization,
    activated,
    covering,
    fold_normalization,
)
from dlasim.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Activation:
    """A tensor of the network and what it holds for the calibration inputs, without its zero point."""

    index: int
    values: FloatArray
    quantization: Quantization

    @property
    def channels(self) -> int:
        """Size of the last dimension."""
        return int(self.values.shape[-1])

    @property
    def real(self) -> FloatArray:
        """The values as real numbers."""
        return self.values * np.float64(self.quantization.scale)


class NetworkBuilder:
    """A network under construction; each method adds an operator and gives its output."""

    def __init__(
        self, name: str, seed: int, on_operator: Callable[[str], None] | None = None, weight_bits: int = 8
    ) -> None:
        self._name, self._on_operator = name, on_operator
        self._largest_weight = (1 << weight_bits - 1) - 1
        self._rng = np.random.default_rng(seed)
        self._tensors: list[Tensor] = []
        self._operators: list[Operator] = []
        self._inputs: list[int] = []
        self._samples: NDArray[np.uint8] = np.zeros(0, np.uint8)

    def finish(self, *outputs: Activation) -> Graph:
        """The network with these outputs."""
        indices = tuple(output.index for output in outputs)
        return Graph(self._name, tuple(self._tensors), tuple(self._operators), tuple(self._inputs), indices)

    def input(
        self, shape: tuple[int, ...], quantization: Quantization, samples: NDArray[np.int8]
    ) -> Activation:
        """The network's input and the int8 samples to calibrate with, one per row."""
        index = self._tensor("input", (1, *shape), "int8", quantization)
        self._inputs.append(index)
        return Activation(
            index, samples.astype(np.float32) - np.float32(quantization.zero_point), quantization
        )

    def bytes_input(self, shape: tuple[int, ...], samples: NDArray[np.uint8]) -> int:
        """An input of plain bytes; its number."""
        self._inputs.append(self._tensor("input", (1, *shape), "uint8", None))
        self._samples = samples
        return self._inputs[-1]

    def embed(self, name: str, source: int, size: int) -> Activation:
        """CAST and GATHER: for each byte of the input a row of a table."""
        index = self._tensor(f"{name}/index", self._tensors[source].shape, "int32", None)
        self._operators.append(Operator("CAST", (source,), (index,), {}, self._location()))
        quantization = Quantization((1 / 64,), (0,))
        table = np.clip(np.rint(self._rng.standard_normal((256, size)) * 40), -127, 127).astype(np.int8)
        rows = self._constant(f"{name}/table", table, quantization)
        values = table[self._samples].astype(np.float32)
        return self._append("GATHER", name, (rows, index), values, quantization, axis=0, batch_dims=0)

    def constant(self, name: str, real: FloatArray, quantization: Quantization | None = None) -> Activation:
        """A constant operand, in a scale of its own if none is given."""
        quantization = quantization or covering(real, "NONE")
        data = np.clip(np.rint(real / quantization.scale) + quantization.zero_point, -128, 127)
        index = self._constant(name, data.astype(np.int8), quantization)
        return Activation(index, (data - quantization.zero_point).astype(np.float32), quantization)

    def noise(self, shape: tuple[int, ...], spread: float, mean: float = 0.0) -> FloatArray:
        """Seeded normal noise, for constants."""
        return mean + spread * self._rng.standard_normal(shape)

    def conv(
        self,
        name: str,
        source: Activation,
        channels: int,
        kernel: int | tuple[int, int] = 1,
        stride: int = 1,
        activation: str = "NONE",
        norm: Normalization = ACTIVATED,
        padding: str = "SAME",
    ) -> Activation:
        """CONV_2D with per-channel weights and a fused activation."""
        weights = self._weights((channels, *_pair(kernel), source.channels), axis=0)
        sums = convolve(source.values, weights, stride, padding)
        return self._weighted(
            "CONV_2D", name, source, weights, sums, 0, norm, activation,
            padding=padding, stride_h=stride, stride_w=stride,
        )  # fmt: skip

    def depthwise(
        self,
        name: str,
        source: Activation,
        kernel: int = 3,
        stride: int = 1,
        activation: str = "NONE",
        norm: Normalization = ACTIVATED,
    ) -> Activation:
        """DEPTHWISE_CONV_2D with per-channel weights and a fused activation."""
        weights = self._weights((1, *_pair(kernel), source.channels), axis=3)
        sums = convolve_depthwise(source.values, weights, stride, "SAME")
        return self._weighted(
            "DEPTHWISE_CONV_2D", name, source, weights, sums, 3, norm, activation,
            padding="SAME", stride_h=stride, stride_w=stride, depth_multiplier=1,
        )  # fmt: skip

    def fully_connected(
        self,
        name: str,
        source: Activation,
        units: int,
        activation: str = "NONE",
        norm: Normalization = LOGITS,
    ) -> Activation:
        """FULLY_CONNECTED with one scale for all weights, as the converter makes them."""
        weights = self._weights((units, source.channels), axis=None)
        sums = multiply(source.values, weights)
        return self._weighted(
            "FULLY_CONNECTED", name, source, weights, sums, None, norm, activation,
            keep_num_dims=source.values.ndim > 2,
        )  # fmt: skip

    def batch_matmul(
        self, name: str, first: Activation, second: Activation, transposed: bool = False
    ) -> Activation:
        """BATCH_MATMUL, the second operand transposed or not."""
        factor = second.values.swapaxes(-1, -2) if transposed else second.values
        sums = first.values.astype(np.float64) @ factor.astype(np.float64)
        real = sums * (np.float64(first.quantization.scale) * np.float64(second.quantization.scale))
        numbers = first.index, second.index
        return self._output("BATCH_MATMUL", name, numbers, real, adj_x=False, adj_y=transposed)

    def subtract(self, name: str, first: Activation, second: Activation) -> Activation:
        """SUB."""
        return self._binary("SUB", name, first, second, first.real - second.real)

    def multiply(self, name: str, first: Activation, second: Activation) -> Activation:
        """MUL."""
        return self._binary("MUL", name, first, second, first.real * second.real)

    def add(self, name: str, first: Activation, second: Activation, activation: str = "NONE") -> Activation:
        """ADD with a fused activation."""
        real = activated(first.real + second.real, activation)
        return self._binary("ADD", name, first, second, real, activation)

    def unary(
        self, kind: str, name: str, source: Activation, function: Callable[[FloatArray], FloatArray]
    ) -> Activation:
        """An operator that is a function of each element."""
        options: dict[str, Option] = {"approximate": False} if kind == "GELU" else {}
        return self._output(kind, name, (source.index,), function(source.real), "NONE", **options)

    def mean_channels(self, name: str, source: Activation) -> Activation:
        """MEAN over the last dimension, which stays as 1."""
        axes = self._constant(f"{name}/axes", np.array([source.values.ndim - 1], dtype=np.int32))
        real = source.values.mean(axis=-1, keepdims=True, dtype=np.float64) * source.quantization.scale
        return self._output("MEAN", name, (source.index, axes), real, keep_dims=True)

    def reshape(self, name: str, source: Activation, shape: tuple[int, ...]) -> Activation:
        """RESHAPE of each sample."""
        values = source.values.reshape(-1, *shape)
        wanted = self._constant(f"{name}/shape", np.array([1, *shape], dtype=np.int32))
        numbers = source.index, wanted
        return self._same_scale("RESHAPE", name, numbers, values, source, new_shape=(1, *shape))

    def transpose(self, name: str, source: Activation, axes: tuple[int, ...]) -> Activation:
        """TRANSPOSE; axis 0 is that of the samples."""
        order = self._constant(f"{name}/axes", np.array(axes, dtype=np.int32))
        return self._same_scale(
            "TRANSPOSE", name, (source.index, order), source.values.transpose(axes), source
        )

    def concatenate(self, name: str, first: Activation, second: Activation, axis: int) -> Activation:
        """CONCATENATION of two tensors, the first of which may be a constant, in the second's scale."""
        samples = len(second.values)
        whole = np.broadcast_to(first.values, (samples, *first.values.shape[1:]))
        values = np.concatenate([whole, second.values], axis)
        return self._same_scale(
            "CONCATENATION", name, (first.index, second.index), values, second,
            axis=axis, fused_activation_function="NONE",
        )  # fmt: skip

    def row(self, name: str, source: Activation, number: int) -> Activation:
        """SLICE: one row of the dimension before the last."""
        width = source.channels
        begin = self._constant(f"{name}/begin", np.array([0, number, 0], dtype=np.int32))
        size = self._constant(f"{name}/size", np.array([1, 1, width], dtype=np.int32))
        values = source.values[:, number : number + 1]
        return self._same_scale("SLICE", name, (source.index, begin, size), values, source)

    def average_pool(self, name: str, source: Activation) -> Activation:
        """AVERAGE_POOL_2D over the whole image, in the input's scale."""
        _, height, width, _ = source.values.shape
        values = np.rint(source.values.mean(axis=(1, 2), keepdims=True, dtype=np.float64))
        return self._same_scale(
            "AVERAGE_POOL_2D", name, (source.index,), values, source,
            padding="VALID", filter_height=height, filter_width=width,
        )  # fmt: skip

    def max_pool(self, name: str, source: Activation, size: int, stride: int, padding: str) -> Activation:
        """MAX_POOL_2D over square windows."""
        values = pool_max(source.values, size, stride, padding)
        return self._same_scale(
            "MAX_POOL_2D", name, (source.index,), values, source,
            padding=padding, filter_height=size, filter_width=size, stride_h=stride, stride_w=stride,
        )  # fmt: skip

    def mean(self, name: str, source: Activation) -> Activation:
        """MEAN over rows and columns, which go, with a scale of its own."""
        axes = self._constant(f"{name}/axes", np.array([1, 2], dtype=np.int32))
        real = source.real.mean(axis=(1, 2))
        return self._output("MEAN", name, (source.index, axes), real, keep_dims=False)

    def flatten(self, name: str, source: Activation) -> Activation:
        """RESHAPE to one row."""
        return self.reshape(name, source, (source.values[0].size,))

    def softmax(self, name: str, source: Activation, beta: float = 1.0) -> Activation:
        """SOFTMAX over the last dimension, in the scale that TensorFlow prescribes."""
        exponentials = np.exp(beta * (source.real - source.real.max(axis=-1, keepdims=True)))
        real = exponentials / exponentials.sum(axis=-1, keepdims=True)
        return self._quantized(
            "SOFTMAX", name, (source.index,), real, Quantization((1 / 256,), (-128,)), beta=beta
        )

    def classify(self, features: Activation, classes: int) -> Activation:
        """Logits of the classes, and their probabilities."""
        return self.softmax("probabilities", self.fully_connected("logits", features, classes))

    def _weighted(
        self,
        kind: str,
        name: str,
        source: Activation,
        weights: NDArray[np.int8],
        sums: FloatArray,
        axis: int | None,
        norm: Normalization,
        activation: str,
        **options: Option,
    ) -> Activation:
        """Scales and biases that give `sums` the means and spreads of `norm`; then the operator."""
        scale, bias = fold_normalization(sums, axis is not None, norm, source.quantization.scale, self._rng)
        weight_scales = tuple(scale.tolist())
        zero_points = (0,) * len(weight_scales)
        bias_scales = tuple((np.float32(source.quantization.scale) * scale).tolist())
        inputs = (
            source.index,
            self._constant(f"{name}/weights", weights, Quantization(weight_scales, zero_points, axis or 0)),
            self._constant(f"{name}/bias", bias, Quantization(bias_scales, zero_points)),
        )
        real = (sums + bias) * np.broadcast_to(np.array(bias_scales), (sums.shape[-1],))
        options["fused_activation_function"] = activation
        return self._output(kind, name, inputs, activated(real, activation), activation, **options)

    def _weights(self, shape: tuple[int, ...], axis: int | None) -> NDArray[np.int8]:
        """Normal noise, scaled so that each channel's largest weight has all bits, as the converter does."""
        noise = self._rng.standard_normal(shape, dtype=np.float32)
        others = None if axis is None else tuple(other for other in range(len(shape)) if other != axis)
        largest = np.abs(noise).max(axis=others, keepdims=True)
        weights: NDArray[np.int8] = np.rint(noise * (self._largest_weight / largest)).astype(np.int8)
        return weights

    def _binary(
        self, kind: str, name: str, first: Activation, second: Activation, real: FloatArray,
        activation: str = "NONE",
    ) -> Activation:  # fmt: skip
        numbers = first.index, second.index
        return self._output(kind, name, numbers, real, activation, fused_activation_function=activation)

    def _output(
        self, kind: str, name: str, inputs: tuple[int, ...], real: FloatArray, activation: str = "NONE",
        **options: Option,
    ) -> Activation:  # fmt: skip
        """The operator with a scale of its own, which covers the values seen."""
        return self._quantized(kind, name, inputs, real, covering(real, activation), **options)

    def _quantized(
        self, kind: str, name: str, inputs: tuple[int, ...], real: FloatArray, quantization: Quantization,
        **options: Option,
    ) -> Activation:  # fmt: skip
        zero_point = quantization.zero_point
        values = np.clip(np.rint(real / quantization.scale), -128 - zero_point, 127 - zero_point)
        return self._append(kind, name, inputs, values.astype(np.float32), quantization, **options)

    def _same_scale(
        self, kind: str, name: str, inputs: tuple[int, ...], values: FloatArray, source: Activation,
        **options: Option,
    ) -> Activation:  # fmt: skip
        return self._append(kind, name, inputs, values.astype(np.float32), source.quantization, **options)

    def _append(
        self, kind: str, name: str, inputs: Sequence[int], values: FloatArray, quantization: Quantization,
        **options: Option,
    ) -> Activation:  # fmt: skip
        index = self._tensor(name, (1, *values.shape[1:]), "int8", quantization)
        if self._on_operator is not None:
            self._on_operator(name)
        self._operators.append(Operator(kind, tuple(inputs), (index,), options, self._location()))
        return Activation(index, values, quantization)

    def _location(self) -> str:
        return f"operator {len(self._operators)}"

    def _constant(
        self, name: str, data: NDArray[np.generic], quantization: Quantization | None = None
    ) -> int:
        return self._tensor(name, data.shape, data.dtype.name, quantization, data)

    def _tensor(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: str,
        quantization: Quantization | None,
        data: NDArray[np.generic] | None = None,
    ) -> int:
        self._tensors.append(Tensor(name, shape, dtype, quantization, data))
        return len(self._tensors) - 1


def _pair(kernel: int | tuple[int, int]) -> tuple[int, int]:
    return kernel if isinstance(kernel, tuple) else (kernel, kernel)
