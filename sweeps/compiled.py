"""Whether a sweep compiles its routines, and the routines that it loads.

Lowering and timing run as plain Python or as machine code, with the same figures. The machine code ships for
x86-64 Linux. Elsewhere, compiling all routines takes about as long as a hundred points of a network of 30
layers, so a sweep compiles them where more than that is ahead. What an earlier sweep has compiled is used
from fewer points on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dlasim.compiler_shim.lowering.emission.streams import EMIT
from dlasim.compiler_shim.lowering.load_schedule import LOADS
from dlasim.compiler_shim.lowering.search import SEARCH
from dlasim.compiler_shim.lowering.stripe_search import STRIPES
from dlasim.errors import DlasimError, RunError
from dlasim.native.backend import Backend
from dlasim.native.shipped import SHIPPED, is_shipped
from dlasim.sim.compiled_columns import READ
from dlasim.sim.compiled_costs import COSTS
from dlasim.sim.issue import WALK

ROUTINES = (SEARCH, STRIPES, LOADS, EMIT, COSTS, READ, WALK)
BUILD_SECONDS = 2.0  # of CPU time, for all routines
LOAD_SECONDS = 0.2  # of CPU time, in one process
PLAIN_SECONDS_PER_NODE = 0.001  # of lowering and timing a node of a network in plain Python, at least
SAVED = 0.75  # of that time, by machine code


def saved_seconds(nodes_of_points: Iterable[int]) -> float:
    """CPU time that machine code saves in points whose networks have so many nodes, without compiling it."""
    return SAVED * PLAIN_SECONDS_PER_NODE * sum(nodes_of_points)


def is_worth_compiling(saved: float, processes: int) -> bool:
    """Whether so many processes should load machine code that saves so much CPU time, and compile first what
    the cache lacks. Not where it ships."""
    if all(map(is_shipped, ROUTINES)):
        return False
    cost = LOAD_SECONDS * processes
    return saved > cost and (saved > cost + BUILD_SECONDS or _is_cached())


def _is_cached() -> bool:
    with _as_run_error():
        from dlasim.native.library import find_code

        return all(find_code(each.unit) is not None for each in ROUTINES)


def compile_routines() -> tuple[bytes, ...]:
    """The machine code of ROUTINES: from the cache, or compiled now. A RunError says why there is none."""
    with _as_run_error():
        from dlasim.native.library import compile_routines

        return compile_routines(ROUTINES)


def load(codes: tuple[bytes, ...]) -> Backend:
    """Runs ROUTINES with this machine code; without, with what ships."""
    if not codes:
        return SHIPPED
    with _as_run_error():
        from dlasim.native.library import load_backend

        return load_backend(ROUTINES, codes)


@contextmanager
def _as_run_error() -> Iterator[None]:
    """What a broken llvmlite or LLVM raises becomes one line."""
    try:
        yield
    except DlasimError:
        raise
    except (ImportError, OSError, RuntimeError) as error:
        raise RunError(f"cannot compile: {' '.join(str(error).split())}") from None
