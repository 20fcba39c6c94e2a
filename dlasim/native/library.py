"""Compiled units: found in the cache or built, loaded, and called. Loading needs llvmlite alone."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from dlasim.cache import open_cache
from dlasim.errors import RunError
from dlasim.native.build import SYMBOL, target_machine, unsealed
from dlasim.native.unit import Unit
from dlasim.processes import clean_environment, start


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
    return Library(find_code(unit) or build(unit), unit.arguments)


def find(unit: Unit) -> Callable[..., int] | None:
    """A unit's function if it has been built."""
    code = find_code(unit)
    return None if code is None else Library(code, unit.arguments).run


def find_code(unit: Unit) -> bytes | None:
    """A unit's code if the cache has it."""
    try:
        with open_cache() as cache:
            return unsealed(cache.read(unit.file))
    except RunError:
        return None  # no folder for a cache, so nothing in it


def build(unit: Unit) -> bytes:
    """A unit's code: compiled once for all who ask together, and kept in the cache where that is possible."""
    try:
        cache = open_cache()
    except RunError:
        return _build(unit)[0]
    with cache, cache.lock():
        code = unsealed(cache.read(unit.file))
        if code is None:
            code, data = _build(unit)
            with contextlib.suppress(OSError):  # a full disk, for one: the next run builds it again
                cache.write(unit.file, data)
                cache.prune()
        return code


def _build(unit: Unit) -> tuple[bytes, bytes]:
    """A unit's code, and the file that the cache has of it."""
    with start_build(
        "build", unit, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        data, message = process.communicate()
    code = unsealed(data)
    if process.returncode or code is None:
        raise RunError(failure(unit, message))
    return code, data


def start_build(how: str, unit: Unit, **options: Any) -> subprocess.Popen[bytes]:
    """The process that builds a unit: alone (`build`), or `beside` other work."""
    what = [unit.module, unit.function, unit.kind, unit.digest, *unit.sources]
    if how == "beside":
        what.insert(0, unit.name)
        options["process_group"] = 0  # where Ctrl-C is for whoever works
    # A user's settings for numba are for the user's own functions.
    theirs = {name: value for name, value in clean_environment().items() if not name.startswith("NUMBA_")}
    return start(f"dlasim.native.{how}", *what, environment=theirs | {"NUMBA_OPT": "0"}, **options)


def failure(unit: Unit, message: bytes) -> str:
    """What a build that failed said, in one line."""
    lines = message.decode(errors="replace").strip().splitlines() or ["no message"]
    return f"cannot compile {unit.name}: {lines[-1]}"
