"""Where the docs say how to make an int8 network of a file that dlasim does not run, by the file's format;
and model files that another NPU's compiler wrote, which hold its machine code and no operators to run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable


@dataclass(frozen=True, slots=True)
class Format:
    """A format of trained networks: the endings of its files, and the recipe for it."""

    name: str
    endings: tuple[str, ...]
    section: str


def as_page_shows(*sections: str) -> str:
    """Where to read how to quantize a network, as the end of a message."""
    names = " or ".join(f'"{section}"' for section in sections)
    return f'with `dlasim quantize`, as the page "Get an int8 network" shows under {names}'


KERAS, ONNX, PYTORCH = "From Keras", "From ONNX", "From PyTorch"
_FORMATS = (
    Format("a Keras model", (".keras", ".h5", ".hdf5"), KERAS),
    Format("a TensorFlow model", (".pb",), KERAS),
    Format("a PyTorch file", (".pt", ".pth", ".pt2", ".ckpt"), PYTORCH),
)
_SAVED_MODEL = "saved_model.pb"  # the file that every folder of a SavedModel has


def refuse_other_formats(path: str | Path) -> None:
    """Name the recipe for a file, or the folder of a SavedModel, that another framework writes."""
    text = str(path).lower()
    found = next((format for format in _FORMATS if text.endswith(format.endings)), None)
    if found is not None and os.path.isfile(path):
        _refuse(path, found.name, found.section)
    if os.path.isdir(path) and os.path.isfile(os.path.join(path, _SAVED_MODEL)):
        _refuse(path, "a SavedModel", KERAS)


def _refuse(path: str | Path, name: str, section: str) -> None:
    raise InputError(f"{path} is {name}; dlasim runs int8 networks: quantize it {as_page_shows(section)}")


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
