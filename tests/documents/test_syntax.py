"""The syntax lines of the manual are what the assembler reads."""

from __future__ import annotations

import re

import pytest

from dlasim.isa import codec
from dlasim.isa.assembly import assemble
from dlasim.isa.documents import captions
from dlasim.isa.instruction_rows import Instruction
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import OPERANDS, Register


def words(line: str) -> list[int]:
    end = "" if line == "HALT" else "HALT"
    program = assemble(f".config pes=64 parallel=output sram=512KiB\n.stream\n{line}\n{end}\n", "syntax.s")
    return [int(word) for word in program.commands]


def filled(syntax: str) -> str:
    """A syntax line with the first of each choice and a number for each value."""
    line = re.sub(r"[\[\]]", "", syntax)
    line = re.sub(r"=([a-z_0-9]+)(?:\|[a-z_0-9]+)+", r"=\1", line)
    line = re.sub(r"\b(?:VALUE|MAX_OUTSTANDING|PACKED|WORDS|STEPS|COPIED)\b", "1", line)
    return line.replace("REGISTER", "OUT_CHANNELS")


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda i: i.mnemonic)
def test_the_syntax_of_each_instruction_assembles_to_it(instruction: Instruction) -> None:
    line = filled(captions.syntax(instruction))
    assert codec.decode(words(line)[0]).instruction is instruction


@pytest.mark.parametrize("register", OPERANDS, ids=lambda r: r.name)
def test_the_syntax_of_each_register_writes_it(register: Register) -> None:
    decoded = codec.decode(words(filled(captions.register_syntax(register)))[0])
    assert decoded.values["register"] == register.index
