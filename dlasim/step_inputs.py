"""The inputs of steps: what is given for each, and what becomes an input again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError, printable, unknown
from dlasim.inputs import prepare_inputs
from dlasim.media import AUTO

if TYPE_CHECKING:
    from dlasim.inputs import Inputs
    from dlasim.isa.program import Program, TensorDescriptor

SAME_SCALE = 1e-5  # part of a scale by which one that comes back may differ: TensorFlow's converter rounds


class StepInputs:
    """The inputs of a program step by step; those that outputs become begin as 0."""

    def __init__(
        self, program: Program, carry: Mapping[str, str] | None = None, normalize: str = AUTO
    ) -> None:
        """`carry` maps outputs to the inputs that they become."""
        self._program, self._normalize = program, normalize
        self._forms = [(tensor.name, tensor.shape, np.dtype(tensor.type.name)) for tensor in program.inputs]
        self.carried = _carried(program.outputs, program.inputs, carry or {})
        self.held: dict[str, NDArray[Any]] = {}
        self.reset()

    def reset(self) -> None:
        """Back to the first step."""
        carried = {name for _, name in self.carried}
        self.held = {
            tensor.name: np.full(tensor.shape, tensor.zero_point, tensor.type.name)
            for tensor in self._program.inputs
            if tensor.name in carried
        }

    def take(self, outputs: Sequence[NDArray[Any]]) -> None:
        """Keep the outputs of a step that the next one takes."""
        for number, name in self.carried:
            self.held[name] = outputs[number]

    def arrays(self, inputs: Inputs | None, number: int) -> list[NDArray[Any]]:
        """An array for each input of a step, as the model takes them."""
        return self._exact(inputs) or self._prepared(inputs, number)

    def _exact(self, inputs: Inputs | None) -> list[NDArray[Any]] | None:
        """The inputs, if arrays of the right type and shape are given by name."""
        if not isinstance(inputs, Mapping) or len(inputs) + len(self.held) != len(self._forms):
            return None
        found = [inputs[name] if name in inputs else self.held.get(name) for name, *_ in self._forms]
        for array, (_, shape, dtype) in zip(found, self._forms, strict=True):
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
                return None
        return found  # type: ignore[return-value]

    def _prepared(self, inputs: Inputs | None, number: int) -> list[NDArray[Any]]:
        named = set(inputs) if isinstance(inputs, Mapping) else set()
        held = {name: array for name, array in self.held.items() if name not in named}
        expected = [tensor for tensor in self._program.inputs if tensor.name not in held]
        given = iter(prepare_inputs(expected, inputs, number, self._normalize))
        return [held[t.name] if t.name in held else next(given) for t in self._program.inputs]

    @property
    def only_input(self) -> str:
        """The name of the one input that is not carried."""
        names = [tensor.name for tensor in self._program.inputs if tensor.name not in self.held]
        if len(names) != 1:
            raise InputError(
                f"the model takes {len(names)} inputs in each step: name them, as arrays of a .npz file "
                f"({', '.join(map(printable, names))})"
            )
        return names[0]


def step_rows(inputs: Mapping[str, NDArray[Any]]) -> list[dict[str, NDArray[Any]]]:
    """The inputs of each step, from arrays with as many steps along their first dimension."""
    counts = {array.shape[:1] for array in inputs.values()}
    if len(counts) != 1 or counts <= {(), (0,)}:
        raise InputError(
            "the inputs of the steps must be arrays with as many steps along their first dimension (got "
            f"{', '.join(f'{name} {list(array.shape)}' for name, array in inputs.items()) or 'none'})"
        )
    ((count,),) = counts
    return [{name: array[number] for name, array in inputs.items()} for number in range(count)]


def _carried(
    outputs: Sequence[TensorDescriptor], inputs: Sequence[TensorDescriptor], carry: Mapping[str, str]
) -> list[tuple[int, str]]:
    """The numbers of outputs with the names of the inputs that they become, checked."""
    numbers = {tensor.name: number for number, tensor in enumerate(outputs)}
    targets = {tensor.name: tensor for tensor in inputs}
    found = []
    for source, target in carry.items():
        if source not in numbers:
            raise InputError(unknown("output", source, list(numbers)))
        if target not in targets:
            raise InputError(unknown("input", target, list(targets)))
        one, other = outputs[numbers[source]], targets[target]
        if _form(one) != _form(other) or not isclose(one.scale, other.scale, rel_tol=SAME_SCALE):
            raise InputError(
                f"output {printable(source)} cannot become input {printable(target)}: one is "
                f"{_text(one)}, the other {_text(other)}"
            )
        found.append((numbers[source], target))
    return found


def _form(tensor: TensorDescriptor) -> tuple[Any, ...]:
    return tensor.type, tensor.shape, tensor.zero_point


def _text(tensor: TensorDescriptor) -> str:
    scale = f" of scale {tensor.scale:g} and zero point {tensor.zero_point}" if tensor.scale else ""
    return f"{tensor.type.name} {list(tensor.shape)}{scale}"
