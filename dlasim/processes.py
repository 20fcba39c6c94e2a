"""Helper processes: they run this very dlasim, and import nothing from the current folder."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from dlasim.errors import RunError

_START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py")
_NEUTRAL_FOLDER = "/"  # some packages read settings from the folder they start in


def start(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """Start `main(arguments)` of one of our modules in a new process; `options` are those of Popen."""
    if not sys.executable:
        raise RunError("cannot start a helper process: this Python does not know its own executable")
    try:
        return subprocess.Popen(
            [sys.executable, "-P", _START, module, *arguments],
            env=clean_environment() if environment is None else environment,
            cwd=_NEUTRAL_FOLDER,
            **options,
        )
    except OSError as error:
        raise RunError(f"cannot start a helper process: {error.strerror}") from None


def clean_environment() -> dict[str, str]:
    """The environment for a helper: its PYTHONPATH is where this process imports from, less the folders
    that Python adds by itself: the current one, and that of the script."""
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
    """The folders that nobody asked to import from."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    with contextlib.suppress(OSError):  # the current folder has been deleted: it holds nothing to import
        return {os.getcwd(), os.path.dirname(os.path.abspath(script or ""))}
    return set()
