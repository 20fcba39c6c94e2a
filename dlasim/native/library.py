"""Compiled units: found in the cache or built, loaded, and called. Loading needs llvmlite alone."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

import llvmlite.binding as llvm

from dlasim.cache import open_cache
from dlasim.dataclass import dataclass
from dlasim.errors import RunError
from dlasim.native import target
from dlasim.native.backend import Backend
from dlasim.native.compilation_unit import CompilationUnit
from dlasim.native.machine_function import MachineFunction
from dlasim.native.object_file import SYMBOL, unseal
from dlasim.native.routine import Routine
from dlasim.processes import clean_environment, start


class Library(MachineFunction):
    """A unit's function in this process."""

    def __init__(self, code: bytes, arguments: int) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.machine())
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        super().__init__(self._engine.get_function_address(SYMBOL), arguments)


def load(unit: CompilationUnit) -> Library:
    """A unit's function, built if nobody on this machine has yet."""
    return Library(find_code(unit) or build(unit), unit.arguments)


def compile_routines(routines: Sequence[Routine]) -> tuple[bytes, ...]:
    """The code of routines, built where the cache lacks it; a RunError says why that failed."""
    for each in routines:
        if each.has_changed:  # what is compiled now is not what this process has imported
            raise RunError(f"cannot compile {each.unit.name}: its sources have changed since dlasim started")
    return tuple(build_all(each.unit for each in routines))


def load_backend(routines: Sequence[Routine], codes: Sequence[bytes]) -> Backend:
    """A backend that runs routines with this code."""
    loaded = [Library(code, each.unit.arguments).run for each, code in zip(routines, codes, strict=True)]
    return Backend(dict(zip(routines, loaded, strict=True)))


def find_code(unit: CompilationUnit) -> bytes | None:
    """A unit's code if the cache has it."""
    try:
        with open_cache() as cache:
            return unseal(cache.read(unit.file))
    except RunError:
        return None  # no folder for a cache, so nothing in it


def build(unit: CompilationUnit) -> bytes:
    """A unit's code."""
    return build_all([unit])[0]


def build_all(wanted: Iterable[CompilationUnit]) -> list[bytes]:
    """The code of units. What the cache lacks is compiled, in a process for each, and kept where possible.

    Of processes that want the same unit, one compiles it and the others wait.
    """
    units = list(wanted)
    found = {unit: find_code(unit) for unit in units}
    if None in found.values():
        try:
            cache = open_cache()
        except RunError:
            found |= {unit: code for unit, (code, _) in _compile(_missing(found)).items()}
        else:
            with cache, cache.lock():
                found = {unit: unseal(cache.read(unit.file)) for unit in units}
                for unit, (code, data) in _compile(_missing(found)).items():
                    found[unit] = code
                    with contextlib.suppress(OSError):  # a full disk, for one: the next run builds it again
                        cache.write(unit.file, data)
                cache.prune()
    return [code for code in map(found.get, units) if code is not None]


def _missing(found: dict[CompilationUnit, bytes | None]) -> list[CompilationUnit]:
    return [unit for unit, code in found.items() if code is None]


def _compile(units: list[CompilationUnit]) -> dict[CompilationUnit, tuple[bytes, bytes]]:
    """The code of each unit, and its file; the processes run at the same time and end with this function."""
    with contextlib.ExitStack() as stack:
        builds = [stack.enter_context(_start_build(unit)) for unit in units]
        return {each.unit: each.result() for each in builds}


@dataclass(frozen=True, slots=True)
class _Build:
    """A process that compiles a unit, and the file that holds what it writes to standard error."""

    unit: CompilationUnit
    process: subprocess.Popen[bytes]
    messages: IO[bytes]

    def result(self) -> tuple[bytes, bytes]:
        """The code and the file."""
        assert self.process.stdout is not None
        data = self.process.stdout.read()
        code = unseal(data)
        if self.process.wait() or code is None:
            raise RunError(f"cannot compile {self.unit.name}: {self._last_message()}")
        return code, data

    def _last_message(self) -> str:
        self.messages.seek(0)
        lines = self.messages.read().decode(errors="replace").strip().splitlines()
        return (lines or ["no message"])[-1]


@contextlib.contextmanager
def _start_build(unit: CompilationUnit) -> Iterator[_Build]:
    """Start a build; it ends when the context is left, and with this process."""
    # A user's settings for numba are for the user's own functions.
    kept = {name: value for name, value in clean_environment().items() if not name.startswith("NUMBA_")}
    with (
        open(os.memfd_create("messages"), "w+b") as messages,  # not a pipe, which could fill up unread
        start(
            "dlasim.native.build",
            *(unit.module, unit.function, unit.kind, unit.digest, *unit.sources),
            environment=kept | {"NUMBA_OPT": "0"},
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
