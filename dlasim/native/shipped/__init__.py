"""Routines that ship as machine code, for every x86-64 computer with Linux: `make routines` builds it, CI
builds it again.

The code is flat: it runs wherever it lies in memory, so that loading it takes neither LLVM nor a linker.
Sources that have changed since, another system, or a system that does not let memory be executed mean that
the routines run as plain Python.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from functools import cache
from mmap import MAP_PRIVATE, PROT_EXEC, PROT_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.native.backend import Backend, CompiledRunner, Runner
from dlasim.native.host_system import is_x86_linux
from dlasim.native.machine_function import MachineFunction
from dlasim.native.routine import Routine

MANIFEST = "manifest.json"
FOLDER = Path(__file__).parent


class _ShippedFunction(MachineFunction):
    """A routine's machine code, in memory that is executable and never written."""

    def __init__(self, code: bytes, entry: int, arguments: int) -> None:
        self._memory = _executable(code)
        address = np.frombuffer(self._memory, np.uint8).__array_interface__["data"][0]
        super().__init__(address + entry, arguments)


class _Shipped(Backend):
    """The machine code that ships, of each routine found when it is first asked for."""

    def runner(self, routine: Routine) -> Runner:
        code = _known(routine)
        return Runner(routine.function) if code is None else CompiledRunner(code)


SHIPPED = _Shipped()


def is_shipped(routine: Routine) -> bool:
    """Whether its machine code is there and counts."""
    return SHIPPED.runner(routine).is_compiled


def file_name(routine: Routine) -> str:
    """The name of its code among the files that ship."""
    return f"{routine.unit.name}.bin"


@cache
def _known(routine: Routine) -> Callable[..., int] | None:
    return _find(routine)


def _find(routine: Routine) -> Callable[..., int] | None:
    """A routine's code; None where none fits, or its sources are others by now."""
    if not is_x86_linux():
        return None
    try:
        listed = _manifest()[routine.unit.name]
        code = (FOLDER / file_name(routine)).read_bytes()
        if (
            listed["sources"] != routine.unit.source_digest
            or listed["code"] != hashlib.sha256(code).hexdigest()
        ):
            return None
        return _ShippedFunction(code, listed["entry"], routine.unit.arguments).run
    except (OSError, ValueError, KeyError, TypeError):
        return None  # an installation without them


@cache
def _manifest() -> Any:
    return json.loads((FOLDER / MANIFEST).read_bytes())["routines"]


def _executable(code: bytes) -> mmap:
    """Code in memory; what changes on the disk does not reach it."""
    descriptor = os.memfd_create("routine")
    try:
        os.write(descriptor, code)
        return mmap(descriptor, len(code), MAP_PRIVATE, PROT_READ | PROT_EXEC)
    finally:
        os.close(descriptor)
