"""A figure over two parameters as colours, by default cycles over PEs and SRAM, one panel for each mode."""

from __future__ import annotations

from typing import Any

from dlasim.errors import InputError
from dlasim.sweeps.charts import canvas
from dlasim.sweeps.charts.data import Row, bytes_text, chosen_rows, count_text
from dlasim.sweeps.parameters import ALIASES
from dlasim.sweeps.result import SweepResult

MAX_PANELS = 4
MAX_WRITTEN_CELLS = 160


def draw(
    result: SweepResult,
    where: str | None = None,
    title: str = "",
    x: str = "sram_bytes",
    y: str = "pes",
    value: str = "cycles_total",
    panel: str = "parallel",
) -> Any:
    """The least value for each pair; cells without a point that works stay empty."""
    x, y = ALIASES.get(x, x), ALIASES.get(y, y)
    rows = chosen_rows(result, where, list(dict.fromkeys((x, y, value, panel))))
    cells: dict[Any, dict[tuple[Any, Any], float]] = {}
    for row in rows:
        if row[value] is not None:
            _enter(cells.setdefault(row[panel], {}), row, x, y, value)
    if not cells:
        raise InputError(f"{result.path}: column {value} is empty")
    if len(cells) > MAX_PANELS:
        raise InputError(f"{panel} has {len(cells)} values (allowed in one chart: {MAX_PANELS}): use --where")
    return _draw(cells, x, y, value, panel, title)


def _enter(cells: dict[tuple[Any, Any], float], row: Row, x: str, y: str, value: str) -> None:
    spot = (row[x], row[y])
    if spot not in cells or row[value] < cells[spot]:
        cells[spot] = row[value]


def _draw(
    cells: dict[Any, dict[tuple[Any, Any], float]], x: str, y: str, value: str, panel: str, title: str
) -> Any:
    across = sorted({spot[0] for part in cells.values() for spot in part})
    up = sorted({spot[1] for part in cells.values() for spot in part})
    values = [number for part in cells.values() for number in part.values()]
    norm = canvas.log_norm(min(values), max(values))
    wide = min(max(0.36 * len(across), 1.8), 6)
    figure, panels = canvas.new(
        1.5 + wide * len(cells), min(max(1.3 + 0.24 * len(up), 2.4), 7), len(cells), sharey=True
    )
    picture = None
    for axes, (name, part) in zip(panels, cells.items(), strict=True):
        grid = [[part.get((column, row), float("nan")) for column in across] for row in up]
        picture = axes.imshow(grid, origin="lower", aspect="auto", cmap=canvas.MAP, norm=norm)
        axes.grid(False)
        if len(across) * len(up) <= MAX_WRITTEN_CELLS and len(across) <= 16:
            _write(axes, grid, norm)
        axes.set_xticks(range(len(across)), [_text(x, item) for item in across], rotation=90)
        axes.set_yticks(range(len(up)), [_text(y, item) for item in up])
        axes.set_xlabel(_axis_name(x))
        if len(cells) > 1:
            axes.set_title(f"{panel} {name}")
        canvas.thin_ticks(figure, axes.xaxis)
    panels[0].set_ylabel(_axis_name(y))
    canvas.thin_ticks(figure, panels[0].yaxis)
    bar = figure.colorbar(picture, ax=panels)
    bar.set_label(value.replace("_", " "))
    canvas.log_bar(bar, count_text)
    if title:
        figure.suptitle(title, fontsize=9)
    canvas.thin_ticks(figure, bar.ax.yaxis)
    return figure


def _write(axes: Any, grid: list[list[float]], norm: Any) -> None:
    for row, line in enumerate(grid):
        for column, number in enumerate(line):
            known = number == number
            dark = known and norm(number) < 0.5
            axes.text(column, row, count_text(number) if known else "–", ha="center", va="center", fontsize=5,
                      color="white" if dark else "black")  # fmt: skip


def _text(name: str, item: Any) -> str:
    return bytes_text(item) if name.endswith("_bytes") else str(item)


def _axis_name(name: str) -> str:
    return {"pes": "PEs", "sram_bytes": "SRAM"}.get(name, name.replace("_", " "))
