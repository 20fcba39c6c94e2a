"""The compiled kernels: which kind suits this CPU, shipped or built, and loaded."""

from __future__ import annotations

import sys
from functools import cache

from dlasim.native import library
from dlasim.native.compilation_unit import CompilationUnit
from dlasim.native.library import Library
from dlasim.native.target import host

KINDS = ("vnni", "portable")
_ARGUMENTS = 8  # of `entry.run`, which only the build imports: numba comes with it
COMPILED_MODULES = (
    "convolution", "depthwise", "dot", "elementwise", "entry", "finish", "input_view", "jit", "memory_access",
    "multiplication", "operation_rows", "packing", "pooling", "single_channel", "softmax", "transfer",
    "unpacked", "vectors", "weight_offset",
)  # fmt: skip


def best_kind() -> str:
    """The fastest kind that this CPU can run."""
    return "vnni" if host().has_vnni else "portable"


def kernel_unit(kind: str) -> CompilationUnit:
    """The kernels of a kind, as a unit that is compiled."""
    assert kind in KINDS
    modules = tuple(f"dlasim.sim.kernels.{name}" for name in COMPILED_MODULES)
    sources = (*modules, "dlasim.sim.kernels.operation_rows:isa_facts")
    return CompilationUnit(f"kernels-{kind}", "dlasim.sim.kernels.entry", "run", _ARGUMENTS, sources, kind)


def find_kernels(kind: str) -> bytes | None:
    """Machine code of a kind for this CPU, if it ships with dlasim or the cache has it."""
    from dlasim.sim.kernels.prebuilt import find

    unit = kernel_unit(kind)
    return find(unit, host()) or library.find_code(unit)


@cache
def load_library(kind: str) -> Library:
    """The kernels of a kind, compiled only where no code for this CPU is there."""
    unit, code = kernel_unit(kind), find_kernels(kind)
    if code is None:
        if sys.stderr.isatty():
            print("compiling the fast engine for this CPU, once …", file=sys.stderr)
        code = library.build(unit)
    return Library(code, unit.arguments)
