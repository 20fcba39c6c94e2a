"""Assembles a file."""

from __future__ import annotations

import sys
from pathlib import Path

from dlasim.errors import InputError
from dlasim.isa.assembly.assembler import assemble
from dlasim.isa.program import Program
from dlasim.system.fileio import read_file


def assemble_file(path: str | Path) -> Program:
    """The program in an assembly file; `-` is standard input."""
    if path != "-":
        return assemble_bytes(read_file(path), str(path))
    try:
        raw = sys.stdin.buffer.read()
    except OSError as error:
        raise InputError(f"cannot read standard input: {error.strerror}") from None
    return assemble_bytes(raw, "<stdin>")


def assemble_bytes(raw: bytes, origin: str) -> Program:
    """The program in the text of a file, which is UTF-8; `origin` names it in errors."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{origin}:{line}: this line is not valid UTF-8") from None
    return assemble(text, origin)
