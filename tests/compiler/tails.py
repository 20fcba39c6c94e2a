"""Networks like those for detection and poses: int8 first, then boxes and points in float32 and int32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Option, Quantization, Tensor

SIZE, BOXES, POINTS = 6, 72, 5


class TailBuilder:
    """A network under construction; each operator gives the number of its output."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rng = np.random.default_rng(0)
        self._tensors: list[Tensor] = []
        self._operators: list[Operator] = []
        self.input = self._tensor("image", (1, SIZE, SIZE, 3), "int8", _quantization(0.02, -5))

    def graph(self, *outputs: int) -> Graph:
        """The network with these outputs."""
        return Graph(self._name, tuple(self._tensors), tuple(self._operators), (self.input,), outputs)

    def convolution(self, name: str, channels: int, scale: float) -> int:
        """A 3x3 convolution of the input, whose results use much of int8."""
        data = self._rng.integers(-127, 128, (channels, 3, 3, 3), dtype=np.int8)
        bias = self.constant(np.zeros(channels, np.int32), _quantization(0.02 * 0.005, 0))
        weights = self.constant(data, _quantization(0.005, 0))
        shape, output = (1, SIZE, SIZE, channels), _quantization(scale, 3)
        options: dict[str, Option] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
        return self.add("CONV_2D", [self.input, weights, bias], shape, "int8", output, name=name, **options)

    def reshape(self, source: int, *shape: int) -> int:
        """The same elements."""
        tensor = self._tensors[source]
        target = self.constant(list(shape))
        return self.add(
            "RESHAPE", [source, target], shape, tensor.dtype, tensor.quantization, new_shape=shape
        )

    def real(self, source: int) -> int:
        """DEQUANTIZE."""
        return self.add("DEQUANTIZE", [source], self._tensors[source].shape)

    def binary(self, kind: str, first: int, second: Any, **options: Option) -> int:
        """A plain operator on two tensors, or on one and a constant."""
        tensor = self._tensors[first]
        other = second if isinstance(second, int) else self.constant(np.asarray(second, tensor.dtype))
        shape = np.broadcast_shapes(tensor.shape, self._tensors[other].shape)
        return self.add(kind, [first, other], shape, tensor.dtype, **options)

    def column(self, source: int, index: int) -> int:
        """One element of the last of three dimensions, by STRIDED_SLICE."""
        tensor = self._tensors[source]
        bounds = [self.constant(bound) for bound in ([0, 0, index], [0, 0, index + 1], [1, 1, 1])]
        masks: dict[str, Option] = {"begin_mask": 3, "end_mask": 3, "shrink_axis_mask": 4}
        return self.add("STRIDED_SLICE", [source, *bounds], tensor.shape[:2], tensor.dtype, **masks)

    def pack(self, axis: int, *sources: int) -> int:
        """PACK."""
        tensor = self._tensors[sources[0]]
        shape = (*tensor.shape[:axis], len(sources), *tensor.shape[axis:])
        return self.add("PACK", sources, shape, tensor.dtype, values_count=len(sources), axis=axis)

    def constant(self, data: Any, quantization: Quantization | None = None) -> int:
        """A constant; lists of integers are int32."""
        array = data if isinstance(data, np.ndarray) else np.array(data, np.int32)
        return self._tensor("constant", array.shape, array.dtype.name, quantization, array)

    def add(
        self,
        kind: str,
        inputs: Sequence[int],
        shape: Sequence[int],
        dtype: str = "float32",
        quantization: Quantization | None = None,
        name: str = "",
        **options: Option,
    ) -> int:
        """Any operator with one output."""
        output = self._tensor(name or f"tail/{kind.lower()}", shape, dtype, quantization)
        location = f"operator {len(self._operators)}"
        self._operators.append(Operator(kind, tuple(inputs), (output,), options, location))
        return output

    def _tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        quantization: Quantization | None = None,
        data: np.ndarray | None = None,
    ) -> int:
        self._tensors.append(Tensor(name, tuple(shape), dtype, quantization, data))
        return len(self._tensors) - 1


def _quantization(scale: float, zero_point: int) -> Quantization:
    return Quantization((float(np.float32(scale)),), (zero_point,))


def boxes() -> Graph:
    """As SSD decodes boxes, two anchors for each pixel; the size is a square root where SSD has exp."""
    net = TailBuilder("boxes")
    rng = np.random.default_rng(1)
    real = net.real(net.reshape(net.convolution("box", 8, 0.05), 1, BOXES, 4))
    corners = []
    for axis in (0, 1):
        anchors = rng.uniform(0.1, 1.0, (2, 1, BOXES)).astype(np.float32)
        shift = net.binary("MUL", net.binary("DIV", net.column(real, axis), 10.0), anchors[0])
        centre = net.binary("ADD", shift, anchors[1], fused_activation_function="RELU6")
        length = net.add("ABS", [net.column(real, 2 + axis)], (1, BOXES))
        half = net.binary("DIV", net.binary("MUL", net.add("SQRT", [length], (1, BOXES)), anchors[0]), 2.0)
        corners += [net.binary("SUB", centre, half), net.binary("ADD", centre, half)]
    found = net.pack(2, corners[0], corners[2], corners[1], corners[3])
    clipped = net.binary("MINIMUM", net.binary("MAXIMUM", found, np.zeros((1, 1, 4))), np.ones((1, 1, 4)))
    scores = net.reshape(net.convolution("class", 2 * 7, 0.04), 1, BOXES, 7)
    best = net.add("ARG_MAX", [scores, net.constant([-1])], (1, BOXES), "int32", output_type="int32")
    family = net.binary("FLOOR_DIV", best, [[2]])
    labels = net.add("CAST", [net.reshape(family, 1, BOXES, 1)], (1, BOXES, 1),
                     in_data_type="int32", out_data_type="float32")  # fmt: skip
    rows = net.add("CONCATENATION", [clipped, labels], (1, BOXES, 5), axis=-1)
    order = net.constant([0, 2, 1])
    return net.graph(rows, net.add("TRANSPOSE", [rows, order], (1, 5, BOXES)), best)


def points() -> Graph:
    """As PoseNet finds key points: the hottest pixel of each map, and the offset that is found there."""
    net = TailBuilder("points")
    maps = net.reshape(net.convolution("heat", POINTS, 0.05), SIZE * SIZE, POINTS)
    place = net.add("ARG_MAX", [maps, net.constant([0])], (POINTS,), "int32", output_type="int32")
    row = net.binary("FLOOR_DIV", place, [SIZE])
    column = net.binary("SUB", place, net.binary("MUL", row, [SIZE]))
    offsets = net.reshape(net.real(net.convolution("offset", 2 * POINTS, 0.05)), SIZE, SIZE, 2 * POINTS)
    found = []
    for axis, pixel in ((0, row), (1, column)):
        map_numbers = net.constant(np.arange(axis * POINTS, (axis + 1) * POINTS, dtype=np.int32))
        indices = net.pack(1, row, column, map_numbers)
        offset = net.add("GATHER_ND", [offsets, indices], (POINTS,))
        real = net.add("CAST", [pixel], (POINTS,), in_data_type="int32", out_data_type="float32")
        found.append(net.binary("ADD", net.binary("MUL", real, [32.0]), offset))
    squares = [net.binary("MUL", item, item) for item in found]
    distance = net.add("SQRT", [net.binary("ADD", *squares)], (POINTS,))
    heat = net.add("GATHER_ND", [net.real(maps), net.pack(1, place, net.constant([0] * POINTS))], (POINTS,))
    return net.graph(net.pack(1, *found), net.binary("FLOOR_DIV", distance, [7.5]), heat, distance)


TAILS = {"boxes": boxes, "points": points}
