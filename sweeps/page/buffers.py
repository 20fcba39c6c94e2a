"""The SRAM map: what lies where in the SRAM, from when to when; and the lanes of a timeline.

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
from dlasim.sim.reports.lanes import LANES, lane_spans
from dlasim.sim.reports.occupancy import lifetimes

MAX_OPERATIONS = 200_000  # whose bytes are followed; a run with 147,040 takes less than 10 s in all
MAX_BUFFERS = 8_000
CONTENTS = ("computed", "constants", "activations")  # what a buffer holds, as a number
COMPUTED, CONSTANTS, FETCHED = range(3)
Integers = NDArray[np.int64]
MAX_SPANS = 20_000


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


def timeline(program: Program, inference: Inference) -> dict[str, Any]:
    """Start, length, layer and number of operations of each span; `resolution` is 0 where each operation has
    a span of its own, otherwise short spans within so many cycles are one."""
    lanes = {lane: _counted(spans) for lane, spans in lane_spans(program, inference).items()}
    shown, resolution = bounded(lanes)
    return {
        "end": inference.total_cycles,
        "resolution": resolution,
        "operations": sum(map(len, lanes.values())),
        "lanes": [{"name": lane, **_columns(shown[lane])} for lane in LANES],
    }


def bounded(lanes: dict[str, Integers]) -> tuple[dict[str, Integers], int]:
    """At most MAX_SPANS rows of start, end, layer and operations, and the resolution that this takes.

    Pieces double in length, so what is joined already stays within a piece.
    """
    resolution = 0
    shown = lanes
    while sum(map(len, shown.values())) > MAX_SPANS:
        resolution = max(resolution * 2, 1)
        shown = {lane: merged(spans, resolution) for lane, spans in shown.items()}
    return shown, resolution


def merged(spans: Integers, resolution: int) -> Integers:
    """Join spans shorter than `resolution` that start in the same piece of so many cycles, as a span of the
    layer of the longest of them."""
    if not len(spans):
        return spans
    short = spans[:, 1] - spans[:, 0] < resolution
    piece = spans[:, 0] // resolution
    return _joined(spans, short[1:] & short[:-1] & (piece[1:] == piece[:-1]))


def _joined(spans: Integers, with_previous: NDArray[np.bool_]) -> Integers:
    """Each span that is marked becomes part of the one before; rows of start, end, layer, operations."""
    first = np.flatnonzero(np.concatenate(([True], ~with_previous)))
    group = np.cumsum(np.concatenate(([0], ~with_previous)))
    longest = np.lexsort((spans[:, 0] - spans[:, 1], group))[first]
    return np.stack(
        (
            spans[first, 0],
            np.maximum.reduceat(spans[:, 1], first),
            spans[longest, 2],
            np.add.reduceat(spans[:, 3], first),
        ),
        axis=1,
    )


def _counted(spans: Integers) -> Integers:
    return np.concatenate((spans, np.ones((len(spans), 1), np.int64)), axis=1)


def _columns(spans: Integers) -> dict[str, list[int]]:
    start, end, layer, count = spans.T
    return {
        "start": start.tolist(),
        "length": (end - start).tolist(),
        "layer": layer.tolist(),
        "count": count.tolist(),
    }
