"""One operator and what it reads, as the shape rules see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dlasim.compiler_shim.graph import Operator, Tensor
from dlasim.errors import InputError

Shape = tuple[int, ...]
# Some messages show values of the file, which may be many.
_MAX_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Step:
    """One operator with the tensors that it reads (None where one is left out)."""

    operator: Operator
    inputs: tuple[Tensor | None, ...]
    where: str

    def option(self, name: str) -> Any:
        """The option's value."""
        return self.operator.options[name]

    def has(self, position: int) -> bool:
        """Whether the input at this position is there."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def tensor(self, position: int) -> Tensor:
        """The input at this position, which is not an optional one."""
        tensor = self.inputs[position]
        assert tensor is not None
        return tensor

    def shape(self, position: int, rank: int | None = None) -> Shape:
        """The shape of an input, of this rank."""
        shape = self.tensor(position).shape
        self.require(rank in (None, len(shape)), f"input {position} has shape {list(shape)}, not rank {rank}")
        return shape

    def values(self, position: int) -> Any:
        """The integers of an input that must be constant, because shapes depend on it."""
        tensor = self.tensor(position)
        self.require(
            tensor.is_constant, f"input {position} must be constant: the output's shape depends on it"
        )
        self.require(
            tensor.dtype in ("int32", "int64"), f"input {position} is {tensor.dtype}, not int32 or int64"
        )
        return np.asarray(tensor.data, dtype=np.int64)

    def integers(self, position: int) -> list[int]:
        """The values of a constant input as a flat list."""
        return [int(value) for value in self.values(position).ravel()]

    def scalar(self, position: int) -> int:
        """The value of a constant input that is a single number."""
        found = self.integers(position)
        self.require(len(found) == 1, f"input {position} has {len(found)} elements, one expected")
        return found[0]

    def axis(self, axis: int, rank: int) -> int:
        """The axis, counted from the front."""
        self.require(-rank <= axis < rank, f"axis {axis}, but there are {rank} dimensions")
        return axis % rank

    def require(self, condition: bool, message: str) -> None:
        """Refuses the model unless the condition holds."""
        if not condition:
            raise InputError(f"{self.where}: {message[:_MAX_MESSAGE]}")
