"""Numbers of 16 bits on the DLA: its instructions take them as int32, so bytes are copied where tensors hold
int16."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.copies import copy_into
from dlasim.compiler_shim.calls.nodes import DlaNode, Shape, Value
from dlasim.compiler_shim.calls.views import View, dense
from dlasim.compiler_shim.forms.products import INT8_RANGE
from dlasim.compiler_shim.forms.rules import Candidate, as_image
from dlasim.isa.instruction_rows import INT16_BYTES, INT32_BYTES, Quant, ShiftMode

INT16_BITS = 16
NO_LIMIT = 1 << (INT16_BITS - 1)


class WideArithmetic:
    """Collects the nodes of a call that computes with int32 tensors of its own."""

    def __init__(self, candidate: Candidate) -> None:
        self.nodes: list[DlaNode] = []
        self._candidate = candidate
        self._constants: dict[tuple[str, tuple[int, ...], bytes], int] = {}

    def tensor(self, *shape: int, dtype: str = "int32") -> int:
        """A new tensor."""
        return self._candidate.add(Value(f"{self._candidate.outputs[0].name}/{dtype}", shape, dtype))

    def part(self, tensor: int, view: View) -> int:
        """Some elements of an int32 tensor."""
        return self._candidate.add(Value("", view.size, "int32", alias=tensor, view=view))

    def constant(self, data: NDArray[Any]) -> int:
        """A constant, the same for equal data."""
        key = str(data.dtype), data.shape, data.tobytes()
        if key not in self._constants:
            self._constants[key] = self._candidate.add(Value("constant", data.shape, key[0], data=data))
        return self._constants[key]

    def compute(
        self, mnemonic: str, inputs: tuple[int, ...], output: int, shape: tuple[int, ...],
        registers: Mapping[str, int] | None = None, fields: Mapping[str, int] | None = None,
        table: int | None = None,
    ) -> int:  # fmt: skip
        """An instruction on pixels of so many channels, or on an image; gives its output."""
        image = as_image(shape)
        self.nodes.append(DlaNode(
            mnemonic, self._candidate.layer, inputs, output, image, image, in_element_bytes=INT32_BYTES,
            out_element_bytes=INT32_BYTES, registers=registers or {}, fields=fields or {}, table=table,
        ))  # fmt: skip
        return output

    def multiply(self, first: int, second: int, shape: tuple[int, ...]) -> int:
        """The product of the low 16 bits of two tensors."""
        return self.compute("OP_E16_MUL", (first, second), self.tensor(*shape), shape)

    def shift_right(self, tensor: int, bits: int, output: int, shape: tuple[int, ...]) -> int:
        """A tensor shifted to the right; by 0 bits it is copied."""
        fields, registers = {"mode": ShiftMode.RIGHT}, {"SHIFT_AMOUNT": bits}
        return self.compute("OP_E32_SHIFT", (tensor,), output, shape, registers, fields)

    def requantize(
        self, tensor: int, scale: tuple[int, int], zero_point: int, shape: tuple[int, ...],
        limits: Mapping[str, int] = INT8_RANGE, output: int | None = None,
    ) -> None:  # fmt: skip
        """The call's int8 output, or another tensor, from an int32 tensor."""
        image = as_image(shape)
        multiplier, shift = scale
        target = self._candidate.output_number if output is None else output
        self.nodes.append(DlaNode(
            "OP_REQUANT", self._candidate.layer, (tensor,), target, image, image,
            in_element_bytes=INT32_BYTES, fields={"quant": Quant.TENSOR},
            registers={"OUT_ZP": zero_point, "OUT_MULT": multiplier, "OUT_SHIFT": shift, **limits},
        ))  # fmt: skip

    def look_up(self, source: int, output: int, image: Shape, table: NDArray[np.int8]) -> None:
        """An int8 tensor of what a table has for another."""
        self.nodes.append(DlaNode(
            "OP_ACT_LUT", self._candidate.layer, (source,), output, image, image, table=self.constant(table)
        ))  # fmt: skip

    def look_up_bytes(self, source: int, image: Shape, tables: Sequence[NDArray[np.int8]]) -> int:
        """What several tables have for an int8 tensor: a column for each, for each of the image's columns."""
        (rows, width, channels), count = image, len(tables)
        columns = self.tensor(rows, count * width, channels, dtype="int8")
        for place, table in enumerate(tables):
            view = View(place * channels, image, (count * width * channels, count * channels, 1))
            part = self._candidate.add(Value("", image, "int8", alias=columns, view=view))
            self.look_up(source, part, image, np.ascontiguousarray(table))
        return columns

    def copy(self, source: int, taken: View, target: int, given: View) -> bool:
        """Copies bytes; false where it takes too many operations."""
        part = replace(
            self._candidate, input_numbers=(source,), output_number=target,
            inputs=(Value("", taken.size, "int8"),), outputs=(Value("", given.size, "int8"),),
        )  # fmt: skip
        nodes = copy_into(part, 0, taken, given)
        # Not as copies: what they move are parts of larger elements, which no other node can read or write.
        self.nodes += [replace(node, is_copy=False) for node in nodes or ()]
        return nodes is not None


def scaled(name: str, scale: tuple[int, int]) -> dict[str, int]:
    """The registers of an input's scale."""
    return {f"{name}_MULT": scale[0], f"{name}_SHIFT": scale[1]}


def rescale(candidate: Candidate) -> list[DlaNode] | None:
    """RESCALE between int16 and int32, to int32 without a change of scale, and from either to int8."""
    wide, at, count = WideArithmetic(candidate), candidate.attributes, prod(candidate.inputs[0].shape)
    source, target = candidate.input_numbers[0], candidate.output_number
    short, long = dense((count, INT16_BYTES)), View(0, (count, INT16_BYTES), (INT32_BYTES, 1))
    scale = at.output_multiplier, at.output_shift
    if candidate.inputs[0].dtype == "int16":
        raised, is_last = wide.tensor(count), candidate.outputs[0].dtype == "int32"
        halves = [wide.copy(source, short, raised, replace(long, offset=place)) for place in (0, INT16_BYTES)]
        if not all(halves):
            return None
        source = wide.shift_right(raised, INT16_BITS, target if is_last else wide.tensor(count), (1, count))
        if is_last:
            wide.nodes[-1] = replace(wide.nodes[-1], is_tensor=True)
            return wide.nodes
    if candidate.outputs[0].dtype == "int8":
        wide.requantize(source, scale, at.output_zero_point, (1, count))
        return wide.nodes
    limited = wide.tensor(count)
    registers = {**scaled("IN", scale), **scaled("IN2", (0, 0)), "LIMIT": NO_LIMIT}
    wide.compute("OP_E16_ADD", (source, source), limited, (1, count), registers)
    return wide.nodes if wide.copy(limited, long, target, short) else None
