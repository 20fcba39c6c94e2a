"""What an operation reads, as integer arrays, and how its result goes back to SRAM.

Every read is a copy in int64, so that a body computes with plain integers, wraps only where the manual says
so, and cannot see what it writes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import INT32_BYTES, RECORD_BYTES, Elements
from dlasim.sim.programs.footprint import Footprint, all_footprints
from dlasim.sim.programs.operation import Operation
from dlasim.sim.readable_engine.box_copy import window

Integers = NDArray[np.int64]


def _element(footprint: Footprint) -> np.dtype[np.signedinteger[Any]]:
    return np.dtype(f"<i{int(footprint.element_bytes)}")


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """The per-channel records, a column each."""

    bias: Integers
    multiplier: Integers
    shift: Integers

    @property
    def wide_bias(self) -> Integers:
        """The bias of a record for int16: its upper 16 bits are those of the multiplier's word."""
        return (self.multiplier >> 16 << 32) + (self.bias & 0xFFFF_FFFF)

    @property
    def factor(self) -> Integers:
        """The multiplier of such a record."""
        return self.multiplier & 0xFFFF


@dataclass(frozen=True, slots=True)
class Context:
    """An operation on its SRAM; bodies ask it for registers, fields and operands."""

    operation: Operation
    sram: NDArray[np.uint8]

    def value(self, register: str) -> int:
        """The number in a plain register."""
        return self.operation.value(register)

    def pair(self, register: str) -> tuple[int, int]:
        """The halves of a packed register: (height, width) or (top, left)."""
        return self.operation.pair(register)

    def field(self, name: str) -> int:
        """A field of the instruction."""
        return self.operation.fields[name]

    @property
    def is_int16(self) -> bool:
        """Whether its elements have 16 bits."""
        return self.operation.fields.get("elements") == Elements.INT16

    @property
    def limits(self) -> tuple[int, int]:
        """ACT_MIN and ACT_MAX as they limit the output: those of int16 have all bits below set alike."""
        low, high = self.value("ACT_MIN"), self.value("ACT_MAX")
        return (low << 8, (high << 8) + 0xFF) if self.is_int16 else (low, high)

    def view(self, register: str) -> Integers:
        """An operand laid out by pixel and row strides, as [row, pixel, channel]."""
        return _integers(self.sram, self._footprint(register))

    def linear(self, register: str, *shape: int) -> Integers:
        """An operand that is one run of elements, in this shape."""
        return _integers(self.sram, self._footprint(register)).reshape(shape)

    def records(self) -> RecordColumns:
        """The records at PARAM_ADDR."""
        columns = self.linear("PARAM_ADDR", -1, RECORD_BYTES // INT32_BYTES).T
        return RecordColumns(*columns)

    def store(self, result: Integers) -> None:
        """Write the result to OUT; it is broadcast to OUT's shape."""
        footprint = self._footprint("OUT")
        element = _element(footprint)
        box = footprint.box
        shape = (box.planes, box.runs, box.run_bytes // element.itemsize)
        elements = np.ascontiguousarray(np.broadcast_to(result, shape).astype(element))
        window(self.sram, box, writeable=True)[...] = elements.view(np.uint8)

    def _footprint(self, register: str) -> Footprint:
        (found,) = (f for f in all_footprints(self.operation) if f.operand.register == register)
        assert found.present, f"{register} is not an operand of this operation"
        return found


def _integers(sram: NDArray[np.uint8], footprint: Footprint) -> Integers:
    raw = np.ascontiguousarray(window(sram, footprint.box))
    return raw.view(_element(footprint)).astype(np.int64)
