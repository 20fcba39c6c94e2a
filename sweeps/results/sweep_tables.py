"""Writes the tables of a sweep: all points when it is done, those that are done if it ends before; and the
rows of each machine: those of its networks and, in a workload, that of all of them.

What `dlasim confirm` found of the points is a table of its own, whose cells results.csv has, too. Its rows
have the content keys of points, so nothing is taken over from another version, network or machine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from dlasim import __version__
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sweeps.definition.axes import catalogue
from dlasim.sweeps.definition.goals import DEMAND_COLUMNS, Goals
from dlasim.sweeps.definition.models import Blueprint
from dlasim.sweeps.definition.study import WORKLOAD, Point, Study
from dlasim.sweeps.definition.workload import all_demands, demands, together
from dlasim.sweeps.evaluation.evaluate import FAILED, FIGURES, LAYER_COLUMNS, OK, REFUSED, Entry, code_version
from dlasim.sweeps.results.csv_table import read_csv, write_csv
from dlasim.sweeps.results.result_files import ABOUT, CONFIRMED, LAYERS, PENDING, RESULTS
from dlasim.system.fileio import atomic_write, read_file

SCHEMA = "dlasim.sweep/1"
# A sweep that is killed leaves a table that is so old, or older if writing it takes a fiftieth of the time.
REFRESH_SECONDS = 20.0
REFRESH_SHARE = 50
_ROW_SECONDS = 5e-4  # to write a row: what the first table will take
_LAYER_PARAMETERS = ("pes", "parallel", "sram_bytes", "dma_bandwidth", "dma_shared_bandwidth", "vector_lanes",
                     "clock_mhz", "fusion", "depthwise", "tiling")  # fmt: skip
_LAYER_COLUMNS = ["point", "case", "model", "label", *_LAYER_PARAMETERS, *LAYER_COLUMNS]
NOT_DONE = Entry(PENDING, "not done yet")
COLUMNS = ("verified", "rtl", "rtl_cycles_dla", "rtl_ratio")
Found = Mapping[str, str]


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


@dataclass(slots=True)
class MachineRow:
    """A row of the table: its point, its entry, and what else is known of it by column."""

    point: Point
    entry: Entry
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Any]:
        """Parameters and figures by column."""
        figures = dict(zip(FIGURES, self.entry.figures, strict=True))
        return {"model": self.point.model, **self.point.values, **figures, **self.more}


def machine_rows(
    study: Study, points: Iterable[tuple[Point, Entry | None]], first: int
) -> Iterator[list[MachineRow]]:
    """The rows of each machine; the last is the one that the goals are about. Rows of workloads have numbers
    from `first` on."""
    goals = study.all_goals
    if not study.is_workload:
        for point, entry in points:
            yield _judged([_row(study, point, entry)], goals)
        return
    for number, (_, group) in enumerate(groupby(points, key=lambda pair: pair[0].machine), first):
        rows = [_row(study, point, entry) for point, entry in group]
        yield _judged([*rows, _workload_row(study, rows, number)], goals)


def _row(study: Study, point: Point, entry: Entry | None) -> MachineRow:
    """The row of a network."""
    row = MachineRow(point, entry or NOT_DONE)
    model = next(model for model in study.models if model.label == point.model)
    if study.is_workload:
        row.more["machine"] = point.machine
    if model.rate:
        row.more |= {"rate": model.rate, **demands(model, row.entry)}
    return row


def _workload_row(study: Study, rows: list[MachineRow], number: int) -> MachineRow:
    """The row of all networks of a machine."""
    entries = {row.point.model: row.entry for row in rows}
    found = [entries.get(model.label) for model in study.models]
    point = replace(rows[0].point, number=number, model=WORKLOAD)
    entry = together(study.models, found, point.values["pes"])
    return MachineRow(point, entry, {"machine": point.machine, **all_demands(study.models, found)})


def _judged(rows: list[MachineRow], goals: Goals) -> list[MachineRow]:
    """The rows of a machine, each with the limits that the machine does not keep to."""
    machine = rows[-1]
    if goals.limits and machine.entry.status == OK:
        networks: Mapping[str, Any] = {row.point.model: row.values for row in rows}
        broken = "; ".join(limit.text for limit in goals.broken(machine.values, networks))
        for row in rows:
            row.more["outside"] = broken
    return rows


def read_confirmed(folder: Path) -> dict[str, Found]:
    """By content key, what is known of points."""
    path = folder / CONFIRMED
    if not path.exists():
        return {}
    head, lines = read_csv(path)
    if head != ["key", *COLUMNS]:
        raise InputError(f"{path} is not a table of dlasim confirm: it has the columns {', '.join(head)}")
    return {key: dict(zip(COLUMNS, cells, strict=True)) for key, *cells in lines}


def add_confirmed(folder: Path, found: Mapping[str, Found]) -> None:
    """Write what was found, with what was known before, to both tables."""
    known = read_confirmed(folder)
    for key, cells in found.items():
        known[key] = {**known.get(key, {}), **{name: text for name, text in cells.items() if text}}
    write_csv(folder / CONFIRMED, ["key", *COLUMNS], _cells_of(known))
    head, lines = read_csv(folder / RESULTS)
    kept = [number for number, name in enumerate(head) if name not in COLUMNS]
    place = head.index("key")
    rows = [
        [*(line[number] for number in kept), *(known.get(line[place], {}).get(name, "") for name in COLUMNS)]
        for line in lines
    ]
    digest = write_csv(folder / RESULTS, [*(head[number] for number in kept), *COLUMNS], rows)
    _note(folder / ABOUT, digest)


def _cells_of(known: Mapping[str, Found]) -> Iterable[list[str]]:
    return ([key, *(cells.get(name, "") for name in COLUMNS)] for key, cells in known.items())


def _note(path: Path, digest: str) -> None:
    """The hash of the new results.csv."""
    about = json.loads(read_file(path))
    about["results_sha256"] = digest
    atomic_write(path, json.dumps(about, indent=2) + "\n")
