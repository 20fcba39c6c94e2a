"""Prints the points of a sweep as a table."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dlasim.cli.terminal import say_table
from dlasim.rows.tables import size
from dlasim.sweeps.charts.data import value_text
from dlasim.sweeps.charts.measures import describe
from dlasim.sweeps.results.decision import Decision

if TYPE_CHECKING:
    from dlasim.sweeps.definition.study import Study
    from dlasim.sweeps.results.sweep_result import SweepResult

SHOWN_POINTS = 20
MIN_OF_A_MODEL = 3  # however many models
_IN_LABEL = frozenset(("pes", "parallel", "sram_bytes"))  # which the column `machine` has
_SHOWN_COLUMNS = (
    "case", "model", "label", "clock_mhz", "status", "cycles_total", "milliseconds", "cycles_dla",
    "cycles_stall", "utilization", "dma_read_bytes", "dma_write_bytes",
)  # fmt: skip


def print_points(result: SweepResult, study: Study) -> None:
    """The points, or of many those with the fewest cycles of each model, with a column for everything that
    was swept, and the figures that the study names."""
    extra = [name for name in study.swept if name not in _IN_LABEL]
    few = _few(result.rows("point", *_SHOWN_COLUMNS, *extra, *study.columns))
    cases = ["case"] if any(row["case"] for row in few) else []
    clocks = len({row["clock_mhz"] for row in few}) > 1  # then cycles alone do not say which is faster
    start = {**{name: name for name in cases}, "model": "model", "label": "machine"}
    start |= {name: name for name in extra}
    figures = ["cycles", *(["ms"] if clocks else []), "DLA", "stall", "used", "moved"]
    measures = [describe(name) for name in study.columns]
    lines = [[*start.values(), *([one.text for one in measures] or figures)]]
    for row in few:
        cells = [Decision.value(one, row) for one in measures] or _figures(row, figures)
        lines.append([*(value_text(name, row[name]) for name in start), *cells])
    say_table(lines, "l" * len(start) + "r" * len(measures or figures))


def shown_of_each(models: int) -> int:
    """How many points of each model are shown where all would be too many."""
    return max(SHOWN_POINTS // models, MIN_OF_A_MODEL)


def _few(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All points in their order, or of more than can be shown the best of each model: cycles of different
    models say nothing about machines."""
    first: list[dict[str, Any]] = []
    best: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if len(first) <= SHOWN_POINTS:
            first.append(row)
        kept = best.setdefault(row["model"], [])
        kept.append(row)
        if len(kept) >= 10 * SHOWN_POINTS:  # so that many points need little memory
            kept[:] = heapq.nsmallest(SHOWN_POINTS, kept, key=_rank)
    if len(first) <= SHOWN_POINTS:
        return first
    count = shown_of_each(len(best))
    return [row for kept in best.values() for row in heapq.nsmallest(count, kept, key=_rank)]


def _figures(row: dict[str, Any], shown: list[str]) -> list[str]:
    """A point's figures as text, or its status if it has no figures."""
    if row["cycles_total"] is None:
        return [row["status"], *[""] * (len(shown) - 1)]
    texts = {
        "cycles": f"{row['cycles_total']:,}",
        "ms": f"{row['milliseconds']:,.3f}",
        "DLA": f"{row['cycles_dla']:,}",
        "stall": f"{row['cycles_stall']:,}",
        "used": f"{100 * row['utilization']:.1f} %",
        "moved": size(row["dma_read_bytes"] + row["dma_write_bytes"]),
    }
    return [texts[name] for name in shown]


def _rank(row: dict[str, Any]) -> tuple[bool, int, int]:
    cycles = row["cycles_total"]
    return cycles is None, cycles or 0, row["point"]
