"""Files: written so that a reader, or a crash, never meets half of one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from dlasim.errors import InputError, RunError

MAX_FILE_BYTES = 1 << 31  # what a flatbuffer may have
_CHUNK_BYTES = 1 << 24
_UNFINISHED = ".unfinished"
_PREFIX_BYTES = 128  # of a target's name, in that of its unfinished file
WRONG_PATH = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)
Place = str | tuple[int, int]  # a path without links, or device and inode


def atomic_write(path: str | Path, data: bytes | str) -> None:
    """Put `data` (text as UTF-8) at `path`: afterwards the old file is there, or the whole new one."""
    raw = data.encode() if isinstance(data, str) else data
    target = Path(os.path.realpath(path))  # a link stays a link
    try:
        if stat.S_ISREG(_mode_of(target)):
            with replacement(target) as file:
                file.write(raw)
        else:  # a pipe or a device, such as /dev/stdout, must not be replaced by a file
            target.write_bytes(raw)
    except WRONG_PATH as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from None


def keep_apart(sources: Iterable[str | Path | None], targets: Iterable[str | Path | None]) -> None:
    """Refuse to write over a file that is read, or two outputs to one place; None is what was not given.

    However a file is spelled: links, hard links and ways through other folders are the same file.
    """
    taken = {place for source in sources if source for place in _places(source)}
    written: set[Place] = set()
    for target in targets:
        if not target or _takes_all(target):
            continue
        places = _places(target)
        if places & taken:
            raise InputError(f"cannot write {target}: it is read too, and would be lost")
        if places & written:
            raise InputError(f"cannot write {target}: two outputs would go there")
        written |= places


def _takes_all(target: str | Path) -> bool:
    """Whether it is a device or a pipe, which are not replaced; folders are refused when they are opened."""
    place = os.path.realpath(target)
    return os.path.exists(place) and not os.path.isfile(place)


def _places(path: str | Path) -> set[Place]:
    """What tells a file from others: where it is, and once it exists, what it is."""
    places: set[Place] = {os.path.realpath(path)}
    with contextlib.suppress(OSError, ValueError):
        status = os.stat(path)
        places.add((status.st_dev, status.st_ino))
    return places


def read_file(path: str | Path, most: int = MAX_FILE_BYTES) -> bytes:
    """All of a file, or of a pipe."""
    data = bytearray()
    with open_file(path, pipes=True) as file, _clear_errors(path):
        while chunk := file.read(_CHUNK_BYTES):
            data += chunk
            if len(data) > most:
                raise InputError(f"cannot read {path}: it is larger than {most:,} bytes")
    return bytes(data)


def read_head(path: str | Path, count: int) -> bytes:
    """The first bytes of a file that is then read as a whole, which a pipe could not be."""
    with open_file(path) as file, _clear_errors(path):
        return file.read(count)


def open_file(path: str | Path, pipes: bool = False) -> BinaryIO:
    """A file to read from; devices, some of which never end, are refused."""
    with _clear_errors(path):
        mode = os.stat(path).st_mode
        if stat.S_ISFIFO(mode) and not pipes:
            raise InputError(f"cannot read {path}: it is a pipe, a file is needed")
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISDIR(mode)):
            raise InputError(f"cannot read {path}: it is a device, a file is needed")
        return open(path, "rb")


@contextlib.contextmanager
def _clear_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # the latter: a name with a NUL
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def read_toml(path: str | Path) -> dict[str, Any]:
    """The table in a TOML file."""
    try:
        text = read_file(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None
    return parse_toml(text, str(path))


def parse_toml(text: str, origin: str) -> dict[str, Any]:
    """The table in a TOML text; `origin` names it in errors."""
    import tomllib  # most commands never need it

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # among the former: a number of thousands of digits
        raise InputError(f"{origin} is not valid TOML: {error}") from None


@contextlib.contextmanager
def replacement(target: Path) -> Iterator[BinaryIO]:
    """A file to write, which replaces `target` at the end and keeps its rights; a failure removes it.

    It also removes the unfinished files of processes that were killed: those that nobody locks.
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
    """The rights of the file that is replaced, or those that a new file gets."""
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return stat.S_IFREG | (0o666 & ~mask)


def _unfinished(target: Path) -> tuple[int, str]:
    """A new file beside the target, locked for as long as it is open."""
    while True:
        handle, name = tempfile.mkstemp(_UNFINISHED, _prefix(target), target.parent)
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # somebody found it before it was locked, and removed it


def _remove_unfinished(target: Path) -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):
            if name.startswith(_prefix(target)) and name.endswith(_UNFINISHED):
                with contextlib.suppress(OSError):  # BlockingIOError: its writer is at work
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
