"""An operator with the tensors and options that it names, as the rules for shapes and host calls see it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Numerics, Operator, Quantization, Tensor, label
from dlasim.compiler_shim.operators.activations import ACTIVATIONS, quantized_range
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, one_of
from dlasim.isa import host_ops
from dlasim.isa.host_attributes import encode_attributes
from dlasim.sim.arithmetic.numerics import (
    quantize_multiplier,
    quantize_multipliers,
    single_rounding_multiplier,
)

Shape = tuple[int, ...]
# Some messages show values of the file, which may be many.
_MAX_REASON = 300
_MAX_SHIFT = 31  # of OUT_SHIFT, and of 32-bit arithmetic


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A call of a host operator with its attributes by name.

    The CPU's record and the DLA's node are both made of it. Tensors are those of the graph by number. A
    Tensor is a new one: a constant, or what one call of the operator leaves to a later one.
    """

    name: str
    inputs: tuple[int | Tensor, ...]
    outputs: tuple[int | Tensor, ...]
    attributes: SimpleNamespace

    @property
    def code(self) -> int:
        """The host operator's number in its table."""
        return host_ops.BY_NAME[self.name].code

    @property
    def words(self) -> tuple[int, ...]:
        """The attributes as a program file holds them."""
        return encode_attributes(self.name, **vars(self.attributes))


@dataclass(frozen=True, slots=True)
class BoundOperator:
    """An operator of a graph with its tensors (None for an input left out) and all of its options."""

    operator: Operator
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    options: Mapping[str, Any]
    where: str
    numerics: Numerics = Numerics.TFLM  # the graph's

    @property
    def kind(self) -> str:
        """The operator's TFLite name."""
        return self.operator.kind

    @property
    def rounds_once(self) -> bool:
        """Whether products are rescaled with one rounding where multipliers allow."""
        return self.numerics is Numerics.ONCE

    @property
    def is_litert(self) -> bool:
        """Whether LiteRT's kernels are followed: as the graph says, and for uint8, which only they have."""
        return self.numerics is Numerics.LITERT or self.output().is_unsigned

    @property
    def input_numbers(self) -> tuple[int, ...]:
        """The graph's numbers of the tensors that it reads."""
        return self.operator.inputs

    @property
    def output_numbers(self) -> tuple[int, ...]:
        """The graph's numbers of the tensors that it writes."""
        return self.operator.outputs

    def refuse(self, reason: str) -> NoReturn:
        """Rejects the model at this operator."""
        raise InputError(f"{self.where}: {reason[:_MAX_REASON]}")

    def require(self, condition: bool, reason: str) -> None:
        """Rejects the model unless the condition holds."""
        if not condition:
            self.refuse(reason)

    def has(self, position: int) -> bool:
        """Whether the input at this position is there."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def input(self, position: int = 0) -> Tensor:
        """The tensor read at this position."""
        tensor = self.inputs[position] if position < len(self.inputs) else None
        if tensor is None:
            self.refuse(f"input {position} is left out")
        return tensor

    def output(self, position: int = 0) -> Tensor:
        """The tensor written at this position."""
        return self.outputs[position]

    def shape(self, position: int, rank: int | None = None) -> Shape:
        """The shape of an input, which must have this rank."""
        shape = self.input(position).shape
        self.require(rank in (None, len(shape)), f"input {position} has shape {list(shape)}, not rank {rank}")
        return shape

    def option(self, name: str) -> Any:
        """The option's value; TFLite's default where the graph does not give it."""
        return self.options[name]

    @property
    def activation(self) -> str:
        """The fused activation; NONE for an operator that cannot have one."""
        return str(self.options.get("fused_activation_function", "NONE"))

    def constant(self, position: int) -> Any:
        """The data of an input that must be known before the first inference."""
        tensor = self.input(position)
        if tensor.data is None:
            name = label(tensor.name)
            self.refuse(f"input {position} ({name}) must be constant, but the network computes it")
        return tensor.data

    def integer_array(self, position: int) -> Any:
        """The values of a constant input of an index type."""
        data, dtype = self.constant(position), self.input(position).dtype
        self.require(dtype in ("int32", "int64"), f"input {position} is {dtype}, not int32 or int64")
        return np.asarray(data, dtype=np.int64)

    def integers(self, position: int) -> list[int]:
        """The values of a constant input of an index type as a flat list."""
        return [int(value) for value in self.integer_array(position).ravel()]

    def scalar(self, position: int) -> int:
        """The value of a constant input that is a single number."""
        found = self.integers(position)
        self.require(len(found) == 1, f"input {position} must have 1 element (got {len(found)})")
        return found[0]

    def axis(self, axis: int, rank: int) -> int:
        """The axis, counted from the front."""
        self.require(rank > 0, "a scalar has no axis")
        self.require(-rank <= axis < rank, f"its axis must be from {-rank} to {rank - 1} (got {axis})")
        return axis % rank

    def types(self, tensor: Tensor, *allowed: str) -> None:
        """Rejects a tensor of another type."""
        self.require(tensor.dtype in allowed, f"{tensor.name} must be {one_of(allowed)} (got {tensor.dtype})")

    def same_types(self, *tensors: Tensor) -> None:
        """Rejects tensors of different types."""
        found = sorted({tensor.dtype for tensor in tensors})
        self.require(len(found) == 1, f"its operands have different types: {', '.join(found)}")

    def quantization(self, tensor: Tensor, may_be_zero: bool = False) -> Quantization:
        """The tensor's quantization, per channel or not."""
        if tensor.quantization is None:
            self.refuse(f"{tensor.name} has no scale")
        is_zero = min(tensor.quantization.scales) == 0 and not (may_be_zero and tensor.is_constant)
        self.require(not is_zero, f"{tensor.name} has a scale that is not above 0")
        return tensor.quantization

    def scale(self, tensor: Tensor) -> float:
        """The tensor's one scale."""
        quantization = self.quantization(tensor)
        self.require(not quantization.per_channel, f"{tensor.name} is quantized per channel")
        return quantization.scale

    def factor(self, tensor: Tensor) -> float:
        """The one scale of an operand that is multiplied by it: 0 for a constant of zeros."""
        quantization = self.quantization(tensor, may_be_zero=True)
        self.require(not quantization.per_channel, f"{tensor.name} is quantized per channel")
        return quantization.scale

    def zero_point(self, tensor: Tensor) -> int:
        """The tensor's one zero point."""
        self.factor(tensor)
        return self.quantization(tensor, may_be_zero=True).zero_point

    def multiplier(self, real: float) -> tuple[int, int]:
        """A ratio of scales as multiplier and shift; one that no reference can shift by is refused."""
        found = quantize_multiplier(real) if math.isfinite(real) else (0, _MAX_SHIFT + 1)
        if found[1] > _MAX_SHIFT:
            self.refuse(f"its scales give a factor of {real:.3g}, but it must be below 2^31")
        return found

    def ratio(self, over: Sequence[float], under: Sequence[float], in_float32: bool | None = None) -> float:
        """The product of some scales over that of others, in the type in which the reference computes it.

        LiteRT's kernels take float32, TFLite Micro's float64. Results on ties show the difference.
        """
        is_narrow = self.is_litert if in_float32 is None else in_float32
        real = np.float32 if is_narrow else np.float64
        with np.errstate(all="ignore"):
            top, bottom = (np.array(factors, real).prod() for factors in (over, under))
            return float(top / bottom)

    def product_multiplier(self, real: float) -> tuple[int, int]:
        """As `multiplier`, of a sum of products: with one rounding if the graph wants that."""
        found = self.multiplier(real)
        return single_rounding_multiplier(real) if self.rounds_once else found

    def product_multipliers(self, reals: NDArray[np.float64]) -> NDArray[np.int64]:
        """`product_multiplier` of each, as rows."""
        if not self.rounds_once and np.isfinite(reals).all():
            found = quantize_multipliers(reals)
            if found[:, 1].max(initial=0) <= _MAX_SHIFT:
                return found
        pairs = [self.product_multiplier(float(real)) for real in reals]
        return np.array(pairs, np.int64).reshape(-1, 2)

    def clamp(self) -> dict[str, int]:
        """`clamp_min` and `clamp_max` of an int8 or int16 output: the fused activation."""
        activation, tensor = self.activation, self.output()
        self.require(activation in ACTIVATIONS, f"fused activation {activation} is not supported")
        limits = np.iinfo(tensor.dtype)
        ends = int(limits.min), int(limits.max)
        least, greatest = quantized_range(activation, self.scale(tensor), self.zero_point(tensor), ends)
        return {"clamp_min": least, "clamp_max": greatest}

    def new_constant(self, suffix: str, data: Any) -> Tensor:
        """A constant that the call needs besides the model's own."""
        return Tensor(f"{self.output().name}/{suffix}", data.shape, data.dtype.name, data=data)

    def call(
        self,
        name: str,
        inputs: Sequence[int | Tensor],
        outputs: Sequence[int | Tensor] | None = None,
        /,
        **attributes: int | float | Sequence[int],
    ) -> KernelCall:
        """The call of a host operator."""
        for attribute, value in attributes.items():
            fits = not isinstance(value, int) or -(1 << 31) <= value < 1 << 31
            self.require(fits, f"{attribute} = {value} does not fit 32 bits")
        written = self.output_numbers if outputs is None else tuple(outputs)
        return KernelCall(name, tuple(inputs), written, SimpleNamespace(**attributes))
