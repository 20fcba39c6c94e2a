"""Finished points on disk: append-only files that survive a crash and that several sweeps can share.

A cache is a folder of segments. Each sweep appends to its own segment and reads all of them, so no locks
are needed. A line is `<crc32> <json>` and a newline; incomplete or damaged lines are ignored. Each line takes
16 bytes of memory.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError, RunError
from dlasim.sweeps.evaluation.evaluate import FAILED, FIGURES, LAYER_COLUMNS, OK, REFUSED, Entry
from dlasim.system.fileio import open_file

MISSING = -1
_SEGMENT_BITS = 20  # the low bits of a location are a segment's number, the others an offset
_SUFFIX = ".jsonl"
_TOTAL = FIGURES.index("cycles_total")  # every run has it; a run without firmware lacks some other figures
_KEY = re.compile(r"[0-9a-f]{32}")  # as `content_key` makes them


class Journal:
    """The finished points of a cache by their content keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot create the folder {folder}: {error.strerror}") from None
        self._segments: list[Path] = []
        self._read_to: dict[Path, int] = {}
        self._readers: dict[int, Any] = {}
        self._mine: int | None = None
        self._handle = -1
        self._end = 0
        self._keys: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._locations: NDArray[np.int64] = np.zeros(0, np.int64)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def refresh(self) -> None:
        """Read the lines that this and other sweeps have added since the last call."""
        keys: list[int] = []
        locations: list[int] = []
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            if path not in self._read_to:
                self._read_to[path] = 0
                self._segments.append(path)
            number = self._segments.index(path)
            if number != self._mine:
                for offset, record in self._scan(path):
                    keys.append(_short(record["k"]))
                    locations.append(offset << _SEGMENT_BITS | number)
        self._add(keys, locations)

    def find(self, keys: Sequence[str], with_layers: bool) -> list[int]:
        """The location of each key's entry; MISSING if there is none or it lacks what is needed."""
        if not len(self._keys):
            return [MISSING] * len(keys)
        short = np.array([_short(key) for key in keys], np.uint64)
        nearest = np.minimum(np.searchsorted(self._keys, short), len(self._keys) - 1)
        found = np.where(self._keys[nearest] == short, self._locations[nearest], MISSING).tolist()
        return [
            location if location != MISSING and self._serves(location, key, with_layers) else MISSING
            for key, location in zip(keys, found, strict=True)
        ]

    def read(self, location: int) -> Entry:
        """The entry at a location."""
        record = self._record(location)
        return Entry(record["s"], record["r"], record["f"], record.get("l"))

    def append(self, items: Iterable[tuple[str, Entry]]) -> list[int]:
        """Write entries; once this returns, they survive the end of this process."""
        lines = [_line(key, entry) for key, entry in items]
        if not lines:
            return []
        if self._mine is None:
            self._open()
        assert self._mine is not None
        locations = []
        for line in lines:
            locations.append(self._end << _SEGMENT_BITS | self._mine)
            self._end += len(line)
        self._write(b"".join(lines))
        return locations

    def close(self) -> None:
        """Flush what was written to the disk, so that it also survives a power failure."""
        if self._handle >= 0:
            os.fsync(self._handle)
            os.close(self._handle)
            self._handle = -1
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def _serves(self, location: int, key: str, with_layers: bool) -> bool:
        record = self._record(location)
        if record["k"] != key or record["s"] == FAILED:
            return False
        return not with_layers or "l" in record or not record["f"]

    def _record(self, location: int) -> dict[str, Any]:
        number = location & ((1 << _SEGMENT_BITS) - 1)
        if number not in self._readers:
            self._readers[number] = open_file(self._segments[number])
        reader = self._readers[number]
        reader.seek(location >> _SEGMENT_BITS)
        record = _parse(reader.readline())
        if record is None:
            raise RunError(f"{self._segments[number]} changed while it was read; run the sweep again")
        return record

    def _scan(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """Complete lines since the last scan; an incomplete line at the end is left for the next scan."""
        with open_file(path) as file:
            file.seek(self._read_to[path])
            for line in file:
                if not line.endswith(b"\n"):
                    return
                offset = self._read_to[path]
                self._read_to[path] += len(line)
                record = _parse(line)
                if record is not None:
                    yield offset, record

    def _add(self, keys: list[int], locations: list[int]) -> None:
        if not keys:
            return
        # The latest of equal keys comes first: it may have layers that older ones lack.
        all_keys = np.concatenate((np.array(keys[::-1], np.uint64), self._keys))
        order = np.argsort(all_keys, kind="stable")
        self._keys = all_keys[order]
        self._locations = np.concatenate((np.array(locations[::-1], np.int64), self._locations))[order]

    def _open(self) -> None:
        path = self._folder / f"{os.getpid()}-{secrets.token_hex(8)}{_SUFFIX}"
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from None
        self._read_to[path] = 0
        self._segments.append(path)
        self._mine = len(self._segments) - 1
        assert self._mine < 1 << _SEGMENT_BITS

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._handle, view) :]
        except OSError as error:
            raise RunError(f"cannot write {self._segments[-1]}: {error.strerror}") from None


def _line(key: str, entry: Entry) -> bytes:
    record: dict[str, Any] = {"k": key, "s": entry.status, "r": entry.reason, "f": list(entry.figures)}
    if entry.layers is not None:
        record["l"] = entry.layers
    body = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _parse(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None if the line is damaged."""
    body = line[9:-1]
    if line[8:9] != b" " or line[:8] != b"%08x" % zlib.crc32(body):
        return None
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return record if _is_entry(record) else None


def _is_entry(record: Any) -> bool:
    """Whether `_line` could have written the record: a right checksum does not prove that."""
    return (
        isinstance(record, dict)
        and set(record) - {"l"} == {"k", "s", "r", "f"}
        and isinstance(record["k"], str)
        and _KEY.fullmatch(record["k"]) is not None
        and record["s"] in (OK, REFUSED, FAILED)
        and isinstance(record["r"], str)
        and _is_row(record["f"], len(FIGURES) if record["s"] == OK else 0, int | float | None)
        and (record["s"] != OK or record["f"][_TOTAL] is not None)
        and isinstance(record.get("l", []), list)
        and all(_is_row(layer, len(LAYER_COLUMNS), int | float | str) for layer in record.get("l", ()))
    )


def _is_row(cells: Any, count: int, kinds: Any) -> bool:
    return isinstance(cells, list) and len(cells) == count and all(isinstance(cell, kinds) for cell in cells)


def _short(key: str) -> int:
    return int(key[:16], 16)
