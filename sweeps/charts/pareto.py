"""Which machines are worth building: cycles against SRAM and against PEs, with the points nothing beats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dlasim.sweeps.charts import canvas
from dlasim.sweeps.charts.data import Row, bytes_text, chosen_rows, count_text
from dlasim.sweeps.result import SweepResult

COSTS = (("sram_bytes", "SRAM", bytes_text), ("pes", "PEs", lambda value: f"{value:g}"))


def draw(result: SweepResult, where: str | None = None, title: str = "", value: str = "cycles_total") -> Any:
    """Two panels; grey: every point, line: the front within the panel, filled: also in the front of all."""
    rows = chosen_rows(result, where, ["label", "pes", "sram_bytes", value])
    figure, panels = canvas.new(7, 3.3, 2, sharey=True)
    overall = {id(row) for row in front(rows, value, "sram_bytes", "pes")}
    for axes, (cost, name, text) in zip(panels, COSTS, strict=True):
        _panel(axes, rows, cost, value, text, overall)
        axes.set_xlabel(name)
    panels[0].set_ylabel(value.replace("_", " "))
    canvas.log_axis(panels[0].yaxis, 10, count_text)
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(low / 1.25, high)  # room for labels below the front
    if title:
        figure.suptitle(title, fontsize=9)
    canvas.legend(figure, panels[0])
    for axes, (cost, _, _) in zip(panels, COSTS, strict=True):
        canvas.thin_ticks(figure, axes.xaxis)
        spots = [(row[cost], row[value], row["label"]) for row in front(rows, value, cost)]
        canvas.place_labels(figure, axes, spots, canvas.BELOW)
    canvas.thin_ticks(figure, panels[0].yaxis)
    return figure


def front(rows: list[Row], *objectives: str) -> list[Row]:
    """The rows that no other row equals or beats in every objective; of equal ones the first."""
    first, *others = objectives
    least: dict[tuple[Any, ...], Row] = {}  # of rows that differ in the first objective only, the best
    for row in rows:
        spot = tuple(row[name] for name in others)
        if spot not in least or row[first] < least[spot][first]:
            least[spot] = row
    ordered = sorted(least.values(), key=lambda row: tuple(row[name] for name in reversed(objectives)))
    points = np.array([[row[name] for name in objectives] for row in ordered], np.float64)
    kept = []
    for number, row in enumerate(ordered):
        if not np.any(np.all(points[:number] <= points[number], axis=1)):
            kept.append(row)
    return kept


def _panel(
    axes: Any, rows: list[Row], cost: str, value: str, text: Callable[[float], str], overall: set[int]
) -> None:
    spots = sorted({(row[cost], row[value]) for row in rows})
    axes.scatter(
        *zip(*spots, strict=True), s=7, color=canvas.GREY, label="points", rasterized=len(spots) > 2000
    )
    best = front(rows, value, cost)
    line = [(row[cost], row[value]) for row in best]
    axes.step(*zip(*line, strict=True), where="post", color=canvas.BLUE, linewidth=1, label="front")
    both = [(row[cost], row[value]) for row in best if id(row) in overall]
    if both:
        axes.scatter(
            *zip(*both, strict=True), s=14, color=canvas.RED, zorder=3, label="no point is better in all"
        )
    canvas.log_axis(axes.xaxis, 2, text)
