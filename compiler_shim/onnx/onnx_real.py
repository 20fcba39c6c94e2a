"""Arithmetic of float32 tensors of the graph, written as expressions: each step is an operator of the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from dlasim.compiler_shim.network.graph import label
from dlasim.compiler_shim.onnx.onnx_emitter import OnnxEmitter
from dlasim.compiler_shim.onnx.onnx_values import Array, RefusedError, Shape

_MAX_PRODUCTS = 1 << 24  # elements of the products that a product of matrices adds up
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)  # Abramowitz and Stegun, 7.1.26
_ERF_SCALE = 0.3275911
_LARGE = 1e30  # times which all that is not 0 is beyond 1
_LOGARITHM_STEPS = 3  # of Halley's method, for roots up to 18


class Real:
    """A float32 tensor of the graph, as it is stored; `name` is that of the node's result.

    What is computed of constants is folded when the graph is prepared.
    """

    def __init__(self, emitter: OnnxEmitter, number: int, name: str) -> None:
        self._emitter, self.number, self._name = emitter, number, name

    @property
    def shape(self) -> Shape:
        """Its dimensions as stored."""
        return self._emitter.builder.shape(self.number)

    def constant(self, data: Array | float) -> Real:
        """Numbers to compute with."""
        array = np.array(data, np.float32)
        number = self._emitter.builder.constant(f"{label(self._name)}/constant", array)
        return self._of(number)

    def _of(self, number: int) -> Real:
        return Real(self._emitter, number, self._name)

    def computed(self, kind: str, *others: Real | float, dtype: str = "float32") -> Real:
        """An operator of it and others."""
        operands = [other if isinstance(other, Real) else self.constant(other) for other in others]
        numbers = [self.number, *(operand.number for operand in operands)]
        return self._of(self._emitter.compute(kind, numbers, dtype, self._name))

    def __add__(self, other: Real | float) -> Real:
        return self.computed("ADD", other)

    def __sub__(self, other: Real | float) -> Real:
        return self.computed("SUB", other)

    def __mul__(self, other: Real | float) -> Real:
        return self.computed("MUL", other)

    def __truediv__(self, other: Real | float) -> Real:
        return self.computed("DIV", other)

    def __neg__(self) -> Real:
        return self.computed("NEG")

    def over(self, numerator: float) -> Real:
        """A number divided by it."""
        return self.constant(numerator) / self

    def at_least(self, least: Real | float) -> Real:
        """The greater of two."""
        return self.computed("MAXIMUM", least)

    def at_most(self, most: Real | float) -> Real:
        """The smaller of two."""
        return self.computed("MINIMUM", most)

    def exponential(self) -> Real:
        """e^x."""
        return self.computed("EXP")

    def sigmoid(self) -> Real:
        """1 / (1 + e^-x)."""
        return self.computed("LOGISTIC")

    def tanh(self) -> Real:
        """The hyperbolic tangent, by the sigmoid."""
        return (self * 2.0).sigmoid() * 2.0 - 1.0

    def erf(self) -> Real:
        """The error function, within 2e-7."""
        size = self.computed("ABS")
        part = (size * _ERF_SCALE + 1.0).over(1.0)
        total = part * _ERF[-1]
        for factor in reversed(_ERF[:-1]):
            total = (total + factor) * part
        found = self.constant(1.0) - total * (-(size * size)).exponential()
        return found * (self * _LARGE).at_most(1.0).at_least(-1.0)

    def logarithm_of_sum(self) -> Real:
        """log x for x from 1 to 100,000: four times that of the fourth root, by Halley's method."""
        root = self.computed("SQRT").computed("SQRT")
        found = (root - 1.0) / (root + 1.0) * 2.0
        for _ in range(_LOGARITHM_STEPS):
            power = found.exponential()
            found = found + (root - power) / (root + power) * 2.0
        return found * 4.0

    def reduced(self, kind: str, axes: Sequence[int], keeps: bool = True) -> Real:
        """SUM, REDUCE_MAX and the like over dimensions as stored."""
        numbers = self._emitter.numbers(self._name, list(axes))
        found = self._emitter.compute(kind, [self.number, numbers], "float32", self._name, keep_dims=keeps)
        return self._of(found)

    def mean(self, axes: Sequence[int], keeps: bool = True) -> Real:
        """The average over dimensions as stored."""
        count = prod(self.shape[axis] for axis in axes)
        return self.reduced("SUM", axes, keeps) * float(np.float32(1 / max(count, 1)))

    def normalized(self, axes: Sequence[int], epsilon: float, is_centred: bool = True) -> Real:
        """With an average of 0, unless it keeps its own, and a variance of 1."""
        centred = self - self.mean(axes) if is_centred else self
        return centred * ((centred * centred).mean(axes) + epsilon).computed("RSQRT")

    def reshaped(self, shape: Sequence[int]) -> Real:
        """The same elements in another shape."""
        if tuple(shape) == self.shape:
            return self
        return self._of(
            self._emitter.compute("RESHAPE", [self.number], "float32", self._name, new_shape=tuple(shape))
        )

    def transposed(self, order: Sequence[int]) -> Real:
        """Dimensions in another order."""
        if list(order) == list(range(len(order))):
            return self
        numbers = self._emitter.numbers(self._name, list(order))
        return self._of(self._emitter.compute("TRANSPOSE", [self.number, numbers], "float32", self._name))

    def part(self, axis: int, begin: int, size: int) -> Real:
        """Some indices of a dimension."""
        begins = [begin if place == axis else 0 for place in range(len(self.shape))]
        sizes = [size if place == axis else whole for place, whole in enumerate(self.shape)]
        if sizes == list(self.shape):
            return self
        numbers = [self._emitter.numbers(self._name, row) for row in (begins, sizes)]
        return self._of(self._emitter.compute("SLICE", [self.number, *numbers], "float32", self._name))

    def picked(self, indices: Array, axis: int) -> Real:
        """What lies at constant indices along a dimension."""
        places = self._emitter.numbers(f"{self._name}/indices", indices.tolist())
        number = self._emitter.compute(
            "GATHER", [self.number, places], "float32", self._name, axis=axis, batch_dims=0
        )
        return self._of(number)

    def padded(self, pads: Sequence[tuple[int, int]], filler: float) -> Real:
        """With so much before and behind each dimension."""
        if not any(first or last for first, last in pads):
            return self
        amounts = self._emitter.numbers(f"{self._name}/pads", list(pads))
        value = self.constant(np.full(1, filler, np.float32))
        return self._of(
            self._emitter.compute("PADV2", [self.number, amounts, value.number], "float32", self._name)
        )

    def cropped_or_padded(self, edges: Sequence[tuple[int, int]]) -> Real:
        """An image with zeros at its edges, or less of it at the end where the number is below 0."""
        found = self.padded([(0, 0), *((first, max(last, 0)) for first, last in edges), (0, 0)], 0.0)
        for axis, (_, last) in enumerate(edges, 1):
            if last < 0:
                found = found.part(axis, 0, found.shape[axis] + last)
        return found

    def every(self, first: Sequence[int], stride: Sequence[int], counts: Sequence[int]) -> Real:
        """So many rows and columns of an image, from the first ones on."""
        begins, steps = [0, *first, 0], [1, *stride, 1]
        sizes = [self.shape[0], *counts, self.shape[3]]
        if max(steps) == 1 and sizes == list(self.shape):
            return self
        ends = [begin + (size - 1) * step + 1 for begin, size, step in zip(begins, sizes, steps, strict=True)]
        rows = [self._emitter.numbers(self._name, row) for row in (begins, ends, steps)]
        return self._of(self._emitter.compute("STRIDED_SLICE", [self.number, *rows], "float32", self._name))

    def joined(self, others: Sequence[Real], axis: int) -> Real:
        """Others behind it, along a dimension."""
        if not others:
            return self
        numbers = [self.number, *(other.number for other in others)]
        return self._of(self._emitter.compute("CONCATENATION", numbers, "float32", self._name, axis=axis))

    def times_rows(self, matrix: Real) -> Real:
        """The products of its rows with those of a matrix: [..., M, K] and [..., N, K] to [..., M, N]."""
        one, other = self.shape, matrix.shape
        if len(other) < 2 or not one or one[-1] != other[-1]:
            raise RefusedError(f"rows of {list(one)} and {list(other)} do not fit")
        products = prod(one) * other[-2]
        if products > _MAX_PRODUCTS:
            raise RefusedError(
                f"in float32 it takes {products:,} products; the most is {_MAX_PRODUCTS:,}: quantize it"
            )
        first = self.reshaped((*one[:-1], 1, one[-1]))
        second = matrix.reshaped((*other[:-2], 1, *other[-2:]))
        return (first * second).reduced("SUM", [len(first.shape) - 1], keeps=False)
