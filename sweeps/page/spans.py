"""The lanes of a timeline, with so few spans that a page stays small."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.program import Program
from dlasim.sim.execution.runner import Inference
from dlasim.sim.reports.lanes import LANES, lane_spans
from dlasim.sweeps.page.buffers import Integers

MAX_SPANS = 20_000


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
