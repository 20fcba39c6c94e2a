"""The compiled kernels: which kind suits this CPU, shipped or built, and loaded."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache

from dlasim.native.compilation_unit import CompilationUnit
from dlasim.native.loaded_object import LoadedObject, UnsupportedObjectError
from dlasim.native.machine_function import MachineFunction
from dlasim.sim.kernels.prebuilt.host_cpu import this_cpu

KINDS = ("vnni", "portable")
_ARGUMENTS = 8  # of `entry.run`, which only the build imports: numba comes with it
COMPILED_MODULES = (
    "convolution", "depthwise", "dot", "elementwise", "entry", "finish", "input_view", "jit", "memory_access",
    "multiplication", "operation_rows", "packing", "pooling", "single_channel", "softmax", "transfer",
    "unpacked", "vectors", "weight_offset",
)  # fmt: skip


def best_kind() -> str:
    """The fastest kind that this CPU can run."""
    cpu = this_cpu()
    if cpu is None:
        from dlasim.native.target import host

        return "vnni" if host().has_vnni else "portable"
    return "vnni" if cpu.has_vnni else "portable"


def kernel_unit(kind: str) -> CompilationUnit:
    """The kernels of a kind, as a unit that is compiled."""
    assert kind in KINDS
    modules = tuple(f"dlasim.sim.kernels.{name}" for name in COMPILED_MODULES)
    sources = (*modules, "dlasim.sim.kernels.operation_rows:isa_facts")
    return CompilationUnit(f"kernels-{kind}", "dlasim.sim.kernels.entry", "run", _ARGUMENTS, sources, kind)


def find_kernels(kind: str) -> bytes | None:
    """Machine code of a kind for this CPU, if it ships with dlasim or the cache has it."""
    from dlasim.native.library import find_code

    return find_shipped(kind) or find_code(kernel_unit(kind))


def find_shipped(kind: str) -> bytes | None:
    """Machine code of a kind for this CPU, if it ships with dlasim."""
    from dlasim.sim.kernels.prebuilt import find

    cpu = this_cpu()
    return None if cpu is None else find(kernel_unit(kind), cpu)


@cache
def load_library(kind: str) -> MachineFunction:
    """The kernels of a kind, compiled only where no code for this CPU is there. Those that ship are loaded
    without LLVM, where that is possible."""
    shipped = find_shipped(kind)
    if shipped is not None:
        with suppress(UnsupportedObjectError, OSError):
            return LoadedObject(shipped, _ARGUMENTS)
    return _load_by_llvm(kind)


def _load_by_llvm(kind: str) -> MachineFunction:
    from dlasim.native import library

    unit, code = kernel_unit(kind), find_kernels(kind)
    if code is None:
        if sys.stderr.isatty():
            print("compiling the fast engine for this CPU, once …", file=sys.stderr)
        code = library.build(unit)
    return library.Library(code, unit.arguments)
