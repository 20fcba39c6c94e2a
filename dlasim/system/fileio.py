"""Reads and writes files. A write is atomic: neither a reader nor a crash ever sees half of a file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from dlasim.errors import WRONG_PATH, InputError, RunError
from dlasim.system.pipes import read_pipe, write_pipe

MAX_FILE_BYTES = 1 << 31  # the limit of a flatbuffer
_CHUNK_BYTES = 1 << 24
_UNFINISHED = ".unfinished"
_PREFIX_BYTES = 128  # of the target's name, which an unfinished file's name starts with
FileStamp = tuple[int, int]  # changes when a file does
Identity = str | tuple[int, int]  # of a file: its path without links, or its device and inode


def atomic_write(path: str | Path, data: bytes | str) -> None:
    """Write `data` (text as UTF-8) to `path`; on any failure the old file remains."""
    raw = data.encode() if isinstance(data, str) else data
    try:
        mode = _mode_of(Path(path))
        if stat.S_ISREG(mode):
            with replacement(Path(os.path.realpath(path))) as file:  # a symbolic link stays one
                file.write(raw)
        elif stat.S_ISFIFO(mode):
            write_pipe(path, raw)
        else:  # a device, such as /dev/stdout, must not be replaced by a file
            Path(path).write_bytes(raw)
    except WRONG_PATH as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from None


def refuse_ending(path: str | Path, endings: Iterable[str], what: str) -> None:
    """Reject to write a file whose name says that it is something else."""
    ending = Path(path).suffix.lower()
    if ending in endings:
        raise InputError(f"{path} would be {what}, which no {ending} file is; choose another ending")


def keep_apart(sources: Iterable[str | Path | None], targets: Iterable[str | Path | None]) -> None:
    """Reject to overwrite a file that is also read, or to write two outputs to one file.

    Links, hard links and different paths to one file count as the same file. None means not given.
    """
    taken = {identity for source in sources if source for identity in _identities(source)}
    written: set[Identity] = set()
    for target in targets:
        if not target or _is_device(target):
            continue
        identities = _identities(target)
        if identities & taken:
            raise InputError(f"cannot write {target}: it is also an input; choose another name")
        if identities & written:
            raise InputError(f"cannot write {target}: another output goes there; choose another name")
        written |= identities


def _is_device(target: str | Path) -> bool:
    """Whether it is a device or a pipe, which writing does not replace (or a folder, refused when opened)."""
    path = os.path.realpath(target)
    return os.path.exists(path) and not os.path.isfile(path)


def _identities(path: str | Path) -> set[Identity]:
    """What distinguishes a file from others: its path and, if it exists, its inode."""
    identities: set[Identity] = {os.path.realpath(path)}
    with contextlib.suppress(OSError, ValueError):
        status = os.stat(path)
        identities.add((status.st_dev, status.st_ino))
    return identities


def read_file(path: str | Path, most: int = MAX_FILE_BYTES) -> bytes:
    """Read the whole of a file, or of a pipe that somebody writes to."""
    data = bytearray()
    with _clear_errors(path):
        for chunk in _chunks(path):
            data += chunk
            if len(data) > most:
                raise InputError(f"cannot read {path}: it is larger than {most:,} bytes, the limit")
    return bytes(data)


def _chunks(path: str | Path) -> Iterator[bytes]:
    """The content of a file or pipe, part by part."""
    if stat.S_ISFIFO(os.stat(path).st_mode):
        yield from read_pipe(path)
        return
    with open_file(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def file_stamp(path: str | Path) -> FileStamp:
    """When the file was written, and its size; zeros where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_size


def open_file(path: str | Path) -> BinaryIO:
    """A file to read from. Pipes are refused, which cannot be read twice, and devices, some of which never
    end."""
    with _clear_errors(path):
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
            raise InputError(f"cannot read {path}: expected a file, got {kind}")
        return open(path, "rb")


@contextlib.contextmanager
def _clear_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def read_toml(path: str | Path) -> dict[str, Any]:
    """Parse a TOML file."""
    try:
        text = read_file(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None
    return parse_toml(text, str(path))


def parse_toml(text: str, origin: str) -> dict[str, Any]:
    """Parse a TOML text; errors start with `origin`."""
    import tomllib  # few commands need it

    try:
        found = tomllib.loads(text)
        _check_integers(found, origin)
    except RecursionError:
        raise InputError(f"{origin}: its tables or arrays nest too deeply") from None
    except ValueError as error:  # also for very long numbers
        raise InputError(f"{origin} is not valid TOML: {error}") from None
    return found


def _check_integers(value: Any, where: str) -> None:
    """Refuse integers that TOML does not promise: Python writes none of more than 4,300 digits."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        bits = value.bit_length()
        raise InputError(f"{where}: an integer must be from -2^63 to 2^63 - 1 (got one of {bits:,} bits)")
    if isinstance(value, dict):
        for name, item in value.items():
            _check_integers(item, f"{where}: {name}")
    if isinstance(value, list):
        for item in value:
            _check_integers(item, where)


@contextlib.contextmanager
def replacement(target: Path) -> Iterator[BinaryIO]:
    """A file to write, which replaces `target` at the end with the same permissions; a failure removes it.

    Also removes unfinished files that killed processes left: those that no process locks.
    """
    mode = stat.S_IMODE(_mode_of(target))
    _remove_unfinished(target)
    handle, name = _unfinished(target)
    with open(handle, "wb") as file:
        try:
            yield file
            file.flush()
            os.fsync(handle)
            os.fchmod(handle, mode)
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def _mode_of(target: Path) -> int:
    """The mode of the file to replace, or the mode of a new file."""
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return stat.S_IFREG | (0o666 & ~mask)


def _unfinished(target: Path) -> tuple[int, str]:
    """Create a file in the target's folder, locked while it is open."""
    import tempfile  # what only reads does not need it

    while True:
        handle, name = tempfile.mkstemp(_UNFINISHED, _prefix(target), target.parent)
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # another process found it before it was locked, and removed it


def _remove_unfinished(target: Path) -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):
            if name.startswith(_prefix(target)) and name.endswith(_UNFINISHED):
                with contextlib.suppress(OSError):  # BlockingIOError: its writer is still running
                    _remove_unlocked(target.parent / name)


def _remove_unlocked(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(handle)


def _prefix(target: Path) -> str:
    return f".{os.fsdecode(os.fsencode(target.name)[:_PREFIX_BYTES])}."
