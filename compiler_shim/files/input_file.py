"""The border of dlasim: a file that a user gives is read and told apart here, once; the rest takes what was
read."""

from __future__ import annotations

import enum
from dataclasses import field
from pathlib import Path

from dlasim.compiler_shim.dlag.dlag_layout import is_graph
from dlasim.compiler_shim.files.recipes import refuse_other_formats
from dlasim.dataclass import dataclass
from dlasim.isa.container import is_program
from dlasim.system.fileio import read_file

_ELF_MAGIC = b"\x7fELF"
_TOSA_MARK = b"TOSA"  # in bytes 4 to 7


class InputKind(enum.Enum):
    """What a file can be."""

    ASSEMBLY = enum.auto()
    ELF = enum.auto()
    PROGRAM = enum.auto()
    ONNX = enum.auto()
    TOSA = enum.auto()
    DLAG = enum.auto()
    TFLITE = enum.auto()


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file as it was when it was read; as text, its path."""

    path: str
    kind: InputKind
    data: bytes = field(repr=False)

    def __str__(self) -> str:
        return self.path

    @property
    def is_model(self) -> bool:
        """Whether it has to be compiled."""
        return self.kind in (InputKind.ONNX, InputKind.TOSA, InputKind.DLAG, InputKind.TFLITE)


AnyInput = str | Path | InputFile


def open_input(given: AnyInput) -> InputFile:
    """Read a file, unless that has been done."""
    if isinstance(given, InputFile):
        return given
    refuse_other_formats(given)
    data = read_file(given)
    return InputFile(str(given), _kind(str(given), data), data)


def _kind(path: str, data: bytes) -> InputKind:
    """By its name where the content has no mark; what has no mark at all is read as a .tflite."""
    if path.endswith(".s"):
        return InputKind.ASSEMBLY
    if data.startswith(_ELF_MAGIC):
        return InputKind.ELF
    if is_program(data):
        return InputKind.PROGRAM
    if path.lower().endswith(".onnx"):
        return InputKind.ONNX
    if data[4:8] == _TOSA_MARK or path.lower().endswith(".tosa"):
        return InputKind.TOSA
    return InputKind.DLAG if is_graph(data) else InputKind.TFLITE
