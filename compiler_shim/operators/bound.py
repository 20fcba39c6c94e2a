"""One operator in its graph, as the lowering rules see it, and the host call that a rule makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from dlasim.compiler_shim.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.operators.activations import ACTIVATIONS, quantized_range
from dlasim.errors import InputError
from dlasim.isa import host_ops


@dataclass(frozen=True, slots=True)
class HostCall:
    """A host operator's call: tensors of the graph by number; a Tensor among the inputs is a new constant."""

    name: str
    inputs: tuple[int | Tensor, ...]
    outputs: tuple[int, ...]
    attributes: tuple[int, ...]

    @property
    def code(self) -> int:
        """The operator's number in the table."""
        return host_ops.BY_NAME[self.name].code


@dataclass(frozen=True, slots=True)
class Site:
    """An operator, with the tensors and options that it names."""

    operator: Operator
    graph: Graph

    def refuse(self, reason: str) -> NoReturn:
        """Says in one line why the operator cannot be lowered."""
        where = " ".join(part for part in (self.operator.location, f"({self.operator.kind})") if part)
        raise InputError(f"{self.graph.name or 'model'}: {where}: {reason}")

    def require(self, condition: bool, reason: str) -> None:
        """Refuses the operator unless the condition holds."""
        if not condition:
            self.refuse(reason)

    def has(self, position: int) -> bool:
        """Whether the input at this position is there."""
        return position < len(self.operator.inputs) and self.operator.inputs[position] >= 0

    def input(self, position: int = 0) -> Tensor:
        """The tensor read at this position."""
        self.require(self.has(position), f"input {position} is left out")
        return self.graph.tensors[self.operator.inputs[position]]

    def output(self, position: int = 0) -> Tensor:
        """The tensor written at this position."""
        return self.graph.tensors[self.operator.outputs[position]]

    def option(self, name: str, default: Any) -> Any:
        """The option's value, or TFLite's default where it is not given."""
        return self.operator.options.get(name, default)

    def constant(self, position: int) -> Any:
        """The data of an input that must be known beforehand."""
        tensor = self.input(position)
        if tensor.data is None:
            self.refuse(f"input {position} ({tensor.name}) is computed, it must be constant")
        return tensor.data

    def integers(self, position: int) -> list[int]:
        """A constant input's values as a flat list."""
        return [int(value) for value in self.constant(position).ravel()]

    def axis(self, axis: int, rank: int) -> int:
        """The axis, counted from the front."""
        self.require(-rank <= axis < rank, f"axis {axis}, but there are {rank} dimensions")
        return axis % rank

    def types(self, tensor: Tensor, *allowed: str) -> None:
        """Refuses a tensor of another type."""
        self.require(
            tensor.dtype in allowed,
            f"{tensor.name} is {tensor.dtype}, the host operator takes {' or '.join(allowed)}",
        )

    def same_types(self, *tensors: Tensor) -> None:
        """Refuses tensors of different types."""
        found = sorted({tensor.dtype for tensor in tensors})
        self.require(len(found) == 1, f"operands of different types: {', '.join(found)}")

    def quantization(self, tensor: Tensor) -> Quantization:
        """The tensor's quantization, per channel or not."""
        if tensor.quantization is None:
            self.refuse(f"{tensor.name} has no scale")
        self.require(min(tensor.quantization.scales) > 0, f"{tensor.name} has a scale that is not above 0")
        return tensor.quantization

    def scale(self, tensor: Tensor) -> float:
        """The tensor's one scale: a float32 value, held as a Python float."""
        quantization = self.quantization(tensor)
        self.require(not quantization.per_channel, f"{tensor.name} is quantized per channel")
        return float(np.float32(quantization.scale))

    def zero_point(self, tensor: Tensor) -> int:
        """The tensor's one zero point."""
        self.scale(tensor)
        return self.quantization(tensor).zero_point

    def clamp(self) -> dict[str, int]:
        """`clamp_min` and `clamp_max` of an int8 output: the fused activation."""
        activation, tensor = self.option("fused_activation_function", "NONE"), self.output()
        self.require(activation in ACTIVATIONS, f"fused activation {activation} is not supported")
        least, greatest = quantized_range(activation, self.scale(tensor), self.zero_point(tensor))
        return {"clamp_min": least, "clamp_max": greatest}

    def new_constant(self, suffix: str, data: Any) -> Tensor:
        """A constant that the call needs beside the model's own."""
        return Tensor(f"{self.output().name}/{suffix}", data.shape, data.dtype.name, data=data)

    def call(
        self,
        name: str,
        inputs: Sequence[int | Tensor],
        outputs: Sequence[int] | None = None,
        /,
        **attributes: int | float | Sequence[int],
    ) -> HostCall:
        """The call of a host operator."""
        for attribute, value in attributes.items():
            fits = not isinstance(value, int) or -(1 << 31) <= value < 1 << 31
            self.require(fits, f"{attribute} = {value} does not fit 32 bits")
        words = host_ops.encode_attributes(name, **attributes)
        return HostCall(
            name, tuple(inputs), tuple(self.operator.outputs if outputs is None else outputs), words
        )
