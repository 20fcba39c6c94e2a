"""The report of one run as a table of one point, so that charts of a point draw it too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dlasim.errors import InputError
from dlasim.fileio import read_file
from dlasim.sim.report import SCHEMA
from dlasim.sweeps.charts.data import Row
from dlasim.sweeps.evaluate import FIGURES, LAYER_COLUMNS, layer_rows, row_figures
from dlasim.sweeps.result import SweepResult, open_results
from dlasim.sweeps.study import machine_label

ENDING = ".json"


class ReportTable:
    """One row, and the rows of its layers."""

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


def open_table(place: str | Path) -> SweepResult | ReportTable:
    """The results of a sweep, in a folder or a CSV file, or the report of a run."""
    return read_report(Path(place)) if str(place).endswith(ENDING) else open_results(place)


def read_report(path: Path) -> ReportTable:
    """The report that `dlasim run --report` wrote."""
    try:
        told = json.loads(read_file(path))
        if told["schema"] != SCHEMA:
            raise InputError(f"{path} has schema {told['schema']!r}; this version reads {SCHEMA}")
        return report_table(told, path)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is not a report of `dlasim run --report FILE.json`") from None


def report_table(told: Mapping[str, Any], path: Path) -> ReportTable:
    """A report as a table."""
    machine = {name: value for name, value in told["config"].items() if name != "name"}
    start = {"point": 0, "case": "", "model": str(told["program"]), "label": machine_label(machine)}
    figures = dict(zip(FIGURES, row_figures(told), strict=True))
    layers = [
        {**start, **machine, **dict(zip(LAYER_COLUMNS, layer, strict=True))} for layer in layer_rows(told)
    ]
    return ReportTable(path, {**start, **machine, "status": "ok", "reason": "", **figures}, layers)
