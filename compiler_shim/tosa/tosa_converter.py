"""A TOSA network to the graph of every model: operator by operator, in the order of the file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dlasim.compiler_shim.dlag.graph_builder import GraphBuilder
from dlasim.compiler_shim.network.graph import Graph, Quantization, label
from dlasim.compiler_shim.tosa.tosa_reader import TosaModel, TosaOperator
from dlasim.compiler_shim.tosa.tosa_values import (
    EIGHT_BITS,
    Array,
    Delayed,
    TosaActivation,
    TosaConstant,
    Totals,
    UnplacedError,
    Value,
)
from dlasim.errors import InputError, printable

Handler = Callable[["TosaConverter", TosaOperator], Value]
_PLAIN = Quantization((1.0,), (0,))
_MAX_REASON = 200


class TosaConverter:
    """One network being converted; `name` is how errors call it.

    A tensor of 8 bits has scale 1, and the zero point that its first reader takes off. An operator that needs
    other scales reads and writes views that have them: only their ratio counts.
    """

    def __init__(
        self, model: TosaModel, name: str, handlers: Mapping[str, Handler], rounds_once: bool
    ) -> None:
        self._model, self._name, self._handlers = model, name, handlers
        self.inputs, self.outputs = model.inputs, model.outputs
        self.rounds_once = rounds_once
        self.builder = GraphBuilder(model.name, rounding="once" if rounds_once else "twice")
        self.values: dict[str, Value] = {key: TosaConstant(data) for key, data in model.constants.items()}
        self.readers: dict[str, list[TosaOperator]] = defaultdict(list)
        for operator in model.operators:
            for source in operator.inputs:
                self.readers[source].append(operator)
        self._scales: dict[int, Quantization] = {}  # exact, while the builder rounds to float32
        self._made: dict[Any, int] = {}  # tables and views that exist already
        self.fused: set[int] = set()  # CLAMPs that are part of the operator before
        self.totals: dict[str, Totals] = {}
        self.maxima: dict[int, int] = {}  # a tensor of greatest bytes, and that of which they are
        self.nearest: list[str] = []  # results that the DLA rounds in another way than the file says

    def run(self) -> Graph:
        """The network; an InputError names the first operator that cannot be placed."""
        for name in self._model.inputs:
            self.values[name] = self._input(name)
        for operator in self._model.operators:
            self._place(operator)
        outputs = [self._output(name) for name in self._model.outputs]
        graph = self.builder.graph(outputs)
        tensors = [
            replace(tensor, quantization=self._scales.get(index, tensor.quantization))
            for index, tensor in enumerate(graph.tensors)
        ]
        return replace(graph, tensors=tuple(tensors))

    def _place(self, operator: TosaOperator) -> None:
        what = label(printable(operator.outputs[0])) if operator.outputs else "without outputs"
        try:
            if operator.kind not in self._handlers:
                raise UnplacedError("dlasim does not support this operator")
            if len(operator.outputs) != 1 or operator.outputs[0] in self.values:
                raise UnplacedError("it must have one output, which nothing else writes")
            self._set(operator, self._handlers[operator.kind](self, operator))
        except UnplacedError as error:
            reason = str(error)
        except InputError as error:  # the builder's, whose place in the graph says nothing here
            reason = str(error).split(": ", 2)[-1]
        else:
            return
        raise InputError(f"{self._name}: {operator.kind} ({what}): {reason[:_MAX_REASON]}")

    def _input(self, name: str) -> TosaActivation:
        tensor = self._model.tensors.get(name)
        if tensor is None or name in self.values:
            raise InputError(f"{self._name}: input {label(printable(name))} is no tensor, or has data")
        scale = self._scale_of(name) if tensor.dtype == "int8" else None
        if scale is None:
            number = self.builder.input(printable(name), tensor.shape, dtype=tensor.dtype)
        else:
            number = self.builder.input(printable(name), tensor.shape, scale=1.0, zero_point=scale.zero_point)
            self._scales[number] = scale
        return TosaActivation(number, tensor.shape, tensor.dtype)

    def _output(self, name: str) -> int:
        value = self.values.get(name)
        if not isinstance(value, TosaActivation | Delayed):
            raise InputError(f"{self._name}: output {label(printable(name))} is not computed from the inputs")
        try:
            return self.tensor(value, name)
        except UnplacedError as error:
            raise InputError(f"{self._name}: output {label(printable(name))}: {error}") from None

    # --- what handlers read ---

    def value(self, operator: TosaOperator, position: int = 0) -> Value:
        """An input of any kind."""
        name = operator.inputs[position] if position < len(operator.inputs) else ""
        if name not in self.values:
            raise UnplacedError(f"input {position} is not computed before")
        return self.values[name]

    def constant(self, operator: TosaOperator, position: int) -> Array:
        """An input that must be constant."""
        value = self.value(operator, position)
        if not isinstance(value, TosaConstant):
            raise UnplacedError(f"input {position} must be constant")
        return value.data

    def integers(self, operator: TosaOperator, position: int) -> list[int]:
        """A constant list of sizes."""
        data = self.constant(operator, position)
        if data.dtype.kind != "i" or data.size > 64:
            raise UnplacedError(f"input {position} must be a short list of integers")
        return [int(number) for number in data.ravel()]

    def single(self, operator: TosaOperator, position: int) -> int:
        """A constant that is one number, such as a zero point; 0 where it is left out."""
        if position >= len(operator.inputs):
            return 0
        found = self.integers(operator, position)
        if len(found) != 1:
            raise UnplacedError(f"input {position} must have 1 element (got {len(found)})")
        return found[0]

    def numbers(self, operator: TosaOperator, name: str, count: int, least: int = 0) -> list[int]:
        """An attribute of so many numbers."""
        found = [int(number) for number in operator.attributes.get(name, ())]
        if len(found) != count or not all(least <= number < 1 << 15 for number in found):
            raise UnplacedError(f"its {name} must be {count} numbers from {least} (got {str(found)[:60]})")
        return found

    def axis(self, operator: TosaOperator, rank: int) -> int:
        """The attribute of this name."""
        found = int(operator.attributes.get("axis", 0))
        if not 0 <= found < rank:
            raise UnplacedError(f"its axis must be from 0 to {rank - 1} (got {found})")
        return found

    # --- tensors of the graph ---

    def emit(
        self, kind: str, inputs: Sequence[int | None], scale: Quantization, name: str, **options: Any
    ) -> int:
        """Add an operator whose result is of 8 bits."""
        number = self.builder.operator(
            kind, inputs, scale=1.0, zero_point=scale.zero_point, name=label(printable(name)), **options
        )
        self._scales[number] = scale
        return number

    def compute(self, kind: str, inputs: Sequence[int], dtype: str, name: str, **options: Any) -> int:
        """Add an operator on numbers that stand for themselves."""
        return self.builder.operator(kind, inputs, dtype=dtype, name=label(printable(name)), **options)

    def stored(self, name: str, data: Array, scale: Quantization | None = None) -> int:
        """A constant."""
        title = label(printable(name))
        if data.dtype != np.int8:
            return self.builder.constant(title, data)
        found = scale or _PLAIN
        number = self.builder.constant(title, data, scale=1.0, zero_point=found.zero_points[0])
        self._scales[number] = found
        return number

    def list_of(self, name: str, numbers: Sequence[Any]) -> int:
        """A constant of integers, such as axes."""
        return self.builder.constant(f"{label(printable(name))}/numbers", np.array(numbers, np.int32))

    def seen(self, number: int, scale: Quantization, name: str) -> int:
        """The same bytes with another scale or zero point: a view."""
        if self.scale_of(number) == scale:
            return number
        key = number, scale
        if key not in self._made:
            shape = self.builder.shape(number)
            self._made[key] = self.emit("RESHAPE", [number], scale, f"{name}/view", new_shape=shape)
        return self._made[key]

    def scale_of(self, number: int) -> Quantization:
        """Scale and zero point of a tensor of 8 bits."""
        return self._scales[number]

    def tensor(self, value: Value, name: str) -> int:
        """The number of a tensor that holds the value itself."""
        if isinstance(value, Delayed):
            if value.whole is None:
                raise UnplacedError("its int32 sums are read by something else than RESCALE to 8 bits")
            key = id(value)  # which lives as long as the converter
            if key not in self._made:
                self._made[key] = value.whole()
            return self._made[key]
        if isinstance(value, TosaConstant):
            return self.stored(f"{name}/constant", value.data)
        if value.curve is None or (value.dtype == "int8" and (value.curve == EIGHT_BITS).all()):
            return value.number
        return self._table(value, name)

    def _table(self, value: TosaActivation, name: str) -> int:
        assert value.curve is not None
        key = value.number, value.dtype, value.curve.tobytes()
        if key not in self._made:
            scale = self._scale_of(name) if value.dtype == "int8" else None
            table = self.stored(f"{name}/table", value.curve.astype(value.dtype), scale)
            inputs = [value.number, table]
            self._made[key] = (
                self.compute("TABLE", inputs, value.dtype, name)
                if scale is None
                else self.emit("TABLE", inputs, scale, name)
            )
        return self._made[key]

    def computed(
        self, operator: TosaOperator, kind: str, values: Sequence[Value], shape: Sequence[int], dtype: str
    ) -> TosaActivation:
        """What an operator makes of numbers that stand for themselves."""
        name = operator.outputs[0]
        number = self.compute(kind, [self.tensor(value, name) for value in values], dtype, name)
        return TosaActivation(number, tuple(shape), dtype)

    def of_input(self, operator: TosaOperator, kind: str, value: Value, dtype: str) -> TosaActivation:
        """What an operator makes of each element of its first input."""
        inputs = [self.tensor(value, operator.inputs[0])]
        if dtype == "int8":
            number = self.emit(kind, inputs, _PLAIN, operator.outputs[0])
        else:
            number = self.compute(kind, inputs, dtype, operator.outputs[0])
        return TosaActivation(number, value.shape, dtype)

    def result(self, number: int, dtype: str) -> TosaActivation:
        """A tensor of the graph as an operator's result."""
        return TosaActivation(number, self.builder.shape(number), dtype)

    def activation(self, value: Value, name: str) -> TosaActivation:
        """The value as a tensor that holds it."""
        return TosaActivation(self.tensor(value, name), value.shape, value.dtype)

    def _scale_of(self, name: str) -> Quantization:
        """Scale 1 and the zero point that the first reader which has one takes off."""
        for reader in self.readers[name]:
            position = ZERO_POINTS.get(reader.kind)
            if position is not None and position < len(reader.inputs) and reader.inputs[0] == name:
                found = self.values.get(reader.inputs[position])
                if isinstance(found, TosaConstant) and found.data.size == 1 and found.dtype == "int8":
                    return Quantization((1.0,), (int(found.data.ravel()[0]),))
        return _PLAIN

    def fused_limit(self, name: str, zero_point: int) -> str:
        """RELU where nothing but a CLAMP reads a result, from its zero point up; that is done then."""
        readers = self.readers[name]
        if len(readers) != 1 or readers[0].kind != "CLAMP" or name in self._model.outputs:
            return "NONE"
        if limits_of(readers[0], "int8") != (zero_point, 127):
            return "NONE"
        self.fused.add(id(readers[0]))
        return "RELU"

    def declared(self, operator: TosaOperator) -> tuple[int, ...]:
        """The shape that the file gives an operator's result."""
        tensor = self._model.tensors.get(operator.outputs[0])
        if tensor is None:
            raise UnplacedError("its output is no tensor of the file")
        return tensor.shape

    def declared_type(self, operator: TosaOperator) -> str:
        """The type that the file gives an operator's result."""
        self.declared(operator)
        return self._model.tensors[operator.outputs[0]].dtype

    def _set(self, operator: TosaOperator, value: Value) -> None:
        """The operator's result, which must be what the file declares."""
        name = operator.outputs[0]
        declared = self._model.tensors.get(name)
        if declared is None or (declared.shape, declared.dtype) != (tuple(value.shape), value.dtype):
            said = "missing" if declared is None else f"{declared.dtype}{list(declared.shape)}"
            raise UnplacedError(
                f"its output is declared {said}, but its inputs give {value.dtype}{list(value.shape)}"
            )
        self.values[name] = value


ZERO_POINTS = {
    "CONV2D": 3,
    "DEPTHWISE_CONV2D": 3,
    "TRANSPOSE_CONV2D": 3,
    "MATMUL": 2,
    "RESCALE": 3,
    "AVG_POOL2D": 1,
}


def limits_of(operator: TosaOperator, dtype: str) -> tuple[int, int]:
    """The ends of a CLAMP of this type."""
    size_bytes = np.dtype(dtype).itemsize
    ends = []
    for name in ("min_val", "max_val"):
        data = bytes(operator.attributes.get(name, b""))
        if len(data) < size_bytes:
            raise UnplacedError(f"its {name} must have {size_bytes} bytes (got {len(data)})")
        ends.append(int.from_bytes(data[:size_bytes], "little", signed=True))
    if ends[0] > ends[1]:
        raise UnplacedError(f"its limits are {ends[0]} and {ends[1]}")
    return ends[0], ends[1]
