"""The compiled kernels: found in the cache or built, loaded, and called.

The cache's key is everything the machine code depends on: the sources, the layout of rows, the CPU, and the
versions of what compiles. A stale object is therefore never found, wherever the sources come from. Loading
needs llvmlite alone.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
from functools import cache
from importlib import metadata, resources
from pathlib import Path

import llvmlite.binding as llvm

from dlasim.errors import RunError
from dlasim.fileio import cache_folder
from dlasim.sim.kernels.build import KINDS, SYMBOL, target_machine, unsealed
from dlasim.sim.kernels.layout import fingerprint
from dlasim.sim.kernels.target import host

_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_int64
# numba's convention: where the result goes, where an exception would go, then the arguments.
_PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32, _POINTER, _POINTER,
    _POINTER, _SIZE, _SIZE, _POINTER, _POINTER, _POINTER, _SIZE, _POINTER, _POINTER,
)  # fmt: skip

MOST_OBJECTS = 16


class Library:
    """The kernels as one function of this process; `load_library` gives them."""

    def __init__(self, code: bytes) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self._function = _PROTOTYPE(self._engine.get_function_address(SYMBOL))
        self._result, self._exception = ctypes.c_int64(), ctypes.c_void_p()
        self._result_at = ctypes.addressof(self._result)
        self._exception_at = ctypes.addressof(self._exception)

    def run(
        self, rows: int, first: int, last: int, sram: int, regions: int, arena: int, capacity: int, state: int
    ) -> int:
        """Rows `first` to `last`, all by address. Returns where it stopped; `state` tells why."""
        status = self._function(
            self._result_at, self._exception_at,
            rows, first, last, sram, regions, arena, capacity, None, state,
        )  # fmt: skip
        assert status == 0, "compiled kernels raise nothing"
        return self._result.value


def best_kind() -> str:
    """The fastest kind that this CPU can run."""
    return "vnni" if host().has_vnni else "portable"


@cache
def load_library(kind: str) -> Library:
    """The kernels of a kind, built if nobody on this machine has yet."""
    assert kind in KINDS
    path = cache_folder() / object_name(kind)
    code = _read(path)
    if code is None:
        _build(kind, path)
        code = _read(path)
        _prune(path.parent)
    assert code is not None, "the build says that it succeeded"
    return Library(code)


def object_name(kind: str) -> str:
    """The name of the file that holds the kernels; another for everything that the code depends on."""
    digest = hashlib.sha256()
    for file in sorted(resources.files("dlasim.sim.kernels").iterdir(), key=lambda item: item.name):
        if file.name.endswith(".py"):
            digest.update(file.name.encode() + file.read_bytes())
    versions = [metadata.version(package) for package in ("numba", "llvmlite")]
    target = host()
    digest.update(repr((fingerprint(), versions, sys.version_info[:2], target)).encode())
    return f"kernels-{kind}-{digest.hexdigest()[:20]}.o"


def _read(path: Path) -> bytes | None:
    try:
        return unsealed(path.read_bytes())
    except OSError:
        return None


def _build(kind: str, path: Path) -> None:
    if sys.stderr.isatty():
        print("compiling the fast engine for this CPU, once …", file=sys.stderr)
    environment = os.environ | {"NUMBA_OPT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "dlasim.sim.kernels.build", kind, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RunError(f"cannot compile the fast engine's kernels: {last_line}")


def _prune(folder: Path) -> None:
    """Forget the oldest objects, which other versions of the sources left."""
    objects = sorted(folder.glob("kernels-*.o"), key=lambda file: file.stat().st_mtime)
    for file in objects[:-MOST_OBJECTS]:
        file.unlink(missing_ok=True)
