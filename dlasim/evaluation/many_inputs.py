"""Evaluates a network over many inputs: on all cores, into a table from which an interrupted run goes on."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlasim.arguments import check
from dlasim.errors import DlasimError, InputError, RunError
from dlasim.evaluation.outcome import COLUMNS, Evaluation, Row, row_of
from dlasim.evaluation.predictor import EvaluationTask, Found, Predictor
from dlasim.evaluation.samples import Labels, Sample, collect
from dlasim.media import AUTO
from dlasim.sweeps.results.csv_table import read_csv, write_csv
from dlasim.system.fileio import keep_apart, read_file
from dlasim.system.processes import interrupts_held, start_worker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dlasim.inputs import Inputs
    from dlasim.isa.program import Program

PORTION = 8  # samples that a worker receives at a time
SAVE_SECONDS = 20.0  # between two tables of an unfinished evaluation
Metric = Callable[[list["NDArray[Any]"], int | None], float]


def evaluate(
    program: Program,
    model: str,
    inputs: str | Path | Sequence[Inputs],
    labels: Labels | None = None,
    *,
    float_model: str | Path | None = None,
    metric: Metric | None = None,
    label_offset: int = 0,
    normalize: str = AUTO,
    engine: str = "auto",
    jobs: int | None = None,
    out: str | Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """The classes that a program chooses; `dlasim.evaluate` says what the arguments are."""
    from dlasim.isa import container

    began = time.perf_counter()
    given = (model, float_model, inputs, labels)
    keep_apart([each for each in given if isinstance(each, str | Path)], [out])
    shape = program.outputs[0].shape
    if metric is None and sum(size > 1 for size in shape) > 1:
        raise InputError(
            f"{model} has no scores of classes: its first output has shape {list(shape)}; `metric` of "
            "dlasim.evaluate in Python judges any output"
        )
    samples = collect(inputs, labels, label_offset)
    other = None if float_model is None else os.path.abspath(float_model)
    task = EvaluationTask(container.write(program), normalize, other, engine, metric is not None)
    classes = math.prod(shape)
    result = Evaluation(model, classes=classes, float_model=None if float_model is None else str(float_model))
    settings = _digest(task)
    known = {} if metric is not None or out is None else _read(Path(out))
    digests = [sample.digest(settings) for sample in samples]
    rows = [known.get(digest) for digest in digests]
    todo = [number for number, row in enumerate(rows) if row is None]
    scores: list[float] = [0.0] * len(samples)
    jobs = max(1, min(jobs or os.cpu_count() or 1, -(-len(todo) // PORTION)))
    saved = time.monotonic()
    try:
        for number, found in _found(task, samples, todo, jobs):
            sample = samples[number]
            rows[number] = Row(sample.name, sample.label, found.fixed, found.real, digests[number])
            result.evaluated += 1
            if metric is not None:
                scores[number] = _number(metric(found.outputs or [], sample.label))
            if on_progress is not None:
                on_progress(len(samples) - len(todo) + result.evaluated, len(samples))
            if out is not None and time.monotonic() - saved > SAVE_SECONDS:
                _write(Path(out), rows)
                saved = time.monotonic()
    except BaseException as error:
        if out is not None and result.evaluated:
            _write(Path(out), rows)
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(_said(rows, out)) from None
        raise
    if out is not None:
        _write(Path(out), rows)
    result.rows = [row for row in rows if row is not None]
    result.scores = scores if metric is not None else []
    result.seconds = time.perf_counter() - began
    return result


def _said(rows: Sequence[Row | None], out: str | Path | None) -> str:
    done = f"{sum(row is not None for row in rows):,} of {len(rows):,} inputs done"
    return done if out is None else f"{done}, see {out}; the same command goes on"


def _digest(task: EvaluationTask) -> bytes:
    """Of all that decides the predictions, but for the samples."""
    real = b"" if task.float_model is None else read_file(task.float_model)
    hashed = hashlib.sha256(task.program)
    for part in (task.normalize.encode(), real):
        hashed.update(hashlib.sha256(part).digest())
    return hashed.digest()


def _read(path: Path) -> dict[str, Row]:
    """The rows of an earlier table by their digest."""
    if not path.exists():
        return {}
    head, rows = read_csv(path)
    if tuple(head) != COLUMNS:
        raise InputError(f"{path} exists and is no table of an evaluation; choose another name")
    found = {}
    for cells in rows:
        with contextlib.suppress(ValueError):  # a row that somebody has edited is evaluated again
            row = row_of(cells)
            found[row.digest] = row
    return found


def _write(path: Path, rows: Sequence[Row | None]) -> None:
    write_csv(path, COLUMNS, (row.cells() for row in rows if row is not None))


def _number(score: Any) -> float:
    check("the result of metric", score, float)
    return float(score)


def _found(
    task: EvaluationTask, samples: Sequence[Sample], todo: Sequence[int], jobs: int
) -> Iterator[tuple[int, Found]]:
    """Predictions as they come, with the numbers of their samples."""
    if jobs == 1:
        predictor = Predictor(task) if todo else None
        for number in todo:
            assert predictor is not None
            yield number, predictor.find(samples[number])
        return
    portions = iter([todo[first : first + PORTION] for first in range(0, len(todo), PORTION)])
    workers: list[_PredictingProcess] = []
    try:
        for _ in range(jobs):
            with interrupts_held():
                workers.append(_PredictingProcess(task))
        for worker in workers:
            worker.send(next(portions, None), samples)
        while busy := {worker.link: worker for worker in workers if worker.numbers}:
            for link in wait(list(busy)):
                assert isinstance(link, Connection)
                worker = busy[link]
                numbers, found = worker.receive()
                worker.send(next(portions, None), samples)
                yield from zip(numbers, found, strict=True)
    finally:
        for worker in workers:
            worker.close()


class _PredictingProcess:
    """A process that predicts a portion of the samples at a time."""

    def __init__(self, task: EvaluationTask) -> None:
        self._process, self.link = start_worker("dlasim.evaluation.predicting_process")
        self.numbers: Sequence[int] = ()
        with contextlib.suppress(OSError):  # a dead worker is noticed when its link is read
            self.link.send(task)

    def send(self, numbers: Sequence[int] | None, samples: Sequence[Sample]) -> None:
        """Give it a portion; None if nothing is left."""
        self.numbers = numbers or ()
        if numbers:
            with contextlib.suppress(OSError):
                self.link.send([samples[number] for number in numbers])

    def receive(self) -> tuple[Sequence[int], list[Found]]:
        """The numbers of its portion, and what it found."""
        try:
            answer = self.link.recv()
        except (EOFError, OSError):
            raise RunError(f"a worker process ended with exit code {self._process.wait()}") from None
        if isinstance(answer, DlasimError):
            raise answer
        return self.numbers, answer

    def close(self) -> None:
        """Kill it."""
        self.link.close()
        self._process.kill()
        self._process.wait()
