"""Writes command words: only registers that changed, and only the waits that a data dependence needs.

Every operation comes with the memory it touches. The emitter knows which operations a WAIT has shown to be
complete, and before an operation that conflicts with one still in flight on another unit it writes the
weakest WAIT that orders the two. Conflicts are judged on address ranges, and on channel slices within
interleaved ranges; what this calls a conflict may still be none, never the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dlasim.isa import codec, registers
from dlasim.isa.instructions import BY_MNEMONIC, UNITS, Unit

SRAM = -1  # the space of SRAM addresses; regions are spaces 0 and up
MAX_OUTSTANDING = 255

_CFG_PREFIX = {register.name: codec.encode_cfg(register.name, 0) for register in registers.OPERANDS}
_SINGLE_HALT = codec.encode("HALT")
_WAITS = [
    [codec.encode("WAIT", unit=unit, max_outstanding=count) for count in range(MAX_OUTSTANDING + 1)]
    for unit in UNITS
]
_UNIT = {instruction.mnemonic: int(instruction.unit) for instruction in BY_MNEMONIC.values()}


class Touch(NamedTuple):
    """Bytes [start, end) of a space; of those, within every `stride`, only `run` from `phase` on."""

    space: int
    start: int
    end: int
    writes: bool
    stride: int = 0
    phase: int = 0
    run: int = 0


class Op(NamedTuple):
    """An operation to be emitted."""

    mnemonic: str
    word: int
    registers: Mapping[str, int]
    touches: Sequence[Touch]
    layer: int
    slice: tuple[int, ...] | None = None  # tensor, start (3), size (3)
    fixed: Mapping[str, int] | None = None  # registers that all operations of a node share, as one object


def conflict(one: Touch, other: Touch) -> bool:
    """Whether two accesses may meet in a byte that one of them writes."""
    if one.space != other.space or not (one.writes or other.writes):
        return False
    if one.end <= other.start or other.end <= one.start:
        return False
    if one.stride and one.stride == other.stride:
        apart = (other.phase - one.phase) % one.stride
        return apart < one.run or one.stride - apart < other.run
    return True


class Emitter:
    """The command words of a program as they grow, stream by stream."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.streams: list[tuple[int, int]] = []
        self.spans: list[tuple[int, int, int]] = []
        self.slices: list[tuple[int, ...]] = []
        self._first_word = 0
        self._file: dict[str, int] = {}
        self._begin()

    def _begin(self) -> None:
        self._first_word = len(self.words)
        self._file = {}
        self._fixed: Mapping[str, int] | None = None
        self._issued = [0] * len(UNITS)
        self._flying: list[list[tuple[int, Sequence[Touch]]]] = [[] for _ in UNITS]

    def configure(self, register: str, pattern: int) -> None:
        """Write an operand register unless it holds the value already."""
        if self._file.get(register) != pattern:
            self._file[register] = pattern
            self.words.append(_CFG_PREFIX[register] | (pattern & 0xFFFF_FFFF) << 32)

    def emit(self, op: Op) -> None:
        """Write the registers, the waits and the operation."""
        words = self.words
        begin = len(words)
        unit = _UNIT[op.mnemonic]
        file = self._file
        held = file.get
        if op.fixed is not None and op.fixed is not self._fixed:
            self._fixed = op.fixed
            for register, pattern in op.fixed.items():
                self.configure(register, pattern)
        for register, pattern in op.registers.items():
            if held(register) != pattern:
                file[register] = pattern
                words.append(_CFG_PREFIX[register] | (pattern & 0xFFFF_FFFF) << 32)
        for other, flying in enumerate(self._flying):
            if flying and other != unit:
                self._order_after(other, op.touches)
        if op.slice is not None:
            self.slices.append((len(words), *op.slice))
        words.append(op.word)
        self._flying[unit].append((self._issued[unit], op.touches))
        self._issued[unit] += 1
        self._span(begin, op.layer)

    def waits_for(self, op: Op) -> bool:
        """Whether the operation conflicts with compute that is still in flight."""
        mine, touches = _UNIT[op.mnemonic], op.touches
        for unit in (Unit.MAC, Unit.VECTOR):
            if unit != mine and self._flying[unit] and self._latest(unit, touches) >= 0:
                return True
        return False

    def halt(self) -> None:
        """End the stream."""
        self.words.append(_SINGLE_HALT)
        self.streams.append((self._first_word, len(self.words) - self._first_word))
        self._begin()

    def _latest(self, unit: int, touches: Sequence[Touch]) -> int:
        for index, others in reversed(self._flying[unit]):
            for other in others:
                space, start, end, writes, _, _, _ = other
                for one in touches:
                    # What most pairs fail is looked at here, since a call costs more than the look.
                    near = one[0] == space and one[1] < end and start < one[2] and (writes or one[3])
                    if near and conflict(one, other):
                        return index
        return -1

    def _order_after(self, unit: int, touches: Sequence[Touch]) -> None:
        index = self._latest(unit, touches)
        if index < 0:
            return
        outstanding = min(self._issued[unit] - index - 1, MAX_OUTSTANDING)
        self.words.append(_WAITS[unit][outstanding])
        done = self._issued[unit] - outstanding
        self._flying[unit] = [entry for entry in self._flying[unit] if entry[0] >= done]

    def _span(self, begin: int, layer: int) -> None:
        if self.spans:
            first, words, previous = self.spans[-1]
            if previous == layer and first + words == begin:
                self.spans[-1] = (first, len(self.words) - first, layer)
                return
        self.spans.append((begin, len(self.words) - begin, layer))
