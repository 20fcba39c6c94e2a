"""Sorts RV32IMAC code into instruction classes, for the cost tables, and tells what is illegal; nothing here
executes anything."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

import numpy as np
import numpy.typing as npt

from dlasim.dataclass import dataclass


class InstructionClass(IntEnum):
    """What the cost tables tell apart; names in lower case are the keys of their TOML files."""

    ALU = 0
    MULTIPLY = auto()
    MULTIPLY_HIGH = auto()
    DIVIDE = auto()
    LOAD = auto()
    STORE = auto()
    ATOMIC = auto()
    BRANCH = auto()
    JUMP = auto()
    JUMP_REGISTER = auto()
    CSR = auto()
    SYSTEM = auto()
    ILLEGAL = auto()


_C = InstructionClass

# (mask, match, class); later rows override earlier ones, and what no row matches is illegal. Fields that an
# implementation has to ignore (in fences) are not looked at.
_WIDE = (
    (0x0000_007F, 0x0000_0037, _C.ALU),  # lui
    (0x0000_007F, 0x0000_0017, _C.ALU),  # auipc
    (0x0000_007F, 0x0000_006F, _C.JUMP),  # jal
    (0x0000_707F, 0x0000_0067, _C.JUMP_REGISTER),  # jalr
    (0x0000_607F, 0x0000_0063, _C.BRANCH),  # beq, bne
    (0x0000_407F, 0x0000_4063, _C.BRANCH),  # blt, bge, bltu, bgeu
    (0x0000_607F, 0x0000_0003, _C.LOAD),  # lb, lh
    (0x0000_707F, 0x0000_2003, _C.LOAD),  # lw
    (0x0000_607F, 0x0000_4003, _C.LOAD),  # lbu, lhu
    (0x0000_607F, 0x0000_0023, _C.STORE),  # sb, sh
    (0x0000_707F, 0x0000_2023, _C.STORE),  # sw
    (0x0000_107F, 0x0000_0013, _C.ALU),  # addi, slti, xori, ori
    (0x0000_307F, 0x0000_3013, _C.ALU),  # sltiu, andi
    (0xFE00_307F, 0x0000_1013, _C.ALU),  # slli, srli
    (0xFE00_707F, 0x4000_5013, _C.ALU),  # srai
    (0xFE00_007F, 0x0000_0033, _C.ALU),  # add and its like
    (0xFE00_707F, 0x4000_0033, _C.ALU),  # sub
    (0xFE00_707F, 0x4000_5033, _C.ALU),  # sra
    (0xFE00_707F, 0x0200_0033, _C.MULTIPLY),
    (0xFE00_707F, 0x0200_1033, _C.MULTIPLY_HIGH),
    (0xFE00_607F, 0x0200_2033, _C.MULTIPLY_HIGH),  # mulhsu, mulhu
    (0xFE00_407F, 0x0200_4033, _C.DIVIDE),  # div, divu, rem, remu
    (0xF9F0_707F, 0x1000_202F, _C.ATOMIC),  # lr.w
    (0xF800_707F, 0x1800_202F, _C.ATOMIC),  # sc.w
    (0xF800_707F, 0x0800_202F, _C.ATOMIC),  # amoswap.w
    (0x1800_707F, 0x0000_202F, _C.ATOMIC),  # amoadd.w and its like
    (0x0000_607F, 0x0000_000F, _C.SYSTEM),  # fence, fence.i
    (0x0000_307F, 0x0000_1073, _C.CSR),
    (0x0000_307F, 0x0000_2073, _C.CSR),
    (0x0000_307F, 0x0000_3073, _C.CSR),
    (0xFFF0_007F, 0x0010_0073, _C.ILLEGAL),  # fflags,
    (0xFFE0_007F, 0x0020_0073, _C.ILLEGAL),  # frm and fcsr: there is no FPU
    (0xFFFF_FFFF, 0x0000_0073, _C.SYSTEM),  # ecall
    (0xFFFF_FFFF, 0x0010_0073, _C.SYSTEM),  # ebreak
    (0xFFFF_FFFF, 0x3020_0073, _C.SYSTEM),  # mret
    (0xFFFF_FFFF, 0x1050_0073, _C.SYSTEM),  # wfi
)

# The same for 16-bit instructions. Hints (results for x0, shifts by 0) are executed; they do nothing.
_NARROW = (
    (0xE003, 0x0000, _C.ALU),  # c.addi4spn
    (0xFFE3, 0x0000, _C.ILLEGAL),  # of 0
    (0xE003, 0x4000, _C.LOAD),  # c.lw
    (0xE003, 0xC000, _C.STORE),  # c.sw
    (0xE003, 0x0001, _C.ALU),  # c.addi, c.nop
    (0xE003, 0x2001, _C.JUMP),  # c.jal
    (0xE003, 0x4001, _C.ALU),  # c.li
    (0xE003, 0x6001, _C.ALU),  # c.lui, c.addi16sp
    (0xF07F, 0x6001, _C.ILLEGAL),  # of 0
    (0xF803, 0x8001, _C.ALU),  # c.srli, c.srai; by 32 or more, they are left to custom extensions
    (0xEC03, 0x8801, _C.ALU),  # c.andi
    (0xFC03, 0x8C01, _C.ALU),  # c.sub, c.xor, c.or, c.and
    (0xE003, 0xA001, _C.JUMP),  # c.j
    (0xE003, 0xC001, _C.BRANCH),  # c.beqz
    (0xE003, 0xE001, _C.BRANCH),  # c.bnez
    (0xF003, 0x0002, _C.ALU),  # c.slli
    (0xE003, 0x4002, _C.LOAD),  # c.lwsp
    (0xEF83, 0x4002, _C.ILLEGAL),  # into x0
    (0xE003, 0x8002, _C.ALU),  # c.mv, c.add
    (0xE07F, 0x8002, _C.JUMP_REGISTER),  # c.jr, c.jalr
    (0xFFFF, 0x8002, _C.ILLEGAL),  # to x0
    (0xFFFF, 0x9002, _C.SYSTEM),  # c.ebreak
    (0xE003, 0xC002, _C.STORE),  # c.swsp
)

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
    classes = np.full(slots, _C.ILLEGAL, np.uint8)
    for table, rows in ((_NARROW, ~wide), (_WIDE, wide)):
        for mask, match, kind in table:
            classes[rows & ((words & mask) == match)] = kind
    return Code(base, classes, words)


def classify(word: int) -> InstructionClass:
    """The same for one instruction."""
    rows = _WIDE if word & 3 == 3 else _NARROW
    return next((kind for mask, match, kind in reversed(rows) if word & mask == match), _C.ILLEGAL)


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
