"""Compiles a unit to an object file: numba lowers kernels, `translate` routines; LLVM optimizes the whole.

Runs in a process of its own, so that processes that run the code never import numba, and so that numba can be
told to leave the optimizing to us without touching its other users.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm

from dlasim.errors import DlasimError
from dlasim.native import target
from dlasim.native.compilation_unit import CompilationUnit
from dlasim.native.object_file import SYMBOL, seal
from dlasim.native.translator import translate


def build_object(module: str, function: str, kind: str, cpu: target.Target) -> bytes:
    """Machine code of a function for a CPU. Kernels look at the CPU when they are imported, so that a process
    builds for one."""
    with _building_for(cpu):
        return _build_object(module, function, kind)


@contextmanager
def _building_for(cpu: target.Target) -> Iterator[None]:
    real, target.host = target.host, lambda: cpu  # type: ignore[assignment]
    try:
        yield
    finally:
        target.host = real


def _build_object(module: str, function: str, kind: str) -> bytes:
    lowered = llvm.parse_assembly(_lowered(module, function, kind))
    for each in lowered.functions:
        if not each.is_declaration and each.name != SYMBOL:
            each.linkage = "internal"
    machine = target.machine()
    speed = 3 if kind else 2  # routines have no inner loops that would gain by more
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(lowered, builder)
    code: bytes = machine.emit_object(lowered)
    return code


def _lowered(module_name: str, name: str, kind: str) -> str:
    """The function and what it calls in LLVM's language, the one entry named SYMBOL."""
    module: Any = import_module(module_name)
    entry = getattr(module, name)
    if not kind:
        return translate(entry, SYMBOL)
    entry.compile(module.SIGNATURE)
    (signature,) = entry.signatures
    symbol = entry.overloads[signature].fndesc.llvm_func_name
    text: str = entry.inspect_llvm(signature)
    return text.replace(f"@{symbol}(", f"@{SYMBOL}(")


def sealed_object(module: str, function: str, kind: str, digest: str, sources: list[str]) -> bytes:
    """The file of a unit, which must have that digest."""
    code = build_object(module, function, kind, target.host().for_kind(kind))
    if digest != CompilationUnit("", module, function, 0, tuple(sources), kind).digest:
        raise DlasimError("its sources have changed meanwhile")
    return seal(code)


def main(arguments: list[str]) -> int:
    """Write the file of a unit to standard output; what goes wrong is one line."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    module, function, kind, digest, *sources = arguments
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever numba prints must not come between
    try:
        data = sealed_object(module, function, kind, digest, sources)
    except Exception as error:  # numba and LLVM raise what they like, over many lines
        print(_in_one_line(error), file=sys.stderr)
        return 1
    with output:
        output.write(data)
    return 0


def _end_with_parent() -> None:
    """The parent holds the other end of standard input and writes nothing: it ends when the parent does."""
    os.read(0, 1)
    os._exit(1)


def _in_one_line(error: Exception) -> str:
    text = str(error) if isinstance(error, DlasimError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())
