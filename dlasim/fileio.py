"""Files: written so that a reader, or a crash, never meets half of one; and where built things are kept."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from dlasim.errors import InputError, RunError

MAX_FILE_BYTES = 1 << 31  # what a flatbuffer may have
_CHUNK_BYTES = 1 << 24
Place = str | tuple[int, int]  # a path without links, or device and inode
_WRONG_PATH = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def atomic_write(path: str | Path, data: bytes | str) -> None:
    """Put `data` (text as UTF-8) at `path`: afterwards the old file is there, or the whole new one."""
    raw = data.encode() if isinstance(data, str) else data
    target = Path(os.path.realpath(path))  # a link stays a link
    try:
        mode = _mode_of(target)
        if stat.S_ISREG(mode):
            _replace(target, raw, stat.S_IMODE(mode))
        else:  # a pipe or a device, such as /dev/stdout, must not be replaced by a file
            target.write_bytes(raw)
    except _WRONG_PATH as error:
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


def cache_folder() -> Path:
    """Where compiled code is kept: the user's cache, or else a private folder in the temporary one."""
    for folder in (_user_cache(), Path(tempfile.gettempdir()) / f"dlasim-cache-{os.getuid()}"):
        if folder is None:
            continue
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_private(folder):
                return folder
        except OSError:
            continue
    raise RunError("no folder to keep compiled code in: neither the user's cache nor the temporary folder")


def _user_cache() -> Path | None:
    """The usual place, if this user has a home."""
    root = os.environ.get("XDG_CACHE_HOME")
    if root:
        return Path(root) / "dlasim"
    try:
        return Path.home() / ".cache" / "dlasim"
    except RuntimeError:
        return None


def _is_private(folder: Path) -> bool:
    """Whether we can write there and nobody else: code is loaded from it."""
    status = folder.stat()
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return os.access(folder, os.W_OK) and status.st_uid == os.getuid() and not others_write


def _mode_of(target: Path) -> int:
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return stat.S_IFREG | (0o666 & ~mask)


def _replace(target: Path, raw: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
    try:
        with open(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(handle)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
