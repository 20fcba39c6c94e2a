"""How CFG writes to an operand register, for routines that read the words of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import registers
from dlasim.isa.instruction_rows import OPCODE
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.native.record import Numbers
from dlasim.native.routine import routine

CFG = BY_MNEMONIC["CFG"]
OPCODE_MASK, _CFG = OPCODE.mask, CFG.opcode
IS_SIGNED = np.array([register.fields[0].signed for register in registers.OPERANDS])
_REGISTER, _VALUE = CFG.field("register"), CFG.field("value")
_REGISTER_LOW, _REGISTER_MASK = _REGISTER.low, (1 << _REGISTER.width) - 1
_VALUE_LOW, _VALUE_MASK, _VALUE_SIGN = _VALUE.low, (1 << _VALUE.width) - 1, _VALUE.width - 1
_FIRST_REGISTER = registers.OPERANDS[0].index


def values_of(patterns: NDArray[np.int64], columns: Any = slice(None)) -> NDArray[np.int64]:
    """The values of operand registers that hold these patterns: of all of them, or of those in `columns`."""
    values: NDArray[np.int64] = patterns - (IS_SIGNED[columns] & (patterns >> _VALUE_SIGN)) * (
        _VALUE_MASK + 1
    )
    return values


@routine
def write_register(file: Numbers, is_signed: Numbers, word: int) -> None:
    """What a word CFG does to the values of the operand registers."""
    place = ((word >> _REGISTER_LOW) & _REGISTER_MASK) - _FIRST_REGISTER
    value = (word >> _VALUE_LOW) & _VALUE_MASK
    if is_signed[place] and value >> _VALUE_SIGN:
        value -= _VALUE_MASK + 1
    file[place] = value


@routine
def follow_writes(file: Numbers, is_signed: Numbers, words: Numbers, first: int, end: int) -> None:
    """What these words of a stream do to the values of the operand registers."""
    for position in range(first, end):
        if words[position] & OPCODE_MASK == _CFG:
            write_register(file, is_signed, words[position])
