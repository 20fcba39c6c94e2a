"""Assembles a file."""

from __future__ import annotations

import sys
from pathlib import Path

from dlasim.errors import InputError
from dlasim.fileio import read_file
from dlasim.isa.assembly.assembler import assemble
from dlasim.isa.program import Program


def assemble_file(path: str | Path) -> Program:
    """The program in an assembly file; `-` is standard input."""
    return assemble(_text(path), "<stdin>" if path == "-" else str(path))


def _text(path: str | Path) -> str:
    try:
        raw = sys.stdin.buffer.read() if path == "-" else read_file(path)
        return raw.decode()
    except OSError as error:
        raise InputError(f"cannot read standard input: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: this line is not valid UTF-8") from None
