"""Sorts RV32IMAC code into instruction classes, for the cost tables, and tells what is illegal; nothing here
executes anything."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from dlasim.dataclass import dataclass
from dlasim.native.record import Numbers, Record, pointer
from dlasim.native.routine import Routine, routine
from dlasim.native.storage import pointer_to
from dlasim.vp.riscv.instruction_table import NARROW, WIDE, InstructionClass

_CSR, _ILLEGAL = int(InstructionClass.CSR), int(InstructionClass.ILLEGAL)
_CSR_LOW = 20
_NARROW_KEYS = 0x80  # of a narrow instruction, quadrant and funct3; of a wide one, the lowest seven bits
_KEYS = _NARROW_KEYS + 32
_LAST_OF_FPU = 3  # fflags is 1, frm 2, fcsr 3: there is no FPU
BREAK = 0x0010_0073
NARROW_BREAK = 0x9002
_SP = 2


@dataclass(frozen=True, slots=True)
class Code:
    """Code, per two-byte slot: the instruction that starts there, if the CPU comes that way."""

    base: int
    classes: npt.NDArray[np.int64]
    is_wide: npt.NDArray[np.bool_]  # whether it is an instruction of two slots


@dataclass(frozen=True, slots=True)
class CodeTable:
    """What the block counters need to know about the code, for an instruction that starts at a slot."""

    base: int
    is_wide: npt.NDArray[np.bool_]
    costs: npt.NDArray[np.int64]
    taken_costs: npt.NDArray[np.int64]  # of a branch, in addition


class CodeDecoder(Record):
    """The table of instructions by the bits that all of its rows ask for, `begins` of each value of them; of
    rows with the same, the first that matches counts. And the half words of some code, which give way to
    classes."""

    masks: Numbers = pointer(int)
    matches: Numbers = pointer(int)
    kinds: Numbers = pointer(int)
    begins: Numbers = pointer(int)
    slots: int = 0
    halves: Numbers = pointer(int)


@routine
def row_key(word: int) -> int:
    """The bits of an instruction that every row of the table asks for: the opcode."""
    return word & 0x7F if word & 3 == 3 else _NARROW_KEYS | (word >> 13) << 2 | word & 3


@routine
def class_of(decoder: CodeDecoder, word: int) -> int:
    """The class of an instruction."""
    key = row_key(word)
    for row in range(decoder.begins[key], decoder.begins[key + 1]):
        if word & decoder.masks[row] == decoder.matches[row]:
            kind = decoder.kinds[row]
            is_of_fpu = kind == _CSR and 0 < word >> _CSR_LOW <= _LAST_OF_FPU
            return _ILLEGAL if is_of_fpu else kind
    return _ILLEGAL


@routine
def classify_slots(decoder: CodeDecoder) -> int:
    """Put in the place of each half word the class of the instruction that begins with it."""
    for slot in range(decoder.slots):
        word = decoder.halves[slot]
        if word & 3 == 3 and slot + 1 < decoder.slots:
            word |= decoder.halves[slot + 1] << 16
        decoder.halves[slot] = class_of(decoder, word)
    return decoder.slots


CLASSES = Routine(classify_slots, "classes")


def decode(base: int, code: bytes) -> Code:
    """The instructions at all slots."""
    halves = np.frombuffer(code, "<u2", len(code) // 2)
    is_wide, classes = (halves & 3) == 3, halves.astype(np.int64)
    decoder = CodeDecoder()
    decoder.assign(known_decoder())
    decoder.slots, decoder.halves = len(classes), pointer_to(classes)
    CLASSES(decoder)
    return Code(base, classes, is_wide)


def classify(word: int) -> InstructionClass:
    """The class of one instruction."""
    return InstructionClass(class_of(known_decoder(), word))


@cache
def known_decoder() -> CodeDecoder:
    """One that knows the table, without code."""
    rows = sorted(
        [(row_key(match), mask, match, kind) for _, mask, match, _, kind in (*NARROW, *WIDE)],
        key=lambda row: row[0],
    )
    keys, masks, matches, kinds = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    begins = np.searchsorted(keys, np.arange(_KEYS + 1))
    return CodeDecoder(*map(pointer_to, (masks, matches, kinds, begins)))


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
