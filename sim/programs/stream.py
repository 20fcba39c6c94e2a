"""A command stream, decoded in one pass: its operations, the registers each sees, its first fault."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec, instructions, registers
from dlasim.isa.bits import Field
from dlasim.isa.faults import Fault
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC, BY_OPCODE
from dlasim.sim.programs import fault_text
from dlasim.sim.programs.operand_writes import values_of
from dlasim.sim.programs.operation import Batch, Operation

_CFG = BY_MNEMONIC["CFG"]
_HALT_WORD = np.uint64(codec.encode("HALT"))
_FIRST = registers.OPERANDS[0].index
_REQUIRE = registers.BY_NAME["REQUIRE_CONFIG"].index - _FIRST
_UNIT_OF_OPCODE = np.full(256, Unit.ISSUE, np.int64)
for _row in instructions.INSTRUCTIONS:
    _UNIT_OF_OPCODE[_row.opcode] = _row.unit
_IS_OPERATION = _UNIT_OF_OPCODE != Unit.ISSUE

PIECE_OPERATIONS = 1 << 16  # register columns are made for this many at a time

Batches = Iterable[tuple[NDArray[np.int64], Batch]]  # with the numbers of their operations


@dataclass(frozen=True, slots=True)
class FaultAt:
    """A fault, the word that caused it, the address at fault, and what is wrong in words."""

    code: Fault
    position: int
    address: int = 0
    detail: str = field(default="", compare=False)


class RegisterFiles:
    """The operand registers at each operation of a stream, as columns, made for a piece of it at a time: for
    all of a long stream they would need a hundred times the memory of its words."""

    def __init__(
        self,
        before: NDArray[np.int64],
        columns: NDArray[np.int64],
        patterns: NDArray[np.int64],
        start: NDArray[np.int64],
        operations: int,
    ) -> None:
        """Writes of patterns to registers that hold `start`; `before` counts the operations before each."""
        self._before, self._columns = before, columns.astype(np.uint8)
        self._patterns, self._operations = values_of(patterns, columns), operations
        self._starts = [start]
        self._made_piece: tuple[int, NDArray[np.int64]] | None = None
        for first in range(PIECE_OPERATIONS, operations, PIECE_OPERATIONS):
            self._starts.append(self._after(self._starts[-1], first - PIECE_OPERATIONS, first))
        self.final = self._after(self._starts[-1], (len(self._starts) - 1) * PIECE_OPERATIONS, operations)

    def piece(self, number: int) -> NDArray[np.int64]:
        """A row for each register, a column for each operation of a piece; the last one made is kept."""
        if self._made_piece is None or self._made_piece[0] != number:
            self._made_piece = number, self._made(number)
        return self._made_piece[1]

    def _made(self, number: int) -> NDArray[np.int64]:
        first = number * PIECE_OPERATIONS
        last = min(first + PIECE_OPERATIONS, self._operations)
        chosen = self._between(first, last if last == self._operations else last - 1)
        return _register_columns(
            self._before[chosen] - first, last - first, self._columns[chosen], self._patterns[chosen],
            self._starts[number],
        )  # fmt: skip

    def _between(self, first: int, last: int) -> slice:
        """The writes before which there are more than `first` operations, and at most `last`.

        The first piece begins with those that none is before.
        """
        begin, end = np.searchsorted(self._before, (first, last), side="right")
        return slice(int(begin) if first else 0, int(end))

    def _after(self, start: NDArray[np.int64], first: int, last: int) -> NDArray[np.int64]:
        """The registers at operation `last`, from those at operation `first`."""
        chosen = self._between(first, last)
        file = start.copy()
        file[self._columns[chosen]] = self._patterns[chosen]  # the last of several counts
        return file


@dataclass(frozen=True)
class DecodedStream:
    """The operations of a stream. Positions count words from its start, where the operand registers hold
    `start`.

    `fault` is the first that decoding shows; nothing from its position on is in the arrays.
    """

    words: NDArray[np.uint64]
    positions: NDArray[np.int64]
    start: NDArray[np.int64]
    fault: FaultAt | None = None

    @cached_property
    def opcodes(self) -> NDArray[np.uint8]:
        """The opcode of each word."""
        return codec.read_opcodes(self.words)

    @cached_property
    def files(self) -> RegisterFiles:
        """The operand registers at each operation."""
        writes = np.flatnonzero(self.opcodes == _CFG.opcode)
        before = np.searchsorted(self.positions, writes)
        return RegisterFiles(before, *_written(self.words[writes]), self.start, len(self))

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def final_file(self) -> NDArray[np.int64]:
        """The operand registers after all operations."""
        return self.files.final

    @property
    def units(self) -> NDArray[np.int64]:
        """The unit of each operation."""
        units: NDArray[np.int64] = _UNIT_OF_OPCODE[self.opcodes[self.positions]]
        return units

    def batches(
        self, count: int | None = None, unit: Unit | None = None
    ) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """The first `count` operations (all, if None) grouped by instruction, each with their numbers; those
        of one unit, or of all.

        Of a long stream they come piece by piece.
        """
        for piece in range(piece_count(len(self) if count is None else count)):
            yield from self.piece_batches(piece, count, unit)

    def piece_batches(
        self, piece: int, count: int | None = None, unit: Unit | None = None
    ) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Those of one piece."""
        first = piece * PIECE_OPERATIONS
        end = min(first + PIECE_OPERATIONS, len(self) if count is None else count)
        places, columns = self.positions[first:end], self.files.piece(piece)
        opcodes = self.opcodes[places]
        for opcode in np.flatnonzero(np.bincount(opcodes)):
            if unit is not None and _UNIT_OF_OPCODE[opcode] != unit:
                continue
            chosen = np.flatnonzero(opcodes == opcode)
            instruction = BY_OPCODE[int(opcode)]
            positions = places[chosen]
            words = self.words[positions]
            fields = {part.name: codec.extract(words, part) for part in instruction.fields}
            numbers = chosen + first if first else chosen
            yield numbers, Batch(instruction, positions, fields, columns, chosen)

    def operation(self, number: int) -> Operation:
        """One operation by its number."""
        position = int(self.positions[number])
        decoded = codec.decode(int(self.words[position]))
        assert decoded.instruction is not None
        file = [int(value) & 0xFFFF_FFFF for value in self.file_at(number)]
        return Operation(position, decoded.instruction, decoded.values, file)

    def file_at(self, number: int) -> NDArray[np.int64]:
        """The operand registers that an operation sees."""
        piece, place = divmod(number, PIECE_OPERATIONS)
        return self.files.piece(piece)[:, place]


def piece_count(operations: int) -> int:
    """The number of pieces of a stream with this many operations."""
    return -(-operations // PIECE_OPERATIONS)


def decode_stream(
    words: NDArray[np.uint64],
    file: Sequence[int],
    config_fingerprint: int,
    absent: Collection[int] = (),
) -> DecodedStream:
    """The stream that starts at the first of `words` with these register patterns; `absent` opcodes are not
    the machine's."""
    halts = np.flatnonzero(words == _HALT_WORD)
    words = words[: halts[0] + 1] if len(halts) else words
    opcodes = codec.decode_opcodes(words)
    for opcode in absent:
        opcodes = np.where(opcodes == opcode, np.uint8(codec.ILLEGAL), opcodes)
    fault = None if len(halts) else FaultAt(Fault.QUEUE, len(words), detail="the stream ends without HALT")
    configured = np.flatnonzero(opcodes == _CFG.opcode)
    bad_write = _first_bad_write(configured, *_written(words[configured]), config_fingerprint)
    for found in (_first_illegal(words, opcodes), bad_write):
        if found is not None and (fault is None or found.position < fault.position):
            fault = found
    end = fault.position if fault else len(words)
    start = values_of(np.array(file, np.int64) & 0xFFFF_FFFF)
    return DecodedStream(words[:end], np.flatnonzero(_IS_OPERATION[opcodes[:end]]), start, fault)


def _written(words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The columns of the operand registers that words CFG write, and the patterns."""
    columns = codec.extract(words, _CFG.field("register")) - _FIRST
    return columns, codec.extract(words, _CFG.field("value"))


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
    legal = _legal_patterns(safe, patterns)
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


def _legal_patterns(columns: NDArray[np.int64], patterns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each operand register, by its column, allows the pattern."""
    legal = _allows(0, columns, patterns)
    for number in range(1, _MAX_FIELDS):
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
_MAX_FIELDS = int(_FIELDS.max())
_FIELD_LIMITS = tuple(_field_limits(number) for number in range(_MAX_FIELDS))
assert all(
    sum(part.width for part in register.fields) == registers.REGISTER_BITS for register in registers.OPERANDS
), "_legal_patterns relies on operand registers without unclaimed bits"


def _register_columns(
    before: NDArray[np.int64],
    operations: int,
    columns: NDArray[np.uint8],
    patterns: NDArray[np.int64],
    start: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Each register's value at each operation and at the end; `before` counts the operations before a write.

    Register by register, each write holds up to the next one.
    """
    count = len(start)
    width = operations + 1
    column = np.concatenate((np.arange(count, dtype=np.uint8), columns))
    pattern = np.concatenate((start, patterns))
    order = np.argsort(column, kind="stable")
    begin = column.astype(np.int64) * width
    begin[count:] += before
    begin = np.append(begin[order], count * width)
    return np.repeat(pattern[order], np.diff(begin)).reshape(count, width)
