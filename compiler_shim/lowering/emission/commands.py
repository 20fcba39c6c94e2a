"""Instruction words and register numbers that emission writes, from the tables of the instruction set."""

from __future__ import annotations

from dlasim.isa import codec, registers
from dlasim.isa.instructions import BY_MNEMONIC

_CFG, _WAIT = BY_MNEMONIC["CFG"], BY_MNEMONIC["WAIT"]
CFG_WORD = codec.encode_cfg(registers.OPERANDS[0].name, 0)
CFG_REGISTER = codec.encode_cfg(registers.OPERANDS[1].name, 0) - CFG_WORD
CFG_VALUE = _CFG.field("value").low
WAIT_WORD = codec.encode("WAIT", unit=0, max_outstanding=0)
WAIT_UNIT, WAIT_OUTSTANDING = _WAIT.field("unit").low, _WAIT.field("max_outstanding").low
MAX_OUTSTANDING = _WAIT.field("max_outstanding").highest
HALT_WORD = codec.encode("HALT")
READ_WORD, WRITE_WORD, COPY_WORD = (
    codec.encode(mnemonic) for mnemonic in ("OP_DMA_READ", "OP_DMA_WRITE", "OP_C_MAX")
)
UNPACK_WORD = codec.encode("OP_DMA_UNPACK", packed=0)
UNPACK_PACKED = BY_MNEMONIC["OP_DMA_UNPACK"].field("packed").low
_DECODE = BY_MNEMONIC["OP_DMA_DECODE"]
DECODE_WORD = codec.encode("OP_DMA_DECODE", words=0, steps=0, copied=0)
DECODE_WORDS, DECODE_STEPS, DECODE_COPIED = (_DECODE.field(name).low for name in ("words", "steps", "copied"))
UNSET = -(1 << 62)  # what no register holds


def register(name: str) -> int:
    """The number of an operand register."""
    return registers.OPERAND_COLUMN[name]


REQUIRE_CONFIG = register("REQUIRE_CONFIG")
