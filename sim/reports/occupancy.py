"""How much of the SRAM holds live data, over the time of an inference.

A byte is occupied from the start of the operation that writes it to the end of the last one that reads it
before it is written again; to its start, if that one overwrites the byte itself. A byte that is never read is
occupied until its writer ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.sim.execution.machine import Run
from dlasim.sim.programs.footprint import all_footprints

Integers = NDArray[np.int64]
_NO_READER, _WRITTEN = 0, -1


def occupancy_changes(runs: Sequence[Run]) -> tuple[Integers, Integers]:
    """Cycles, and the bytes by which the occupied SRAM grows or shrinks there; in no order."""
    starts, moments = _cycles(runs)
    cycles: list[Integers] = []
    amounts: list[Integers] = []
    for written in _writes(runs):
        begin = np.zeros(1, np.int64) if written.operation < 0 else starts[[written.operation]]
        cycles += [begin, moments[written.last]]
        amounts += [np.array([written.counts.sum()]), -written.counts]
    return np.concatenate(cycles), np.concatenate(amounts)


def lifetimes(runs: Sequence[Run]) -> Integers:
    """A row for each operand that an operation writes, in their order: the operation (counted over all runs),
    the first byte and the end of the range that contains it, and the cycles between which it holds data."""
    starts, moments = _cycles(runs)
    rows = [
        (w.operation, w.first_byte, w.end_byte, starts[w.operation], moments[w.last].max(initial=0))
        for w in _writes(runs)
        if w.operation >= 0
    ]
    return np.array(rows[::-1], np.int64).reshape(-1, 5)


@dataclass(frozen=True, slots=True)
class _Written:
    """What one operand wrote: how many of its bytes are used until which moment: the start of an operation is
    twice its number, its end one more. Operation -1 stands for what is read without ever being written."""

    operation: int
    first_byte: int
    end_byte: int
    last: Integers
    counts: Integers


def _writes(runs: Sequence[Run]) -> Iterator[_Written]:
    """What every operation writes, the last one first."""
    tables = [operand_accesses(run) for run in runs]
    size = max((int(access_ends(table).max(initial=0)) for table in tables), default=0)
    # For each byte the moment until which it is used before it is written again, seen from where the walk is:
    # backwards, from the end of the inference. Numbers count from 1, so that untouched SRAM costs no memory.
    used_until = np.zeros(size, np.int32)
    first = sum(run.plan.operations for run in runs)
    for run, table in zip(reversed(runs), reversed(tables), strict=True):
        first -= run.plan.operations
        mine: list[NDArray[np.int32]] = []  # what the current operation writes
        current = -1
        for (number, writes, *box), end in zip(table.tolist(), access_ends(table).tolist(), strict=True):
            if number != current:
                _forget(mine)
                current, mine = number, []
            operation = first + number
            bytes_of = _bytes(used_until, box)
            if writes:
                yield _Written(operation, box[0], end, *_tally(bytes_of, operation))
                bytes_of[...] = _WRITTEN
                mine.append(bytes_of)
            else:
                np.copyto(bytes_of, 2 * operation + 2, where=bytes_of == _NO_READER)
                np.copyto(bytes_of, 2 * operation + 1, where=bytes_of == _WRITTEN)
        _forget(mine)
    yield _Written(-1, 0, 0, *_tally(used_until[np.flatnonzero(used_until)], -1))


def _forget(written: Sequence[NDArray[np.int32]]) -> None:
    """Bytes that an operation writes and does not read are used by nothing before it."""
    for bytes_of in written:
        np.copyto(bytes_of, _NO_READER, where=bytes_of == _WRITTEN)


def _cycles(runs: Sequence[Run]) -> tuple[Integers, Integers]:
    """The starts of all operations of all runs, and both their moments: start and end in turn."""
    nothing = np.zeros(0, np.int64)
    starts = np.concatenate([nothing, *(run.plan.timeline.start + run.start for run in runs)])
    ends = np.concatenate([nothing, *(run.plan.timeline.end + run.start for run in runs)])
    return starts, np.stack((starts, ends), axis=1).ravel()


def operand_accesses(run: Run) -> Integers:
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


def access_ends(table: Integers) -> Integers:
    """The end of the range that contains each box of such a table."""
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


def _tally(used_until: NDArray[np.int32], writer: int) -> tuple[Integers, Integers]:
    """Until which moments bytes are used, and how many: their writer's end where nothing reads them."""
    least = max(2 * writer + 2, 1)
    counts = np.bincount(np.maximum(used_until.ravel(), least) - least)
    distance = np.flatnonzero(counts)
    return distance + least - 1, counts[distance]
