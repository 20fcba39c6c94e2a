"""Starts helper processes, which run this installation of dlasim and never import from the current folder."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dlasim.errors import RunError
from dlasim.system.interrupts import deferred

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Link = Connection[Any, Any]

_START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py")
_NEUTRAL_FOLDER = "/"  # some packages read settings from the current folder


def start(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """Start `main(arguments)` of a dlasim module in a new process; `options` are those of Popen."""
    if not sys.executable:
        raise RunError("cannot start a helper process: sys.executable is empty, so Python's path is unknown")
    try:
        return subprocess.Popen(
            [sys.executable, "-P", _START, module, *arguments],
            env=clean_environment() if environment is None else environment,
            cwd=_NEUTRAL_FOLDER,
            **options,
        )
    except OSError as error:
        raise RunError(f"cannot start a helper process: {error.strerror}") from None


def start_worker(module: str, messages: int = subprocess.DEVNULL) -> tuple[subprocess.Popen[bytes], Link]:
    """Start a module's `main` with the descriptor of a socket; the process, and our end of the socket.

    `messages` takes its standard error. Ctrl-C goes to this process only, which then kills its workers.
    """
    from multiprocessing.connection import Connection  # few commands need it

    ours, theirs = socket.socketpair()
    number = theirs.fileno()
    # Portions of work are small: threads inside NumPy's libraries cost more than they save.
    environment = clean_environment() | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with ours, theirs:
        process = start(
            module, str(number), environment=environment, pass_fds=(number,),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages, process_group=0,
        )  # fmt: skip
        return process, Connection(ours.detach())


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C takes effect at the end. A process that starts meanwhile never hears it."""
    with deferred():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def clean_environment() -> dict[str, str]:
    """The environment for a helper process. Its PYTHONPATH has the folders that this process imports from,
    except those that Python adds implicitly: the current folder and the script's."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(_import_folders())}


def _import_folders() -> list[str]:
    given = set(os.environ.get("PYTHONPATH", "").split(os.pathsep)) - {""}
    implicit = _implicit_folders()
    return [
        entry
        for entry in sys.path
        if os.path.isabs(entry) and os.pathsep not in entry and (entry in given or entry not in implicit)
    ]


def _implicit_folders() -> set[str]:
    """The folders that Python adds to sys.path by itself."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    with contextlib.suppress(OSError):  # the current folder was deleted, so nothing can be imported from it
        return {os.getcwd(), os.path.dirname(os.path.abspath(script or ""))}
    return set()
