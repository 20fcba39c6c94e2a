"""Adds operators to the graph for the handlers of ONNX nodes: tables, reshapes, and orders of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dlasim.compiler_shim.dlag.graph_builder import GraphBuilder
from dlasim.compiler_shim.network.graph import Quantization, label
from dlasim.compiler_shim.onnx.onnx_values import (
    NO_SCALE,
    Array,
    OnnxActivation,
    Order,
    channels_last,
    order_after,
    order_before,
    quantized,
    same_bytes,
)


class OnnxEmitter:
    """The graph under construction."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.builder = builder
        self._real: dict[
            tuple[int, bytes], int
        ] = {}  # what is float32 already, by the 8-bit tensor and its curve

    def emit(
        self, kind: str, inputs: Sequence[int | None], quantization: Quantization, name: str, **options: Any
    ) -> int:
        """Add an operator to the graph."""
        return self.builder.operator(
            kind, inputs, scale=quantization.scale, zero_point=quantization.zero_point,
            name=label(name), **options,
        )  # fmt: skip

    def move(
        self, kind: str, inputs: Sequence[int | None], value: OnnxActivation, name: str, **options: Any
    ) -> int:
        """Add an operator that only moves elements of the value, whose type and scale stay."""
        if value.dtype == "int8":
            return self.emit(kind, inputs, value.quantization, name, **options)
        return self.compute(kind, inputs, value.dtype, name, **options)

    def compute(self, kind: str, inputs: Sequence[int | None], dtype: str, name: str, **options: Any) -> int:
        """Add an operator on numbers that stand for themselves."""
        return self.builder.operator(kind, inputs, dtype=dtype, name=label(name), **options)

    def in_float32(self, value: OnnxActivation, name: str) -> OnnxActivation:
        """The value as real numbers."""
        value = self.with_reshape(value, name)
        if value.dtype == "float32":
            return value
        key = value.number, b"" if value.curve is None else value.curve.tobytes()
        if key not in self._real:
            self._real[key] = self._converted(value, f"{name}/real")
        number = self._real[key]
        return replace(value, number=number, quantization=NO_SCALE, curve=None, dtype="float32")

    def _converted(self, value: OnnxActivation, name: str) -> int:
        if value.dtype not in ("int8", "int16"):
            return self.compute("CAST", [value.number], "float32", name)
        if value.curve is None:
            return self.compute("DEQUANTIZE", [value.number], "float32", name)
        table = self.builder.constant(f"{label(name)}/table", value.curve)
        return self.compute("TABLE", [value.number, table], "float32", name)

    def in_eight_bits(self, value: OnnxActivation, quantization: Quantization, name: str) -> OnnxActivation:
        """The value in a scale."""
        if value.dtype == "int8":
            return self.table(value, value.real, quantization, name)
        value = self.in_float32(value, name)
        number = self.emit("QUANTIZE", [value.number], quantization, name)
        return replace(value, number=number, quantization=quantization, dtype="int8")

    def in_sixteen_bits(self, value: OnnxActivation, quantization: Quantization, name: str) -> OnnxActivation:
        """The value in a scale of 16 bits, in which nothing is computed."""
        value = self.in_float32(value, name)
        number = self.emit("QUANTIZE", [value.number], quantization, name, dtype="int16")
        return replace(value, number=number, quantization=quantization, dtype="int16")

    def numbers(self, name: str, data: Sequence[int] | Sequence[tuple[int, int]]) -> int:
        """A constant of integers, such as axes."""
        return self.builder.constant(f"{label(name)}/numbers", np.array(data, np.int32))

    def eight_bits(self, name: str, data: Array, quantization: Quantization) -> int:
        """A constant of 8 bits."""
        return self.builder.constant(
            label(name), data, scale=quantization.scales, zero_point=quantization.zero_points,
            axis=quantization.axis,
        )  # fmt: skip

    def table(
        self, value: OnnxActivation, real: Array, quantization: Quantization, name: str
    ) -> OnnxActivation:
        """A function of each element as a table of 256, with one rounding."""
        entries = quantized(real, quantization)
        if value.quantization == quantization and (entries == np.arange(-128, 128)).all():
            return replace(value, curve=None)
        table = self.eight_bits(f"{name}/table", entries, quantization)
        number = self.emit("TABLE", [value.number, table], quantization, name)
        source = (
            None if value.source is None else self.table(value.source, real, quantization, f"{name}/source")
        )
        return replace(value, number=number, quantization=quantization, curve=None, source=source)

    def with_reshape(self, value: OnnxActivation, name: str) -> OnnxActivation:
        """The value after its delayed reshape, if it has one."""
        if value.source is None:
            return value
        source = self.ordered(value.source, order_before(value.source, value.shape), f"{name}/order")
        order = order_after(source, value.shape)
        assert order is not None
        number = self.reshape(source, [value.shape[axis] for axis in order], name)
        return replace(value, number=number, order=order, source=None)

    def reshape(self, value: OnnxActivation, stored: Sequence[int], name: str) -> int:
        """The same bytes in another shape."""
        if tuple(stored) == value.stored:
            return value.number
        return self.move("RESHAPE", [value.number], value, name, new_shape=tuple(stored))

    def ordered(self, value: OnnxActivation, order: Order, name: str) -> OnnxActivation:
        """The value stored in this order of its dimensions."""
        value = self.with_reshape(value, name)
        if value.order == order:
            return value
        if same_bytes(value, order):
            number = self.reshape(value, [value.shape[axis] for axis in order], f"{name}/reshape")
        else:
            permutation = self.numbers(f"{name}/transpose", [value.order.index(axis) for axis in order])
            number = self.move("TRANSPOSE", [value.number, permutation], value, f"{name}/transpose")
        return replace(value, number=number, order=order)

    def image(self, value: OnnxActivation, name: str) -> OnnxActivation:
        """The value with its channels last."""
        return self.ordered(value, channels_last(len(value.shape)), name)

    def extended(self, value: OnnxActivation, rank: int, name: str) -> OnnxActivation:
        """The value with dimensions of size 1 in front."""
        value = self.with_reshape(value, name)
        extra = rank - len(value.shape)
        if extra == 0:
            return value
        shape = (1,) * extra + value.shape
        order = (*range(extra), *(axis + extra for axis in value.order))
        number = self.reshape(value, [shape[axis] for axis in order], f"{name}/extended")
        return replace(value, number=number, shape=shape, order=order)
