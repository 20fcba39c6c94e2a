"""Command words as text. Each word has one form, which assembles to the same word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import codec, registers
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.registers import Region, Register

_CFG = BY_MNEMONIC["CFG"]
_REGISTER, _VALUE = _CFG.field("register"), _CFG.field("value")
_HEXADECIMAL = ("_ADDR", "_OFFSET", "_CONFIG")


def word_texts(words: NDArray[np.uint64], special: Mapping[int, str]) -> list[str]:
    """The text of each word, from `special` if it is there; equal words are formatted once."""
    is_cfg = (codec.decode_opcodes(words) == _CFG.opcode).tolist()
    known = dict(special)
    texts = []
    for word, cfg in zip(words.tolist(), is_cfg, strict=True):
        text = known.get(word)
        if text is None:
            text = known[word] = _cfg_text(word) if cfg else _word_text(word)
        texts.append(text)
    return texts


def _cfg_text(word: int) -> str:
    index, pattern = _REGISTER.extract(word), word >> _VALUE.low
    start, value_text = _formats().get(index, (f"CFG {index}, raw=", hex))
    return start + value_text(pattern)


def _word_text(word: int) -> str:
    decoded = codec.decode(word)
    if decoded.instruction is None:
        return f".word {word:#018x}"
    fields = decoded.instruction.fields
    values = [field.text(decoded.values[field.name]) for field in fields]
    if decoded.instruction.is_operation:
        named = [f"{field.name}={value}" for field, value in zip(fields, values, strict=True)]
        return " ".join((decoded.instruction.mnemonic, *named))
    return f"{decoded.instruction.mnemonic} {', '.join(values)}".rstrip()


@cache
def _formats() -> dict[int, tuple[str, Callable[[int], str]]]:
    """For each operand register by number: what its CFG starts with, and how its value is written."""
    return {
        register.index: (f"CFG {register.name}, ", value_format(register)) for register in registers.OPERANDS
    }


def value_format(register: Register) -> Callable[[int], str]:
    """How a 32-bit pattern in this register is written; illegal ones as `raw=`."""
    if not register.is_plain:
        return lambda pattern: _packed_text(register, pattern)
    if register.name.endswith("_REGION"):
        return lambda pattern: Region(pattern).name if pattern in _REGIONS else _raw(pattern)
    field = register.fields[0]
    lowest, highest = field.lowest, field.highest
    show: Callable[[int], str] = hex if register.name.endswith(_HEXADECIMAL) else str
    wrap = 1 << registers.REGISTER_BITS

    def plain(pattern: int) -> str:
        value = pattern - wrap if field.signed and pattern >= wrap // 2 else pattern
        return show(value) if lowest <= value <= highest else _raw(pattern)

    return plain


_REGIONS = frozenset(int(region) for region in Region)


def _packed_text(register: Register, pattern: int) -> str:
    if not register.is_legal(pattern):
        return _raw(pattern)
    return ", ".join(f"{field.name}={field.extract(pattern)}" for field in register.fields)


def _raw(pattern: int) -> str:
    return f"raw={pattern:#x}"
