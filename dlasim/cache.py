"""The folder that built things are kept in. Code is loaded from it, so nobody else may put anything there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from dlasim.errors import RunError

MOST_OBJECTS = 32
_OBJECT = re.compile(r"[a-z][a-z0-9-]*-[0-9a-f]{20}\.o")
_UNFINISHED = re.compile(rf"\.{_OBJECT.pattern}\.[0-9a-f]{{16}}")
_UNFINISHED_SECONDS = 3600  # after which whoever wrote it must have been killed
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MOST_BYTES = 1 << 26


class Cache:
    """A private folder, held open: whatever happens to its path, this stays the folder that was checked."""

    def __init__(self, path: Path) -> None:
        """Raises OSError where the path is no folder, or not ours alone."""
        self.path = path
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _make_private(self._folder)
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder, and of a lock on it."""
        os.close(self._folder)

    def read(self, name: str) -> bytes | None:
        """A file's content; None where there is none, or it could be somebody else's."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with open(os.open(name, flags, dir_fd=self._folder), "rb") as file:
                status = os.fstat(file.fileno())
                is_file = stat.S_ISREG(status.st_mode) and status.st_size <= _MOST_BYTES
                return file.read() if is_file and _is_ours(status) else None
        except OSError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Put a file there, whole or not at all. Raises OSError."""
        unfinished = f".{name}.{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        handle = os.open(unfinished, flags, 0o600, dir_fd=self._folder)
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(handle)
            os.replace(unfinished, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished, dir_fd=self._folder)
            raise

    @contextlib.contextmanager
    def lock(self, name: str | None = None) -> Iterator[None]:
        """Hold the lock of the whole folder, or of a name in it; a process that ends lets go of it."""
        if name is None:
            handle = os.dup(self._folder)
        else:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=self._folder)
        try:
            with contextlib.suppress(
                OSError
            ):  # some network file systems have no locks: work is done twice there
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    def prune(self) -> None:
        """Forget the oldest objects, which other versions left, and what killed processes left unfinished.
        Files with names that are not ours are left alone."""
        objects = self._ages(_OBJECT)
        unfinished = self._ages(_UNFINISHED)
        now = time.time()
        old = sorted(objects, key=lambda name: objects[name])[:-MOST_OBJECTS]
        old += [name for name, written in unfinished.items() if now - written > _UNFINISHED_SECONDS]
        for name in old:
            with contextlib.suppress(OSError):  # others prune too
                os.unlink(name, dir_fd=self._folder)

    def _ages(self, pattern: re.Pattern[str]) -> dict[str, float]:
        """When the regular files whose names fit were written."""
        ages = {}
        for name in os.listdir(self._folder):
            if pattern.fullmatch(name):
                with contextlib.suppress(OSError):
                    status = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        ages[name] = status.st_mtime
        return ages


def open_cache() -> Cache:
    """The user's cache, or else a private folder in the temporary one."""
    for path in _places():
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                path.mkdir(mode=0o700)
            if os.access(path, os.W_OK | os.X_OK):
                return Cache(path)
    raise RunError("no folder to keep compiled code in: neither the user's cache nor the temporary folder")


def cache_folder() -> Path:
    """Where it is."""
    with open_cache() as cache:
        return cache.path


def _places() -> Iterator[Path]:
    """Where it may be. Never in the current folder: somebody else's files may have been unpacked there."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(root):
        yield Path(root, "dlasim")
    else:  # not set, or relative, which its specification says to ignore
        with contextlib.suppress(RuntimeError):
            home = Path.home()
            if home.is_absolute():
                yield home / ".cache" / "dlasim"
    with contextlib.suppress(OSError):
        temporary = tempfile.gettempdir()
        if temporary != os.getcwd():  # which is what Python takes where there is no other
            yield Path(temporary, f"dlasim-cache-{os.geteuid()}")


def _make_private(folder: int) -> None:
    """Refuse a folder of somebody else, or one where others can have put something; close it to readers."""
    status = os.fstat(folder)
    if not _is_ours(status):
        raise PermissionError(f"the folder belongs to user {status.st_uid}, or others may write to it")
    if stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
        os.fchmod(folder, stat.S_IRWXU)


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
