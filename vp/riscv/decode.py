"""Sorts RV32IMAC code into instruction classes, for the cost tables, and tells what is illegal; nothing here
executes anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dlasim.dataclass import dataclass
from dlasim.vp.riscv.instruction_table import NARROW, WIDE, InstructionClass

# CSR instructions on fflags, and on frm and fcsr: there is no FPU.
_NO_FPU = ((0xFFF0_007F, 0x0010_0073), (0xFFE0_007F, 0x0020_0073))

_ILLEGAL = InstructionClass.ILLEGAL
BREAK = 0x0010_0073
NARROW_BREAK = 0x9002
_SP = 2


@dataclass(frozen=True, slots=True)
class Code:
    """Code, per two-byte slot: the instruction that starts there, if the CPU comes that way."""

    base: int
    classes: npt.NDArray[np.uint8]
    words: npt.NDArray[np.uint32]

    @property
    def is_wide(self) -> npt.NDArray[np.bool_]:
        """Whether it is an instruction of two slots."""
        is_wide: npt.NDArray[np.bool_] = (self.words & 3) == 3
        return is_wide


@dataclass(frozen=True, slots=True)
class CodeTable:
    """What the block counters need to know about the code, for an instruction that starts at a slot."""

    base: int
    is_wide: npt.NDArray[np.bool_]
    costs: npt.NDArray[np.int64]
    taken_costs: npt.NDArray[np.int64]  # of a branch, in addition


def decode(base: int, code: bytes) -> Code:
    """The instructions at all slots."""
    slots = len(code) // 2
    halves = np.frombuffer(code, "<u2", slots).astype(np.uint32)
    words = halves.copy()
    words[:-1] |= halves[1:] << 16
    wide = (halves & 3) == 3
    words[~wide] = halves[~wide]
    different, places = np.unique(words, return_inverse=True)
    wide = (different & 3) == 3
    classes = np.full(len(different), _ILLEGAL, np.uint8)
    for table, rows in ((NARROW, ~wide), (WIDE, wide)):
        for _, mask, match, _, kind in reversed(table):
            classes[rows & ((different & mask) == match)] = kind
    for mask, match in _NO_FPU:
        is_csr = classes == InstructionClass.CSR
        classes[is_csr & ((different & mask) == match)] = _ILLEGAL
    return Code(base, classes[places], words)


def classify(word: int) -> InstructionClass:
    """The same for one instruction."""
    rows = WIDE if word & 3 == 3 else NARROW
    found = next((kind for _, mask, match, _, kind in rows if word & mask == match), _ILLEGAL)
    is_of_fpu = found is InstructionClass.CSR and any(word & mask == match for mask, match in _NO_FPU)
    return _ILLEGAL if is_of_fpu else found


class AlternatingSums:
    """Computes x[n] = values[n] - x[n - 1] where `goes_on`, and values[n] elsewhere, for any values."""

    def __init__(self, goes_on: npt.NDArray[np.bool_]) -> None:
        numbers = np.arange(len(goes_on))
        self._begins = np.maximum.accumulate(np.where(goes_on, 0, numbers))

    def at(self, places: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For the n in `places`, in order, which have these values; elsewhere, values are zero."""
        return self._sums(places, values, np.searchsorted(places, self._begins[places]))

    def everywhere(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For all n."""
        return self._sums(np.arange(len(values)), values, self._begins)

    def _sums(self, places: Any, values: Any, begins: Any) -> npt.NDArray[np.int64]:
        signs = 1 - 2 * (places & 1)
        sums = np.concatenate([[0], np.cumsum(signs * values)])
        alternating: npt.NDArray[np.int64] = signs * (sums[1:] - sums[begins])
        return alternating


def memory_operand(word: int) -> tuple[int, int] | None:
    """(base register, offset) of a load, store or atomic; None for anything else."""
    base = word >> 15 & 31
    if word & 0x7F == 0x03:
        return base, _signed(word >> 20, 12)
    if word & 0x7F == 0x23:
        return base, _signed(word >> 25 << 5 | word >> 7 & 31, 12)
    if word & 0x7F == 0x2F:
        return base, 0
    short = word & 0xE003
    if short in (0x4000, 0xC000):  # c.lw, c.sw
        return 8 + (word >> 7 & 7), (word >> 10 & 7) << 3 | (word >> 6 & 1) << 2 | (word >> 5 & 1) << 6
    if short == 0x4002:  # c.lwsp
        return _SP, (word >> 12 & 1) << 5 | (word >> 4 & 7) << 2 | (word >> 2 & 3) << 6
    if short == 0xC002:  # c.swsp
        return _SP, (word >> 9 & 15) << 2 | (word >> 7 & 3) << 6
    return None


def is_read_modify_write(word: int) -> bool:
    """Whether this is an atomic other than lr.w: what it cannot load counts as a failed store."""
    return word & 0x7F == 0x2F and word >> 27 != 0b00010


def _signed(value: int, bits: int) -> int:
    return (value ^ 1 << bits - 1) - (1 << bits - 1)
