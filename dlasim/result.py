"""The result of a run: outputs, the report, its layers as a table, charts, and a timeline for Perfetto."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dlasim.arguments import checked
from dlasim.dataclass import dataclass
from dlasim.rows.row_table import RowTable, html_table
from dlasim.rows.tables import duration, percent, size
from dlasim.sim.reports.figures import LAYER_FIGURES, cells, columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dlasim.loading import Loaded
    from dlasim.sim.execution.runner import Inference
    from dlasim.sim.execution.unwritten import UnwrittenOutput
    from dlasim.sim.reports.report_types import LayerRow, Report
    from dlasim.sweeps.charts import Chart
    from dlasim.sweeps.charts.report_table import ReportTable
    from dlasim.vp.system.host import Prototyped


@dataclass(slots=True, repr=False)
class RunResult:
    """What `dlasim.run` returns.

    `outputs` are arrays in the model's types, `report` is what `--report` writes (docs/figures.md lists it).
    A notebook shows the headline figures and the layers.

    >>> import dlasim
    >>> result = dlasim.run("mnist", parallel="8x8", sram="32KiB")
    >>> result.outputs[0].dtype, result.outputs[0].shape
    (dtype('int8'), (1, 10))
    >>> result.cycles == result.report["cycles"]["total"]
    True
    >>> result.layers.column("operator")[0]
    'CONV_2D'
    """

    outputs: list[NDArray[Any]]
    report: Report
    inference: Inference
    loaded: Loaded
    prototyped: Prototyped | None = None  # the run of the board, if there was one
    unwritten: tuple[UnwrittenOutput, ...] = ()  # outputs that the program did not write completely

    @property
    def cycles(self) -> int:
        """The cycles of the inference, of CPU and DLA together."""
        return self.report["cycles"]["total"]

    @property
    def milliseconds(self) -> float:
        """The time of the inference at the machine's clock."""
        clock: float = self.report["config"]["clock_mhz"]
        return self.cycles / clock / 1000

    @property
    def real_outputs(self) -> list[NDArray[Any]]:
        """The outputs as real numbers: int8 values times their scale; others as they are."""
        from dlasim.outputs import dequantize

        described = self.loaded.program.outputs
        return [dequantize(tensor, array) for tensor, array in zip(described, self.outputs, strict=False)]

    @property
    def layers(self) -> RowTable[LayerRow]:
        """The figures of each layer, a dictionary for each; `.frame()` makes a data frame of them."""
        names = columns(LAYER_FIGURES)
        return RowTable(
            cast("LayerRow", dict(zip(names, cells(LAYER_FIGURES, layer), strict=True)))
            for layer in self.report["layers"]
        )

    @checked()
    def plot(self, kind: str = "utilization", **settings: Any) -> Chart:
        """A chart: utilization, roofline, timeline or stacked. A notebook shows it; `.save(path)` writes it.

        `width`, such as 84mm, and `style`, rcParams or a style sheet of matplotlib, fit it into a paper.

        >>> import dlasim
        >>> dlasim.run("mnist", timing_only=True).plot("timeline", end=20_000)
        <Chart timeline; save(path) writes it as .png, .svg or .pdf>
        """
        from dlasim.sweeps.charts import Chart

        return Chart(self._table(), kind, settings)

    @checked()
    def to_html(self, path: str | Path, before: RunResult | None = None) -> Path:
        """Write an interactive page, one self-contained HTML file that works offline; returns its path.

        With `before` it is the difference of two runs, layer by layer.
        """
        from dlasim.system.fileio import atomic_write

        atomic_write(path, self._page() if before is None else self._comparison(before))
        return Path(path)

    def _page(self) -> str:
        from dlasim.sweeps.page.run import run_page

        loaded = self.loaded
        return run_page(self.report, loaded.program, self.inference, loaded.lowered)

    def _comparison(self, before: RunResult) -> str:
        from dlasim.sweeps.page.comparison import comparison_page

        return comparison_page(before.report, self.report, ("before", "after"))

    @checked()
    def trace(self, path: str | Path) -> Path:
        """Write a timeline for Perfetto (ui.perfetto.dev); returns its path."""
        from dlasim.system.fileio import atomic_write

        atomic_write(path, json.dumps(self.trace_events()) + "\n")
        return Path(path)

    @checked()
    def overlay(self, folder: str | Path) -> list[Path]:
        """Write what each layer costs as node data of Model Explorer, a file for each figure; returns the
        files."""
        from dlasim.overlay import write_overlay

        return write_overlay(folder, list(self.layers), self.loaded.lowered)

    def trace_events(self) -> dict[str, Any]:
        """The timeline as Chrome trace events."""
        loaded = self.loaded
        if self.prototyped is not None:
            from dlasim.vp.system.host_report import trace

            return trace(loaded.program, loaded.config, self.prototyped)
        from dlasim.sim.reports.trace import trace_events

        return trace_events(loaded.program, loaded.config, self.inference)

    def _table(self) -> ReportTable:
        from dlasim.sweeps.charts.report_table import report_table

        table = report_table(self.report, Path(self.report["program"]))
        table.ran = self.loaded.program, self.inference
        return table

    def _headline(self) -> dict[str, str]:
        report, config = self.report, self.report["config"]
        moved = report["dma_bytes"]
        return {
            "program": report["program"],
            "machine": f"{config['pes']} PEs ({config['parallel']}), {size(config['sram_bytes'])} SRAM",
            "cycles": f"{self.cycles:,}",
            "time": f"{duration(self.milliseconds * 1000)} at {config['clock_mhz']:g} MHz",
            "PEs used": percent(report["utilization"]),
            "DMA": f"{size(moved['read'])} read, {size(moved['write'])} written",
        }

    def __repr__(self) -> str:
        head = self._headline()
        return (
            f"<RunResult {head['program']} on {head['machine']}: {head['cycles']} cycles = {head['time']}, "
            f"{len(self.report['layers'])} layers>"
        )

    def _repr_html_(self) -> str:
        from html import escape  # few commands need it

        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self._headline().items()
        )
        return f"<table>{rows}</table>{html_table(self.layers)}"


def complete(result: RunResult, warnings: list[str]) -> RunResult:
    """Add all warnings to the result and its report."""
    from dlasim.sim.execution.unwritten import unwritten_outputs

    result.unwritten = unwritten_outputs(result.loaded.program, result.inference)
    lowered = result.loaded.lowered
    result.report["left_out"] = list(lowered.network.left_out) if lowered else []
    result.report["warnings"] = warnings + [str(output) for output in result.unwritten]
    missing = {output.name: output.missing_bytes for output in result.unwritten}
    for output in result.report["outputs"]:
        output["unwritten_bytes"] = missing.get(output["name"], 0)
    return result
