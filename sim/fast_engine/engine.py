"""The fast engine: operations made into rows once, and run by the compiled kernels as often as wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import REGION_COUNT
from dlasim.sim.fast_engine.hazards import needs_reference
from dlasim.sim.fast_engine.loader import best_kind, load_kernels
from dlasim.sim.fast_engine.operation_rows import (
    ROW_LENGTH,
    Rows,
    batch_rows,
    column,
    operation_batch,
)
from dlasim.sim.programs.operation import Operation
from dlasim.sim.programs.stream import PIECE_OPERATIONS, DecodedStream, piece_count
from dlasim.sim.readable_engine import execute as execute_reference
from dlasim.sim.readable_engine import execute_operation

Bytes = NDArray[np.uint8]
_FIRST_ARENA_BYTES = 1 << 20  # grows with the first operation that needs more
_LARGEST_ARENA_BYTES = 1 << 30  # whoever needs more goes to the readable engine
_LINE_BYTES = 64
_NO_KERNEL = 0  # an opcode that no kernel has


class Engine:
    """Kernels and the memory that they work in; not for two threads at once."""

    def __init__(self, kind: str | None = None) -> None:
        """`kind` is `amx`, `vnni` or `portable`; by default the fastest that may run here."""
        self._run = load_kernels(kind or best_kind())
        self._state = np.zeros(1, np.int64)
        self._state_address = address_of(self._state)
        self._reserve(_FIRST_ARENA_BYTES)

    def execute(self, operation: Operation, sram: Bytes) -> bool:
        """Compute a MAC or VECTOR operation whose operands have been checked.

        Returns whether a kernel did it, rather than the readable engine.
        """
        batch = operation_batch(operation.instruction, [operation])
        compiled = not needs_reference(batch)[0] and self._run_alone(batch_rows(batch), sram)
        if not compiled:
            execute_reference(operation, sram)
        return compiled

    def prepare(self, stream: DecodedStream, count: int | None = None) -> PreparedStream:
        """The first `count` operations of a stream, ready to run any number of times."""
        return PreparedStream(self, stream, len(stream) if count is None else count)

    def run_rows(self, rows: int, first: int, last: int, sram: int, regions: int) -> int:
        """Run rows, all by address, until one that the kernels do not do; returns its number, or `last`."""
        while True:
            first = self._run(
                rows, first, last, sram, regions, self._arena_address, self._capacity,
                self._state_address,
            )  # fmt: skip
            needed = 0 if first == last else int(self._state[0])
            if not 0 < needed <= _LARGEST_ARENA_BYTES:
                return first
            self._reserve(needed + needed // 4)

    def _run_alone(self, rows: Rows, sram: Bytes) -> bool:
        return self.run_rows(address_of(rows), 0, 1, address_of(sram), 0) == 1

    def _reserve(self, size_bytes: int) -> None:
        self._arena = np.empty(size_bytes + _LINE_BYTES, np.uint8)
        self._arena_address = -(-address_of(self._arena) // _LINE_BYTES) * _LINE_BYTES
        self._capacity = size_bytes


class PreparedStream:
    """Operations of a stream in the kernels' form, a piece at a time; `Engine.prepare` makes it."""

    def __init__(self, engine: Engine, stream: DecodedStream, count: int) -> None:
        self._engine, self._stream, self._count = engine, stream, count
        self._regions = np.zeros(REGION_COUNT, np.int64)
        # Asking NumPy for an address takes longer than some operations.
        self._regions_address = address_of(self._regions)
        self._sram: Bytes | None = None
        self._memory: Sequence[Bytes] | None = None
        self._sram_address = 0
        self._load(0)

    def __len__(self) -> int:
        return self._count

    def run(self, sram: Bytes, regions: Sequence[Bytes]) -> None:
        """All operations in program order, on this SRAM and these regions."""
        for piece in range(piece_count(self._count)):
            self._find(piece, sram, regions)
            self._advance(0, len(self._rows), sram, regions)

    def steps(self, sram: Bytes, regions: Sequence[Bytes]) -> Iterator[int]:
        """All operations in program order, with a pause after each, which has its number."""
        for piece in range(piece_count(self._count)):
            self._find(piece, sram, regions)
            for number in range(len(self._rows)):
                self._advance(number, number + 1, sram, regions)
                yield self._first + number

    def _load(self, piece: int) -> None:
        """Make the rows of a piece."""
        self._piece, self._first = piece, piece * PIECE_OPERATIONS
        self._rows = np.zeros((min(PIECE_OPERATIONS, self._count - self._first), ROW_LENGTH), np.int64)
        for chosen, batch in self._stream.piece_batches(piece, self._count):
            rows = chosen - self._first
            self._rows[rows] = batch_rows(batch)
            self._rows[rows[needs_reference(batch)], 0] = _NO_KERNEL
        self._rows_address = address_of(self._rows)
        self._used = _used_regions(self._rows)

    def _find(self, piece: int, sram: Bytes, regions: Sequence[Bytes]) -> None:
        """Make ready a piece, and find the SRAM and the regions that its transfers name.

        Who passes the same sequence again has not changed what is in it.
        """
        if piece != self._piece:
            self._load(piece)
        elif sram is self._sram and regions is self._memory:
            return
        self._sram, self._memory, self._sram_address = sram, regions, address_of(sram)
        for number in self._used:
            self._regions[number] = address_of(regions[number])

    def _advance(self, first: int, last: int, sram: Bytes, regions: Sequence[Bytes]) -> None:
        while first < last:
            first = self._engine.run_rows(
                self._rows_address, first, last, self._sram_address, self._regions_address
            )
            if first < last:
                execute_operation(self._stream.operation(self._first + first), sram, regions)
                first += 1


def address_of(array: NDArray[Any]) -> int:
    """Where an array's bytes begin; the array must outlive the number."""
    address: int = array.__array_interface__["data"][0]
    return address


def _used_regions(rows: Rows) -> list[int]:
    """The regions that the transfers among the rows name."""
    used: set[int] = set()
    for instruction in INSTRUCTIONS:
        if instruction.is_transfer:
            name = f"{instruction.unit.name}_region".lower()
            used.update(rows[rows[:, 0] == instruction.opcode, column(name)].tolist())
    return sorted(used)
