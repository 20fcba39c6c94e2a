"""The disassembler against GNU's, instruction by instruction, and against examples of the specification."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dlasim.vp.riscv.disassembly import disassemble

OBJDUMP = shutil.which("riscv64-unknown-elf-objdump")
_LINE = re.compile(r"^\s*([0-9a-f]+):\s+([0-9a-f]+)\s+(\S+)\s*(.*)$")
_UNKNOWN = (".2byte", ".4byte")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (0x3040_1073, "csrrw zero,mie,zero"),
        (0x6001_0197, "auipc gp,0x60010"),
        (0x7F81_8193, "addi gp,gp,2040"),
        (0xFE73_6AE3, "bltu t1,t2,0xff4"),
        (0x0291, "c.addi t0,4"),
        (0x4501, "c.li a0,0"),
        (0x8082, "c.jr ra"),
        (0x1050_0073, "wfi"),
        (0x02C5_8533, "mul a0,a1,a2"),
        (0x0C55_252F, "amoswap.w.aq a0,t0,(a0)"),
        (0x0000, ".2byte 0x0"),
        (0xFFFF_FFFF, ".4byte 0xffffffff"),
        (0x0005_0507, ".4byte 0x50507"),  # flw: no F here
    ],
)
def test_examples(word: int, text: str) -> None:
    assert disassemble(word, 0x1000) == text


def _words() -> list[int]:
    """Every 16-bit encoding; 32-bit ones of each opcode, with fields at random."""
    draw = random.Random(7)
    narrow = [half for half in range(0x10000) if half & 3 != 3]
    opcodes = (0x37, 0x17, 0x6F, 0x67, 0x63, 0x03, 0x23, 0x13, 0x33, 0x2F, 0x0F, 0x73)
    wide = [draw.getrandbits(25) << 7 | opcode for opcode in opcodes for _ in range(3000)]
    functs = [0, 0x20, 1] * 2000  # ALU, SUB and SRA, M
    wide += [draw.getrandbits(18) << 7 | 0x33 | funct << 25 for funct in functs]
    wide += [draw.getrandbits(18) << 7 | 0x1013 | (draw.getrandbits(1) * 0x20) << 25 for _ in range(2000)]
    wide += [
        draw.getrandbits(5) << 27 | draw.getrandbits(17) << 15 >> 5 & ~0x7FFF | 0x202F for _ in range(2000)
    ]
    return narrow + wide


def _gnu(words: list[int], tmp_path: Path) -> list[tuple[int, int, str, str]]:
    """(address, word, mnemonic, operands) of each."""
    raw = b"".join(word.to_bytes(2 if word & 3 != 3 else 4, "little") for word in words)
    path = tmp_path / "code.bin"
    path.write_bytes(raw)
    arguments = ["-D", "-b", "binary", "-m", "riscv:rv32", "-M", "no-aliases", str(path)]
    done = subprocess.run([str(OBJDUMP), *arguments], capture_output=True, text=True, check=True)
    found = [_LINE.match(line) for line in done.stdout.splitlines()]
    return [(int(m[1], 16), int(m[2], 16), m[3], m[4]) for m in found if m]


@pytest.mark.skipif(OBJDUMP is None, reason="riscv64-unknown-elf-objdump is not installed: no oracle")
def test_every_encoding_is_written_as_gnu_writes_it(tmp_path: Path) -> None:
    words = _words()
    lines = _gnu(words, tmp_path)
    assert [word for _, word, _, _ in lines] == words
    known, wrong = 0, []
    for address, word, mnemonic, operands in lines:
        ours = disassemble(word, address)
        operands = re.sub(r"\s*[#<].*$", "", operands)
        theirs = f"{mnemonic} {operands}".strip()
        if ours.startswith(_UNKNOWN):
            if not _is_left_out(word, theirs):
                wrong.append((hex(word), ours, theirs))
            continue
        known += 1
        if not _is_the_same(word, ours, theirs):
            wrong.append((hex(word), ours, theirs))
    assert wrong[:20] == []
    assert known > 50_000


_FLOATS = ("c.fld", "c.fsd", "c.flw", "c.fsw")
_RV64_SHIFTS = ("slli", "srli", "srai", "c.slli", "c.srli", "c.srai")


def _is_left_out(word: int, theirs: str) -> bool:
    """Whether RV32IMAC has no such instruction, though GNU writes something for it."""
    mnemonic, *operands = theirs.split(" ")
    if mnemonic in _RV64_SHIFTS:
        return int(operands[0].split(",")[-1], 16) >= 32
    return mnemonic.startswith((*_FLOATS, ".", "c.unimp")) or word == 0x6101  # c.addi16sp by 0: reserved


def _is_the_same(word: int, ours: str, theirs: str) -> bool:
    """Whether they agree, but for control registers that the board lacks, hints, and reserved bits."""
    if ours == theirs:
        return True
    mnemonic, _, operands = ours.partition(" ")
    if mnemonic.startswith("csr"):
        parts, others = operands.split(","), theirs.partition(" ")[2].split(",")
        return (parts[0], parts[2]) == (others[0], others[2]) and int(parts[1], 16) == word >> 20
    if mnemonic.startswith("fence"):
        return theirs.startswith(".4byte")
    return theirs.startswith(f"{mnemonic}64") or word == 0x0001  # a shift by 0; c.nop
