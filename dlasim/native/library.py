"""Compiled units: found in the cache or built, loaded, and called. Loading needs llvmlite alone."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm

from dlasim.errors import RunError
from dlasim.native.build import SYMBOL, target_machine, unsealed
from dlasim.native.unit import Unit

MOST_OBJECTS = 32


class Library:
    """A unit's function in this process. Arguments are 64-bit numbers, and addresses as such."""

    def __init__(self, code: bytes, arguments: int) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        # numba's convention: where the result goes, where an exception would go, then the arguments.
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * (2 + arguments))
        self._function = prototype(self._engine.get_function_address(SYMBOL))
        self._result, self._exception = ctypes.c_int64(), ctypes.c_void_p()
        self._result_at = ctypes.addressof(self._result)
        self._exception_at = ctypes.addressof(self._exception)

    def run(self, *arguments: int) -> int:
        """Call it."""
        status = self._function(self._result_at, self._exception_at, *arguments)
        assert status == 0, "compiled code raises nothing"
        return self._result.value


def load(unit: Unit) -> Library:
    """A unit's function, built if nobody on this machine has yet."""
    code = _read(unit.path)
    if code is None:
        build(unit)
        code = _read(unit.path)
    assert code is not None, "the build says that it succeeded"
    return Library(code, unit.arguments)


def find(unit: Unit) -> Callable[..., int] | None:
    """A unit's function if it has been built."""
    code = _read(unit.path)
    return None if code is None else Library(code, unit.arguments).run


def build(unit: Unit) -> None:
    """Put a unit's object into the cache."""
    done = start_build(unit)
    _, message = done.communicate()
    if done.returncode:
        last_line = (message.strip().splitlines() or ["no message"])[-1]
        raise RunError(f"cannot compile {unit.name}: {last_line}")
    _prune(unit.path.parent)


def start_build(unit: Unit) -> subprocess.Popen[str]:
    """The process that builds a unit."""
    environment = os.environ | {"NUMBA_OPT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "dlasim.native.build", unit.module, unit.function, unit.kind]
    return subprocess.Popen(
        [*command, str(unit.path)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _read(path: Path) -> bytes | None:
    try:
        return unsealed(path.read_bytes())
    except OSError:
        return None


def _prune(folder: Path) -> None:
    """Forget the oldest objects, which other versions of the sources left."""
    objects = sorted(folder.glob("*.o"), key=lambda file: file.stat().st_mtime)
    for file in objects[:-MOST_OBJECTS]:
        file.unlink(missing_ok=True)
