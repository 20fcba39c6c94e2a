"""Points on this machine: in this process, or in worker processes that may die without harm."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

from dlasim.sweeps.evaluate import FAILED, Entry, Evaluator, kin
from dlasim.sweeps.models import Blueprint

CHUNK_POINTS = 8
_WINDOW_POINTS = 1024  # among which those that are kin are brought together
CHUNKS_AHEAD = 2  # a worker has the next chunk before it needs it
MAX_DEATHS = 2  # of the workers that a point was with alone


@dataclass(frozen=True, slots=True)
class Task:
    """A point to be evaluated: its row's number, network, parameters, content key and label."""

    number: int
    model: str
    values: Mapping[str, Any]
    layers: bool
    key: str
    label: str


Result = tuple[Task, Entry]


def chunks(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    """What a worker gets at a time: tasks that are kin together, and some points at least."""
    todo = iter(tasks)
    while window := list(islice(todo, _WINDOW_POINTS)):
        families: dict[Hashable, list[Task]] = {}
        for task in window:
            families.setdefault(kin(task.model, task.values, task.layers), []).append(task)
        chunk: list[Task] = []
        for family in families.values():
            for first in range(0, len(family), 2 * CHUNK_POINTS):
                chunk += family[first : first + 2 * CHUNK_POINTS]
                if len(chunk) >= CHUNK_POINTS:
                    yield chunk
                    chunk = []
        if chunk:
            yield chunk


def run_here(blueprints: Mapping[str, Blueprint], tasks: Iterable[Task]) -> Iterator[list[Result]]:
    """One point after the other, without other processes."""
    evaluator = Evaluator(blueprints)
    for task in tasks:
        yield [(task, evaluator.evaluate(task.model, task.values, task.layers))]


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    link: Connection[Any, Any]
    chunks: deque[list[Task]] = field(default_factory=deque)


class Workers:
    """A fixed number of worker processes; they start to load while the caller still prepares."""

    def __init__(self, count: int) -> None:
        self._workers = [_start() for _ in range(count)]
        self._blueprints: Mapping[str, Blueprint] = {}
        self._again: deque[list[Task]] = deque()
        self._deaths: dict[int, int] = {}

    def run(self, blueprints: Mapping[str, Blueprint], tasks: Iterable[Task]) -> Iterator[list[Result]]:
        """Results as they come, a chunk at a time; at most a few chunks are under way."""
        self._blueprints = blueprints
        todo = chunks(tasks)
        for worker in self._workers:
            self._introduce(worker)
        while True:
            for worker in self._workers:
                self._feed(worker, todo)
            busy = {worker.link: worker for worker in self._workers if worker.chunks}
            if not busy:
                return
            for link in wait(list(busy)):
                assert isinstance(link, Connection)
                yield from self._receive(busy[link])

    def close(self) -> None:
        """Let go of the workers; one that is in the middle of a chunk is not waited for."""
        for worker in self._workers:
            worker.link.close()
            worker.process.kill()
            worker.process.wait()
        self._workers = []

    def _introduce(self, worker: _Worker) -> None:
        with contextlib.suppress(OSError):
            worker.link.send(self._blueprints)

    def _feed(self, worker: _Worker, todo: Iterator[list[Task]]) -> None:
        while len(worker.chunks) < CHUNKS_AHEAD:
            chunk = self._again.popleft() if self._again else next(todo, None)
            if chunk is None:
                return
            worker.chunks.append(chunk)
            with contextlib.suppress(OSError):  # a worker that died is found when it is listened to
                worker.link.send(chunk)

    def _receive(self, worker: _Worker) -> Iterator[list[Result]]:
        try:
            entries = worker.link.recv()
        except (EOFError, OSError):
            yield from self._replace(worker)
            return
        chunk = worker.chunks.popleft()
        yield [(task, entry) for task, entry in zip(chunk, entries, strict=True)]

    def _replace(self, worker: _Worker) -> Iterator[list[Result]]:
        """Start a new worker; what the dead one had goes out again, point by point."""
        worker.link.close()
        code = worker.process.wait()
        for task in (task for chunk in worker.chunks for task in chunk):
            alone = len(worker.chunks[0]) == 1 and worker.chunks[0][0] is task
            self._deaths[task.number] = self._deaths.get(task.number, 0) + alone
            if self._deaths[task.number] < MAX_DEATHS:
                self._again.append([task])
            else:
                yield [(task, Entry(FAILED, f"its worker process ended {MAX_DEATHS} times ({code})"))]
        fresh = _start()
        worker.process, worker.link = fresh.process, fresh.link
        worker.chunks.clear()
        self._introduce(worker)


def _start() -> _Worker:
    ours, theirs = socket.socketpair()
    number = theirs.fileno()
    # Points are too small for threads inside numpy's libraries, whose start-up costs more than they save.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "dlasim.sweeps.worker", str(number)],
        pass_fds=(number,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=environment,
        process_group=0,  # Ctrl-C is for the sweep, which then lets go of its workers
    )
    theirs.close()
    return _Worker(process, Connection(ours.detach()))
