"""Finds machine code: what ships, else what the cache has, else what is compiled now, in another process."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from dlasim.dataclass import dataclass
from dlasim.errors import RunError
from dlasim.native.digests import digest_of, source_files
from dlasim.native.object_file import unseal
from dlasim.native.shipped import find_shipped, find_symbol, shipped_meaning
from dlasim.native.unit import STARTED, CodeUnit
from dlasim.system.cache import open_cache

if TYPE_CHECKING:
    import subprocess

_engines: list[Any] = []  # which keep the code alive that was loaded from the cache
_reasons: list[str] = []  # why there is no machine code, which is said once


def find_function(unit: CodeUnit) -> int | None:
    """The address of a unit's code. None where there is none: the first time, a line says so."""
    try:
        return find_shipped(unit) or _load(unit)
    except (RunError, ImportError, OSError, RuntimeError) as error:  # a broken llvmlite or LLVM, for one
        if not _reasons:
            print(f"dlasim runs without machine code, slowly: {_one_line(error)}", file=sys.stderr)
        _reasons.append(str(error))
        return None


def is_built(unit: CodeUnit) -> bool:
    """Whether a unit's code is there, without compiling it."""
    return find_shipped(unit) is not None or find_code(unit) is not None


def _load(unit: CodeUnit) -> int | None:
    """The address of code in the cache, or of shipped code that means the same."""
    code = find_code(unit)
    if code is None:
        code = build(unit)
    return _loaded(code, unit.symbol) if code else find_symbol(unit)


def _loaded(code: bytes, symbol: str) -> int:
    """The address of a function of an object that has been loaded by LLVM."""
    import llvmlite.binding as llvm

    from dlasim.native import target

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.machine(target.host()))
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    address: int = engine.get_function_address(symbol)
    return address


def file_name(unit: CodeUnit) -> str:
    """A unit's file in the cache: another one for everything that the code depends on, so that a stale object
    is never found, wherever the sources come from."""
    from importlib import metadata

    from dlasim.native import target

    digest = digest_of((*source_files(unit.module), *source_files("dlasim.native.build")))
    made_by = (metadata.version("llvmlite"), repr(target.host()), shipped_meaning(unit), repr(unit))
    return f"{unit.title}-{hashlib.sha256(repr((digest, made_by)).encode()).hexdigest()[:20]}.o"


def find_code(unit: CodeUnit) -> bytes | None:
    """A unit's code if the cache has it; empty where it is known to be what ships."""
    try:
        with open_cache() as cache:
            return unseal(cache.read(file_name(unit)))
    except RunError:
        return None  # no folder for a cache, so nothing in it


def build(unit: CodeUnit) -> bytes:
    """A unit's code, compiled in a process of its own if the cache lacks it, and kept where possible. Of
    processes that want the same unit, one compiles it and the others wait."""
    try:
        cache = open_cache()
    except RunError:
        return _compile(unit)[0]
    with cache, cache.lock():
        name = file_name(unit)
        code = unseal(cache.read(name))
        if code is None:
            code, data = _compile(unit)
            with contextlib.suppress(OSError):  # a full disk, for one: the next run builds it again
                cache.write(name, data)
        cache.prune()
    return code


def _compile(unit: CodeUnit) -> tuple[bytes, bytes]:
    """A unit's code, and its file. A RunError says why it failed."""
    files = source_files(unit.module)
    if any(file.stat().st_ctime > STARTED for file in files):
        raise RunError(f"cannot compile {unit.title}: its sources have changed since dlasim started")
    if sys.stderr.isatty() and unit.kind:
        print("compiling the fast engine for this CPU, once …", file=sys.stderr)
    with _start_build(unit, digest_of(files)) as build:
        return build.result()


@dataclass(frozen=True, slots=True)
class _Build:
    """A process that compiles a unit, and the file that holds what it writes to standard error."""

    unit: CodeUnit
    process: subprocess.Popen[bytes]
    messages: IO[bytes]

    def result(self) -> tuple[bytes, bytes]:
        """The code and the file."""
        assert self.process.stdout is not None
        data = self.process.stdout.read()
        code = unseal(data)
        if self.process.wait() or code is None:
            raise RunError(f"cannot compile {self.unit.title}: {self._last_message()}")
        return code, data

    def _last_message(self) -> str:
        self.messages.seek(0)
        lines = self.messages.read().decode(errors="replace").strip().splitlines()
        return (lines or ["no message"])[-1]


@contextlib.contextmanager
def _start_build(unit: CodeUnit, digest: str) -> Iterator[_Build]:
    """Start a build; it ends when the context is left, and with this process."""
    import subprocess

    from dlasim.system.processes import clean_environment, start

    fields = unit.name, unit.module, unit.function, unit.kind, unit.level
    with (
        open(os.memfd_create("messages"), "w+b") as messages,  # not a pipe, which could fill up unread
        start(
            "dlasim.native.build",
            *(*fields, digest, shipped_meaning(unit)),
            environment=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            process_group=0,  # Ctrl-C is for this process, which then ends the build
        ) as process,
    ):
        try:
            yield _Build(unit, process, messages)
        finally:
            process.kill()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
