"""A figure over two parameters as colours, a row of panels for each model, one panel for each mode."""

from __future__ import annotations

import re
from typing import Any

from dlasim.sim.configuration.parameter_names import ALIASES
from dlasim.sweeps.charts import canvas
from dlasim.sweeps.charts.data import (
    ChartError,
    Row,
    Table,
    axis_name,
    chosen_rows,
    has_grids,
    hidden_text,
    long_text,
    split,
    value_text,
    varying,
)  # fmt: skip
from dlasim.sweeps.charts.measures import Measure, measure
from dlasim.sweeps.charts.style import inches, letters, scale
from dlasim.sweeps.definition.axes import find, is_parameter

MAX_ACROSS, MAX_DOWN = 4, 8  # panels
MAX_WRITTEN_CELLS = 160
_CELL = 0.35  # inches: narrower cells have no room for their number
_FIRST = ("sram_bytes", "pes")  # what the axes are where they vary; grids instead of PEs
Cells = dict[tuple[Any, Any], float]


def draw(
    result: Table,
    where: str | None = None,
    title: str = "",
    x: str | None = None,
    y: str | None = None,
    value: str = "cycles_total",
    panel: str | None = None,
) -> Any:
    """The best value for each pair; cells without a point that works stay empty. Without `x`, `y` and `panel`
    these are SRAM, PEs (or the grids that they form) and the mode, or other parameters where these do not
    vary."""
    figure = measure(value, result.columns)
    named = [ALIASES.get(name, name) for name in (x, y, panel) if name]
    rows = chosen_rows(result, where, [*named, figure.name])
    rows = [row for row in rows if row[figure.name] is not None]
    if not rows:
        raise ChartError(f"{result.path}: column {figure.name} is empty")
    across, up, split_by = _axes(rows, x, y, panel)
    grid = {model: split(part, split_by) for model, part in split(rows, "model").items()}
    _check_size(grid, split_by)
    return _draw(grid, across, up, split_by, figure, title, rows)


def _axes(rows: list[Row], x: str | None, y: str | None, panel: str | None) -> tuple[str, str, str]:
    """What the axes and the panels stand for: what was asked for, else what varies."""
    known = {name: ALIASES.get(name, name) for name in (x, y, panel) if name}
    free = [name for name in varying(rows, "model") if name not in known.values()]
    numbers = [name for name in free if is_parameter(name) and find(name, "").kind is not str]
    first = ("sram_bytes", "parallel") if has_grids(rows) else _FIRST
    candidates = [name for name in (*first, *numbers, "cpu", *free) if name in free]
    candidates = [
        *dict.fromkeys(candidates),
        *(name for name in _FIRST if name not in (*known.values(), *free)),
    ]
    across = known[x] if x else candidates.pop(0)
    up = known[y] if y else candidates.pop(0)
    left = [name for name in ("parallel", "case", *candidates) if name in free and name not in (across, up)]
    few = [name for name in left if 1 < len(split(rows, name)) <= MAX_ACROSS]
    alike = (name for name in ("parallel", "timing") if name not in (across, up))  # one panel
    return across, up, known[panel] if panel else next(iter(few), next(alike))


def _check_size(grid: dict[Any, dict[Any, list[Row]]], panel: str) -> None:
    columns = len({name for part in grid.values() for name in part})
    if columns > MAX_ACROSS:
        raise ChartError(f"{panel} has {columns} values, but a chart shows at most {MAX_ACROSS}: use --where")
    if len(grid) > MAX_DOWN:
        raise ChartError(f"{len(grid)} models, but a chart shows at most {MAX_DOWN}: use --where")


def _draw(
    grid: dict[Any, dict[Any, list[Row]]],
    x: str,
    y: str,
    panel: str,
    value: Measure,
    title: str,
    rows: list[Row],
) -> Any:  # fmt: skip
    across, up = (_values(rows, name) for name in (x, y))
    modes = list(dict.fromkeys(mode for part in grid.values() for mode in part))
    natural = 1.6 + len(modes) * min(max(0.38 * len(across), 2.0), 6)
    wide = (inches(natural) - 1.6) / len(modes)
    high = min(max(0.8 + 0.24 * len(up), 1.5), 7)
    figure, axes = canvas.grid(
        max(natural, 4.6),
        0.6 + (high + 0.3) * len(grid),
        len(grid),
        len(modes),
        sharex=True,
        sharey=True,
    )  # fmt: skip
    for (model, part), line in zip(grid.items(), axes, strict=True):
        cells = {mode: _cells(part.get(mode, []), x, y, value) for mode in modes}
        is_roomy = wide > _CELL * scale() * len(across)
        _draw_line(figure, line, cells, across, up, value, is_roomy)
        for mode, one in zip(modes, line, strict=True):
            text = ", ".join((str(model), *([long_text(panel, mode)] if len(modes) > 1 else [])))
            canvas.title(one, text, wide if len(modes) > 1 else min(inches(4.0), 4.0))
        line[0].set_yticks(range(len(up)), [value_text(y, item) for item in up])
        line[0].set_ylabel(_axis_text(y, rows))
    for one in axes[-1]:
        one.set_xticks(range(len(across)), [value_text(x, item) for item in across])
        one.set_xlabel(_axis_text(x, rows))
    canvas.head(figure, title, _note(value, rows, x, y, *([panel] if len(modes) > 1 else [])))
    canvas.rotate_crowded_labels(figure, [one.xaxis for one in axes[-1]])
    bars = figure.axes[len(axes) * len(modes) :]
    upright = [*(line[0].yaxis for line in axes), *(one.yaxis for one in bars)]
    canvas.thin_ticks(figure, [*(one.xaxis for one in axes[-1]), *upright])
    return figure


def _axis_text(name: str, rows: list[Row]) -> str:
    return "grid of PEs" if name == "parallel" and has_grids(rows) else axis_name(name)


def _values(rows: list[Row], name: str) -> list[Any]:
    """A parameter's values: numbers in their order, grids by their PEs, texts as they come."""
    if name == "parallel" and has_grids(rows):
        return list(dict.fromkeys(row[name] for row in sorted(rows, key=_grid_size)))
    values = list(dict.fromkeys(row[name] for row in rows))
    return values if any(isinstance(value, str) for value in values) else sorted(values)


def _grid_size(row: Row) -> list[int]:
    """The PEs of a grid, and its sides."""
    return [row["pes"], *map(int, re.findall(r"\d+", str(row["parallel"])))]


def _cells(rows: list[Row], x: str, y: str, value: Measure) -> Cells:
    """The best value of each pair."""
    cells: Cells = {}
    for row in rows:
        spot, number = (row[x], row[y]), row[value.name]
        if spot not in cells or value.cost(number) < value.cost(cells[spot]):
            cells[spot] = number
    return {spot: value.shown(number) for spot, number in cells.items()}


def _draw_line(
    figure: Any, line: list[Any], cells: dict[Any, Cells], across: list[Any], up: list[Any], value: Measure,
    is_roomy: bool,
) -> None:  # fmt: skip
    """The panels of one model, which share their colours: models differ too much to share them."""
    values = [number for part in cells.values() for number in part.values()]
    norm = canvas.log_norm(min(values), max(values))
    write = value.writer(number / value.shown(1) for number in values)
    picture = None
    for axes, part in zip(line, cells.values(), strict=True):
        grid = [[part.get((column, row), float("nan")) for column in across] for row in up]
        picture = axes.imshow(grid, origin="lower", aspect="auto", cmap=canvas.MAP, norm=norm)
        axes.grid(False)
        if len(across) * len(up) <= MAX_WRITTEN_CELLS and is_roomy:
            _write(axes, grid, norm, write)
    if min(values) == max(values):
        return  # one colour needs no scale
    bar = figure.colorbar(picture, ax=line, pad=0.02, aspect=12 + 6 * len(up) / 5)
    bar.set_label(value.axis)
    canvas.log_bar(bar, value.tick)


def _note(value: Measure, rows: list[Row], *shown: str) -> str:
    hidden = hidden_text(rows, "model", *shown)
    return f"each cell: the {value.best_text} over {hidden}" if hidden else ""


def _write(axes: Any, grid: list[list[float]], norm: Any, write: Any) -> None:
    for row, line in enumerate(grid):
        for column, number in enumerate(line):
            known = number == number
            dark = known and norm(number) < 0.5
            axes.text(column, row, write(number) if known else "–", ha="center", va="center",
                      fontsize=letters(5), color="white" if dark else "black")  # fmt: skip
