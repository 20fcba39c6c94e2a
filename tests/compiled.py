"""Routines compiled for this CPU, in tests that otherwise stay with plain Python."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from dlasim.native import library
from dlasim.native.routine import Routine


@contextmanager
def compiled(routine: Routine) -> Iterator[list[int]]:
    """Within, a routine is there compiled; has an item for each call of the machine code."""
    calls: list[int] = []
    code = _code(routine)

    def run(*arguments: int) -> int:
        calls.append(1)
        return code(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routine, "_code", run)
        yield calls


@cache
def _code(routine: Routine) -> Callable[..., int]:
    """Built if this user's cache lacks it."""
    return library.load(routine.unit).run
