"""The result of a sweep as an object: columns, rows, and data frames if pandas or polars is installed."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dlasim.arguments import checked
from dlasim.errors import InputError, unknown
from dlasim.rows import frames
from dlasim.rows.row_table import html_table
from dlasim.sim.reports.figures import LAYER_FIGURES, RUN_FIGURES, columns, is_number
from dlasim.sim.reports.report_types import SweepRow
from dlasim.sweeps.definition.axes import catalogue
from dlasim.sweeps.results.csv_table import read_csv, typed
from dlasim.sweeps.results.result_files import LAYERS, PENDING, RESULTS, read_about

if TYPE_CHECKING:
    import pandas
    import polars

    from dlasim.sweeps.charts import Chart
    from dlasim.sweeps.results.decision import Decision

_SHOWN = (
    "point", "case", "model", "label", "name", "status", "cycles_total", "cycles", "milliseconds",
    "utilization", "dma_read_bytes", "dma_write_bytes",
)  # fmt: skip
_SHOWN_ROWS = 50
_MAX_VALUE_LENGTH = 40
TEXT = frozenset((
    "case", "model", "label", "preset", "host", "cpu", "parallel", "timing", "technology", "fusion",
    "requant", "depthwise", "tiling", "place", "io", "objective", "effort", "weights", "numerics",
    "dla_ops", "memories", "buses", "status", "reason", "version", "key", "name", "operator", "kind", "unit",
    "outside", "verified", "rtl",
))  # fmt: skip


class SweepResult:
    """The table of a sweep. It stays on disk; rows are read when they are needed.

    Empty cells are None; figures of points that cannot run are empty. A notebook shows the first points.

    >>> import dlasim
    >>> found = dlasim.sweep("mnist", pes=[16, 32, 64], jobs=1)
    >>> len(found), found.column("pes")
    (3, [16, 32, 64])
    >>> found.best("pes")["pes"]
    16
    >>> found.plot("stacked")
    <Chart stacked; save(path) writes it as .png, .svg or .pdf>
    """

    @checked()
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._parent: SweepResult | None = None  # kept alive because it may own the folder
        self._counted: tuple[int, int] | None = None  # rows, and those of points that are not done
        self._finalizer: weakref.finalize[..., SweepResult] | None = None
        self.columns: list[str] = read_csv(self.path)[0]

    def own_folder(self) -> None:
        """Delete the folder together with this object."""
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.path.parent, ignore_errors=True)

    def __len__(self) -> int:
        return self._counts()[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.rows()

    def __repr__(self) -> str:
        place = "" if self._finalizer is not None else f" {self.path}"
        part = f", {self.partial}" if self.partial else ""
        return f"<SweepResult{place}: {len(self):,} rows, {len(self.columns)} columns{part}>"

    @property
    def partial(self) -> str:
        """`partial: 113 of 1,440 points` if the sweep was interrupted before it was complete, else empty."""
        rows, pending = self._counts()
        return f"partial: {rows - pending:,} of {rows:,} points" if pending else self._partial_search()

    def _partial_search(self) -> str:
        """The same of an interrupted search, whose table has only what is done."""
        search = read_about(self.path.parent).get("search")
        return str(search.get("partial", "")) if isinstance(search, dict) else ""

    def _counts(self) -> tuple[int, int]:
        if self._counted is None:
            status = self.columns.index("status") if "status" in self.columns else None
            rows = pending = 0
            for line in read_csv(self.path)[1]:
                rows += 1
                pending += status is not None and line[status] == PENDING
            self._counted = rows, pending
        return self._counted

    @property
    def layers(self) -> SweepResult:
        """The table of layers, if the sweep wrote one."""
        path = self.path.with_name(LAYERS)
        if not path.exists():
            raise InputError(
                f"{self.path.parent} has no {LAYERS}; sweep with --layers (in a study: layers = true)"
            )
        found = SweepResult(path)
        found._parent = self
        return found

    @checked()
    def plot(self, kind: str | None = None, **settings: Any) -> Chart:
        """A chart, by default of the kind that suits the table; `dlasim plot --help` lists the kinds.

        `width`, such as 84mm, and `style`, rcParams or a style sheet of matplotlib, fit it into a paper.
        """
        from dlasim.sweeps.charts import Chart, fitting_kind

        return Chart(self, kind or fitting_kind(self, settings.get("where")), settings)

    @checked()
    def to_html(self, path: str | Path, where: str | None = None) -> Path:
        """Write an interactive page, one self-contained HTML file that works offline, by default of all
        points; returns its path."""
        from dlasim.sweeps.page.sweep import sweep_page
        from dlasim.system.fileio import atomic_write

        atomic_write(path, sweep_page(self, where))
        return Path(path)

    def _repr_html_(self) -> str:
        shown = [name for name in _SHOWN if name in self.columns]
        rows = list(islice(self.rows(*shown), _SHOWN_ROWS))
        rest = len(self) - len(rows)
        part = f"<p>{self.partial}</p>" if self.partial else ""
        return part + html_table(rows) + (f"<p>… and {rest:,} more; .frame() has all</p>" if rest else "")

    @checked()
    def rows(self, *columns: str) -> Iterator[dict[str, Any]]:
        """Iterate over the rows, with all columns or only these."""
        head, lines = read_csv(self.path)
        chosen = self._chosen(head, columns)
        for line in lines:
            yield {name: self._cell(name, line[index]) for index, name in chosen}

    @checked()
    def column(self, name: str) -> list[Any]:
        """The cells of one column."""
        return [row[name] for row in self.rows(name)]

    @checked()
    def best(self, figure: str = "cycles_total") -> SweepRow | None:
        """The row with the smallest value of this figure."""
        if figure not in self.columns:
            raise InputError(unknown("column", figure, self.columns))
        known = (row for row in self.rows() if row[figure] is not None)
        found = min(known, key=lambda row: (row[figure], row["point"]), default=None)
        return cast("SweepRow | None", found)

    @checked()
    def decide(self, limits: str | Sequence[str] = (), minimize: str | Sequence[str] = ()) -> Decision:
        """Which machine the table speaks for: `winner`, `front`, the limits that bind. With the goals of its
        study, and these.

        >>> import dlasim
        >>> found = dlasim.sweep("mnist", pes=[16, 64], jobs=1).decide("area < 3.1", "energy")
        >>> found.winner["pes"], len(found.within)
        (16, 1)
        """
        from dlasim.sweeps.definition.goals import as_texts, read_goals
        from dlasim.sweeps.results.decision import Decision

        return Decision(self, read_goals(as_texts(limits), as_texts(minimize), "decide"))

    def frame(self) -> pandas.DataFrame | polars.DataFrame:
        """A pandas data frame, or a polars one if pandas is not installed."""
        return frames.frame(self._table())

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas data frame."""
        return frames.to_pandas(self._table())

    def to_polars(self) -> polars.DataFrame:
        """A polars data frame."""
        return frames.to_polars(self._table())

    def _table(self) -> dict[str, list[Any]]:
        head, lines = read_csv(self.path)
        table: dict[str, list[Any]] = {name: [] for name in head}
        for line in lines:
            for name, text in zip(head, line, strict=True):
                table[name].append(self._cell(name, text))
        return table

    def _cell(self, name: str, text: str) -> Any:
        """A cell's value; a parameter or figure that must be a number is one, since others read the table."""
        value = text if name in TEXT else typed(text)
        if name in _numbers() and value is not None and not is_number(value):
            raise InputError(f"{self.path}: {name} must be a number (got {text[:_MAX_VALUE_LENGTH]!r})")
        return value

    def _chosen(self, head: Sequence[str], columns: Sequence[str]) -> list[tuple[int, str]]:
        unexpected = [name for name in columns if name not in head]
        if unexpected:
            raise InputError(f"{self.path}: {unknown('column', unexpected[0], head)}")
        return [(index, name) for index, name in enumerate(head) if not columns or name in columns]


def open_results(location: str | Path) -> SweepResult:
    """Open the results in a folder or in a CSV file."""
    path = Path(location)
    if path.is_dir():
        path = path / RESULTS
        if not path.exists():
            begun = (Path(location) / "cache").is_dir()
            hint = "its sweep has not come so far; run it again" if begun else "expected that of a sweep"
            raise InputError(f"the folder {location} has no {RESULTS}: {hint}")
    return SweepResult(path)


@cache
def _numbers() -> frozenset[str]:
    """The columns of numbers."""
    parameters = [name for name, parameter in catalogue().items() if parameter.kind is not str]
    figures = (figure for figure in (*RUN_FIGURES, *LAYER_FIGURES) if figure.unit != "text")
    return frozenset(("point", "layer", *parameters, *columns(figures))) - TEXT
