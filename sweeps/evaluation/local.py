"""Evaluates points on this machine: in this process, or in worker processes that may crash without harm."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import RunError
from dlasim.sweeps.definition.models import Blueprint
from dlasim.sweeps.evaluation.evaluate import FAILED, Entry, Evaluator, plan_group
from dlasim.sweeps.evaluation.worker import READY
from dlasim.system.processes import interrupts_held, start_worker

CHUNK_POINTS = 8
_WINDOW_POINTS = 1024  # within which points that share plans are put together
CHUNKS_AHEAD = 2  # a worker has the next chunk before it needs it
MAX_DEATHS = 2  # of workers that had only this point
_MESSAGE_BYTES = 4096


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
    """The portions that workers receive: at least a few points, those that share plans together by SRAM."""
    todo = iter(tasks)
    while window := list(islice(todo, _WINDOW_POINTS)):
        groups: dict[Hashable, list[Task]] = {}
        for task in window:
            groups.setdefault(plan_group(task.model, task.values, task.layers), []).append(task)
        chunk: list[Task] = []
        for group in groups.values():
            group.sort(key=lambda task: task.values["sram_bytes"])  # each size is planned once
            for first in range(0, len(group), 2 * CHUNK_POINTS):
                chunk += group[first : first + 2 * CHUNK_POINTS]
                if len(chunk) >= CHUNK_POINTS:
                    yield chunk
                    chunk = []
        if chunk:
            yield chunk


def run_here(evaluator: Evaluator, tasks: Iterable[Task]) -> Iterator[list[Result]]:
    """One point after the other, in the order of chunks and without other processes."""
    for task in chain.from_iterable(chunks(tasks)):
        yield [(task, evaluator.evaluate(task.model, task.values, task.layers))]


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    link: Connection[Any, Any]
    messages: int  # the descriptor of the file with its standard error
    is_ready: bool = False
    chunks: deque[list[Task]] = field(default_factory=deque)

    def last_message(self) -> str:
        """The last line of its standard error, or else its exit code."""
        size = os.fstat(self.messages).st_size
        tail = os.pread(self.messages, _MESSAGE_BYTES, max(size - _MESSAGE_BYTES, 0))
        lines = tail.decode(errors="replace").strip().splitlines()
        lines = lines or [f"it ended with exit code {self.process.wait()}"]
        return " ".join(lines[-1].split())

    def close(self) -> None:
        """Kill it."""
        self.link.close()
        self.process.kill()
        self.process.wait()
        os.close(self.messages)


class Workers:
    """A fixed number of worker processes, which import their modules while the caller prepares the points."""

    def __init__(self, count: int) -> None:
        self._workers: list[_Worker] = []
        self._blueprints: Mapping[str, Blueprint] = {}
        self._again: deque[list[Task]] = deque()
        self._deaths: dict[int, int] = {}
        try:
            for _ in range(count):
                self._add()
        except BaseException:
            self.close()
            raise

    def run(self, blueprints: Mapping[str, Blueprint], tasks: Iterable[Task]) -> Iterator[list[Result]]:
        """Results as they come, a chunk at a time; at most a few chunks are under way."""
        is_new = self._blueprints is not blueprints
        self._blueprints = blueprints
        todo = chunks(tasks)
        for worker in self._workers if is_new else ():
            self._send_networks(worker)
        while True:
            for worker in self._workers:
                self._feed(worker, todo)
            busy = {worker.link: worker for worker in self._workers if worker.chunks}
            if not busy:
                return
            for link in wait(list(busy)):
                assert isinstance(link, Connection)
                yield from self._receive(busy[link])

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._workers)

    def close(self) -> None:
        """Kill the workers, even in the middle of a chunk."""
        for worker in self._workers:
            worker.close()
        self._workers = []

    def _add(self) -> _Worker:
        """Start one more. An interrupt waits until `close` knows of it."""
        with interrupts_held():
            worker = _start()
            self._workers.append(worker)
        return worker

    def _send_networks(self, worker: _Worker) -> None:
        with contextlib.suppress(OSError):
            worker.link.send(self._blueprints)

    def _feed(self, worker: _Worker, todo: Iterator[list[Task]]) -> None:
        while len(worker.chunks) < CHUNKS_AHEAD:
            chunk = self._again.popleft() if self._again else next(todo, None)
            if chunk is None:
                return
            worker.chunks.append(chunk)
            with contextlib.suppress(OSError):  # a dead worker is noticed when its link is read
                worker.link.send(chunk)

    def _receive(self, worker: _Worker) -> Iterator[list[Result]]:
        try:
            entries = worker.link.recv()
        except (EOFError, OSError):
            yield from self._replace(worker)
            return
        if entries == READY:
            worker.is_ready = True
            return
        chunk = worker.chunks.popleft()
        yield [(task, entry) for task, entry in zip(chunk, entries, strict=True)]

    def _replace(self, worker: _Worker) -> Iterator[list[Result]]:
        """Start another worker; the points of the dead one are sent again, one by one."""
        code, why = worker.process.wait(), worker.last_message()
        worker.close()
        self._workers.remove(worker)
        if not worker.is_ready:
            self._continue_without(worker, why)
            return
        for task in (task for chunk in worker.chunks for task in chunk):
            alone = len(worker.chunks[0]) == 1 and worker.chunks[0][0] is task
            self._deaths[task.number] = self._deaths.get(task.number, 0) + alone
            if self._deaths[task.number] < MAX_DEATHS:
                self._again.append([task])
            else:
                yield [
                    (
                        task,
                        Entry(FAILED, f"its worker process ended {MAX_DEATHS} times with exit code {code}"),
                    )
                ]
        self._send_networks(self._add())

    def _continue_without(self, worker: _Worker, why: str) -> None:
        """A worker that could not start is not replaced; the others get its points."""
        if not self._workers:
            raise RunError(f"cannot start any worker process: {why}")
        self._again.extend(worker.chunks)


def _start() -> _Worker:
    messages = os.memfd_create("messages")
    return _Worker(*start_worker("dlasim.sweeps.evaluation.worker", messages), messages)
