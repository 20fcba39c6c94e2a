"""The fast engine: operations made into rows once, and run by the compiled kernels as often as wanted."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import REGION_COUNT
from dlasim.native.storage import pointer_to
from dlasim.sim.fast_engine.hazards import needs_reference
from dlasim.sim.fast_engine.job import Job, Workspace
from dlasim.sim.fast_engine.kept_weights import PACK, mark_kept
from dlasim.sim.fast_engine.loader import best_kind, load_kernels
from dlasim.sim.fast_engine.operation_rows import (
    KEPT,
    ROW_LENGTH,
    OperationRow,
    Rows,
    batch_rows,
    column,
    operation_batch,
)
from dlasim.sim.programs.operation import Operation
from dlasim.sim.programs.stream import PIECE_OPERATIONS, DecodedStream, piece_count

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
        self.workspace = Workspace()
        self._reserve(_FIRST_ARENA_BYTES)

    def execute(self, operation: Operation, sram: Bytes) -> bool:
        """Compute a MAC or VECTOR operation whose operands have been checked.

        Returns whether a kernel did it, rather than the readable engine.
        """
        batch = operation_batch(operation.instruction, [operation])
        compiled = not needs_reference(batch)[0] and self._run_alone(batch_rows(batch), sram)
        if not compiled:
            from dlasim.sim.readable_engine import execute as execute_reference  # few runs need it

            execute_reference(operation, sram)
        return compiled

    def prepare(self, stream: DecodedStream, count: int | None = None) -> PreparedStream:
        """The first `count` operations of a stream, ready to run any number of times."""
        return PreparedStream(self, stream, len(stream) if count is None else count)

    def run(self, job: Job) -> int:
        """Run a job until a row that the kernels do not do; returns its number, or `last`."""
        while (reached := self._run(job)) < job.last:
            needed = self.workspace.stopped
            if not 0 < needed <= _LARGEST_ARENA_BYTES:
                break
            self._reserve(needed + needed // 4)
            job.first = reached
        return reached

    def job(self, rows: Rows, regions: NDArray[np.int64], sram: int = 0) -> Job:
        """All of these rows."""
        workspace: Any = ctypes.pointer(self.workspace)
        return Job(pointer_to(rows, OperationRow), 0, len(rows), sram, pointer_to(regions), workspace)

    def _run_alone(self, rows: Rows, sram: Bytes) -> bool:
        return self.run(self.job(rows, np.zeros(REGION_COUNT, np.int64), address_of(sram))) == 1

    def _reserve(self, size_bytes: int) -> None:
        self._arena = np.empty(size_bytes + _LINE_BYTES, np.uint8)
        self.workspace.arena = -(-address_of(self._arena) // _LINE_BYTES) * _LINE_BYTES
        self.workspace.capacity = size_bytes


class PreparedStream:
    """Operations of a stream in the kernels' form, a piece at a time; `Engine.prepare` makes it."""

    def __init__(self, engine: Engine, stream: DecodedStream, count: int) -> None:
        self._engine, self._stream, self._count = engine, stream, count
        self._pieces = range(piece_count(count))
        self._regions = np.zeros(REGION_COUNT, np.int64)
        self._sram: Bytes | None = None
        self._memory: Sequence[Bytes] | None = None
        self._load(0)

    def __len__(self) -> int:
        return self._count

    def run(self, sram: Bytes, regions: Sequence[Bytes]) -> None:
        """All operations in program order, on this SRAM and these regions."""
        for piece in self._pieces:
            if sram is not self._sram or regions is not self._memory or piece != self._piece:
                self._find(piece, sram, regions)
            self._advance(0, self._length, sram, regions)

    def steps(self, sram: Bytes, regions: Sequence[Bytes]) -> Iterator[int]:
        """All operations in program order, with a pause after each, which has its number."""
        for piece in self._pieces:
            self._find(piece, sram, regions)
            self._rows[:, column(KEPT)] = PACK  # the engine may work for others in between
            for number in range(self._length):
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
        mark_kept(self._rows)
        self._length = len(self._rows)
        self._job = self._engine.job(self._rows, self._regions)
        self._used = _used_regions(self._rows)

    def _find(self, piece: int, sram: Bytes, regions: Sequence[Bytes]) -> None:
        """Make ready a piece, and find the SRAM and the regions that its transfers name.

        Who passes the same sequence again has not changed what is in it.
        """
        if piece != self._piece:
            self._load(piece)
        self._sram, self._memory, self._job.sram = sram, regions, address_of(sram)
        for number in self._used:
            self._regions[number] = address_of(regions[number])

    def _advance(self, first: int, last: int, sram: Bytes, regions: Sequence[Bytes]) -> None:
        job = self._job
        job.first, job.last = first, last
        while (reached := self._engine.run(job)) < last:
            from dlasim.sim.readable_engine import execute_operation  # few runs need it

            execute_operation(self._stream.operation(self._first + reached), sram, regions)
            job.first = reached + 1


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
