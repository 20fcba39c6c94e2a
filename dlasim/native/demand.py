"""Has routines compiled beside the work, in processes that lower so much that it pays.

Whoever lowers once or twice goes on in plain Python and loads nothing. From the third time on, what the cache
has is used. What it lacks is built as soon as as much time has gone into plain Python as the build takes, or
is known to be ahead: so it never costs more than twice what the best choice would have. Nothing waits for a
build, and one that fails changes nothing: plain Python goes on.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from dlasim.errors import DlasimError
from dlasim.native.routine import routines, want_compiled

if TYPE_CHECKING:
    import subprocess

    from dlasim.native.unit import Unit

BUILD_SECONDS = 2.0  # what building all routines takes, about
_FEW = 2  # times that are no habit: what they would save is less than loading llvmlite takes


class Demand:
    """How much one process has lowered, and the builds that it has begun."""

    def __init__(self, may_build: bool = True) -> None:
        self._may_build = may_build
        self._times = 0
        self._seconds = 0.0
        self._process = os.getpid()
        self._builds: list[tuple[Unit, subprocess.Popen[bytes], IO[bytes]]] = []
        self._failure = ""
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Around whatever routines would make faster."""
        if self._times >= _FEW:
            want_compiled()
        self._times += 1
        began = time.thread_time()
        yield
        if self._may_build or self._builds:
            self._seconds += time.thread_time() - began
            self.foresee(0.0)

    def foresee(self, seconds: float) -> None:
        """So much time in plain Python is ahead."""
        if not self._lock.acquire(blocking=False):
            return  # another thread is at it, or was when this process was forked
        try:
            if self._may_build and self._seconds + seconds >= BUILD_SECONDS:
                self._may_build = False
                self._build()
            self._builds = [build for build in self._builds if self._goes_on(*build)]
        finally:
            self._lock.release()

    def leave_building(self) -> None:
        """From now on, others see to builds."""
        self._may_build = False

    def failure(self) -> str:
        """Why a build failed, if one has."""
        self.foresee(0.0)
        return self._failure

    def close(self) -> None:
        """End what is not finished; a file is there whole or not at all."""
        if os.getpid() != self._process:
            return  # a fork: these are not its children
        for _, process, said in self._builds:
            process.terminate()
            with process, said:
                process.wait()
        self._builds = []

    def _build(self) -> None:
        """Begin to build what is missing."""
        self._process = os.getpid()
        atexit.register(self.close)  # before anything begins: Ctrl-C may come in between
        try:
            from dlasim.native.library import find_code

            for unit in (routine.unit for routine in routines()):
                if find_code(unit) is None:
                    self._builds.append(_start(unit))
        except (ImportError, OSError, RuntimeError, DlasimError) as error:
            self._failure = f"cannot compile: {error}"

    def _goes_on(self, unit: Unit, process: subprocess.Popen[bytes], said: IO[bytes]) -> bool:
        from dlasim.native.library import failure

        if process.poll() is None:
            return True
        with process, said:
            said.seek(0)
            if process.returncode:
                self._failure = failure(unit, said.read())
        return False


def _start(unit: Unit) -> tuple[Unit, subprocess.Popen[bytes], IO[bytes]]:
    """The process that builds a unit, and the file that holds what it says."""
    import subprocess
    import tempfile

    from dlasim.native.library import start_build

    # A file, since nobody reads a pipe meanwhile; it is closed when the process has ended.
    said = tempfile.TemporaryFile()  # noqa: SIM115
    return (
        unit,
        start_build("beside", unit, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said),
        said,
    )


demand = Demand()
