"""The graph that the shim works on: tensors, operators and their order, independent of any file format."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass

MAX_DIMENSIONS = 8  # of a model's tensor
UNSIGNED_OFFSET = 128  # between a value as uint8 and as int8
Option = int | float | bool | str | tuple[int, ...]
_MAX_LABEL = 60


def label(name: str) -> str:
    """The name fit for a message: the converter joins the names of all that it fused."""
    return name if len(name) <= _MAX_LABEL else f"{name[:_MAX_LABEL]}…"


@dataclass(frozen=True, slots=True)
class Quantization:
    """Affine quantization: real = scale * (q - zero_point), per tensor or along `axis`.

    Scales keep the float32 values of the file: TensorFlow's multipliers are computed from those.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0

    @property
    def per_channel(self) -> bool:
        """Whether each index along `axis` has a scale of its own."""
        return len(self.scales) > 1

    @property
    def scale(self) -> float:
        """The one scale of a per-tensor quantization."""
        assert len(self.scales) == 1
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The one zero point of a per-tensor quantization."""
        assert len(self.zero_points) == 1
        return self.zero_points[0]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named array: its shape, NumPy type name, quantization, and data where it is constant.

    One that `is_unsigned` is int8 here, but uint8 in the model: see `unsigned.py`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None
    data: NDArray[Any] | None = None
    is_unsigned: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether the value is known before the first inference."""
        return self.data is not None

    @property
    def elements(self) -> int:
        """Number of elements; 1 for a scalar."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def size_bytes(self) -> int:
        """Bytes of a dense copy."""
        return self.elements * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator by its TFLite name; tensors by index, -1 for an optional input left out."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Option] = field(default_factory=dict)
    location: str = ""


class Numerics(enum.StrEnum):
    """Whose integers a network computes: TFLite Micro's, those of LiteRT's reference kernels, or neither's.

    `ONCE` rescales products with one rounding where multipliers allow, not with the two of TensorFlow Lite:
    see `numerics.single_rounding_multiplier`.
    """

    TFLM = "tflm"
    LITERT = "litert"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Graph:
    """A network: operators in an order in which they can run."""

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    numerics: Numerics = Numerics.TFLM

    @property
    def rounds_once(self) -> bool:
        """Whether no TensorFlow interpreter computes what it does."""
        return self.numerics is Numerics.ONCE

    def writers(self) -> dict[int, Operator]:
        """The operator that computes each tensor, if one does."""
        return {number: operator for operator in self.operators for number in operator.outputs}

    def readers(self) -> dict[int, list[Operator]]:
        """The operators that read each tensor, as often as each does; a tensor that nobody reads has none."""
        found = defaultdict[int, list[Operator]](list)
        for operator in self.operators:
            for number in operator.inputs:
                found[number].append(operator)
        return found
