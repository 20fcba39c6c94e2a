"""What the tensors of an ONNX file are while it is converted, and the order of their dimensions.

An activation is stored in any order of its dimensions: images come as NCHW and are kept as NHWC, and a
Transpose only changes that order. Values between conversions are real; each is known by the 8-bit tensor that
it is computed from, and what its 256 numbers stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.dataclass import dataclass

Array = NDArray[Any]
Floats = NDArray[np.float32]
Shape = tuple[int, ...]
Order = tuple[int, ...]
NO_SCALE = Quantization((0.0,), (0,))  # of numbers that stand for themselves


class RefusedError(Exception):
    """Why a node cannot be placed."""


class NoIntegerFormError(RefusedError):
    """Why 8-bit numbers do not suffice for a node; it may be computed in float32 instead."""


@dataclass(frozen=True, slots=True)
class OnnxConstant:
    """A constant in the file's order: integers with their quantization, or plain numbers."""

    data: Array
    quantization: Quantization | None = None

    @property
    def shape(self) -> Shape:
        """Its dimensions."""
        return self.data.shape

    @property
    def real(self) -> Array:
        """The numbers that it stands for."""
        if self.quantization is None:
            return self.data
        found = self.quantization
        shape = [1] * self.data.ndim
        if found.per_channel:
            shape[found.axis] = len(found.scales)
        scales = np.array(found.scales, np.float32).reshape(shape)
        points = np.array(found.zero_points, np.int64).reshape(shape)
        return (self.data.astype(np.int64) - points).astype(np.float32) * scales


@dataclass(frozen=True, slots=True)
class OnnxActivation:
    """A tensor of the graph; `shape` is that of the file, and dimension `order[i]` of it is stored as
    dimension i.

    It is int8, or else of a `dtype` that has no scale: float32, int32, int64 or bool. `curve` says what real
    number each of -128 to 127 stands for, where that is not what the scale says. `source` is set for a
    reshape that no order can express, and that was put off: the value before it.
    """

    number: int
    shape: Shape
    order: Order
    quantization: Quantization
    curve: Floats | None = None
    source: OnnxActivation | None = None
    dtype: str = "int8"

    @property
    def real(self) -> Floats:
        """What each of -128 to 127 stands for."""
        if self.dtype != "int8":
            raise NoIntegerFormError(f"it reads {self.dtype}, not 8 bits")
        return scale_curve(self.quantization) if self.curve is None else self.curve

    @property
    def stored(self) -> Shape:
        """The shape in the graph."""
        return tuple(self.shape[axis] for axis in self.order)


@dataclass(frozen=True, slots=True)
class RealInput:
    """An input of the network that no operator has quantized yet."""

    name: str
    shape: Shape
    dtype: str


@dataclass(frozen=True, slots=True)
class Missing:
    """What a refused operator would have computed."""


@dataclass(frozen=True, slots=True)
class Traced:
    """An 8-bit tensor of the file and the graph's tensor that holds the same numbers, less `offset`."""

    name: str
    number: int
    order: Order
    shape: tuple[int, ...]
    offset: int


Known = OnnxConstant | OnnxActivation | RealInput | Missing


def scale_curve(quantization: Quantization) -> Floats:
    """What each of -128 to 127 stands for by a scale and a zero point."""
    steps = np.arange(-128, 128) - quantization.zero_point
    curve: Floats = steps.astype(np.float32) * np.float32(quantization.scale)
    return curve


def quantized(real: Array | float, quantization: Quantization) -> NDArray[np.int8]:
    """Real numbers as int8, halves to even as QuantizeLinear rounds, and NaN to the lowest as on x86."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(np.asarray(real, np.float32) / np.float32(quantization.scale))
    steps = np.nan_to_num(steps, nan=-1e9, posinf=1e9, neginf=-1e9).clip(-1e9, 1e9).astype(np.int64)
    numbers: NDArray[np.int8] = np.clip(steps + quantization.zero_point, -128, 127).astype(np.int8)
    return numbers


def covering(real: Array) -> Quantization:
    """A quantization of all that a curve or a constant takes on, 0 included."""
    finite = np.asarray(real, np.float64)[np.isfinite(real)]
    low, high = min(0.0, finite.min(initial=0.0)), max(0.0, finite.max(initial=0.0))
    scale = float(np.float32((high - low) / 255)) or 1.0
    return Quantization((scale,), (round(-128 - low / scale),))


def plain(rank: int) -> Order:
    """The file's own order."""
    return tuple(range(rank))


def channels_last(rank: int) -> Order:
    """The order of images: batch, pixels, channels."""
    return (0, *range(2, rank), 1) if rank > 2 else plain(rank)


def moved(value: OnnxActivation, permutation: Sequence[int]) -> OnnxActivation:
    """A Transpose: the same bytes in another order."""
    shape = tuple(value.shape[axis] for axis in permutation)
    return replace(value, shape=shape, order=tuple(permutation.index(axis) for axis in value.order))


def same_bytes(value: OnnxActivation, order: Order) -> bool:
    """Whether storing the value in this order moves nothing but dimensions of size 1."""
    long = [axis for axis in value.order if value.shape[axis] > 1]
    return long == [axis for axis in order if value.shape[axis] > 1]


def order_after(value: OnnxActivation, shape: Shape) -> Order | None:
    """The order in which the same bytes are the value in another shape; None if there is none."""
    if not value.shape or prod(shape) == 1:
        return plain(len(shape))
    groups = _groups(value.shape, shape)
    stored = [axis for axis in value.order if value.shape[axis] > 1]
    result: list[int] = []
    while stored:
        before, after = next(group for group in groups if stored[0] in group[0])
        if stored[: len(before)] != before:
            return None
        stored = stored[len(before) :]
        result += after
    return _with_short(result, shape)


def order_before(value: OnnxActivation, shape: Shape) -> Order:
    """The order nearest to the value's own in which its bytes are the value in another shape."""
    stored = [axis for axis in value.order if value.shape[axis] > 1]
    groups = _groups(value.shape, shape)
    found = [next(group for group, _ in groups if axis in group) for axis in stored]
    chosen = [axis for place, group in enumerate(found) if group not in found[:place] for axis in group]
    return _with_short(chosen, value.shape)


def _groups(before: Shape, after: Shape) -> list[tuple[list[int], list[int]]]:
    """The dimensions longer than 1 of two shapes of as many elements, in groups of equal products."""
    first = [axis for axis, size in enumerate(before) if size > 1]
    second = [axis for axis, size in enumerate(after) if size > 1]
    groups = []
    while first:
        left, right = [first.pop(0)], [second.pop(0)]
        while (one := prod(before[axis] for axis in left)) != (two := prod(after[axis] for axis in right)):
            if one < two:
                left.append(first.pop(0))
            else:
                right.append(second.pop(0))
        groups.append((left, right))
    return groups


def _with_short(order: list[int], shape: Shape) -> Order:
    """The order with dimensions of size 1, which may stand anywhere: in front of the next one."""
    result = list(order)
    for axis in reversed([axis for axis, size in enumerate(shape) if size == 1]):
        place = next((i for i, other in enumerate(result) if other > axis), len(result))
        result.insert(place, axis)
    return tuple(result)
