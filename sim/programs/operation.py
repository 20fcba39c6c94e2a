"""One operation as a unit sees it: the instruction, its fields, and the registers at issue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import registers
from dlasim.isa.instruction_rows import Instruction
from dlasim.isa.registers import OPERAND_COLUMN

_RESET = tuple(register.reset for register in registers.OPERANDS)
_SIGNED = {register.name: register.fields[0].signed for register in registers.OPERANDS}


@dataclass(frozen=True, slots=True)
class Operation:
    """`file` holds the 32-bit patterns of the operand registers, in table order."""

    position: int
    instruction: Instruction
    fields: Mapping[str, int]
    file: Sequence[int]

    def pattern(self, register: str) -> int:
        """The raw 32 bits of an operand register."""
        return int(self.file[OPERAND_COLUMN[register]]) & 0xFFFF_FFFF

    def value(self, register: str) -> int:
        """The number in a plain operand register."""
        pattern = self.pattern(register)
        return pattern - (1 << 32) if _SIGNED[register] and pattern >> 31 else pattern

    def pair(self, register: str) -> tuple[int, int]:
        """The two halves of a packed register: (height, width) or (top, left)."""
        pattern = self.pattern(register)
        return pattern & registers.MAX_EXTENT, pattern >> registers.EXTENT_BITS


@dataclass(frozen=True, slots=True)
class Batch:
    """Many operations of one instruction; the same questions as to one, answered by arrays.

    `columns` holds for each operand register the values at issue, signed where the register is.
    """

    instruction: Instruction
    positions: NDArray[np.int64]
    fields: Mapping[str, NDArray[np.int64]]
    columns: NDArray[np.int64]
    numbers: NDArray[np.int64] | None = None  # which of the columns are the operations'; None: all, in order
    _known: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    _pairs: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=dict)

    def value(self, register: str) -> NDArray[np.int64]:
        """The numbers in a plain operand register."""
        column = self._known.get(register)
        if column is None:
            column = self.columns[OPERAND_COLUMN[register]]
            column = column if self.numbers is None else column[self.numbers]
            self._known[register] = column
        return column

    def pair(self, register: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The two halves of a packed register: (heights, widths) or (tops, lefts)."""
        if register not in self._pairs:
            pattern = self.value(register)
            self._pairs[register] = pattern & registers.MAX_EXTENT, pattern >> registers.EXTENT_BITS
        return self._pairs[register]


def reset_file() -> list[int]:
    """The operand registers after reset."""
    return list(_RESET)
