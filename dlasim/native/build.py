"""Compiles a unit to an object file: the translator lowers it to LLVM's language, which LLVM optimizes.

For this computer that happens in a process of its own: those that run the code need not load LLVM.
"""

from __future__ import annotations

import hashlib
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
from dlasim.native.digests import digest_of, source_files
from dlasim.native.levels import level_named
from dlasim.native.object_file import seal
from dlasim.native.translator import translate
from dlasim.native.unit import CodeUnit


def target_of(unit: CodeUnit) -> target.Target:
    """The CPU that a unit is compiled for. Kernels look at it when they are imported, so that a process
    builds them for one."""
    return level_named(unit.level).target if unit.level else target.host().for_kind(unit.kind)


def lower(unit: CodeUnit) -> str:
    """A unit in LLVM's language, before it is optimized: what its sources mean, without their words."""
    with _building_for(target_of(unit)):
        module: Any = import_module(unit.module)
        return translate(getattr(module, unit.function), unit.symbol)


@contextmanager
def _building_for(cpu: target.Target) -> Iterator[None]:
    real, target.host = target.host, lambda: cpu  # type: ignore[assignment]
    try:
        yield
    finally:
        target.host = real


def meaning_of(text: str) -> str:
    """Hash of a unit in LLVM's language: other comments and docstrings give the same."""
    return hashlib.sha256(text.encode()).hexdigest()


def compile_text(text: str, machine: llvm.TargetMachine, is_kernel: bool) -> bytes:
    """The object file of a unit."""
    lowered = llvm.parse_assembly(text)
    lowered.triple, lowered.data_layout = machine.triple, str(machine.target_data)
    speed = 3 if is_kernel else 2  # routines have no inner loops that would gain by more
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization = is_kernel
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(lowered, builder)
    code: bytes = machine.emit_object(lowered)
    return code


def build_object(unit: CodeUnit, shipped_meaning: str = "") -> bytes:
    """Code for this computer; none where what ships means the same."""
    text = lower(unit)
    if meaning_of(text) == shipped_meaning:
        return b""
    return compile_text(text, target.machine(target_of(unit)), bool(unit.kind))


def main(arguments: list[str]) -> int:
    """Write a unit's file for the cache to standard output; what goes wrong is one line."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    *fields, digest, shipped_meaning = arguments
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever LLVM prints must not come between
    try:
        unit = CodeUnit(*fields)
        code = build_object(unit, shipped_meaning)
        if digest_of(source_files(unit.module)) != digest:
            raise DlasimError("its sources have changed meanwhile")
    except Exception as error:  # LLVM raises what it likes, over many lines
        print(_in_one_line(error), file=sys.stderr)
        return 1
    with output:
        output.write(seal(code))
    return 0


def _end_with_parent() -> None:
    """The parent holds the other end of standard input and writes nothing: it ends when the parent does."""
    os.read(0, 1)
    os._exit(1)


def _in_one_line(error: Exception) -> str:
    text = str(error) if isinstance(error, DlasimError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())
