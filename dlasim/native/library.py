"""Compiled units: found in the cache or built, loaded, and called. Loading needs llvmlite alone."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable

import llvmlite.binding as llvm

from dlasim.errors import RunError
from dlasim.native.build import SYMBOL, read_object, target_machine
from dlasim.native.unit import Unit


class Library:
    """A unit's function in this process. Arguments are 64-bit numbers, and addresses as such."""

    def __init__(self, code: bytes, arguments: int) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        # numba's convention: where the result goes, where an exception would go, then the arguments.
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * (2 + arguments))
        self._function = prototype(self._engine.get_function_address(SYMBOL))
        self._exception = ctypes.c_void_p()
        self._exception_at = ctypes.addressof(self._exception)

    def run(self, *arguments: int) -> int:
        """Call it; several threads may at once."""
        result = ctypes.c_int64()
        status = self._function(ctypes.addressof(result), self._exception_at, *arguments)
        assert status == 0, "compiled code raises nothing"
        return result.value


def load(unit: Unit) -> Library:
    """A unit's function, built if nobody on this machine has yet."""
    code = read_object(unit.path)
    if code is None:
        build(unit)
        code = read_object(unit.path)
    assert code is not None, "the build says that it succeeded"
    return Library(code, unit.arguments)


def find(unit: Unit) -> Callable[..., int] | None:
    """A unit's function if it has been built."""
    code = read_object(unit.path)
    return None if code is None else Library(code, unit.arguments).run


def build(unit: Unit) -> None:
    """Put a unit's object into the cache."""
    with start_build("build", unit, subprocess.DEVNULL, subprocess.PIPE) as process:
        assert process.stderr is not None
        message = process.stderr.read()
    if process.returncode:
        raise RunError(failure(unit, message))


def start_build(how: str, unit: Unit, stdin: int, stderr: int) -> subprocess.Popen[bytes]:
    """The process that builds a unit: alone (`build`), or `beside` other work."""
    environment = os.environ | {"NUMBA_OPT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    what = [unit.module, unit.function, unit.kind, str(unit.path), *unit.sources]
    return subprocess.Popen(
        [sys.executable, "-m", f"dlasim.native.{how}", *what],
        env=environment,
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        process_group=0 if how == "beside" else None,  # where Ctrl-C is for whoever works
    )


def failure(unit: Unit, message: bytes) -> str:
    """What a build that failed said, in one line."""
    lines = message.decode(errors="replace").strip().splitlines() or ["no message"]
    return f"cannot compile {unit.name}: {lines[-1]}"
