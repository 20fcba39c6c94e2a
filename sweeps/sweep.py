"""Runs a study: takes finished points from the cache, evaluates the others, and writes the tables."""

from __future__ import annotations

import json
import os
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dlasim import __version__
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.fileio import atomic_write, keep_apart
from dlasim.sweeps.csv_table import write_csv
from dlasim.sweeps.evaluate import (
    FAILED,
    FIGURES,
    LAYER_COLUMNS,
    OK,
    REFUSED,
    Entry,
    code_version,
    content_key,
)
from dlasim.sweeps.journal import MISSING, Journal
from dlasim.sweeps.local import Result, Task, Workers, run_here
from dlasim.sweeps.models import Blueprint, blueprint
from dlasim.sweeps.parameters import catalogue, with_absolute_files
from dlasim.sweeps.progress import Progress
from dlasim.sweeps.result_files import ABOUT, LAYERS, RESULTS
from dlasim.sweeps.study import Point, Study
from dlasim.sweeps.study_outputs import output_names
from dlasim.sweeps.sweep_result import SweepResult

SCHEMA = "dlasim.sweep/1"
FEW_POINTS = 24  # so few are done before a worker process has started
_BATCH = 1024
_MAX_KEPT = 4096  # points; where there are more, each is made again whenever it is needed


@dataclass(slots=True)
class Settings:
    """How to run a study."""

    out: Path
    jobs: int | None = None
    scheduler: str | None = None
    resume: bool = True
    cache: Path | None = None
    layers: bool = False
    visible: bool | None = None  # the progress bar; None: if stderr is a terminal
    command: str = ""  # the command line that repeats it, if there is one


@dataclass(slots=True)
class Outcome:
    """The result of running a study: its table, and what happened."""

    result: SweepResult
    points: int = 0
    reused: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    first_failure: str = ""
    first_refusal: str = ""
    seconds: float = 0.0


def run_study(study: Study, settings: Settings) -> Outcome:
    """Run a study and write its tables; `results.csv` is complete when it appears."""
    study.check()
    return _Sweep(study, settings).run()


def columns(parts: Sequence[str] = ()) -> list[str]:
    """The columns of results.csv; `parts` of tables follow the other parameters."""
    return [
        "point",
        "case",
        "model",
        "label",
        *catalogue(),
        *parts,
        "status",
        "reason",
        *FIGURES,
        "version",
        "key",
    ]


class _Sweep:
    def __init__(self, study: Study, settings: Settings) -> None:
        self._study, self._settings = study, settings
        self._layers = study.layers or settings.layers
        self._began = time.perf_counter()
        self._locations = array("q")  # the location of each point's entry in the journal
        self._blueprints: dict[str, Blueprint] = {}
        self._kept: list[Point] | None = None  # all points, unless there are too many
        self._keys: dict[int, str] = {}  # of points that are kept

    def run(self) -> Outcome:
        settings = self._settings
        self._keep_apart()
        _make_folder(settings.out)
        workers = self._early_workers()
        try:
            self._blueprints = self._read_models()
            with Journal(settings.cache or settings.out / "cache") as self._journal:
                missing = self._look_up()
                self._evaluate(missing, workers)
                return self._write(len(self._locations) - missing)
        finally:
            if workers is not None:
                workers.close()

    def _keep_apart(self) -> None:
        names = [RESULTS, ABOUT, *([LAYERS] if self._layers else []), *output_names(self._study)]
        keep_apart(self._study.files(), [self._settings.out / name for name in names])

    def _read_models(self) -> dict[str, Blueprint]:
        whole = self._study.runs_on_board
        return {model.label: blueprint(model, whole) for model in self._study.models}

    def _early_workers(self) -> Workers | None:
        """Start worker processes, which import their modules while the models are read here."""
        jobs = self._settings.jobs if self._settings.jobs is not None else _cores()
        if jobs < 1:
            raise InputError(f"jobs must be at least 1 (got {jobs})")
        if self._settings.scheduler is not None or jobs == 1:
            return None
        some = sum(1 for _ in islice(self._study.points(), FEW_POINTS + 1))
        few = some <= FEW_POINTS and self._settings.jobs is None
        return None if few else Workers(min(jobs, some))

    def _look_up(self) -> int:
        """Find every point's entry in the journal; returns how many have none yet."""
        if self._settings.resume:
            self._journal.refresh()
        points = self._study.points()
        first = list(islice(points, _MAX_KEPT + 1))
        if len(first) <= _MAX_KEPT:
            self._kept = first
        points = chain(first, points)
        while batch := list(islice(points, _BATCH)):
            keys = [self._key(point) for point in batch]
            self._locations.extend(self._journal.find(keys, self._layers))
        if not self._locations:
            raise InputError(f"study {self._study.name} has no points: its conditions exclude all")
        return self._locations.count(MISSING)

    def _points(self) -> Iterable[Point]:
        return self._study.points() if self._kept is None else self._kept

    def _key(self, point: Point) -> str:
        if point.number in self._keys:
            return self._keys[point.number]
        key = content_key(self._blueprints[point.model].content, point.values)
        if self._kept is not None:
            self._keys[point.number] = key
        return key

    def _evaluate(self, missing: int, workers: Workers | None) -> None:
        if not missing:
            return
        with Progress(
            len(self._locations), len(self._locations) - missing, self._settings.visible
        ) as progress:
            self._refuse(progress)
            for results in self._run(workers):
                self._keep(results, progress)

    def _run(self, workers: Workers | None) -> Iterator[list[Result]]:
        """The missing points, on a cluster, in worker processes or here."""
        if self._settings.scheduler is not None:
            from dlasim.sweeps.cluster import Cluster

            return Cluster(self._settings.scheduler).run(self._blueprints, self._tasks())
        run = run_here if workers is None else workers.run
        return run(self._blueprints, self._tasks())

    def _missing(self) -> Iterator[Point]:
        for point, location in zip(self._points(), self._locations, strict=True):
            if location == MISSING:
                yield point

    def _refuse(self, progress: Progress) -> None:
        """Write entries for points whose parameters contradict each other."""
        refused = (point for point in self._missing() if point.refusal)
        while batch := list(islice(refused, _BATCH)):
            items = [(self._key(point), Entry(REFUSED, point.refusal)) for point in batch]
            for point, location in zip(batch, self._journal.append(items), strict=True):
                self._locations[point.number] = location
                progress.skip()

    def _tasks(self) -> Iterator[Task]:
        for point in self._missing():
            values = with_absolute_files(point.values)
            yield Task(point.number, point.model, values, self._layers, self._key(point), point.label)

    def _keep(self, results: list[Result], progress: Progress) -> None:
        places = self._journal.append((task.key, entry) for task, entry in results)
        for (task, entry), location in zip(results, places, strict=True):
            self._locations[task.number] = location
            cycles = entry.figures[0] if entry.status == OK else None
            progress.add(cycles, f"{task.model} {task.label}")

    def _write(self, reused: int) -> Outcome:
        counts = dict.fromkeys((OK, REFUSED, FAILED), 0)
        first_failure = first_refusal = ""
        path = self._settings.out / RESULTS

        def rows() -> Iterator[list[Any]]:
            nonlocal first_failure, first_refusal
            for point, entry in self._entries():
                counts[entry.status] += 1
                reason = f"{point.model} {point.label}: {entry.reason}"
                if entry.status == FAILED:
                    first_failure = first_failure or reason
                if entry.status == REFUSED:
                    first_refusal = first_refusal or reason
                yield self._row(point, entry)

        if self._layers:
            write_csv(path.with_name(LAYERS), _LAYER_COLUMNS, self._layer_rows())
        digest = write_csv(path, columns(self._study.parts), rows())
        self._write_about(digest, counts)
        seconds = time.perf_counter() - self._began
        return Outcome(
            SweepResult(path),
            len(self._locations),
            reused,
            counts,
            first_failure,
            first_refusal,
            seconds,
        )

    def _entries(self) -> Iterator[tuple[Point, Entry]]:
        for point, location in zip(self._points(), self._locations, strict=True):
            yield point, self._journal.read(location)

    def _row(self, point: Point, entry: Entry) -> list[Any]:
        figures = entry.figures or [None] * len(FIGURES)
        return [point.number, point.case, point.model, point.label, *self._values(point), entry.status,
                entry.reason, *figures, __version__, self._key(point)]  # fmt: skip

    def _values(self, point: Point) -> Iterable[Any]:
        if not self._study.parts:
            return point.values.values()
        return [point.values.get(name, "") for name in (*catalogue(), *self._study.parts)]

    def _layer_rows(self) -> Iterator[list[Any]]:
        for point, entry in self._entries():
            values = point.values
            parameters = [values[name] for name in _LAYER_PARAMETERS]
            for layer in entry.layers or ():
                yield [point.number, point.case, point.model, point.label, *parameters, *layer]

    def _write_about(self, digest: str, counts: Mapping[str, int]) -> None:
        import numpy

        about = {
            "schema": SCHEMA,
            "study": self._study.name,
            "title": self._study.title,
            "command": self._settings.command,
            "points": len(self._locations),
            "statuses": counts,
            "results_sha256": digest,
            "models": {
                model.label: {"content": self._blueprints[model.label].content, **model.as_dict()}
                for model in self._study.models
            },
            "versions": {"dlasim": __version__, "code": code_version(), "numpy": numpy.__version__},
        }
        atomic_write(self._settings.out / ABOUT, json.dumps(about, indent=2) + "\n")


_LAYER_PARAMETERS = ("pes", "parallel", "sram_bytes", "dma_bandwidth", "dma_shared_bandwidth", "vector_lanes",
                     "clock_mhz", "fusion", "depthwise", "tiling")  # fmt: skip
_LAYER_COLUMNS = ["point", "case", "model", "label", *_LAYER_PARAMETERS, *LAYER_COLUMNS]


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the folder {path}: {error.strerror}") from None


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
