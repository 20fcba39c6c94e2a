"""Routines both ways: as plain Python, and as machine code whose calls are counted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from dlasim.native.routine import Routine


@contextmanager
def in_python(*routines: Routine) -> Iterator[None]:
    """Inside, these routines run as plain Python."""
    with _running({each: each.function for each in routines}):
        yield


@contextmanager
def counted(*routines: Routine) -> Iterator[list[str]]:
    """Inside, these run as machine code; the list gets the name of each that is called."""
    calls: list[str] = []

    def counting(routine: Routine) -> Callable[..., int]:
        assert routine.is_compiled, "no machine code"
        run = routine._run
        assert run is not None

        def call(*arguments: object) -> int:
            calls.append(routine.unit.name)
            return run(*arguments)

        return call

    with _running({each: counting(each) for each in routines}):
        yield calls


@contextmanager
def _running(runs: dict[Routine, Callable[..., int]]) -> Iterator[None]:
    patches = [patch.object(routine, "_run", run) for routine, run in runs.items()]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()
