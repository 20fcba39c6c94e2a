"""Charts of a sweep's table, fit for print: a module for each kind, `canvas` for how they look."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from dlasim.errors import InputError, one_of, unknown
from dlasim.sweeps.charts.data import Table, chosen_rows
from dlasim.sweeps.results.chart_settings import KINDS, LOOKS, parse_settings

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # users need not know where it keeps its fonts


def make(result: Table, kind: str, settings: Mapping[str, Any]) -> Any:
    """The figure of that kind; use it within `style()`."""
    from dlasim.sweeps.charts import canvas

    own = {name: value for name, value in settings.items() if name not in LOOKS}
    figure = _drawing(kind)(result, **parse_settings(own))
    if result.partial:
        canvas.add_to_title(figure, result.partial)
    return figure


def check_settings(kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse a kind or a setting that does not exist, or a look that is none; returns the look's rcParams."""
    from dlasim.sweeps.charts.style import read_style

    if kind not in KINDS:
        raise InputError(unknown("chart kind", kind, KINDS))
    allowed = [*_settings_of(kind), *LOOKS]
    for name in settings:
        if name not in allowed:
            others = [other for other in KINDS if name in _settings_of(other)]
            hint = f"; the kind {one_of(others)} has it" if others else ""
            raise InputError(f"{kind} chart: {unknown('setting', name, allowed)}{hint}")
    return read_style(**{name: settings[name] for name in LOOKS if name in settings})


def _drawing(kind: str) -> Callable[..., Any]:
    draw: Callable[..., Any] = import_module(f"dlasim.sweeps.charts.{KINDS[kind][0]}").draw
    return draw


def _settings_of(kind: str) -> list[str]:
    return [name for name in signature(_drawing(kind)).parameters if name != "result"]


def fitting_kind(result: Table, where: str | None = None, limits: Sequence[str] = ()) -> str:
    """The kind that suits a table: bars, or where they would be too many or there are goals, a front."""
    from dlasim.sweeps.charts.report_table import ReportTable
    from dlasim.sweeps.charts.stacked import can_draw
    from dlasim.sweeps.results.decision import goals_of

    if isinstance(result, ReportTable):
        return "utilization"
    if limits or len(goals_of(result).objectives) > 1:
        return "pareto"
    return "stacked" if can_draw(chosen_rows(result, where, ["cycles_total"])) else "pareto"


class Chart:
    """A drawn chart: a notebook shows it, `save` writes it to a file. `figure` is matplotlib's."""

    def __init__(self, result: Table, kind: str, settings: Mapping[str, Any]) -> None:
        from dlasim.sweeps.charts.style import style

        self._style = check_settings(kind, settings)
        with style(self._style):
            self.figure = make(result, kind, settings)
        self._kind = kind

    def save(self, path: str | Path) -> Path:
        """Write a PNG, SVG or PDF file; returns its path."""
        from dlasim.sweeps.charts import canvas
        from dlasim.sweeps.charts.style import style

        with style(self._style):
            canvas.save(self.figure, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        return f"<Chart {self._kind}; save(path) writes it as .png, .svg or .pdf>"

    def _repr_png_(self) -> bytes:
        from dlasim.sweeps.charts import canvas
        from dlasim.sweeps.charts.style import style

        with style(self._style):
            return canvas.encode(self.figure, "png")


def draw(result: Table, kind: str, path: str | Path, **settings: Any) -> None:
    """Draw a chart into a PNG, SVG or PDF file."""
    Chart(result, kind, settings).save(path)
