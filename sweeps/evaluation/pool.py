"""Evaluates points, as often as asked: in this process, in worker processes or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from dlasim.sweeps.definition.models import Blueprint
from dlasim.sweeps.evaluation.evaluate import Evaluator
from dlasim.sweeps.evaluation.local import Result, Task, Workers, run_here

FEW_POINTS = 24  # so few are done before a worker process has started


class Pool:
    """What evaluates the points of some networks. Sweeps, searches and an Explorer use it alike."""

    def __init__(self, jobs: int | None, scheduler: str | None, expected: int) -> None:
        """Start worker processes, which import their modules while the caller reads the models; none where
        so few points are expected that they would be too late."""
        count = _cores() if jobs is None else jobs
        self._scheduler = scheduler
        self._here: tuple[Mapping[str, Blueprint], Evaluator] | None = None  # remembers plans between calls
        few = expected <= FEW_POINTS and jobs is None
        alone = scheduler is not None or count == 1 or few
        self._workers = None if alone else Workers(min(count, expected))

    def run(self, blueprints: Mapping[str, Blueprint], tasks: Iterable[Task]) -> Iterator[list[Result]]:
        """Results as they come, some at a time."""
        if self._scheduler is not None:
            from dlasim.sweeps.evaluation.cluster import Cluster

            return Cluster(self._scheduler).run(blueprints, tasks)
        if self._workers is not None:
            return self._workers.run(blueprints, tasks)
        if self._here is None or self._here[0] is not blueprints:
            self._here = blueprints, Evaluator(blueprints)
        return run_here(self._here[1], tasks)

    def close(self) -> None:
        """Kill the worker processes, even in the middle of a point."""
        if self._workers is not None:
            self._workers.close()


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
