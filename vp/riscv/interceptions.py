"""Instructions that the emulator carries out otherwise than the board's CPU: illegal ones that it runs, and
those that touch a register which it gets wrong.

They are looked for in each block that the emulator translates. So it does not matter where the code lies, how
it came there, and whether the CPU enters it in the middle of what was meant as an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from dlasim.native.routine import routine
from dlasim.vp.riscv import counters
from dlasim.vp.riscv.decode import CodeDecoder, class_of, classify, known_decoder
from dlasim.vp.riscv.instruction_table import InstructionClass

_CSR, _ILLEGAL = int(InstructionClass.CSR), int(InstructionClass.ILLEGAL)
_CACHED_WORDS = 1 << 16  # different words, of which a guest has far fewer


class Interceptions:
    """The places where such instructions were found; each is hooked once, and keeps its hook."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        """`read(address, size)` gives the code."""
        self._read = read
        self._places: set[int] = set()

    def __len__(self) -> int:
        return len(self._places)

    def find(self, pc: int, size_bytes: int) -> list[int]:
        """Addresses in a block that need a hook and have none so far."""
        found = [
            address
            for address, word in instructions(self._read(pc, size_bytes), pc)
            if is_intercepted(word) and address not in self._places
        ]
        self._places.update(found)
        return found

    def find_from(self, pc: int, most_bytes: int) -> list[int]:
        """The same for the block that starts at `pc`, of unknown length."""
        end = pc
        for address, word in instructions(self._read(pc, most_bytes), pc):
            end = address + (4 if word & 3 == 3 else 2)
            if classify(word) in _LAST:
                break
        return self.find(pc, end - pc)


_LAST = (InstructionClass.BRANCH, InstructionClass.JUMP, InstructionClass.JUMP_REGISTER)


def instructions(code: bytes, base: int) -> Iterator[tuple[int, int]]:
    """(address, word) of one instruction after the other."""
    at = 0
    while at < len(code) - 1:
        word = int.from_bytes(code[at : at + 4], "little")
        is_wide = word & 3 == 3
        yield base + at, word if is_wide else word & 0xFFFF
        at += 4 if is_wide else 2


@lru_cache(_CACHED_WORDS)
def is_intercepted(word: int) -> bool:
    """Whether the emulator cannot be trusted with this instruction."""
    return bool(needs_hook(known_decoder(), word))


@routine
def needs_hook(decoder: CodeDecoder, word: int) -> bool:
    """The same, for the hook that looks through each new block."""
    kind = class_of(decoder, word)
    return kind == _ILLEGAL or (kind == _CSR and counters.touches(word))
