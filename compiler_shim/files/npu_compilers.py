"""Model files that another NPU's compiler wrote: they hold its machine code, and no operators to run."""

from __future__ import annotations

from collections.abc import Iterable

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable


@dataclass(frozen=True, slots=True)
class NpuCompiler:
    """A compiler, what it compiles for, and the operators that its files have: with this name, or names that
    begin so."""

    compiler: str
    target: str
    operator: str
    is_prefix: bool = False

    def wrote(self, operator: str) -> bool:
        """Whether an operator of this name is one of its own."""
        return operator.startswith(self.operator) if self.is_prefix else operator == self.operator


_COMPILERS = (
    NpuCompiler("Vela", "Arm's Ethos-U", "ethos-u"),
    NpuCompiler("edgetpu_compiler", "Google's Edge TPU", "edgetpu-custom-op"),
    NpuCompiler("the eIQ Neutron converter", "NXP's Neutron NPU", "NeutronGraph"),
    NpuCompiler("xcore-opt", "XMOS's xcore", "XC_", is_prefix=True),
    NpuCompiler("MediaTek's converter", "MediaTek's NPU", "MTKEXT_", is_prefix=True),
    NpuCompiler("VeriSilicon's compiler", "VeriSilicon's NPU", "vsi-npu"),
    NpuCompiler("LiteRT's compiler", "the NPU of a phone", "DISPATCH_OP", is_prefix=True),
    NpuCompiler("onnxruntime", "one of its execution providers", "EPContext"),
)


def refuse_compiled(operators: Iterable[str], name: str) -> None:
    """Name the compiler that wrote the file, by the custom operators in it."""
    for operator in operators:
        for compiler in _COMPILERS:
            if compiler.wrote(operator):
                raise InputError(
                    f"{name}: {compiler.compiler} compiled this file for {compiler.target} (operator "
                    f"{printable(operator[:40])}); give dlasim the file from before that compiler"
                )
