"""What is compiled: a function that becomes an object file of its own."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dlasim.fileio import cache_folder

_COMPILER = tuple(
    f"dlasim.native.{name}" for name in ("build", "expressions", "record", "target", "translate")
)


@dataclass(frozen=True)
class Unit:
    """A function of a module, `kind` for the module to tell apart what it makes of it.

    It takes so many `arguments`; `sources` are the packages, or modules, that its machine code depends on.
    """

    name: str
    module: str
    function: str
    arguments: int
    sources: tuple[str, ...]
    kind: str = ""

    @property
    def path(self) -> Path:
        """Where the cache keeps the object: another file for everything that the code depends on, so that a
        stale one is never found, wherever the sources come from."""
        return cache_folder() / f"{self.name}-{self.digest}.o"

    @cached_property
    def digest(self) -> str:
        """Hash of the sources, the host's CPU, and the versions of what compiles."""
        from importlib import metadata

        from dlasim.native.target import host

        digest = hashlib.sha256()
        for file in self._files():
            digest.update(file.name.encode() + file.read_bytes())
        versions = [metadata.version(package) for package in ("numba", "llvmlite")]
        digest.update(repr((versions, sys.version_info[:2], host(), self.kind)).encode())
        return digest.hexdigest()[:20]

    def has_changed(self, since: float) -> bool:
        """Whether a source has: who imported it before must not use what is made of it now."""
        return any(file.stat().st_ctime > since for file in self._files())

    def _files(self) -> list[Any]:
        return [file for source in (*self.sources, *_COMPILER) for file in _files(source)]


def _files(source: str) -> list[Any]:
    """The files of a package, or the one of a module."""
    from importlib import resources

    folder, _, name = source.rpartition(".")
    module = resources.files(folder) / f"{name}.py"
    if module.is_file():
        return [module]
    found = [file for file in resources.files(source).iterdir() if file.name.endswith(".py")]
    return sorted(found, key=lambda file: str(file.name))
