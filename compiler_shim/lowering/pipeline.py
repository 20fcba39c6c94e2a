"""The order in which tiles are loaded, computed and stored, so that the units overlap.

A tile computes; then the results of the tile before are stored; then the next tile is loaded. Each of these
waits only for what it depends on, so with two copies of a buffer the load of one tile and the store of
another run beside the computation. Where a load or a computation touches what a store that was put off
still reads or writes, the store comes first: the order of dependent accesses never changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from dlasim.compiler_shim.lowering.emitter import Emitter, Op, conflict
from dlasim.compiler_shim.lowering.tasks import Task


class Pipeline:
    """Feeds the tasks of one stream to the emitter."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._put_off: list[Op] = []

    def run(self, tasks: Iterable[Task]) -> None:
        """Emit all tasks."""
        todo = iter(tasks)
        task = next(todo, None)
        if task is not None:
            self._emit_all(task.loads)
        while task is not None:
            self._emit_all(task.computes)
            self._store()
            self._put_off = task.stores
            task = next(todo, None)
            if task is not None:
                self._emit_all(task.loads)
        self._store()

    def _emit_all(self, ops: list[Op]) -> None:
        emit = self._emitter.emit
        for op in ops:
            if self._put_off and (self._disturbs(op) or self._emitter.waits_for(op)):
                self._store()
            emit(op)

    def _disturbs(self, op: Op) -> bool:
        for store in self._put_off:
            for one in op.touches:
                for other in store.touches:
                    if one[0] == other[0] and conflict(one, other):
                        return True
        return False

    def _store(self) -> None:
        stores, self._put_off = self._put_off, []
        for op in stores:
            self._emitter.emit(op)
