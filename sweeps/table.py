"""Tables on disk: CSV written in one piece whatever happens, however many rows there are."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dlasim.errors import InputError, RunError
from dlasim.fileio import WRONG_PATH, open_file, replacement


class _Hashed:
    """A text file that hashes what goes through it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, text: str) -> int:
        self.digest.update(text.encode())
        return int(self._file.write(text))


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table; a reader meets the old file or the whole new one. Returns the hash of its content."""
    try:
        with replacement(Path(os.path.realpath(path))) as raw:
            file = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            hashed = _Hashed(file)
            writer = csv.writer(hashed, lineterminator="\n")
            writer.writerow(head)
            writer.writerows(rows)
            file.detach()
    except WRONG_PATH as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from None
    return hashed.digest.hexdigest()


def read_csv(path: Path) -> tuple[list[str], Iterator[list[str]]]:
    """The head and the rows of a table, one at a time."""
    rows = _lines(path)
    head = next(rows, None)
    if not head:
        raise InputError(f"{path} is empty: a table starts with the names of its columns")
    return head, _checked(path, head, rows)


def _lines(path: Path) -> Iterator[list[str]]:
    try:
        with open_file(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
            yield from csv.reader(file)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is no CSV table: {error}") from None


def _checked(path: Path, head: list[str], rows: Iterator[list[str]]) -> Iterator[list[str]]:
    for number, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise InputError(f"{path}: row {number} has {len(row)} cells, its head has {len(head)}")
        yield row


def typed(text: str) -> Any:
    """A cell as number or text; None where it is empty."""
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
