"""What each operation of a program reads: its layer and the registers in force, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import codec, registers
from dlasim.isa.assembly.lexer import quote
from dlasim.isa.assembly.word_text import value_format
from dlasim.isa.instruction_rows import OPCODE, Operand
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS
from dlasim.isa.program import Program
from dlasim.isa.registers import Register

_CFG = BY_MNEMONIC["CFG"]
_REGISTER, _VALUE = _CFG.field("register"), _CFG.field("value")
_LINE_CHARACTERS = 100
_RESET = "*"  # after a value that no CFG of the program has written


def operation_comments(program: Program) -> dict[int, list[str]]:
    """For each operation, by the index of its word: its layer, and the registers that it reads.

    A value marked * is the one after reset, as no CFG before has written that register.
    """
    in_force = {
        register.index: _assignment(register, register.reset) + _RESET for register in registers.OPERANDS
    }
    opcodes = codec.decode_opcodes(program.commands)
    layers = program.layer_of_words().tolist()
    comments: dict[int, list[str]] = {}
    for position in np.flatnonzero(_is_relevant()[opcodes]).tolist():
        word = int(program.commands[position])
        if opcodes[position] != _CFG.opcode:
            heading = _heading(program, layers[position])
            comments[position] = heading + _wrapped([in_force[index] for index in _reads(word)])
        elif (register := _by_index().get(_REGISTER.extract(word))) is not None:
            in_force[register.index] = _assignment(register, word >> _VALUE.low)
    return comments


def _heading(program: Program, layer: int) -> list[str]:
    if layer < 0:
        return ["no layer"]
    return [f"layer {layer}: {quote(program.layers[layer].name)} ({program.layers[layer].kind.name})"]


def _assignment(register: Register, pattern: int) -> str:
    """`NAME=value`; the parts of a packed register joined by x."""
    if not register.is_plain and register.is_legal(pattern):
        return f"{register.name}=" + "x".join(str(field.extract(pattern)) for field in register.fields)
    return f"{register.name}={_formats()[register.index](pattern)}".replace("=raw=", "=illegal ")


def _wrapped(values: list[str]) -> list[str]:
    """The values in lines of a readable length."""
    lines: list[str] = []
    room = 0
    for value in values:
        if len(value) + 1 > room:
            lines.append(value)
            room = _LINE_CHARACTERS - len(value)
        else:
            lines[-1] += f" {value}"
            room -= len(value) + 1
    return lines


@lru_cache(maxsize=4096)
def _reads(word: int) -> tuple[int, ...]:
    """The registers that an operation reads, by number; operands that its fields leave out do not count."""
    decoded = codec.decode(word)
    assert decoded.instruction is not None
    names = set(decoded.instruction.parameters)
    if decoded.values.get("sum"):
        names.update(decoded.instruction.sum_parameters)
    for operand in decoded.instruction.operands:
        if _is_present(operand, decoded.values):
            names.update(operand.registers)
    return tuple(register.index for register in registers.OPERANDS if register.name in names)


def _is_present(operand: Operand, values: Mapping[str, int]) -> bool:
    conditions = operand.present_when
    return not conditions or any(values[when.field] in when.values for when in conditions)


@cache
def _is_relevant() -> NDArray[np.bool_]:
    """By opcode: whether it is an operation, or writes a register."""
    relevant = np.zeros(1 << OPCODE.width, np.bool_)
    for instruction in INSTRUCTIONS:
        relevant[instruction.opcode] = instruction.is_operation or instruction is _CFG
    return relevant


@cache
def _by_index() -> dict[int, Register]:
    return {register.index: register for register in registers.OPERANDS}


@cache
def _formats() -> dict[int, Callable[[int], str]]:
    return {register.index: value_format(register) for register in registers.OPERANDS}
