"""The compiled kernels: which kind suits this CPU, built and loaded."""

from __future__ import annotations

import sys
from functools import cache

from dlasim.native import library
from dlasim.native.library import Library
from dlasim.native.target import host
from dlasim.native.unit import Unit

KINDS = ("vnni", "portable")
_ARGUMENTS = 9  # of `entry.run`, which only the build imports: numba comes with it


def best_kind() -> str:
    """The fastest kind that this CPU can run."""
    return "vnni" if host().has_vnni else "portable"


def kernel_unit(kind: str) -> Unit:
    """The kernels of a kind, as a unit that is compiled."""
    assert kind in KINDS
    sources = ("dlasim.sim.kernels", "dlasim.isa")
    return Unit(f"kernels-{kind}", "dlasim.sim.kernels.entry", "run", _ARGUMENTS, sources, kind)


@cache
def load_library(kind: str) -> Library:
    """The kernels of a kind, built if nobody on this machine has yet."""
    unit = kernel_unit(kind)
    if sys.stderr.isatty() and not unit.path.exists():
        print("compiling the fast engine for this CPU, once …", file=sys.stderr)
    return library.load(unit)
