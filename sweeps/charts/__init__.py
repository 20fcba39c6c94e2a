"""Charts of a sweep's table, fit for print: a module for each kind, `canvas` for how they look."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from dlasim.errors import InputError, unknown
from dlasim.sweeps.chart_settings import parse_settings
from dlasim.sweeps.charts.data import Table, chosen_rows

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # users need not know where it keeps its fonts

# kind: module, what it shows
KINDS = {
    "stacked": ("stacked", "cycles by kind, a bar for each configuration"),
    "heatmap": ("heatmap", "cycles, or any figure, over two parameters"),
    "pareto": ("pareto", "two or three figures against each other, and what nothing beats"),
    "roofline": ("roofline", "layers under the roofs of computing and memory (needs --layers)"),
    "utilization": ("utilization", "use of the PEs, layer by layer (needs --layers)"),
    "timeline": ("timeline", "what every unit does when"),
}


def make(result: Table, kind: str, settings: Mapping[str, Any]) -> Any:
    """The figure of that kind; use it within `canvas.style()`."""
    from dlasim.sweeps.charts import canvas

    if kind not in KINDS:
        raise InputError(unknown("chart kind", kind, KINDS))
    draw = import_module(f"dlasim.sweeps.charts.{KINDS[kind][0]}").draw
    allowed = [name for name in signature(draw).parameters if name != "result"]
    for name in settings:
        if name not in allowed:
            raise InputError(f"{kind} chart: {unknown('setting', name, allowed)}")
    figure = draw(result, **parse_settings(settings))
    if result.partial:
        canvas.add_to_title(figure, result.partial)
    return figure


def fitting_kind(result: Table, where: str | None = None) -> str:
    """The kind that suits a table: bars, or where they would be too many, a front."""
    from dlasim.sweeps.charts.report_table import ReportTable
    from dlasim.sweeps.charts.stacked import can_draw

    if isinstance(result, ReportTable):
        return "utilization"
    return "stacked" if can_draw(chosen_rows(result, where, ["cycles_total"])) else "pareto"


class Chart:
    """A drawn chart: a notebook shows it, `save` writes it to a file. `figure` is matplotlib's."""

    def __init__(self, result: Table, kind: str, settings: Mapping[str, Any]) -> None:
        from dlasim.sweeps.charts import canvas

        with canvas.style():
            self.figure = make(result, kind, settings)
        self._kind = kind

    def save(self, path: str | Path) -> Path:
        """Write a PNG, SVG or PDF file; returns its path."""
        from dlasim.sweeps.charts import canvas

        with canvas.style():
            canvas.save(self.figure, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        return f"<Chart {self._kind}; save(path) writes it as .png, .svg or .pdf>"

    def _repr_png_(self) -> bytes:
        from dlasim.sweeps.charts import canvas

        with canvas.style():
            return canvas.encode(self.figure, "png")


def draw(result: Table, kind: str, path: str | Path, **settings: Any) -> None:
    """Draw a chart into a PNG, SVG or PDF file."""
    Chart(result, kind, settings).save(path)
