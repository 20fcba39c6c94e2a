"""Tables on disk: CSV written in one piece whatever happens, however many rows there are."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dlasim.errors import InputError, RunError
from dlasim.fileio import open_file


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
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            hashed = _Hashed(file)
            writer = csv.writer(hashed, lineterminator="\n")
            writer.writerow(head)
            writer.writerows(rows)
            file.flush()
            os.fsync(handle)
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except OSError as error:
        os.unlink(name)
        raise RunError(f"cannot write {path}: {error.strerror}") from None
    except BaseException:
        os.unlink(name)
        raise
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


def _mode(path: Path) -> int:
    """The rights of the file that is replaced, or those that a new file gets."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
