"""Routines as machine code: to compare them with plain Python, and for tests that make many plans."""

from collections.abc import Callable
from functools import cache

from dlasim.native import library
from dlasim.native.backend import Backend
from dlasim.native.routine import Routine
from dlasim.native.shipped import SHIPPED, is_shipped
from dlasim.sweeps.compiled import ROUTINES, compile_routines, load


def compiled(*routines: Routine) -> tuple[Backend, list[str]]:
    """A backend that has these routines compiled, and a list that gets the name of each that it calls."""
    calls: list[str] = []

    def counted(routine: Routine) -> Callable[..., int]:
        code, name = _code(routine), routine.unit.name

        def run(*arguments: int) -> int:
            calls.append(name)
            return code(*arguments)

        return run

    return Backend({routine: counted(routine) for routine in routines}), calls


@cache
def machine_code() -> Backend:
    """Lowering and timing as a sweep runs them: the same figures as plain Python's, sooner."""
    return SHIPPED if all(map(is_shipped, ROUTINES)) else load(compile_routines())


@cache
def _code(routine: Routine) -> Callable[..., int]:
    """Built if this user's cache lacks it."""
    return library.load(routine.unit).run
