"""The result of a sweep as an object: columns, rows, and data frames if pandas or polars is installed."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from dlasim.errors import InputError, unknown
from dlasim.sweeps.table import read_csv, typed

RESULTS, LAYERS, ABOUT = "results.csv", "layers.csv", "sweep.json"
TEXT = frozenset((
    "case", "model", "label", "preset", "host", "cpu", "parallel", "timing", "fusion", "depthwise", "tiling",
    "place", "dla_ops", "status", "reason", "version", "key", "name", "operator", "kind", "unit",
))  # fmt: skip
_WITHOUT_FRAMES = "rows() and column() work without it"


class SweepResult:
    """The table of a sweep. It stays on disk; rows are read when they are needed.

    Empty cells are None; figures of points that cannot run are empty.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._parent: SweepResult | None = None  # kept alive because it may own the folder
        self._rows: int | None = None
        self.columns: list[str] = read_csv(self.path)[0]

    def own_folder(self) -> None:
        """Delete the folder together with this object."""
        self._goes = weakref.finalize(self, shutil.rmtree, self.path.parent, ignore_errors=True)

    def __len__(self) -> int:
        if self._rows is None:
            self._rows = sum(1 for _ in read_csv(self.path)[1])
        return self._rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.rows()

    def __repr__(self) -> str:
        return f"<SweepResult {self.path}: {len(self)} points, {len(self.columns)} columns>"

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

    def rows(self, *columns: str) -> Iterator[dict[str, Any]]:
        """Iterate over the rows, with all columns or only these."""
        head, lines = read_csv(self.path)
        chosen = self._chosen(head, columns)
        for line in lines:
            yield {name: _cell(name, line[index]) for index, name in chosen}

    def column(self, name: str) -> list[Any]:
        """The cells of one column."""
        return [row[name] for row in self.rows(name)]

    def best(self, figure: str = "cycles_total") -> dict[str, Any] | None:
        """The row with the smallest value of this figure."""
        known = (row for row in self.rows() if row[figure] is not None)
        return min(known, key=lambda row: (row[figure], row["point"]), default=None)

    def frame(self) -> Any:
        """A pandas data frame, or a polars one if pandas is not installed."""
        if _import("pandas") is not None:
            return self.to_pandas()
        if _import("polars") is not None:
            return self.to_polars()
        raise InputError(f"neither pandas nor polars is installed; {_WITHOUT_FRAMES}")

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        return _needed("pandas").DataFrame(self._table())

    def to_polars(self) -> Any:
        """A polars data frame."""
        return _needed("polars").DataFrame(self._table(), infer_schema_length=None)

    def _table(self) -> dict[str, list[Any]]:
        head, lines = read_csv(self.path)
        table: dict[str, list[Any]] = {name: [] for name in head}
        for line in lines:
            for name, text in zip(head, line, strict=True):
                table[name].append(_cell(name, text))
        return {name: _one_type(cells) for name, cells in table.items()}

    def _chosen(self, head: Sequence[str], columns: Sequence[str]) -> list[tuple[int, str]]:
        strange = [name for name in columns if name not in head]
        if strange:
            raise InputError(f"{self.path}: {unknown('column', strange[0], head)}")
        return [(index, name) for index, name in enumerate(head) if not columns or name in columns]


def open_results(location: str | Path) -> SweepResult:
    """Open the results in a folder or in a CSV file."""
    path = Path(location)
    if path.is_dir():
        path = path / RESULTS
        if not path.exists():
            raise InputError(f"{location} has no {RESULTS}; expected the folder of a finished sweep")
    return SweepResult(path)


def _cell(name: str, text: str) -> Any:
    return text if name in TEXT else typed(text)


def _one_type(cells: list[Any]) -> list[Any]:
    """Convert a mix of int and float to float: a column of a data frame has one type."""
    if {int, float} <= {type(cell) for cell in cells}:
        return [float(cell) if isinstance(cell, int) else cell for cell in cells]
    return cells


def _import(name: str) -> Any:
    """The module of that name; None if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def _needed(name: str) -> Any:
    module = _import(name)
    if module is None:
        raise InputError(f"{name} is not installed; {_WITHOUT_FRAMES}")
    return module
