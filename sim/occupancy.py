"""How much of the SRAM holds live data, over the time of an inference.

A byte is occupied from the start of the operation that writes it to the end of the last one that reads it
before it is written again. A byte that is never read is occupied until its writer ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dlasim.sim.footprint import all_footprints
from dlasim.sim.machine import Run

Integers = NDArray[np.int64]
_NO_READER = 0


def occupancy_changes(runs: Sequence[Run]) -> tuple[Integers, Integers]:
    """Cycles, and the bytes by which the occupied SRAM grows or shrinks there; in no order."""
    starts, ends = _cycles(runs)
    cycles: list[Integers] = []
    amounts: list[Integers] = []
    for written in _writes(runs):
        begin = np.zeros(1, np.int64) if written.operation < 0 else starts[[written.operation]]
        cycles += [begin, ends[written.readers]]
        amounts += [np.array([written.counts.sum()]), -written.counts]
    return np.concatenate(cycles), np.concatenate(amounts)


def lifetimes(runs: Sequence[Run]) -> Integers:
    """A row for each operand that an operation writes, in their order: the operation (counted over all runs),
    the first byte and the end of the range that contains it, and the cycles between which it holds data."""
    starts, ends = _cycles(runs)
    rows = [
        (w.operation, w.first_byte, w.end_byte, starts[w.operation], ends[w.readers].max(initial=0))
        for w in _writes(runs)
        if w.operation >= 0
    ]
    return np.array(rows[::-1], np.int64).reshape(-1, 5)


@dataclass(frozen=True, slots=True)
class _Written:
    """What one operand wrote: how many of its bytes end with which operation. Operation -1 stands for what
    is read without ever being written."""

    operation: int
    first_byte: int
    end_byte: int
    readers: Integers
    counts: Integers


def _writes(runs: Sequence[Run]) -> Iterator[_Written]:
    """What every operation writes, the last one first."""
    tables = [_accesses(run) for run in runs]
    size = max((int(_end(table).max(initial=0)) for table in tables), default=0)
    # For each byte the operation that reads it last before it is written again, seen from where the walk is:
    # backwards, from the end of the inference. Numbers count from 1, so that untouched SRAM costs no memory.
    last_reader = np.zeros(size, np.int32)
    first = sum(run.plan.operations for run in runs)
    for run, table in zip(reversed(runs), reversed(tables), strict=True):
        first -= run.plan.operations
        for (number, writes, *box), end in zip(table.tolist(), _end(table).tolist(), strict=True):
            operation = first + number
            bytes_of = _bytes(last_reader, box)
            if writes:
                yield _Written(operation, box[0], end, *_tally(bytes_of, operation))
                bytes_of[...] = _NO_READER
            else:
                np.copyto(bytes_of, operation + 1, where=bytes_of == _NO_READER)
    yield _Written(-1, 0, 0, *_tally(last_reader[np.flatnonzero(last_reader)], 0))


def _cycles(runs: Sequence[Run]) -> tuple[Integers, Integers]:
    """The start and the end of every operation of all runs."""
    nothing = np.zeros(0, np.int64)
    starts = np.concatenate([nothing, *(run.plan.timeline.start + run.start for run in runs)])
    ends = np.concatenate([nothing, *(run.plan.timeline.end + run.start for run in runs)])
    return starts, ends


def _accesses(run: Run) -> Integers:
    """A row for each operand: operation, whether it writes, and its box. Backwards: the last write first."""
    plan = run.plan
    tables = []
    for chosen, batch in plan.stream.batches(plan.operations):
        for footprint in all_footprints(batch):
            box = footprint.box
            columns = (
                chosen, footprint.operand.writes, box.address, box.planes, box.plane_stride,
                box.runs, box.run_stride, box.run_bytes,
            )  # fmt: skip
            table = np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.int64)
            tables.append(table[np.broadcast_to(footprint.present, len(table))])
    table = np.concatenate(tables) if tables else np.zeros((0, 8), np.int64)
    return table[np.lexsort((-table[:, 1], -table[:, 0]))]


def _end(table: Integers) -> Integers:
    _, _, address, planes, plane_stride, runs, run_stride, run_bytes = table.T
    end: Integers = address + (planes - 1) * plane_stride + (runs - 1) * run_stride + run_bytes
    return end


def _bytes(memory: NDArray[np.int32], box: Sequence[int]) -> NDArray[np.int32]:
    """The box's elements of a map with one element for each byte, as a view."""
    address, planes, plane_stride, runs, run_stride, run_bytes = box
    item = memory.itemsize
    return as_strided(
        memory[address:], (planes, runs, run_bytes), (plane_stride * item, run_stride * item, item)
    )


def _tally(last_readers: NDArray[np.int32], writer: int) -> tuple[Integers, Integers]:
    """How many bytes end with which operation: their last reader, or the writer where there is none."""
    counts = np.bincount(np.maximum(last_readers.ravel(), writer + 1) - (writer + 1))
    distance = np.flatnonzero(counts)
    return distance + writer, counts[distance]
