"""SELECT as extrema: each choice becomes the least number where the other one counts, and the greater of both
results is the output.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode, Value
from dlasim.compiler_shim.forms.rules import Candidate
from dlasim.compiler_shim.forms.translate import elementwise, flat_image
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN

_Part = tuple[int, Value]  # a value's number, and the value


def select(candidate: Candidate) -> list[DlaNode]:
    """SELECT."""
    return _SelectNodes(candidate).nodes()


class _SelectNodes:
    """The nodes of one call."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate
        self._nodes: list[DlaNode] = []

    def nodes(self) -> list[DlaNode]:
        """A minimum for each choice that is computed, and a maximum unless the other one never counts."""
        whole = self._candidate.output_number, self._candidate.outputs[0]
        for other, position in ((2, 1), (1, 2)):
            if self._never_counts(other) and self._shape(position) == whole[1].shape:
                self._limited(position, whole)
                return self._nodes
        self._elementwise("OP_C_MAX", self._part(1), self._part(2), whole)
        return self._nodes

    def _never_counts(self, position: int) -> bool:
        """Whether a choice is the least number wherever it is taken, as in masks in front of a softmax."""
        condition, choice = self._candidate.inputs[0].data, self._candidate.inputs[position].data
        if condition is None or choice is None:
            return False
        return bool((self._masked_data(position, choice) == INT8_MIN).all())

    def _shape(self, position: int) -> tuple[int, ...]:
        inputs = self._candidate.inputs
        return np.broadcast_shapes(inputs[0].shape, inputs[position].shape)

    def _part(self, position: int) -> _Part:
        """A choice where the condition takes it, else the least number."""
        condition, choice = self._candidate.inputs[0], self._candidate.inputs[position]
        if choice.data is not None and (condition.data is not None or choice.data.size == 1):
            return self._masked(position, choice)
        return self._limited(position, self._new(f"choice_{position}", self._shape(position)))

    def _limited(self, position: int, output: _Part) -> _Part:
        greatest = Value("", (), "int8", data=np.array(INT8_MAX, np.int8))
        choice = self._candidate.input_numbers[position], self._candidate.inputs[position]
        return self._elementwise("OP_C_MIN", choice, self._masked(position, greatest), output)

    def _masked_data(self, position: int, numbers: NDArray[Any]) -> NDArray[np.int8]:
        return np.where(self._candidate.inputs[0].data == (position == 1), numbers, INT8_MIN).astype(np.int8)

    def _masked(self, position: int, constant: Value) -> _Part:
        """A constant where the condition takes this choice, else the least number.

        It is one number if the condition is computed.
        """
        condition, is_first = self._candidate.inputs[0], position == 1
        assert constant.data is not None
        if condition.data is not None:
            data = self._masked_data(position, constant.data)
            return self._new(f"limit_{position}", data.shape, data)
        table = np.full(256, INT8_MIN, np.int8)
        table[int(is_first)] = constant.data.item()
        entries = self._candidate.add(Value("table", table.shape, "int8", data=table))
        shape, output = flat_image(condition.shape), self._new(f"limit_{position}", condition.shape)
        source = self._candidate.input_numbers[:1]
        self._nodes.append(
            DlaNode("OP_ACT_LUT", self._candidate.layer, source, output[0], shape, shape, table=entries)
        )
        return output

    def _new(self, name: str, shape: tuple[int, ...], data: NDArray[np.int8] | None = None) -> _Part:
        value = Value(f"{self._candidate.outputs[0].name}/{name}", shape, "int8", data=data)
        return self._candidate.add(value), value

    def _elementwise(self, mnemonic: str, first: _Part, second: _Part, output: _Part) -> _Part:
        call = replace(
            self._candidate, attributes=SimpleNamespace(), input_numbers=(first[0], second[0]),
            inputs=(first[1], second[1]), outputs=(output[1],), output_number=output[0], activation_count=2,
        )  # fmt: skip
        self._nodes += elementwise(call, mnemonic, {})
        return output
