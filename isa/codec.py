"""Words to instructions and back, both ways from the one table; decoding never raises."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from dlasim.dataclass import dataclass
from dlasim.isa import instructions, registers
from dlasim.isa.bits import Field
from dlasim.isa.instruction_rows import OPCODE, Instruction
from dlasim.isa.instructions import BY_MNEMONIC, BY_OPCODE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ILLEGAL = 0  # the opcode of a word that is not a legal instruction


@dataclass(frozen=True, slots=True)
class Decoded:
    """An instruction with its field values; `instruction` is None for an illegal word."""

    word: int
    instruction: Instruction | None
    values: Mapping[str, int]

    @property
    def is_legal(self) -> bool:
        """Whether the word is an instruction."""
        return self.instruction is not None


def encode(mnemonic: str, **values: int) -> int:
    """The word of an instruction; fields left out take their default."""
    instruction = BY_MNEMONIC[mnemonic]
    word = OPCODE.insert(instruction.opcode)
    for field in instruction.fields:
        word |= field.insert(field.check(values.pop(field.name, field.default), mnemonic))
    assert not values, f"{mnemonic} has no field {', '.join(values)}"
    return word


def encode_cfg(register: str, pattern: int) -> int:
    """The word of CFG for a register by name; `pattern` may be negative."""
    return encode("CFG", register=registers.BY_NAME[register].index, value=pattern & 0xFFFF_FFFF)


def decode(word: int) -> Decoded:
    """The instruction in a 64-bit word, or an illegal one."""
    instruction = BY_OPCODE.get(OPCODE.extract(word))
    if instruction is None or word & ~_claimed(instruction):
        return Decoded(word, None, {})
    values = {field.name: field.extract(word) for field in instruction.fields}
    if not all(field.holds(values[field.name]) for field in instruction.fields):
        return Decoded(word, None, {})
    return Decoded(word, instruction, values)


def read_opcodes(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The opcode of each word of a stream, whether the word is legal or not."""
    import numpy as np

    return (words & np.uint64(OPCODE.mask)).astype(np.uint8)


def decode_opcodes(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The opcode of each word of a stream, or ILLEGAL where the word is not a legal instruction."""
    import numpy as np

    opcodes = read_opcodes(words)
    reserved, limited = _limits()
    legal = (words & reserved[opcodes]) == 0
    for opcode, ranged in limited.items():
        if (chosen := np.flatnonzero(opcodes == opcode)).size:
            for field in ranged:
                values = extract(words[chosen], field)
                legal[chosen] &= (field.lowest <= values) & (values <= field.highest)
    return np.where(legal, opcodes, np.uint8(ILLEGAL))


def count_operations(words: NDArray[np.uint64]) -> int:
    """How many of the words are operations, which units execute."""
    import numpy as np

    is_operation = np.zeros(1 << OPCODE.width, bool)
    is_operation[[row.opcode for row in instructions.INSTRUCTIONS if row.is_operation]] = True
    return int(np.count_nonzero(is_operation[decode_opcodes(words)]))


def extract(words: NDArray[np.uint64], field: Field) -> NDArray[np.int64]:
    """A field of many words at once."""
    import numpy as np

    assert not field.signed, "no instruction has a signed field"
    return ((words >> np.uint64(field.low)) & np.uint64((1 << field.width) - 1)).astype(np.int64)


def _is_ranged(field: Field) -> bool:
    """Whether some bit patterns of a field are illegal."""
    return (field.lowest, field.highest) != (0, (1 << field.width) - 1)


def _claimed(instruction: Instruction) -> int:
    bits = OPCODE.mask
    for field in instruction.fields:
        bits |= field.mask
    return bits


@cache
def _limits() -> tuple[NDArray[np.uint64], dict[int, list[Field]]]:
    """The bits of a word that must be 0, and the fields that have illegal values, by opcode."""
    import numpy as np

    table = np.full(1 << OPCODE.width, np.uint64(0xFFFF_FFFF_FFFF_FFFF))
    limited = {}
    for instruction in instructions.INSTRUCTIONS:
        table[instruction.opcode] = ~np.uint64(_claimed(instruction))
        if ranged := [field for field in instruction.fields if _is_ranged(field)]:
            limited[instruction.opcode] = ranged
    return table, limited
