"""Sorts RV32IMAC code into instruction classes, for the cost tables; nothing here executes anything."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, auto

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

# (mask, match, class) for 32-bit instructions; each opcode of RV32IMA is matched once.
_WIDE = (
    (0x0000_007F, 0x0000_0037, _C.ALU),  # lui
    (0x0000_007F, 0x0000_0017, _C.ALU),  # auipc
    (0x0000_007F, 0x0000_006F, _C.JUMP),  # jal
    (0x0000_707F, 0x0000_0067, _C.JUMP_REGISTER),  # jalr
    (0x0000_007F, 0x0000_0063, _C.BRANCH),
    (0x0000_007F, 0x0000_0003, _C.LOAD),
    (0x0000_007F, 0x0000_0023, _C.STORE),
    (0x0000_007F, 0x0000_0013, _C.ALU),  # register and immediate
    (0xBE00_007F, 0x0000_0033, _C.ALU),  # register and register: funct7 0x00 and 0x20
    (0xFE00_707F, 0x0200_0033, _C.MULTIPLY),
    (0xFE00_707F, 0x0200_1033, _C.MULTIPLY_HIGH),
    (0xFE00_607F, 0x0200_2033, _C.MULTIPLY_HIGH),  # mulhsu, mulhu
    (0xFE00_407F, 0x0200_4033, _C.DIVIDE),  # div, divu, rem, remu
    (0x0000_707F, 0x0000_202F, _C.ATOMIC),
    (0x0000_007F, 0x0000_000F, _C.SYSTEM),  # fence, fence.i
    (0x0000_707F, 0x0000_0073, _C.SYSTEM),  # ecall, ebreak, mret, wfi
    (0x0000_307F, 0x0000_1073, _C.CSR),
    (0x0000_307F, 0x0000_2073, _C.CSR),
    (0x0000_307F, 0x0000_3073, _C.CSR),
)

# The same for 16-bit instructions; later rows override earlier ones.
_NARROW = (
    (0xE003, 0x0000, _C.ALU),  # c.addi4spn
    (0xE003, 0x4000, _C.LOAD),  # c.lw
    (0xE003, 0xC000, _C.STORE),  # c.sw
    (0xE003, 0x0001, _C.ALU),  # c.addi, c.nop
    (0xE003, 0x2001, _C.JUMP),  # c.jal
    (0xE003, 0x4001, _C.ALU),  # c.li
    (0xE003, 0x6001, _C.ALU),  # c.lui, c.addi16sp
    (0xE003, 0x8001, _C.ALU),  # c.srli, c.srai, c.andi, c.sub, c.xor, c.or, c.and
    (0xFC43, 0x9C01, _C.ILLEGAL),  # c.subw: RV64 only
    (0xFC43, 0x9C41, _C.ILLEGAL),  # Zcb's corner
    (0xE003, 0xA001, _C.JUMP),  # c.j
    (0xE003, 0xC001, _C.BRANCH),  # c.beqz
    (0xE003, 0xE001, _C.BRANCH),  # c.bnez
    (0xE003, 0x0002, _C.ALU),  # c.slli
    (0xE003, 0x4002, _C.LOAD),  # c.lwsp
    (0xE003, 0x8002, _C.ALU),  # c.mv, c.add
    (0xE07F, 0x8002, _C.JUMP_REGISTER),  # c.jr, c.jalr
    (0xFFFF, 0x9002, _C.SYSTEM),  # c.ebreak
    (0xE003, 0xC002, _C.STORE),  # c.swsp
    (0xFFFF, 0x0000, _C.ILLEGAL),
)

_CSR_FIELD_SHIFT = 20
BREAK = 0x0010_0073
NARROW_BREAK = 0x9002
_SP = 2


@dataclass(frozen=True, slots=True)
class Code:
    """Decoded code: where instructions start (per two-byte slot), what they are, their bits."""

    base: int
    starts: npt.NDArray[np.bool_]
    classes: npt.NDArray[np.uint8]
    words: npt.NDArray[np.uint32]

    def csr_sites(self, csrs: Iterable[int]) -> list[int]:
        """Addresses of the instructions that read or write any of `csrs`."""
        is_csr = self.starts & (self.classes == _C.CSR)
        hits = is_csr & np.isin(self.words >> _CSR_FIELD_SHIFT, list(csrs))
        return [self.base + 2 * int(slot) for slot in np.flatnonzero(hits)]


@dataclass(frozen=True, slots=True)
class CodeTable:
    """What the block counters need to know about the code, per two-byte slot."""

    base: int
    starts: npt.NDArray[np.bool_]
    costs: npt.NDArray[np.int64]
    taken_costs: npt.NDArray[np.int64]  # at an instruction's last slot


def decode(base: int, code: bytes, entries: Iterable[int] = ()) -> Code:
    """Decodes front to back; `entries` (function addresses) always start an instruction."""
    slots = len(code) // 2
    halves = np.frombuffer(code, "<u2", slots).astype(np.uint32)
    starts = _instruction_starts(halves, {(entry - base) >> 1 for entry in entries})
    words = halves.copy()
    words[:-1] |= halves[1:] << 16
    wide = (halves & 3) == 3
    words[~wide] = halves[~wide]
    classes = np.full(slots, _C.ILLEGAL, np.uint8)
    for table, rows in ((_NARROW, ~wide), (_WIDE, wide)):
        for mask, match, kind in table:
            classes[rows & ((words & mask) == match)] = kind
    return Code(base, starts, classes, words)


def _instruction_starts(halves: npt.NDArray[np.uint32], entries: set[int]) -> npt.NDArray[np.bool_]:
    lengths = np.where((halves & 3) == 3, 2, 1).tolist()
    starts = np.zeros(len(lengths), np.bool_)
    slot = 0
    while slot < len(lengths):
        starts[slot] = True
        # An entry inside this "instruction" means that it was data: begin again there.
        slot += 1 if slot + 1 in entries else lengths[slot]
    return starts


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
