"""A command stream, decoded in one pass: its operations, the registers each sees, its first fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import codec, instructions, registers
from dlasim.isa.bits import Field
from dlasim.isa.faults import Fault
from dlasim.isa.instructions import BY_MNEMONIC, BY_OPCODE, Unit
from dlasim.sim import fault_text
from dlasim.sim.operation import Batch, Operation

_CFG = BY_MNEMONIC["CFG"]
_HALT_WORD = np.uint64(codec.encode("HALT"))
_FIRST = registers.OPERANDS[0].index
_REQUIRE = registers.BY_NAME["REQUIRE_CONFIG"].index - _FIRST
_SIGNED = np.array([register.fields[0].signed for register in registers.OPERANDS])
_UNIT_OF_OPCODE = np.full(256, Unit.ISSUE, np.int64)
for _row in instructions.INSTRUCTIONS:
    _UNIT_OF_OPCODE[_row.opcode] = _row.unit
_IS_OPERATION = _UNIT_OF_OPCODE != Unit.ISSUE

Batches = Iterable[tuple[NDArray[np.int64], Batch]]  # with the numbers of their operations


@dataclass(frozen=True, slots=True)
class FaultAt:
    """A fault, the word that caused it, the address at fault, and what is wrong in words."""

    code: Fault
    position: int
    address: int = 0
    detail: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class DecodedStream:
    """What a stream will do. Positions count words from its start.

    `fault` is the first that decoding shows; nothing from its position on is in the arrays.
    """

    words: NDArray[np.uint64]
    opcodes: NDArray[np.uint8]
    positions: NDArray[np.int64]
    columns: NDArray[np.int64]
    final_file: NDArray[np.int64]
    fault: FaultAt | None

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def units(self) -> NDArray[np.int64]:
        """The unit of each operation."""
        units: NDArray[np.int64] = _UNIT_OF_OPCODE[self.opcodes[self.positions]]
        return units

    def batches(
        self, count: int | None = None, unit: Unit | None = None
    ) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """The first `count` operations (all, if None) grouped by instruction, each with their numbers; those
        of one unit, or of all."""
        opcodes = self.opcodes[self.positions[:count]]
        for opcode in np.flatnonzero(np.bincount(opcodes)):
            if unit is not None and _UNIT_OF_OPCODE[opcode] != unit:
                continue
            chosen = np.flatnonzero(opcodes == opcode)
            instruction = BY_OPCODE[int(opcode)]
            positions = self.positions[chosen]
            words = self.words[positions]
            fields = {part.name: codec.extract(words, part) for part in instruction.fields}
            yield chosen, Batch(instruction, positions, fields, self.columns, chosen)

    def operation(self, number: int) -> Operation:
        """One operation by its number."""
        position = int(self.positions[number])
        decoded = codec.decode(int(self.words[position]))
        assert decoded.instruction is not None
        file = [int(value) & 0xFFFF_FFFF for value in self.columns[:, number]]
        return Operation(position, decoded.instruction, decoded.values, file)


def decode_stream(words: NDArray[np.uint64], file: Sequence[int], config_fingerprint: int) -> DecodedStream:
    """The stream that starts at the first of `words` with these register patterns."""
    halts = np.flatnonzero(words == _HALT_WORD)
    words = words[: halts[0] + 1] if len(halts) else words
    opcodes = codec.decode_opcodes(words)
    fault = None if len(halts) else FaultAt(Fault.QUEUE, len(words), detail="the stream ends without HALT")
    configured = np.flatnonzero(opcodes == _CFG.opcode)
    columns = codec.extract(words[configured], _CFG.field("register")) - _FIRST
    patterns = codec.extract(words[configured], _CFG.field("value"))
    for found in (
        _first_illegal(words, opcodes),
        _first_bad_write(configured, columns, patterns, config_fingerprint),
    ):
        if found is not None and (fault is None or found.position < fault.position):
            fault = found
    end = fault.position if fault else len(words)
    is_operation = _IS_OPERATION[opcodes[:end]]
    positions = np.flatnonzero(is_operation)
    kept = len(configured) if fault is None else int(np.searchsorted(configured, end))
    before = np.cumsum(is_operation)[configured[:kept]]
    state = _register_columns(before, len(positions), columns[:kept], patterns[:kept], file)
    return DecodedStream(words[:end], opcodes[:end], positions, state[:, :-1], state[:, -1], fault)


def _first_illegal(words: NDArray[np.uint64], opcodes: NDArray[np.uint8]) -> FaultAt | None:
    illegal = np.flatnonzero(opcodes == codec.ILLEGAL)
    if not len(illegal):
        return None
    position = int(illegal[0])
    detail = fault_text.illegal_word(int(words[position]))
    return FaultAt(Fault.ILLEGAL_INSTRUCTION, position, detail=detail)


def _first_bad_write(
    positions: NDArray[np.int64], columns: NDArray[np.int64], patterns: NDArray[np.int64], fingerprint: int
) -> FaultAt | None:
    known = (columns >= 0) & (columns < len(registers.OPERANDS))
    safe = np.where(known, columns, 0)
    legal = legal_patterns(safe, patterns)
    matches = (safe != _REQUIRE) | (patterns == fingerprint) | (patterns == 0)
    bad = np.flatnonzero(~(known & legal & matches))
    if not len(bad):
        return None
    first = bad[0]
    code = Fault.CONFIG_MISMATCH
    if not known[first]:
        code = Fault.BAD_REGISTER
    elif not legal[first]:
        code = Fault.BAD_VALUE
    index = int(columns[first]) + _FIRST
    detail = fault_text.bad_write(index, int(patterns[first]), fingerprint)
    return FaultAt(code, int(positions[first]), index * registers.REGISTER_BYTES, detail)


def legal_patterns(columns: NDArray[np.int64], patterns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each operand register, by its column, allows the pattern."""
    legal = _allows(0, columns, patterns)
    for number in range(1, _MOST_FIELDS):
        several = np.flatnonzero(_FIELDS[columns] > number)
        legal[several] &= _allows(number, columns[several], patterns[several])
    return legal


def _allows(number: int, columns: NDArray[np.int64], patterns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether one field of each register does: how far its value lies beyond the lowest, modulo its width."""
    low, mask, lowest, most = _FIELD_LIMITS[number]
    beyond = ((patterns >> low[columns]) - lowest[columns]) & mask[columns]
    legal: NDArray[np.bool_] = beyond <= most[columns]
    return legal


def _field_limits(number: int) -> tuple[NDArray[np.int64], ...]:
    rows = []
    for register in registers.OPERANDS:
        part: Field = register.fields[min(number, len(register.fields) - 1)]
        rows.append((part.low, (1 << part.width) - 1, part.lowest, part.highest - part.lowest))
    return tuple(np.array(column, np.int64) for column in zip(*rows, strict=True))


_FIELDS = np.array([len(register.fields) for register in registers.OPERANDS])
_MOST_FIELDS = int(_FIELDS.max())
_FIELD_LIMITS = tuple(_field_limits(number) for number in range(_MOST_FIELDS))
assert all(
    sum(part.width for part in register.fields) == registers.REGISTER_BITS for register in registers.OPERANDS
), "legal_patterns relies on operand registers without unclaimed bits"


def _register_columns(
    before: NDArray[np.int64],
    operations: int,
    columns: NDArray[np.int64],
    patterns: NDArray[np.int64],
    file: Sequence[int],
) -> NDArray[np.int64]:
    """For each register its value at each operation, and at the end; so many operations are `before` a write.

    Register by register, each write holds up to the next one.
    """
    count = len(file)
    width = operations + 1
    column = np.concatenate((np.arange(count), columns))
    pattern = np.concatenate((np.array(file, np.int64) & 0xFFFF_FFFF, patterns))
    pattern -= np.where(_SIGNED[column] & (pattern >> 31 != 0), 1 << 32, 0)
    order = np.argsort(column.astype(np.uint8), kind="stable")
    begin = column * width
    begin[count:] += before
    begin = np.append(begin[order], count * width)
    return np.repeat(pattern[order], np.diff(begin)).reshape(count, width)
