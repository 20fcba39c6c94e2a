"""Opens what charts draw: the results of a sweep, or the report that `dlasim run --report` wrote, which is
checked: the file may come from anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.reports.figures import LAYER_FIGURES, RUN_FIGURES, UNIT_FIGURES, Figure, is_number
from dlasim.sim.reports.report import SCHEMA
from dlasim.sweeps.charts.report_table import ReportTable, report_table
from dlasim.sweeps.results.sweep_result import SweepResult, open_results
from dlasim.system.fileio import read_file

ENDING = ".json"
_NEEDED = frozenset((
    "cycles.total", "cycles.dla", "cycles.cpu", "cycles.overlap", "cycles.by_kind", "cycles.stall", "macs",
    "utilization", "dma_bytes.read", "dma_bytes.write", "sram_peak_bytes", "layers", "units",
))  # fmt: skip
_CONTAINERS = {"list": list, "object": dict}
_MAX_VALUE_LENGTH = 40


def read_report(path: str | Path) -> dict[str, Any]:
    """The report in a file; an InputError says what is wrong with it."""
    try:
        report = json.loads(read_file(path))
        if report["schema"] != SCHEMA:
            raise InputError(f"{path} has schema {report['schema']!r}; this version reads {SCHEMA}")
        mistake = _first_mistake(report)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        mistake = "it has no such structure"
    if mistake:
        raise InputError(f"{path} is not a report of `dlasim run --report FILE.json`: {mistake}")
    return dict(report)


def _first_mistake(report: Mapping[str, Any]) -> str:
    """What is wrong with the first figure that is; empty if nothing is."""
    try:
        DlaConfig().replace(**report["config"])
    except InputError as error:
        return str(error)
    if not isinstance(report["program"], str) or not isinstance(report["cpu"]["estimated"], bool):
        return "program or cpu.estimated is missing"
    parts = [_wrong_figures(RUN_FIGURES, report, "", _NEEDED)]
    for number, layer in enumerate(report["layers"]):
        needed = {figure.name for figure in LAYER_FIGURES}
        parts.append(_wrong_figures(LAYER_FIGURES, layer, f"layers[{number}].", needed))
    for name, unit in report["units"].items():
        needed = {figure.name for figure in UNIT_FIGURES}
        parts.append(_wrong_figures(UNIT_FIGURES, unit, f"units.{name}.", needed))
    return next((mistake for part in parts for mistake in part), "")


def _wrong_figures(
    table: Iterable[Figure], source: Mapping[str, Any], where: str, needed: Iterable[str]
) -> Iterable[str]:
    for figure in table:
        value = _value(source, figure.name)
        if value is None and figure.name not in needed:
            continue
        if not _fits(value, figure.unit):
            yield f"{where}{figure.name} is {str(value)[:_MAX_VALUE_LENGTH]!r}"


def _value(source: Mapping[str, Any], name: str) -> Any:
    value: Any = source
    for part in name.split(".") if name else ():
        value = value.get(part)
        if value is None:
            return None
    return value if name else None


def _fits(value: Any, unit: str) -> bool:
    """Whether a value can be one of a figure with this unit; an object, one with an object of such values."""
    if unit == "text":
        return isinstance(value, str)
    if unit in _CONTAINERS:
        return isinstance(value, _CONTAINERS[unit])
    if isinstance(value, dict):
        return all(_fits(item, unit) for item in value.values())
    return is_number(value)


def open_table(location: str | Path) -> SweepResult | ReportTable:
    """The results of a sweep, in a folder or a CSV file, or the report of a run."""
    if str(location).endswith(ENDING):
        return report_table(read_report(location), Path(location))
    return open_results(location)
