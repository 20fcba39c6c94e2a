"""ARG_MAX of int8: codes of positions where elements are the greatest, and the greatest of these codes."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode, Shape, Value
from dlasim.compiler_shim.forms.products import INT8_RANGE
from dlasim.compiler_shim.forms.rules import POSITION_CODES, Candidate
from dlasim.compiler_shim.forms.translate import elementwise
from dlasim.isa.instruction_rows import Init, Out, PoolMode, Quant
from dlasim.sim.arithmetic.numerics import INT8_MAX

_IDENTITY = {"IN_MULT": 1 << 30, "IN_SHIFT": 1, "IN2_MULT": 1 << 30, "IN2_SHIFT": 1}
# A difference of 0 stays at 127; one of -1 or less becomes -128.
_ONLY_EQUAL = {
    "IN_ZP": 0, "IN2_ZP": 0, "OUT_ZP": INT8_MAX, "LEFT_SHIFT": 0, **_IDENTITY,
    "OUT_MULT": 1 << 30, "OUT_SHIFT": 9, **INT8_RANGE,
}  # fmt: skip
_MINUS_ONE, _MINUS_ALL = (-1, 0), (-128, 127)  # weight and zero point of factors -1 and -POSITION_CODES


def arg_max(candidate: Candidate) -> list[DlaNode]:
    """ARG_MAX: an element becomes 127 where it is the greatest, else -128. Then the code of its position
    limits it, and the greatest of the results is the code of the first position.

    Codes fall from 127 to -127 in 255 positions. Beyond that a second code tells the blocks of 255 apart.
    """
    return _ArgMaxNodes(candidate).nodes()


class _ArgMaxNodes:
    """The nodes of one call; images have a row for each search, and a column for each position."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate
        whole, axis = candidate.inputs[0].shape, candidate.attributes.axis
        self._outer, self._size = prod(whole[:axis]), whole[axis]
        self._inner = prod(whole[axis + 1 :])
        self._nodes: list[DlaNode] = []

    def nodes(self) -> list[DlaNode]:
        """One search, or one for the block of positions and one in it."""
        positions = np.arange(self._size)
        source = self._candidate.input_numbers[0]
        values = self._candidate.add(Value("", self._shape(self._size), "int8", alias=source))
        equal = self._equal(values, self._greatest(values))
        if self._size <= POSITION_CODES:
            self._as_integers(self._first(equal, positions)[1], _MINUS_ONE, self._candidate.output_number)
            return self._nodes
        limited, block = self._first(equal, positions // POSITION_CODES)
        _, place = self._first(self._equal(limited, block), positions % POSITION_CODES)
        parts = self._new("block", 1, "int32"), self._new("place", 1, "int32")
        self._as_integers(block, _MINUS_ALL, parts[0])
        self._as_integers(place, _MINUS_ONE, parts[1])
        shape = self._image(1)
        self._nodes.append(DlaNode(
            "OP_E32_ADD", self._candidate.layer, parts, self._candidate.output_number, shape, shape,
            in_element_bytes=4, out_element_bytes=4, is_tensor=True,
        ))  # fmt: skip
        return self._nodes

    def _image(self, columns: int) -> Shape:
        return self._outer, columns, self._inner

    def _shape(self, columns: int) -> tuple[int, ...]:
        """The same; with one search in a row, positions are channels."""
        return (self._outer, columns) if self._inner == 1 else self._image(columns)

    def _new(self, name: str, columns: int, dtype: str = "int8") -> int:
        name = f"{self._candidate.outputs[0].name}/{name}"
        return self._candidate.add(Value(name, self._shape(columns), dtype))

    def _greatest(self, values: int) -> int:
        output = self._new("greatest", 1)
        self._nodes.append(DlaNode(
            "OP_POOL", self._candidate.layer, (values,), output, self._image(self._size), self._image(1),
            kernel=(1, self._size), fields={"mode": PoolMode.MAX}, registers=INT8_RANGE,
        ))  # fmt: skip
        return output

    def _equal(self, values: int, greatest: int) -> int:
        """127 where an element is the greatest of its search, else -128."""
        first = Value("", self._shape(self._size), "int8")
        return self._elementwise("OP_E_SUB", (values, first), (greatest, self._one()), _ONLY_EQUAL)

    def _one(self) -> Value:
        return Value("", self._shape(1), "int8")

    def _first(self, equal: int, numbers: NDArray[np.int64]) -> tuple[int, int]:
        """Elements with the codes of their numbers where they are equal, and the code of the least number."""
        codes = (INT8_MAX - numbers).astype(np.int8)
        shape = (1, *self._shape(self._size)[1:])
        data = np.repeat(codes[:, None], self._inner, axis=1).reshape(shape)
        limit = Value("codes", shape, "int8", data=data)
        values = Value("", self._shape(self._size), "int8")
        limited = self._elementwise("OP_C_MIN", (equal, values), (self._candidate.add(limit), limit), {})
        return limited, self._greatest(limited)

    def _elementwise(
        self, mnemonic: str, first: tuple[int, Value], second: tuple[int, Value], registers: dict[str, int]
    ) -> int:
        output = self._new("equal", self._size)
        call = replace(
            self._candidate, attributes=SimpleNamespace(), input_numbers=(first[0], second[0]),
            inputs=(first[1], second[1]), outputs=(replace(first[1], data=None),), output_number=output,
            activation_count=2,
        )  # fmt: skip
        self._nodes += elementwise(call, mnemonic, registers)
        return output

    def _as_integers(self, codes: int, factor: tuple[int, int], output: int) -> None:
        """The numbers that codes stand for, times a factor, as int32."""
        weight, zero_point = factor
        add, channels, shape = self._candidate.add, self._inner, self._image(1)
        weights = np.full((1, 1, channels), weight, np.int8)
        bias = -INT8_MAX * (weight - zero_point)
        records = np.tile(np.array([bias, 1 << 30, 1], np.int32), (channels, 1))
        self._nodes.append(DlaNode(
            "OP_DEPTH_CONV", self._candidate.layer, (codes,), output, shape, shape, out_element_bytes=4,
            fields={"init": Init.BIAS, "out": Out.INT32, "quant": Quant.TENSOR},
            registers={"IN_ZP": 0, "PAD_VALUE": 0, "WEIGHT_ZP": zero_point},
            weights=add(Value("weights", weights.shape, "int8", data=weights)),
            records=add(Value("records", records.shape, "int32", data=records)),
            is_tensor=output == self._candidate.output_number,
        ))  # fmt: skip
