"""What a kernel is given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and NumPy type name of a tensor that is to be computed."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Call:
    """A host operator's attributes by name, its inputs, and what its outputs must look like."""

    attributes: SimpleNamespace
    inputs: tuple[Array, ...]
    outputs: tuple[TensorSpec, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first output."""
        return self.outputs[0].shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the first output."""
        return np.dtype(self.outputs[0].dtype)
