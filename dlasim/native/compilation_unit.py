"""What is compiled: a function that becomes an object file of its own."""

from __future__ import annotations

import hashlib
import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path

from dlasim.cache import cache_folder
from dlasim.dataclass import dataclass

_COMPILER = ("dlasim.native.build", "dlasim.native.target", "dlasim.native.host_system")
_TRANSLATOR = tuple(f"dlasim.native.{name}" for name in ("expressions", "record", "translator"))  # routines


@dataclass(frozen=True)
class CompilationUnit:
    """A function of a module, `kind` for the module to tell apart what it makes of it.

    It takes so many `arguments`; `sources` are the packages or modules that its machine code depends on, or
    functions (`module:function`) that tell as text what it depends on.
    """

    name: str
    module: str
    function: str
    arguments: int
    sources: tuple[str, ...]
    kind: str = ""

    @property
    def file(self) -> str:
        """The object's name in the cache: another one for everything that the code depends on, so that a
        stale object is never found, wherever the sources come from."""
        return f"{self.name}-{self.digest}.o"

    @property
    def path(self) -> Path:
        """Where that is."""
        return cache_folder() / self.file

    @cached_property
    def digest(self) -> str:
        """Hash of the sources, the host's CPU, and the versions of what compiles."""
        from importlib import metadata

        from dlasim.native.target import host

        versions = [metadata.version(package) for package in ("numba", "llvmlite")]
        where = repr((versions, sys.version_info[:2], host()))
        return hashlib.sha256(f"{self.source_digest} {where}".encode()).hexdigest()[:20]

    @cached_property
    def source_digest(self) -> str:
        """Hash of the sources and the kind alone."""
        digest = hashlib.sha256()
        for file in self._files():
            digest.update(file.name.encode() + file.read_bytes())
        for module, _, function in (source.partition(":") for source in self.sources):
            if function:
                digest.update(getattr(import_module(module), function)().encode())
        digest.update(self.kind.encode())
        return digest.hexdigest()

    def has_changed(self, since: float) -> bool:
        """Whether a source has: who imported it before must not use what is made of it now."""
        return any(file.stat().st_ctime > since for file in self._files())

    def _files(self) -> list[Path]:
        compiler = _COMPILER if self.kind else _COMPILER + _TRANSLATOR
        return [file for source in (*self.sources, *compiler) if ":" not in source for file in _files(source)]


def _files(source: str) -> list[Path]:
    """The files of a package, or the one of a module."""
    folder, _, name = source.rpartition(".")
    module = _folder(folder) / f"{name}.py"
    return [module] if module.is_file() else sorted(_folder(source).glob("*.py"))


def _folder(package: str) -> Path:
    return Path(import_module(package).__path__[0])
