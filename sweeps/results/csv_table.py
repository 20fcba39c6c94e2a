"""CSV tables on disk, written atomically and streamed row by row."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dlasim.errors import WRONG_PATH, InputError, RunError, printable
from dlasim.system.fileio import open_file, replacement

_FORMULA_SIGNS = ("=", "+", "-", "@", "\t")


class _Hashed:
    """A text file that hashes what is written to it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, text: str) -> int:
        self.digest.update(text.encode())
        return int(self._file.write(text))


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table atomically; returns the hash of its content."""
    try:
        with replacement(Path(os.path.realpath(path))) as raw:
            file = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            hashed = _Hashed(file)
            writer = csv.writer(hashed, lineterminator="\n")
            writer.writerow(head)
            writer.writerows(map(_harmless, row) for row in rows)
            file.detach()
    except WRONG_PATH as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from None
    return hashed.digest.hexdigest()


def _harmless(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: an apostrophe before it makes it text."""
    if not isinstance(cell, str):
        return cell
    text = printable(cell, also="\t\n")
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA_SIGNS) else text


def _original(cell: str) -> str:
    """The text that was written as this cell."""
    return cell[1:] if cell.startswith("'") and _harmless(cell) != cell else cell


def read_csv(path: Path) -> tuple[list[str], Iterator[list[str]]]:
    """The column names of a table and an iterator over its rows."""
    rows = _lines(path)
    head = next(rows, None)
    if not head:
        raise InputError(f"{path} is empty: expected a CSV table with column names in the first row")
    return head, _checked(path, head, rows)


def _lines(path: Path) -> Iterator[list[str]]:
    try:
        with open_file(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
            yield from csv.reader(file)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a CSV table: byte {error.start} is no text in UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path} is not a valid CSV table: {error}") from None


def _checked(path: Path, head: list[str], rows: Iterator[list[str]]) -> Iterator[list[str]]:
    for number, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise InputError(f"{path}: row {number} has {len(row)} cells, but there are {len(head)} columns")
        yield list(map(_original, row))


def typed(text: str) -> Any:
    """A cell as a number or text; None if it is empty."""
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
