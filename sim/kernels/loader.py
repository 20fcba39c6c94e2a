"""The compiled kernels: which kind suits this CPU, and loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from dlasim.errors import RunError
from dlasim.native.levels import LEVELS, Level, best_level
from dlasim.native.library import find_function
from dlasim.native.unit import Unit

KINDS = ("vnni", "portable")
_ARGUMENTS = 8  # of `entry.run`, which only the build imports: LLVM comes with it


def best_kind() -> str:
    """The fastest kind that this CPU can run."""
    level = best_level()
    if level is None:
        from dlasim.native.target import host

        return "vnni" if host().has_vnni else "portable"
    return level.kind


def kernel_unit(kind: str, level: Level | None = None) -> Unit:
    """The kernels of a kind, as a unit that is compiled: for CPUs of a level, or for this one."""
    assert kind in KINDS
    return Unit("kernels", "dlasim.sim.kernels.entry", "run", kind, level.name if level else "")


def level_units() -> list[Unit]:
    """The kernels that ship, for all levels."""
    return [kernel_unit(level.kind, level) for level in LEVELS]


def host_unit(kind: str) -> Unit:
    """The kernels of a kind for this CPU."""
    return kernel_unit(kind, best_level(kind))


@cache
def load_kernels(kind: str) -> Callable[..., int]:
    """`run` of the kernels of a kind, compiled only where no code for this CPU is there."""
    address = find_function(host_unit(kind))
    if address is None:
        raise RunError("the fast engine cannot be compiled here; --engine reference needs no compiler")
    code: Any = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * _ARGUMENTS)(address)
    return code  # type: ignore[no-any-return]
