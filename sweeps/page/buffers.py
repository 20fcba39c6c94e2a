"""The SRAM map: what lies where in the SRAM, from when to when.

The program does not name its buffers, so they are found in what its operations do. A buffer is the range that
an operation writes, from then until its last reader ends. Ranges that overlap in time, written for the
same layer, are one buffer; so are neighbouring ranges that computing fills piece by piece, and that are read
equally long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instruction_rows import Unit
from dlasim.isa.program import Program
from dlasim.isa.registers import Region
from dlasim.sim.execution.runner import Inference
from dlasim.sim.programs.footprint import dma_prefix
from dlasim.sim.reports.occupancy import lifetimes

MAX_OPERATIONS = 200_000  # whose bytes are followed; a run with 147,040 takes less than 10 s in all
MAX_BUFFERS = 8_000
CONTENTS = ("computed", "constants", "activations")  # what a buffer holds, as a number
COMPUTED, CONSTANTS, FETCHED = range(3)
Integers = NDArray[np.int64]


def sram_map(program: Program, inference: Inference) -> dict[str, Any] | None:
    """Buffers as columns, the largest first where they are too many; None where there are too many
    operations to follow."""
    if sum(run.plan.operations for run in inference.runs) > MAX_OPERATIONS:
        return None
    layer, content = _writers(program, inference)
    rows = lifetimes(inference.runs)
    operation, *_ = rows.T
    buffers = joined(np.column_stack((rows[:, 1:], layer[operation], content[operation])))
    area = (buffers[:, 1] - buffers[:, 0]) * (buffers[:, 3] - buffers[:, 2])
    kept = buffers[np.sort(np.argsort(-area, kind="stable")[:MAX_BUFFERS])]
    names = ("address", "end", "from", "until", "layer", "content")
    return {
        "contents": CONTENTS,
        "left_out": len(buffers) - len(kept),
        **{name: column.tolist() for name, column in zip(names, kept.T, strict=True)},
    }


def _writers(program: Program, inference: Inference) -> tuple[Integers, Integers]:
    """For each operation of all runs its layer, and what it writes."""
    layer_of = program.layer_of_words()
    layers, contents = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for run in inference.runs:
        plan = run.plan
        positions = plan.stream.positions[: plan.operations]
        layers.append(layer_of[run.first_word :][positions])
        content = np.full(plan.operations, COMPUTED, np.int64)
        for chosen, batch in plan.stream.batches(plan.operations):
            if batch.instruction.unit is Unit.DMA_IN:
                region = batch.value(f"{dma_prefix(batch.instruction)}_REGION")
                content[chosen] = np.where(region == Region.CONSTANTS, CONSTANTS, FETCHED)
        contents.append(content)
    return np.concatenate(layers), np.concatenate(contents)


def joined(rows: Integers) -> Integers:
    """Buffers from rows of first byte, end, from, until, layer, content; ascending in time."""
    order = np.lexsort((rows[:, 0], rows[:, 2]))
    open_buffers: dict[tuple[int, int], list[list[int]]] = {}
    found: list[list[int]] = []
    for row in rows[order].tolist():
        _, _, begin, _, layer, content = row
        mine = open_buffers.setdefault((layer, content), [])
        mine[:] = [buffer for buffer in mine if buffer[3] > begin]
        near = [b for b in mine if _belong(b, row)]
        if not near:
            mine.append(row)
            found.append(row)
            continue
        buffer, *others = near
        for other in (row, *others):
            buffer[:4] = [min(buffer[0], other[0]), max(buffer[1], other[1]),
                          min(buffer[2], other[2]), max(buffer[3], other[3])]  # fmt: skip
        for other in others:
            mine.remove(other)
            other[4] = _MERGED
    return np.array([row for row in found if row[4] != _MERGED], np.int64).reshape(-1, 6)


def _belong(one: list[int], other: list[int]) -> bool:
    """Whether two ranges of a layer are one buffer; neighbours are pieces if they end together."""
    _, _, _, until, _, content = other
    gap = int(content == COMPUTED and one[3] == until)
    return one[0] < other[1] + gap and other[0] < one[1] + gap


_MERGED = -2  # the layer of a buffer that became part of another
