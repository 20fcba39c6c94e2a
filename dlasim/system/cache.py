"""The folder of compiled code. Code is loaded from it, so it must be writable by its user only."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from dlasim.errors import RunError

MAX_OBJECTS = 32  # compiled kernels
MAX_LIBRARIES = 16  # of RTL, which take a minute to build: no kernel may displace one
_LIBRARY = "rtl-"
_OBJECT = re.compile(r"[a-z][a-z0-9-]*-[0-9a-f]{20}\.o")
_UNFINISHED = re.compile(rf"\.{_OBJECT.pattern}\.[0-9a-f]{{16}}")
_UNFINISHED_SECONDS = 3600  # after this time its writer must have been killed
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MAX_BYTES = 1 << 26  # of a file; the largest code of ours has less than 1 MiB


class Cache:
    """A private folder, held open so that it stays the folder that was checked even if its path changes."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if the path is not a folder, or if other users may write to it."""
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
        """Close the folder and release its lock."""
        os.close(self._folder)

    def read(self, name: str) -> bytes | None:
        """A file's content; None if it does not exist or if another user may have written it."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with open(os.open(name, flags, dir_fd=self._folder), "rb") as file:
                status = os.fstat(file.fileno())
                is_file = stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_BYTES
                return file.read() if is_file and _is_ours(status) else None
        except OSError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically. Raises OSError."""
        unfinished = f".{name}.{os.urandom(8).hex()}"
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
        """Hold the lock of the folder, or of a name in it; it is also released when the process ends."""
        if name is None:
            handle = os.dup(self._folder)
        else:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=self._folder)
        try:
            with contextlib.suppress(
                OSError
            ):  # some network file systems have no locks: two processes may do the same work
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    def prune(self) -> None:
        """Delete the oldest objects, which other versions left, and unfinished files of killed processes.
        Files with other names are kept."""
        objects = self._ages(_OBJECT)
        unfinished = self._ages(_UNFINISHED)
        now = time.time()
        by_age = sorted(objects, key=lambda name: objects[name])
        libraries = [name for name in by_age if name.startswith(_LIBRARY)]
        kernels = [name for name in by_age if not name.startswith(_LIBRARY)]
        old = [*kernels[:-MAX_OBJECTS], *libraries[:-MAX_LIBRARIES]]
        old += [name for name, written in unfinished.items() if now - written > _UNFINISHED_SECONDS]
        for name in old:
            with contextlib.suppress(OSError):  # another process may prune at the same time
                os.unlink(name, dir_fd=self._folder)

    def _ages(self, pattern: re.Pattern[str]) -> dict[str, float]:
        """The modification times of the regular files whose names match."""
        ages = {}
        for name in os.listdir(self._folder):
            if pattern.fullmatch(name):
                with contextlib.suppress(OSError):
                    status = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        ages[name] = status.st_mtime
        return ages


def open_cache() -> Cache:
    """The user's cache, or else a private folder in the temporary folder."""
    for path in _candidates():
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                path.mkdir(mode=0o700)
            if os.access(path, os.W_OK | os.X_OK):
                return Cache(path)
    raise RunError("no folder to keep compiled code in: cannot write to the cache or temporary folder")


def cache_folder() -> Path:
    """The path of the cache."""
    with open_cache() as cache:
        return cache.path


def _candidates() -> Iterator[Path]:
    """Where the cache may be: never in the current folder, which may contain files from others."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(root):
        yield Path(root, "dlasim")
    else:  # unset, or relative, which the XDG specification says to ignore
        with contextlib.suppress(RuntimeError):
            home = Path.home()
            if home.is_absolute():
                yield home / ".cache" / "dlasim"
    with contextlib.suppress(OSError):
        import tempfile  # hardly any command needs it

        temporary = tempfile.gettempdir()
        if temporary != os.getcwd():  # Python's last resort
            yield Path(temporary, f"dlasim-cache-{os.geteuid()}")


def _make_private(folder: int) -> None:
    """Reject a folder that another user owns or may write to; make it unreadable for others."""
    status = os.fstat(folder)
    if not _is_ours(status):
        raise PermissionError(f"the folder belongs to user {status.st_uid}, or others may write to it")
    if stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
        os.fchmod(folder, stat.S_IRWXU)


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
