"""The inputs of an evaluation and their labels: from folders, arrays and files of labels."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, counted, printable
from dlasim.inputs import Given, Inputs, load_npy
from dlasim.media import PICTURES, SOUNDS
from dlasim.system.fileio import file_stamp, read_file

SUFFIXES = (*PICTURES, *SOUNDS, ".npy")
Labels = str | Path | Sequence[int] | NDArray[Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """What the network gets, what it is called, and the number of its class if that is known."""

    name: str
    given: Inputs
    label: int | None = None

    def digest(self, settings: bytes) -> str:
        """Changes when the input, its label or anything else that decides the result does."""
        hashed = hashlib.sha256(settings + f"{self.name}\0{self.label}\0".encode())
        for part in _parts(self.given):
            if isinstance(part, str | Path):
                hashed.update(repr(file_stamp(part)).encode())
            else:
                array = np.ascontiguousarray(part)
                hashed.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
        return hashed.hexdigest()[:16]


def _parts(given: Inputs) -> list[Given]:
    if isinstance(given, Mapping):
        return list(given.values())
    return list(given) if isinstance(given, list | tuple) else [given]  # type: ignore[list-item]


def collect(inputs: str | Path | Sequence[Inputs], labels: Labels | None, offset: int = 0) -> list[Sample]:
    """Every sample; `offset` is what is added to each label."""
    folder_labels: list[int | None] | None = None
    if isinstance(inputs, str | Path):
        names, given, folder_labels = _from_path(Path(inputs))
    else:
        if not isinstance(inputs, Iterable):
            raise InputError(f"inputs must be a path or a list of inputs (got {inputs!r:.80})")
        names = [str(item) if isinstance(item, str | Path) else f"input {n}" for n, item in enumerate(inputs)]
        given = [_absolute(item) for item in inputs]
    if not given:
        raise InputError(f"{inputs} has no inputs: expected files of {', '.join(SUFFIXES)}")
    found = _labels(labels, names) if labels is not None else folder_labels
    if found is None:
        return [Sample(name, each) for name, each in zip(names, given, strict=True)]
    return [
        Sample(name, each, None if label is None else label + offset)
        for name, each, label in zip(names, given, found, strict=True)
    ]


def _absolute(given: Inputs) -> Inputs:
    """With paths as workers need them, which run in another folder."""
    if isinstance(given, str | Path):
        return os.path.abspath(given)
    if isinstance(given, Mapping):
        return {name: _absolute(part) for name, part in given.items()}  # type: ignore[misc]
    return [_absolute(part) for part in given] if isinstance(given, list | tuple) else given  # type: ignore[misc]


def _from_path(path: Path) -> tuple[list[str], list[Any], list[int | None] | None]:
    """Names, inputs, and labels by the folders that the files lie in."""
    if path.suffix.lower() == ".npy":
        array = load_npy(path)
        if array.ndim < 1:
            raise InputError(f"{path}: expected an array with an input in each row, got a single number")
        return [f"row {number}" for number in range(len(array))], list(array), None
    if not path.is_dir():
        raise InputError(f"{path} is neither a folder nor a .npy file")
    files = sorted(
        Path(folder, name).relative_to(path)
        for folder, _, names in os.walk(path)
        for name in names
        if Path(name).suffix.lower() in SUFFIXES
    )
    by_folder = {name: number for number, name in enumerate(sorted({file.parts[0] for file in files}))}
    is_sorted = bool(files) and all(len(file.parts) > 1 for file in files)
    labels: list[int | None] | None = [by_folder[file.parts[0]] for file in files] if is_sorted else None
    return [str(file) for file in files], [os.path.abspath(path / file) for file in files], labels


def _labels(labels: Labels, names: Sequence[str]) -> list[int | None]:
    """The label of each name: by name where the file has names, else in order."""
    if not isinstance(labels, str | Path):
        return _in_order(np.asarray(labels), names, "labels")
    if Path(labels).suffix.lower() == ".npy":
        return _in_order(load_npy(labels), names, str(labels))
    try:
        rows = [row for row in csv.reader(read_file(labels).decode().splitlines()) if any(row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{labels} is not a table of labels in UTF-8: {error}") from None
    if all(len(row) == 1 for row in rows):
        return _in_order(np.array([_number(row[0], labels) for row in rows]), names, str(labels))
    return _by_name(rows, names, labels)


def _in_order(numbers: NDArray[Any], names: Sequence[str], origin: str) -> list[int | None]:
    flat = numbers.ravel()
    if flat.dtype.kind not in "iu" and flat.size:
        raise InputError(f"{origin}: labels must be whole numbers (got {flat.dtype})")
    if len(flat) != len(names):
        raise InputError(f"{origin} has {counted(len(flat), 'label')} for {counted(len(names), 'input')}")
    return [int(number) for number in flat]


def _by_name(rows: list[list[str]], names: Sequence[str], origin: str | Path) -> list[int | None]:
    """From rows `name,label`; a first row without a number is the head."""
    if any(len(row) != 2 for row in rows):
        raise InputError(f"{origin}: expected rows of a name and a label, or a label in each row")
    body = rows[1:] if not rows[0][1].strip().lstrip("-").isdigit() else rows
    table = {row[0].strip(): _number(row[1], origin) for row in body}
    found = [table.get(name, table.get(Path(name).name)) for name in names]
    missing = [name for name, label in zip(names, found, strict=True) if label is None]
    if missing:
        raise InputError(
            f"{origin} has no label for {printable(missing[0])} (and {len(missing) - 1:,} other inputs)"
        )
    return found


def _number(text: str, origin: str | Path) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{origin}: labels must be whole numbers (got {printable(text[:40])!r})") from None
