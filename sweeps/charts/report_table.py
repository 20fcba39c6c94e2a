"""The report of one run as a table of one point, so that charts of a point draw it too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dlasim.isa.program import Program
from dlasim.sim.execution.runner import Inference
from dlasim.sweeps.charts.data import Row
from dlasim.sweeps.definition.study import machine_label
from dlasim.sweeps.evaluation.evaluate import FIGURES, LAYER_COLUMNS, layer_rows, row_figures


class ReportTable:
    """One row, and the rows of its layers. `ran` is what ran, if the report comes from this process."""

    ran: tuple[Program, Inference] | None = None
    partial = ""  # a report is complete

    def __init__(self, path: Path, row: Row, layers: list[Row]) -> None:
        self.path, self.columns = path, list(row)
        self._row, self._layers = row, layers

    @property
    def layers(self) -> ReportTable:
        """The rows of each layer."""
        found = ReportTable(self.path, self._row, [])
        found.columns = list(self._layers[0]) if self._layers else []
        found._all = self._layers
        return found

    _all: list[Row] | None = None

    def rows(self, *columns: str) -> Iterator[Row]:
        """Row by row; all columns, or these."""
        for row in [self._row] if self._all is None else self._all:
            yield {name: row[name] for name in columns or row}


def report_table(report: Mapping[str, Any], path: Path) -> ReportTable:
    """A report as a table."""
    machine = {name: value for name, value in report["config"].items() if name != "name"}
    start = {"point": 0, "case": "", "model": str(report["program"]), "label": machine_label(machine)}
    start["host"] = "none" if report["cpu"]["estimated"] else "riscv"
    figures = dict(zip(FIGURES, row_figures(report), strict=True))
    layers = [
        {**start, **machine, **dict(zip(LAYER_COLUMNS, layer, strict=True))} for layer in layer_rows(report)
    ]
    return ReportTable(path, {**start, **machine, "status": "ok", "reason": "", **figures}, layers)
