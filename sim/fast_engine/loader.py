"""The compiled kernels: which kind suits this CPU, and loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from dlasim.errors import RunError
from dlasim.native.host_system import CpuFeatures, this_cpu
from dlasim.native.levels import LEVELS, Level, best_level
from dlasim.native.library import find_function
from dlasim.native.unit import CodeUnit
from dlasim.sim.fast_engine.job import Job
from dlasim.sim.fast_engine.tile_permission import may_use_tiles

KINDS = ("amx", "vnni", "portable")


def best_kind() -> str:
    """The fastest kind that this CPU can run and the system permits."""
    return runnable_kinds()[0]


def runnable_kinds() -> tuple[str, ...]:
    """The kinds that this CPU can run and the system permits, the fastest first."""
    cpu: CpuFeatures | None = this_cpu()
    if cpu is None:
        from dlasim.native.target import host

        cpu = host()
    can_run = {"amx": cpu.has_tiles and may_use_tiles(), "vnni": cpu.has_vnni, "portable": True}
    return tuple(kind for kind in KINDS if can_run[kind])


def kernel_unit(kind: str, level: Level | None = None) -> CodeUnit:
    """The kernels of a kind, as a unit that is compiled: for CPUs of a level, or for this one."""
    assert kind in KINDS
    return CodeUnit("kernels", "dlasim.sim.fast_engine.entry", "run", kind, level.name if level else "")


def level_units() -> list[CodeUnit]:
    """The kernels that ship, for all levels."""
    return [kernel_unit(level.kind, level) for level in LEVELS]


def host_unit(kind: str) -> CodeUnit:
    """The kernels of a kind for this CPU."""
    return kernel_unit(kind, best_level(kind))


@cache
def load_kernels(kind: str) -> Callable[[Job], int]:
    """`run` of the kernels of a kind, compiled only where no code for this CPU is there."""
    assert kind in runnable_kinds(), kind
    address = find_function(host_unit(kind))
    if address is None:
        raise RunError("its kernels cannot be compiled")
    return kernels_at(address)


def kernels_at(address: int) -> Callable[[Job], int]:
    """Machine code of `entry.run`, which only the build imports: LLVM comes with it."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(Job))(address)
