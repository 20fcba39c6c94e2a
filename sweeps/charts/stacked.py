"""Cycles per configuration as stacked bars, like figure 4 of Sponner et al."""

from __future__ import annotations

from typing import Any

from dlasim.errors import InputError
from dlasim.sweeps.charts import canvas
from dlasim.sweeps.charts.data import Row, chosen_rows, count_text, labels, parameters
from dlasim.sweeps.result import SweepResult

SEGMENTS = {
    "conv": ("CONV", ("cycles_conv",), canvas.BLUE),
    "requant": ("REQUANT", ("cycles_requant",), canvas.ORANGE),
    "depth": ("DEPTH", ("cycles_depth",), canvas.GREEN),
    "other": ("other kinds", ("cycles_fc", "cycles_pool", "cycles_eltwise", "cycles_act"), canvas.PURPLE),
    "host": ("host", (), canvas.SKY),
    "stall": ("memory stalls", ("cycles_stall",), canvas.GREY),
}
MAX_BARS = 80


def draw(
    result: SweepResult,
    where: str | None = None,
    title: str = "",
    segments: list[str] | None = None,
    top: float | None = None,
) -> Any:
    """A bar for each point. `host` is what the CPU adds beyond the DLA's cycles; `top` ends the axis."""
    shown = segments or list(SEGMENTS)
    unknown = [name for name in shown if name not in SEGMENTS]
    if unknown:
        raise InputError(f"segment {unknown[0]!r} is unknown (allowed: {', '.join(SEGMENTS)})")
    columns = {column for name in shown for column in SEGMENTS[name][1]} | {"cycles_total", "cycles_dla"}
    rows = chosen_rows(result, where, [*parameters(result), *sorted(columns)])
    total = len(rows)
    if total > MAX_BARS:
        rows = sorted(
            sorted(rows, key=lambda row: row["cycles_total"])[:MAX_BARS], key=lambda row: row["point"]
        )
        title = title or f"the {MAX_BARS} of {total:,} points with the fewest cycles"
    return _draw(rows, shown, title, top)


def _draw(rows: list[Row], shown: list[str], title: str, top: float | None) -> Any:
    names = labels(rows)
    width = min(max(3.4, 1.3 + 0.3 * len(rows)), 16)
    figure, (axes,) = canvas.new(
        width, 3.1 + 0.055 * max(map(len, names))
    )  # long names take no room from bars
    places = range(len(rows))
    heights = [0.0] * len(rows)
    for number, name in enumerate(shown):
        label, _, color = SEGMENTS[name]
        values = [_amount(row, name) / 1e6 for row in rows]
        if any(values):
            look = {"color": color, "hatch": canvas.HATCHES[number], "edgecolor": "white", "linewidth": 0.4}
            axes.bar(places, values, 0.72, heights, label=label, **look)
            heights = [below + value for below, value in zip(heights, values, strict=True)]
    most = top or max(heights) * (1.12 if len(rows) <= 16 else 1.25) or 1
    axes.set_ylim(0, most)
    if len(rows) <= 40:
        for place, height in enumerate(heights):
            spot, turned = (place, min(height, most)), 0 if len(rows) <= 16 else 90
            style = {"ha": "center", "va": "bottom", "fontsize": 6, "rotation": turned}
            axes.annotate(count_text(height * 1e6), spot, (0, 1.5), textcoords="offset points", **style)
    axes.set_xticks(list(places), names, rotation=90)
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.grid(False, axis="x")
    axes.set_ylabel("cycles [M]")
    if title:
        axes.set_title(title)
    canvas.legend(figure, axes)
    canvas.thin_ticks(figure, axes.xaxis)
    return figure


def _amount(row: Row, name: str) -> float:
    if name == "host":
        return max(float(row["cycles_total"] - row["cycles_dla"]), 0.0)
    return float(sum(row[column] for column in SEGMENTS[name][1]))
