"""Compiles a unit to an object file: numba lowers kernels, `translate` routines; LLVM optimizes the whole.

Runs in a process of its own (`python -m dlasim.native.build MODULE FUNCTION KIND FILE SOURCES`), so that
whoever runs the code never imports numba, and so that numba can be told to leave the optimizing to us without
touching its other users.
"""

from __future__ import annotations

import contextlib
import hashlib
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from dlasim.errors import DlasimError
from dlasim.fileio import atomic_write
from dlasim.native.target import host
from dlasim.native.translate import translate
from dlasim.native.unit import Unit

SYMBOL = "dlasim_run"
MOST_OBJECTS = 32
_DIGEST_BYTES = hashlib.sha256().digest_size


def build_object(module: str, function: str, kind: str) -> bytes:
    """Machine code of a function for this host."""
    lowered = llvm.parse_assembly(_lowered(module, function, kind))
    for each in lowered.functions:
        if not each.is_declaration and each.name != SYMBOL:
            each.linkage = "internal"
    machine = target_machine()
    speed = 3 if kind else 2  # routines have no inner loops that would gain by more
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(lowered, builder)
    code: bytes = machine.emit_object(lowered)
    return code


def target_machine() -> llvm.TargetMachine:
    """LLVM's code generator for this host."""
    initialize()
    target = host()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, jit=True, codemodel="jitdefault"
    )


def initialize() -> None:
    """Make LLVM know this host."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _lowered(module_name: str, name: str, kind: str) -> str:
    """The function and what it calls in LLVM's language, the one entry named SYMBOL."""
    module: Any = import_module(module_name)
    entry = getattr(module, name)
    if not kind:
        return translate(entry, SYMBOL)
    entry.compile(module.signature(kind))
    (signature,) = entry.signatures
    symbol = entry.overloads[signature].fndesc.llvm_func_name
    text: str = entry.inspect_llvm(signature)
    return text.replace(f"@{symbol}(", f"@{SYMBOL}(")


def sealed(code: bytes) -> bytes:
    """The code behind its own digest, so that whoever reads a file knows that it is whole."""
    return hashlib.sha256(code).digest() + code


def read_object(path: Path) -> bytes | None:
    """The code that the cache has at a path; None where there is none, or not all of it."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, code = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None


def main() -> int:
    """Write the object of a unit to a file, whole or not at all; what goes wrong is one line."""
    module, function, kind, path, *sources = sys.argv[1:]
    try:
        code = build_object(module, function, kind)
        if not path.endswith(f"-{Unit('', module, function, 0, tuple(sources), kind).digest}.o"):
            raise DlasimError("its sources have changed meanwhile")  # this file is for what they were
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # too late to be ended: nothing is left half-written
        atomic_write(path, sealed(code))
    except Exception as error:  # numba and LLVM raise what they like, over many lines
        said = str(error) if isinstance(error, DlasimError) else f"{type(error).__name__}: {error}"
        print(" ".join(said.split()), file=sys.stderr)
        return 1
    _prune(Path(path).parent)
    return 0


def _prune(folder: Path) -> None:
    """Forget the oldest objects, which other versions of the sources left."""
    ages = {}
    for file in folder.glob("*.o"):
        with contextlib.suppress(OSError):  # others prune too
            ages[file] = file.stat().st_mtime
    for file in sorted(ages, key=lambda file: ages[file])[:-MOST_OBJECTS]:
        file.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
