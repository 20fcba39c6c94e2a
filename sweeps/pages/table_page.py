"""Writes a page with a table: a row for each model and case, a column for each figure of the study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.rows.tables import size
from dlasim.sweeps.definition.study import Study
from dlasim.sweeps.pages.page_text import pictures, plain
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.system.fileio import atomic_write

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageColumn:
    """A figure: its heading, the columns of the sweep that add up to it, and how it is written."""

    heading: str
    names: tuple[str, ...]
    text: Callable[[int], str] = "{:,}".format

    def cell(self, row: Row) -> int:
        """Its value in a row; a figure that a point lacks counts nothing."""
        return sum(row[name] or 0 for name in self.names)


@dataclass(frozen=True, slots=True)
class TablePage:
    """A page: the name of its file, what it says first, its columns."""

    NAME: str
    text: str
    columns: tuple[PageColumn, ...]

    def write_page(self, study: Study, result: SweepResult, folder: Path, missing: Mapping[str, str]) -> Path:
        """Write the page to the folder of the table; `missing` are charts that could not be drawn."""
        atomic_write(folder / self.NAME, "\n".join(self._lines(study, result, missing)) + "\n")
        return folder / self.NAME

    def _lines(self, study: Study, result: SweepResult, missing: Mapping[str, str]) -> Iterator[str]:
        names = {name for column in self.columns for name in column.names}
        rows = list(result.rows("model", "case", "label", "status", "reason", *names))
        yield from (f"# {plain(study.title)}", "", self.text, "")
        yield f"| model | case | {' | '.join(column.heading for column in self.columns)} |"
        yield f"| --- | --- |{' ---: |' * len(self.columns)}"
        for row in rows:
            if row["status"] == "ok":
                cells = (column.text(column.cell(row)) for column in self.columns)
                yield f"| {plain(row['model'])} | {plain(row['case'])} | {' | '.join(cells)} |"
        for row in rows:
            if row["status"] != "ok":
                yield f"\n{plain(row['model'])}, {plain(row['case'])}: {plain(row['reason'])}"
        yield from pictures(study.charts, missing)


FOOTPRINT = TablePage(
    "footprint.md",
    "What an inference takes on the board: instructions of the CPU (driver and runtime included), cycles on "
    "its ideal core, RAM in all (the firmware's variables and stack, the tensors), the stack by itself, the "
    "arena of tensors between operators by itself, and the program in flash: commands and constants.",
    (
        PageColumn("CPU instructions", ("cpu_instructions",)),
        PageColumn("cycles", ("cycles_total",)),
        PageColumn("RAM", ("ram_peak_bytes",), size),
        PageColumn("stack", ("stack_peak_bytes",), size),
        PageColumn("arena", ("arena_peak_bytes",), size),
        PageColumn("program", ("artifact_bytes",), size),
    ),
)
SUBGRAPHS = TablePage(
    "subgraphs.md",
    "A subgraph is a part of the network that runs on the DLA without the CPU in between: one stream of "
    "commands, one doorbell. Each boundary costs the transfers of its tensors and the CPU's work.",
    (
        PageColumn("subgraphs", ("subgraphs",)),
        PageColumn("layers on the CPU", ("layers_cpu",)),
        PageColumn("read over the bus", ("dma_read_bytes",), size),
        PageColumn("written", ("dma_write_bytes",), size),
        PageColumn("cycles of the DLA", ("cycles_dla",)),
        PageColumn("of the CPU", ("cycles_cpu",)),
        PageColumn("in all", ("cycles_total",)),
    ),
)
