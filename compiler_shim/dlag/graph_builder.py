"""Builds a network in Python, operator by operator, for `.dlag` files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dlasim.compiler_shim.dlag.dlag_layout import DTYPES, MAX_SCALE, ROUNDINGS
from dlasim.compiler_shim.dlag.dlag_writer import write_graph
from dlasim.compiler_shim.dlag.option_check import OptionError, checked_options
from dlasim.compiler_shim.network.graph import MAX_DIMENSIONS, Graph, Operator, Quantization, Tensor, label
from dlasim.compiler_shim.operators.host_calls import bind, infer_shapes
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.errors import InputError, one_of, unknown
from dlasim.system.fileio import atomic_write

Numbers = float | Sequence[float]


class GraphBuilder:
    """A network under construction. Tensors are known by the numbers that the methods return.

    An operator has the name, the inputs and the options that it has in TensorFlow Lite: images are NHWC. Its
    output's shape follows from its inputs and options; its scale and zero point are yours to give.
    `rounding` is "twice" for the arithmetic of TensorFlow Lite, "once" for that nearest to real numbers.
    """

    def __init__(self, name: str = "network", rounding: str = "twice") -> None:
        _require(rounding in ROUNDINGS, f"rounding must be {one_of(ROUNDINGS)} (got {rounding!r:.40})")
        self._name, self._rounding = name, rounding
        self._tensors: list[Tensor] = []
        self._operators: list[Operator] = []
        self._inputs: list[int] = []

    def input(
        self,
        name: str,
        shape: Sequence[int],
        *,
        scale: float | None = None,
        zero_point: int = 0,
        dtype: str = "int8",
    ) -> int:
        """An input of the network; without a scale its numbers stand for themselves."""
        quantization = _quantization(name, scale, zero_point, 0)
        self._inputs.append(self._add(Tensor(name, tuple(shape), dtype, quantization)))
        return self._inputs[-1]

    def constant(
        self,
        name: str,
        data: ArrayLike,
        *,
        scale: Numbers | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
    ) -> int:
        """A constant, such as weights; several scales are those of the indices along `axis`."""
        array = np.array(data)  # a copy, which nobody changes
        quantization = _quantization(name, scale, zero_point, axis)
        if quantization is not None and quantization.per_channel:
            fits = 0 <= axis < array.ndim and array.shape[axis] == len(quantization.scales)
            count = len(quantization.scales)
            _require(
                fits, f"{label(name)}: it has {count} scales along axis {axis} of shape {list(array.shape)}"
            )
        return self._add(Tensor(name, array.shape, array.dtype.name, quantization, array))

    def variable(
        self, name: str, shape: Sequence[int], *, scale: float, zero_point: int = 0, dtype: str = "int8"
    ) -> int:
        """State that an operator keeps between inferences, as SVDF's; it begins as its zero point."""
        return self._add(Tensor(name, tuple(shape), dtype, _quantization(name, scale, zero_point, 0)))

    def assign(self, variable: int, value: int) -> None:
        """Let a variable have this value from here on, and in the next inference."""
        for number in (variable, value):
            _require(0 <= number < len(self._tensors), f"assign: there is no tensor {number}")
        old, new = self._tensors[variable], self._tensors[value]
        same = (old.shape, old.dtype, old.quantization) == (new.shape, new.dtype, new.quantization)
        _require(same, f"assign: {label(new.name)} must have shape, type and scale of {label(old.name)}")
        where = f"operator {len(self._operators)}"
        self._operators.append(Operator("RESHAPE", (value,), (variable,), {"new_shape": old.shape}, where))

    def operator(
        self,
        kind: str,
        inputs: Sequence[int | None],
        *,
        scale: float | None = None,
        zero_point: int = 0,
        dtype: str = "int8",
        name: str = "",
        **options: Any,
    ) -> int:
        """Add an operator with one output, and return the output. None stands for an input left out."""
        return self.operator_with_outputs(
            kind, inputs, 1, scale=scale, zero_point=zero_point, dtype=dtype, name=name, **options
        )[0]

    def operator_with_outputs(
        self,
        kind: str,
        inputs: Sequence[int | None],
        count: int,
        *,
        scale: float | None = None,
        zero_point: int = 0,
        dtype: str = "int8",
        name: str = "",
        **options: Any,
    ) -> tuple[int, ...]:
        """Like `operator`, for one with several outputs of the same scale, such as SPLIT."""
        if kind not in OPERATORS:
            raise InputError(unknown("operator", kind, OPERATORS))
        where = f"operator {len(self._operators)}"
        name = name or f"{kind.lower()}_{len(self._operators)}"
        numbers = tuple(-1 if number is None else number for number in inputs)
        for number in numbers:
            known = -1 <= number < len(self._tensors)
            _require(known, f"{where} ({kind}): there is no tensor {number}")
        signature = OPERATORS[kind].signature
        fits = signature.fewest_inputs <= len(numbers) <= signature.most_inputs
        _require(fits, f"{where} ({kind}): it takes {signature.inputs_text} (got {len(numbers)})")
        try:
            chosen = checked_options(kind, options)
        except OptionError as error:
            raise InputError(f"{where} ({kind}): {error}") from None
        quantization = _quantization(name, scale, zero_point, 0)
        names = [name] if count == 1 else [f"{name}:{index}" for index in range(count)]
        outputs = tuple(self._add(Tensor(each, (), dtype, quantization)) for each in names)
        operator = Operator(kind, numbers, outputs, chosen, where)
        try:
            self._infer_outputs(operator)
        except BaseException:  # as if it had never been tried
            del self._tensors[outputs[0] :]
            raise
        self._operators.append(operator)
        return outputs

    def _infer_outputs(self, operator: Operator) -> None:
        """The shapes of an operator's outputs."""
        op = bind(operator, self._tensors, self._name)
        assert op is not None
        for number, shape in zip(operator.outputs, infer_shapes(op), strict=True):
            old = self._tensors[number]
            self._tensors[number] = Tensor(old.name, shape, old.dtype, old.quantization)

    def shape(self, tensor: int) -> tuple[int, ...]:
        """The shape of a tensor."""
        return self._tensors[tensor].shape

    def graph(self, outputs: Sequence[int]) -> Graph:
        """The network with these outputs."""
        for number in outputs:
            _require(0 <= number < len(self._tensors), f"there is no tensor {number}")
        return Graph(
            self._name,
            tuple(self._tensors),
            tuple(self._operators),
            tuple(self._inputs),
            tuple(outputs),
            numerics=ROUNDINGS[self._rounding],
        )

    def save(self, path: str | Path, outputs: Sequence[int]) -> Path:
        """Write the network with these outputs as a `.dlag` file, and return its path."""
        atomic_write(path, write_graph(self.graph(outputs)))
        return Path(path)

    def _add(self, tensor: Tensor) -> int:
        name = label(tensor.name)
        _require(tensor.dtype in DTYPES, f"{name}: dtype must be {one_of(DTYPES)} (got {tensor.dtype})")
        sound = all(isinstance(size, int) and 0 < size < 1 << 31 for size in tensor.shape)
        sound = (sound or tensor.is_constant) and len(tensor.shape) <= MAX_DIMENSIONS
        _require(
            sound, f"{name}: shape must have up to {MAX_DIMENSIONS} sizes above 0 (got {list(tensor.shape)})"
        )
        self._tensors.append(tensor)
        return len(self._tensors) - 1


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


def _quantization(
    name: str, scale: Numbers | None, zero_point: int | Sequence[int], axis: int
) -> Quantization | None:
    if scale is None:
        return None
    scales = tuple(float(value) for value in np.atleast_1d(np.asarray(scale, np.float64)).tolist())
    points = tuple(int(value) for value in np.atleast_1d(np.asarray(zero_point)).tolist())
    positive = bool(scales) and all(0 < value <= MAX_SCALE and math.isfinite(value) for value in scales)
    _require(positive, f"{label(name)}: scales must be finite and above 0 (got {str(scale)[:60]})")
    points = points * (len(scales) if len(points) == 1 else 1)
    count = len(points)
    _require(count == len(scales), f"{label(name)}: it has {len(scales)} scales and {count} zero points")
    scales = tuple(float(np.float32(value)) for value in scales)
    return Quantization(scales, points, axis)
