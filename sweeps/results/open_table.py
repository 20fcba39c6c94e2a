"""Opens what charts draw: the results of a sweep or the report of a run."""

from __future__ import annotations

from pathlib import Path

from dlasim.sweeps.charts.report_table import ReportTable, report_table
from dlasim.sweeps.results.report_file import ENDING, read_report
from dlasim.sweeps.results.sweep_result import SweepResult, open_results


def open_table(location: str | Path) -> SweepResult | ReportTable:
    """The results of a sweep, in a folder or a CSV file, or the report of a run."""
    if str(location).endswith(ENDING):
        return report_table(read_report(location), Path(location))
    return open_results(location)
