"""Compiles the kernels to an object file: numba types and lowers them, LLVM optimizes the whole once.

Runs in a process of its own (`python -m dlasim.sim.kernels.build KIND FILE`), so that whoever simulates never
imports numba, and so that numba can be told to leave the optimizing to us without touching its other users.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import llvmlite.binding as llvm

from dlasim.errors import DlasimError
from dlasim.fileio import atomic_write
from dlasim.sim.kernels.target import host

SYMBOL = "dlasim_run"
KINDS = ("vnni", "portable")
_DIGEST_BYTES = hashlib.sha256().digest_size


def build_object(kind: str) -> bytes:
    """Machine code of the kernels for this host."""
    module = llvm.parse_assembly(_lowered(kind))
    for function in module.functions:
        if not function.is_declaration and function.name != SYMBOL:
            function.linkage = "internal"
    machine = target_machine()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
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


def _lowered(kind: str) -> str:
    """The kernels in LLVM's language, their one entry named SYMBOL."""
    from numba import types

    from dlasim.sim.kernels import entry

    run: Any = entry.run
    run.compile(entry.signature({"vnni": types.uint8, "portable": types.int16}[kind]))
    (signature,) = run.signatures
    name = run.overloads[signature].fndesc.llvm_func_name
    text: str = run.inspect_llvm(signature)
    return text.replace(f"@{name}(", f"@{SYMBOL}(")


def sealed(code: bytes) -> bytes:
    """The code behind its own digest, so that whoever reads a file knows that it is whole."""
    return hashlib.sha256(code).digest() + code


def unsealed(data: bytes) -> bytes | None:
    """The code in what `sealed` gave, or None for anything else."""
    digest, code = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None


def main() -> int:
    """Write the object of a kind to a file, whole or not at all."""
    kind, path = sys.argv[1], sys.argv[2]
    try:
        atomic_write(path, sealed(build_object(kind)))
    except DlasimError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
