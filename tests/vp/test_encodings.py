"""Every encoding: what RV32IMAC does not have is illegal, on the board and in the tables, as in the
specification and on QEMU's model of such a CPU."""

import random

import pytest

from dlasim.vp.riscv.decode import classify, decode
from dlasim.vp.riscv.disassembly import disassemble
from dlasim.vp.riscv.instruction_table import InstructionClass
from dlasim.vp.system.board import Board

NARROW = [half for half in range(0x10000) if half & 3 != 3]


def is_legal_narrow(half: int) -> bool:
    """From the tables of "RVC Instruction Set Listings" in chapter "C" of the unprivileged specification,
    without the rows for RV64, RV128, F and D; RES, NSE and "RV32 NSE" are illegal, HINT is not."""
    quadrant, funct3 = half & 3, half >> 13
    rd, rs2, bit12 = half >> 7 & 31, half >> 2 & 31, half >> 12 & 1
    if quadrant == 0:
        nonzero = half >> 5 & 0xFF != 0
        return {0: nonzero, 2: True, 6: True}.get(funct3, False)  # C.ADDI4SPN (nzuimm), C.LW, C.SW
    if quadrant == 1:
        if funct3 == 3:  # C.ADDI16SP, C.LUI: nzimm
            return bool(bit12 or rs2)
        if funct3 == 4:
            is_and_immediate = half >> 10 & 3 == 2
            return is_and_immediate or not bit12  # shifts by less than 32; no C.SUBW, C.ADDW
        return True  # C.ADDI, C.JAL, C.LI, C.J, C.BEQZ, C.BNEZ
    if funct3 == 4:
        return bool(rd or rs2 or bit12)  # C.JR of x0 is reserved; C.MV, C.EBREAK, C.JALR, C.ADD
    return {0: not bit12, 2: rd != 0, 6: True}.get(funct3, False)  # C.SLLI, C.LWSP, C.SWSP


def is_legal_wide(word: int) -> bool:
    """From "RV32/64G Instruction Set Listings", the tables of RV32I, Zifencei, Zicsr, RV32M and RV32A, and
    the privileged specification's MRET and WFI. Control registers count as legal but for those of F."""
    opcode, funct3, funct7, funct5 = word & 0x7F, word >> 12 & 7, word >> 25, word >> 27
    shifts = {1: (0,), 5: (0, 0x20)}
    integer = {**dict.fromkeys(range(8), (0,)), 0: (0, 0x20), 5: (0, 0x20)}
    atomic = (0, 1, 2, 3, 4, 8, 0xC, 0x10, 0x14, 0x18, 0x1C)
    return {
        0x37: True, 0x17: True, 0x6F: True,
        0x67: funct3 == 0,
        0x63: funct3 not in (2, 3),
        0x03: funct3 in (0, 1, 2, 4, 5),
        0x23: funct3 in (0, 1, 2),
        0x13: funct3 not in shifts or funct7 in shifts[funct3],
        0x33: funct7 == 1 or funct7 in integer[funct3],
        0x2F: funct3 == 2 and funct5 in atomic and (funct5 != 2 or word >> 20 & 31 == 0),
        0x0F: funct3 in (0, 1),
        0x73: word in (0x73, 0x0010_0073, 0x3020_0073, 0x1050_0073)
        or (funct3 not in (0, 4) and word >> 20 not in (1, 2, 3)),
    }.get(opcode, False)  # fmt: skip


def wide_words(*, executable: bool) -> list[int]:
    """Words of every major opcode, funct3 and funct7, other fields at random. What would leave the test's
    program, when it is executed, is left out."""
    draw = random.Random(5)
    words = [
        draw.choice([draw.getrandbits(25), 0]) & 0x1FF8FFF | upper << 25 | funct3 << 12 | opcode << 2 | 3
        for opcode in range(32)
        for funct3 in range(8)
        for upper in (range(128) if opcode in _WITH_FUNCT7 else draw.sample(range(128), 8))
    ]
    words = [word & ~0xF80 | draw.getrandbits(5) << 7 for word in words]
    words += [
        imm << 20 | rs1 << 15 | 0x73
        for imm in (0, 1, 2, 0x102, 0x105, 0x120, 0x12F, 0x220, 0x302, 0x620, 0x7B2)
        for rs1 in (0, 5)
    ]
    words += [csr << 20 | kind << 12 | 5 << 7 | 0x73 for csr in (1, 2, 3) for kind in (1, 2, 3, 5, 6, 7)]
    return [word for word in words if not executable or _comes_back(word)]


_WITH_FUNCT7 = (0b00100, 0b01100, 0b01011, 0b10100, 0b11100)  # OP-IMM, OP, AMO, OP-FP, SYSTEM


def _comes_back(word: int) -> bool:
    opcode, funct3 = word & 0x7F, word >> 12 & 7
    if opcode == 0x73:
        return word >> 20 in (1, 2, 3) or (funct3 in (0, 4) and word not in (0x3020_0073, 0x1050_0073))
    return opcode != 0x6F and (opcode != 0x63 or word & 0xFE00_0F80 != 0)


def test_the_tables_have_what_the_specification_has():
    words = [*NARROW, *wide_words(executable=False)]
    legal = [is_legal_narrow(word) if word & 3 != 3 else is_legal_wide(word) for word in words]
    assert [classify(word) is not InstructionClass.ILLEGAL for word in words] == legal
    for word, is_legal in zip(words, legal, strict=True):
        if word & 0x7F != 0x73 or word >> 12 & 7 == 0:
            assert (disassemble(word, 0)[0] != ".") == is_legal, hex(word)
    code = b"".join(word.to_bytes(4, "little") for word in words)
    classes = decode(0, code).classes[::2]
    assert classes.tolist() == [classify(word) for word in words]


def _program(words: str) -> str:
    return f"""
    #include "encodings.h"
    {words}
    int main(void)
    {{
        prepare();
        for (int number = 0; number < COUNT; number += 4) {{
            uint32_t found = 0;
            for (int n = number; n < number + 4 && n < COUNT; n++)
                found |= (uint32_t)is_illegal(WORD(n)) << (n - number);
            put_char("0123456789abcdef"[found]);
        }}
        return 0;
    }}"""


def _illegal(text: str, count: int) -> list[bool]:
    assert "wrong" not in text
    return [bool(int(text[n // 4], 16) >> n % 4 & 1) for n in range(count)]


def _run(elf) -> str:
    board = Board()
    board.load_elf(elf)
    result = board.run(max_instructions=100_000_000)
    assert result.exit_code == 0, result.summary(board.firmware)
    return result.uart.decode()


# c.j, c.jal and c.bnez to themselves never come back.
ENDLESS = [0x2001, 0xA001, *(0xE001 | register << 7 for register in range(8))]
STEPS = [37, pytest.param(1, marks=pytest.mark.slow)]


def _narrow_program(step: int) -> tuple[str, list[int]]:
    skipped = " || ".join(f"half == {half}" for half in ENDLESS)
    halves = NARROW[::step]
    source = f"""
    enum {{ COUNT = {len(halves)} }};
    static uint32_t WORD(uint32_t n)
    {{
        uint32_t number = n * {step}, half = number / 3 * 4 + number % 3;
        return {skipped} ? 1 : half;
    }}"""
    return _program(source), halves


def _wide_program() -> tuple[str, list[int]]:
    words = wide_words(executable=True)
    table = f"""
    static const uint32_t table[] = {{{",".join(map(hex, words))}}};
    enum {{ COUNT = {len(words)} }};
    static uint32_t WORD(uint32_t n) {{ return table[n]; }}"""
    return _program(table), words


def _wrong(words: list[int], found: list[bool]) -> list[str]:
    legal = [is_legal_narrow(word) if word & 3 != 3 else is_legal_wide(word) for word in words]
    return [hex(word) for word, is_legal, is_illegal in zip(words, legal, found, strict=True)
            if is_legal == is_illegal]  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_narrow_encodings_on_the_board(build, step):
    source, halves = _narrow_program(step)
    assert _wrong(halves, _illegal(_run(build(source=source)), len(halves))) == []


def test_wide_encodings_on_the_board(build):
    source, words = _wide_program()
    assert _wrong(words, _illegal(_run(build(source=source)), len(words))) == []


def test_qemu_says_the_same_of_every_encoding(build, qemu):
    """Its model of SiFive's E31, which is RV32IMAC with user mode. It has sfence.vma, which belongs to
    supervisor mode."""
    for source, words in (_narrow_program(1), _wide_program()):
        found = _illegal(qemu(build(source=source), cpu="sifive-e31"), len(words))
        assert [word for word in _wrong(words, found) if not word.startswith(("0x120", "0x12f"))] == []
