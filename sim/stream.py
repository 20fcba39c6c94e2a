"""A command stream, decoded in one pass: its operations, the registers each sees, its first fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import codec, instructions, registers
from dlasim.isa.bits import Field
from dlasim.isa.faults import Fault
from dlasim.isa.instructions import BY_MNEMONIC, BY_OPCODE, Unit
from dlasim.sim.operation import Batch, Operation

_CFG = BY_MNEMONIC["CFG"]
_HALT_WORD = np.uint64(codec.encode("HALT"))
_FIRST = registers.OPERANDS[0].index
_REQUIRE = registers.BY_NAME["REQUIRE_CONFIG"].index - _FIRST
_SIGNED = np.array([register.fields[0].signed for register in registers.OPERANDS])
_IS_OPERATION = np.zeros(256, bool)
_IS_OPERATION[[row.opcode for row in instructions.INSTRUCTIONS if row.unit is not Unit.ISSUE]] = True


@dataclass(frozen=True, slots=True)
class FaultAt:
    """A fault, the word that caused it, and the address at fault."""

    code: Fault
    position: int
    address: int = 0


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

    def batches(self, count: int | None = None) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """The first `count` operations (all, if None) grouped by instruction, each with their numbers."""
        opcodes = self.opcodes[self.positions[:count]]
        for opcode in np.flatnonzero(np.bincount(opcodes)):
            chosen = np.flatnonzero(opcodes == opcode)
            instruction = BY_OPCODE[int(opcode)]
            positions = self.positions[chosen]
            words = self.words[positions]
            fields = {field.name: codec.extract(words, field) for field in instruction.fields}
            yield chosen, Batch(instruction, positions, fields, self.columns[:, chosen])

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
    fault = None if len(halts) else FaultAt(Fault.QUEUE, len(words))
    configured = np.flatnonzero(opcodes == _CFG.opcode)
    columns = codec.extract(words[configured], _CFG.field("register")) - _FIRST
    patterns = codec.extract(words[configured], _CFG.field("value"))
    for found in (
        _first_illegal(opcodes),
        _first_bad_write(configured, columns, patterns, config_fingerprint),
    ):
        if found is not None and (fault is None or found.position < fault.position):
            fault = found
    end = fault.position if fault else len(words)
    positions = np.flatnonzero(_IS_OPERATION[opcodes[:end]])
    kept = configured < end
    state, final = _register_columns(positions, configured[kept], columns[kept], patterns[kept], file)
    return DecodedStream(words[:end], opcodes[:end], positions, state, final, fault)


def _first_illegal(opcodes: NDArray[np.uint8]) -> FaultAt | None:
    illegal = np.flatnonzero(opcodes == codec.ILLEGAL)
    return FaultAt(Fault.ILLEGAL_INSTRUCTION, int(illegal[0])) if len(illegal) else None


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
    address = (int(columns[first]) + _FIRST) * registers.REGISTER_BYTES
    return FaultAt(code, int(positions[first]), address)


def legal_patterns(columns: NDArray[np.int64], patterns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each operand register, by its column, allows the pattern."""
    legal = np.ones(len(columns), bool)
    for low, mask, sign, minimum, maximum in _FIELD_LIMITS:
        raw = (patterns >> low[columns]) & mask[columns]
        value = raw - ((raw & sign[columns]) << 1)
        legal &= (value >= minimum[columns]) & (value <= maximum[columns])
    return legal


def _field_limits(number: int) -> tuple[NDArray[np.int64], ...]:
    rows = []
    for register in registers.OPERANDS:
        field: Field = register.fields[min(number, len(register.fields) - 1)]
        sign = 1 << (field.width - 1) if field.signed else 0
        rows.append((field.low, (1 << field.width) - 1, sign, field.lowest, field.highest))
    return tuple(np.array(column, np.int64) for column in zip(*rows, strict=True))


_MOST_FIELDS = max(len(register.fields) for register in registers.OPERANDS)
_FIELD_LIMITS = tuple(_field_limits(number) for number in range(_MOST_FIELDS))
assert all(
    sum(field.width for field in register.fields) == registers.REGISTER_BITS
    for register in registers.OPERANDS
), "legal_patterns relies on operand registers without unclaimed bits"


def _register_columns(
    positions: NDArray[np.int64],
    configured: NDArray[np.int64],
    columns: NDArray[np.int64],
    patterns: NDArray[np.int64],
    file: Sequence[int],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each register its value at each operation, and at the end."""
    initial = np.array(file, np.int64) & 0xFFFF_FFFF
    state = np.repeat(initial[:, None], len(positions) + 1, axis=1)
    order = np.argsort(columns, kind="stable")
    bounds = np.searchsorted(columns[order], np.arange(len(initial) + 1))
    last = np.append(positions, np.iinfo(np.int64).max)
    for column in np.flatnonzero(np.diff(bounds)):
        chosen = order[bounds[column] : bounds[column + 1]]
        latest = np.searchsorted(configured[chosen], last) - 1
        written = latest >= 0
        state[column, written] = patterns[chosen][latest[written]]
    state[_SIGNED] -= (state[_SIGNED] >> 31) << 32
    return state[:, :-1], state[:, -1]
