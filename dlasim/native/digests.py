"""The source files that a module's machine code can depend on: its own, and those of all that it imports."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

PACKAGE = Path(__file__).parent.parent


@cache
def source_files(module: str) -> tuple[Path, ...]:
    """In order. As long as none of them changes, none is missing: they say what they import."""
    found, left = set[Path](), [_file(module)]
    while left:
        file = left.pop()
        if file is not None and file not in found:
            found.add(file)
            left += _imports(file)
    return tuple(sorted(found))


def file_digest(file: Path | str) -> str:
    """Hash of a file's bytes. Raises OSError."""
    with open(file, "rb", 0) as opened:
        return hashlib.sha256(opened.read()).hexdigest()


def digest_of(files: Iterable[Path]) -> str:
    """Hash of their names and bytes. Raises OSError."""
    return hashlib.sha256("".join([file.name + file_digest(file) for file in files]).encode()).hexdigest()


@cache
def _imports(file: Path) -> list[Path | None]:
    found: list[Path | None] = []
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE.name:
            for name in node.names:
                found.append(_file(f"{node.module}.{name.name}") or _file(node.module))
    return found


def _file(module: str) -> Path | None:
    """The file of a module or package; None for another name."""
    package, *names = module.split(".")
    if package != PACKAGE.name:
        return Path(str(import_module(module).__file__))
    path = PACKAGE.joinpath(*names)
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)
