"""Writes the tables of a sweep: all points when it is done, those that are done if it ends before."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from dlasim import __version__
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sweeps.definition.axes import catalogue
from dlasim.sweeps.definition.goals import DEMAND_COLUMNS
from dlasim.sweeps.definition.models import Blueprint
from dlasim.sweeps.definition.study import WORKLOAD, Point, Study
from dlasim.sweeps.evaluation.evaluate import FAILED, FIGURES, LAYER_COLUMNS, OK, REFUSED, Entry, code_version
from dlasim.sweeps.results.confirmed import COLUMNS, read_confirmed
from dlasim.sweeps.results.csv_table import read_csv, write_csv
from dlasim.sweeps.results.machine_rows import NOT_DONE, MachineRow, machine_rows
from dlasim.sweeps.results.result_files import ABOUT, LAYERS, RESULTS, is_of, read_about
from dlasim.system.fileio import atomic_write

SCHEMA = "dlasim.sweep/1"
# A sweep that is killed leaves a table that is so old, or older if writing it takes a fiftieth of the time.
REFRESH_SECONDS = 20.0
REFRESH_SHARE = 50
_ROW_SECONDS = 5e-4  # to write a row: what the first table will take
_LAYER_PARAMETERS = ("pes", "parallel", "sram_bytes", "dma_bandwidth", "dma_shared_bandwidth", "vector_lanes",
                     "clock_mhz", "fusion", "depthwise", "tiling")  # fmt: skip
_LAYER_COLUMNS = ["point", "case", "model", "label", *_LAYER_PARAMETERS, *LAYER_COLUMNS]


def columns(parts: Sequence[str] = (), more: Sequence[str] = ()) -> list[str]:
    """The columns of results.csv; `parts` of tables follow the other parameters, `more` the figures."""
    return ["point", "case", "model", "label", *catalogue(), *parts, "status", "reason", *FIGURES, *more,
            "version", "key"]  # fmt: skip


def _more_columns(study: Study) -> list[str]:
    """Those of a table of machines: its number, its load, and the limits that it does not keep to."""
    rates = any(model.rate for model in study.models)
    return [*(["machine"] if study.is_workload else []), *(["rate", *DEMAND_COLUMNS] if rates else []),
            *(["outside"] if study.all_goals.limits else [])]  # fmt: skip


@dataclass(slots=True)
class StatusCounts:
    """How many points have which status, and the first that failed or was refused."""

    statuses: dict[str, int] = field(default_factory=lambda: dict.fromkeys((OK, REFUSED, FAILED), 0))
    first: dict[str, str] = field(default_factory=dict)

    def add(self, point: Point, entry: Entry) -> None:
        """Count a point."""
        self.statuses[entry.status] = self.statuses.get(entry.status, 0) + 1
        self.first.setdefault(entry.status, f"{point.model} {point.label}: {entry.reason}")


class TablePoints(Protocol):
    """The points of a table: those of a sweep, or those that a search has come to."""

    def __len__(self) -> int: ...

    def key(self, point: Point) -> str:
        """The content key of a point."""

    def entries(self) -> Iterator[tuple[Point, Entry | None]]:
        """Every point with its entry; None if it has none yet."""


class SweepTables:
    """The files in the folder of a sweep."""

    def __init__(
        self, study: Study, folder: Path, command: str, with_layers: bool,
        blueprints: Mapping[str, Blueprint], about: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """`about` is what sweep.json says in addition."""
        self._study, self._folder, self._command = study, folder, command
        self._with_layers, self._blueprints = with_layers, blueprints
        self._confirmed = read_confirmed(folder)
        self._confirmed_columns = COLUMNS if self._confirmed else ()
        self._more = _more_columns(study)
        self._more_about: Mapping[str, Any] = {} if about is None else about
        self._created = time.perf_counter()
        self._next = self._created + REFRESH_SECONDS
        self._check_folder()

    @property
    def results(self) -> Path:
        """The table of points."""
        return self._folder / RESULTS

    def refresh(self, points: TablePoints) -> None:
        """Write what is done from time to time, for the case that the sweep is killed."""
        began = time.perf_counter()
        if began < max(self._next, self._created + REFRESH_SHARE * _ROW_SECONDS * len(points)):
            return
        self.write(points)
        ended = time.perf_counter()
        self._next = ended + max(REFRESH_SECONDS, REFRESH_SHARE * (ended - began))

    def write(self, points: TablePoints) -> StatusCounts:
        """Write all tables; each appears when it is complete. A point that is not done is a row that says
        so."""
        self._check_folder()
        counts = StatusCounts()

        def rows() -> Iterator[list[Any]]:
            for machine in machine_rows(self._study, points.entries(), len(points)):
                for row in machine:
                    is_network = row.point.model != WORKLOAD
                    if is_network:
                        counts.add(row.point, row.entry)
                    yield self._row(row, points.key(row.point) if is_network else "")

        if self._with_layers:
            write_csv(self._folder / LAYERS, _LAYER_COLUMNS, _layer_rows(points))
        head = [*columns(self._study.parts, self._more), *self._confirmed_columns]
        digest = write_csv(self.results, head, rows())
        self._write_about(digest, len(points), counts.statuses)
        return counts

    def _check_folder(self) -> None:
        """Refuse to replace the table of another study, or what is no such table."""
        if not self.results.exists():
            return
        about, is_search = read_about(self._folder), "search" in self._more_about
        is_own = is_of(about, self._study.name, self._blueprints, is_search)
        if not about:  # a sweep that was killed may have come no further
            is_own = read_csv(self.results)[0][:4] == columns()[:4]
        if not is_own:
            kind = "search" if is_search else "sweep"
            raise InputError(
                f"{self.results} is not of a {kind} of {self._study.name}; choose another folder"
            )

    def _row(self, row: MachineRow, key: str) -> list[Any]:
        point, entry = row.point, row.entry
        figures = entry.figures or [None] * len(FIGURES)
        more = [row.more.get(name) for name in self._more]
        confirmed = [self._confirmed.get(key, {}).get(name, "") for name in self._confirmed_columns]
        return [point.number, point.case, point.model, point.label, *self._values(point), entry.status,
                entry.reason, *figures, *more, __version__, key, *confirmed]  # fmt: skip

    def _values(self, point: Point) -> Iterable[Any]:
        if not self._study.parts:
            return point.values.values()
        return [point.values.get(name, "") for name in (*catalogue(), *self._study.parts)]

    def _write_about(self, digest: str, points: int, statuses: Mapping[str, int]) -> None:
        import numpy

        about = {
            "schema": SCHEMA,
            "study": self._study.name,
            "title": self._study.title,
            "command": self._command,
            "points": points,
            "statuses": statuses,
            "results_sha256": digest,
            **self._about_goals(),
            **self._more_about,
            "models": {
                model.label: {"content": self._blueprints[model.label].content, **model.as_dict()}
                for model in self._study.models
            },
            "versions": {"dlasim": __version__, "code": code_version(), "numpy": numpy.__version__},
        }
        atomic_write(self._folder / ABOUT, json.dumps(about, indent=2) + "\n")

    def _about_goals(self) -> dict[str, Any]:
        """The goals, which charts and pages read."""
        limits = [limit.text for limit in self._study.all_goals.limits]
        objectives = [objective.name for objective in self._study.goals.objectives]
        found = {"limits": limits, "minimize": objectives}
        return {name: texts for name, texts in found.items() if texts}


def _entries(points: TablePoints) -> Iterator[tuple[Point, Entry]]:
    for point, entry in points.entries():
        yield point, NOT_DONE if entry is None else entry


def _layer_rows(points: TablePoints) -> Iterator[list[Any]]:
    for point, entry in _entries(points):
        parameters = [point.values[name] for name in _LAYER_PARAMETERS]
        for layer in entry.layers or ():
            yield [point.number, point.case, point.model, point.label, *parameters, *layer]
