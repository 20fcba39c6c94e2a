"""Pipes that a user names where a file is expected: read and written without waiting for another end that
nobody holds."""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

from dlasim.errors import InputError

# A shell opens both ends of `<(command)` at once; a process that opens a named pipe may take a moment.
_PATIENCE_SECONDS = 2.0
_PAUSE_SECONDS = 0.02  # between two looks
_CHUNK_BYTES = 1 << 20


def read_pipe(path: str | Path) -> Iterator[bytes]:
    """What a pipe delivers until those who write to it close it; an InputError where nothing comes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        is_empty, end = True, time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                chunk = os.read(descriptor, _CHUNK_BYTES)
            except BlockingIOError:  # somebody has it open, but has not written yet
                select.select([descriptor], [], [])
                continue
            if chunk:
                is_empty = False
                yield chunk
            elif not is_empty:
                return
            elif time.monotonic() > end:
                raise InputError(f"cannot read {path}: it is a pipe that no process writes to")
            else:
                time.sleep(_PAUSE_SECONDS)
    finally:
        os.close(descriptor)


def write_pipe(path: str | Path, data: bytes) -> None:
    """Write to a pipe that somebody reads; an OSError with what went wrong."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError as error:
            if error.errno != errno.ENXIO:  # which says that nobody has opened it
                raise
            if time.monotonic() > end:
                raise InputError(f"cannot write {path}: it is a pipe that no process reads") from None
            time.sleep(_PAUSE_SECONDS)
    os.set_blocking(descriptor, True)
    with open(descriptor, "wb") as file:
        file.write(data)
