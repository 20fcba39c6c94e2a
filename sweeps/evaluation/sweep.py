"""Runs a study: takes finished points from the cache, evaluates the others, and writes the tables."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from itertools import chain, islice
from pathlib import Path

from dlasim.dataclass import dataclass
from dlasim.errors import DlasimError, InputError, counted, is_interrupt
from dlasim.sweeps.definition.axes import with_absolute_files
from dlasim.sweeps.definition.models import Blueprint, read_blueprints
from dlasim.sweeps.definition.study import Point, Study
from dlasim.sweeps.evaluation.evaluate import FAILED, OK, REFUSED, Entry, content_key
from dlasim.sweeps.evaluation.local import Result, Task
from dlasim.sweeps.evaluation.pool import FEW_POINTS, Pool
from dlasim.sweeps.evaluation.progress import Progress
from dlasim.sweeps.results.journal import MISSING, Journal
from dlasim.sweeps.results.result_files import ABOUT, LAYERS, RESULTS
from dlasim.sweeps.results.study_outputs import output_names
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.sweeps.results.sweep_tables import SweepTables
from dlasim.system.fileio import keep_apart

_ENOUGH = FEW_POINTS + 1  # points: whether there are more makes no difference to the pool
BATCH = 1024
MAX_KEPT = 4096  # points; where there are more, each is made again whenever it is needed


@dataclass(slots=True)
class Settings:
    """How to run a study."""

    out: Path
    jobs: int | None = None
    scheduler: str | None = None
    resume: bool = True
    cache: Path | None = None
    layers: bool = False
    visible: bool = True  # whether progress is shown
    command: str = ""  # the command line that repeats it, if there is one
    is_temporary: bool = False  # whether the folder is deleted soon


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
    discarded: int = 0  # machines that a search has not planned, because they cannot be among the best


def run_study(study: Study, settings: Settings) -> Outcome:
    """Run a study and write its tables; `results.csv` is complete when it appears."""
    study.check()
    return _Sweep(study, settings).run()


class _Sweep:
    def __init__(self, study: Study, settings: Settings) -> None:
        self._study, self._settings = study, settings
        self._layers = study.layers or settings.layers
        self._began = time.perf_counter()
        self._blueprints: dict[str, Blueprint] = {}

    def run(self) -> Outcome:
        settings = self._settings
        self._keep_apart()
        make_folder(settings.out)
        expected = sum(1 for _ in islice(self._study.points(), _ENOUGH))
        pool = Pool(settings.jobs, settings.scheduler, expected)
        try:
            self._blueprints = self._read_models()
            self._tables = SweepTables(
                self._study, settings.out, settings.command, self._layers, self._blueprints
            )
            with Journal(settings.cache or settings.out / "cache") as journal:
                return self._complete(journal, pool)
        finally:
            pool.close()

    def _complete(self, journal: Journal, pool: Pool) -> Outcome:
        if self._settings.resume:
            journal.refresh()
        self._points = SweepPoints(self._study, self._blueprints, journal)
        self._points.look_up(self._layers)
        reused = self._points.done
        try:
            self._evaluate(pool)
        except DlasimError as error:
            if self._points.done == reused:
                raise
            raise type(error)(f"{error}; {self._keep_what_is_done()}") from None
        except (KeyboardInterrupt, RuntimeError) as error:
            if not is_interrupt(error):
                raise
            pool.close()  # first, because its workers use the processors
            if len(self._points) > MAX_KEPT and self._settings.visible:
                sys.stderr.write("writing the table of what is done; Ctrl-C again leaves without it\n")
            raise KeyboardInterrupt(self._keep_what_is_done()) from None
        return self._outcome(reused)

    def _keep_apart(self) -> None:
        names = [RESULTS, ABOUT, *([LAYERS] if self._layers else []), *output_names(self._study)]
        keep_apart(self._study.files(), [self._settings.out / name for name in names])

    def _read_models(self) -> dict[str, Blueprint]:
        return read_blueprints(self._study.models, self._study.numerics, self._study.runs_on_board)

    def _evaluate(self, pool: Pool) -> None:
        total, done = len(self._points), self._points.done
        if done == total:
            return
        with Progress(total, done, self._settings.visible) as progress:
            for results in pool.run(self._blueprints, self._tasks(progress)):
                self._keep(results, progress)
                self._tables.refresh(self._points)

    def _tasks(self, progress: Progress) -> Iterator[Task]:
        """What is to be evaluated; points whose parameters contradict each other are refused on the way."""
        for point in self._points.missing():
            key = self._points.key(point)
            if point.refusal:
                self._points.store([(point.number, key, Entry(REFUSED, point.refusal))])
                progress.skip()
                continue
            values = with_absolute_files(point.values)
            yield Task(point.number, point.model, values, self._layers, key, point.label)

    def _keep(self, results: list[Result], progress: Progress) -> None:
        self._points.store((task.number, task.key, entry) for task, entry in results)
        for task, entry in results:
            cycles = entry.figures[0] if entry.status == OK else None
            progress.add(cycles, f"{task.model} {task.label}")

    def _keep_what_is_done(self) -> str:
        """Write the table of an unfinished sweep, and say what it has and how to go on."""
        settings, done = self._settings, self._points.done
        text = f"{done:,} of {counted(len(self._points), 'point')} done"
        if settings.is_temporary:
            return f"{text}; with out=FOLDER the next call would go on from there"
        with suppress(DlasimError):  # such as a full disk; the cache has what was done before
            if done:
                self._tables.write(self._points)
                text += f", see {self._tables.results}"
        again = "the same command" if settings.command else "the same call"
        if not settings.resume:
            again += " without --no-resume" if settings.command else " with resume=True"
        return f"{text}; {again} goes on"

    def _outcome(self, reused: int) -> Outcome:
        counts = self._tables.write(self._points)
        return Outcome(
            SweepResult(self._tables.results),
            len(self._points),
            reused,
            counts.statuses,
            counts.first.get(FAILED, ""),
            counts.first.get(REFUSED, ""),
            time.perf_counter() - self._began,
        )


def make_folder(path: Path) -> None:
    """Make the folder of the tables, if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the folder {path}: {error.strerror}") from None


class SweepPoints:
    """The points of a study in order, and what the journal knows of them."""

    def __init__(self, study: Study, blueprints: Mapping[str, Blueprint], journal: Journal) -> None:
        self._study, self._blueprints, self._journal = study, blueprints, journal
        self._locations = array("q")  # of each point's entry in the journal
        self._kept: list[Point] | None = None  # all points, unless there are too many
        self._keys: dict[int, str] = {}  # of points that are kept

    def look_up(self, with_layers: bool) -> None:
        """Find every point's entry in the journal."""
        points = self._study.points()
        first = list(islice(points, MAX_KEPT + 1))
        if len(first) <= MAX_KEPT:
            self._kept = first
        points = chain(first, points)
        while batch := list(islice(points, BATCH)):
            self._locations.extend(self._journal.find([self.key(point) for point in batch], with_layers))
        if not self._locations:
            raise InputError(f"study {self._study.name} has no points: its conditions exclude all")

    def __iter__(self) -> Iterator[Point]:
        return iter(self._study.points() if self._kept is None else self._kept)

    def __len__(self) -> int:
        return len(self._locations)

    @property
    def done(self) -> int:
        """How many have an entry."""
        return len(self._locations) - self._locations.count(MISSING)

    def key(self, point: Point) -> str:
        """The content key of a point."""
        if point.number in self._keys:
            return self._keys[point.number]
        key = content_key(self._blueprints[point.model].content, point.values)
        if self._kept is not None:
            self._keys[point.number] = key
        return key

    def missing(self) -> Iterator[Point]:
        """The points without an entry."""
        for point, location in zip(self, self._locations, strict=True):
            if location == MISSING:
                yield point

    def store(self, items: Iterable[tuple[int, str, Entry]]) -> None:
        """Write the entries of points, given by number and key, into the journal."""
        known = list(items)
        places = self._journal.append((key, entry) for _, key, entry in known)
        for (number, _, _), place in zip(known, places, strict=True):
            self._locations[number] = place

    def entries(self) -> Iterator[tuple[Point, Entry | None]]:
        """Every point with its entry; None if it has none yet."""
        for point, location in zip(self, self._locations, strict=True):
            yield point, None if location == MISSING else self._journal.read(location)
