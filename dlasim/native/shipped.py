"""The libraries that ship, one for each platform: `make native` builds them, CI builds them again.

A unit in them counts if the files that it was made of have not changed since, or mean the same (`library`).
"""

from __future__ import annotations

import ctypes
import json
from functools import cache
from pathlib import Path
from typing import Any

from dlasim.native.digests import PACKAGE, file_digest
from dlasim.native.levels import this_platform
from dlasim.native.unit import CodeUnit

FOLDER = Path(__file__).parent / "libraries"
MANIFEST = "manifest.json"
_PARTS = ("libraries", "files", "modules", "meanings")


@cache
def manifest() -> dict[str, Any]:
    """What ships: `libraries` and `files` of source by name, each with its hash; the files of each of the
    `modules`; and what each unit means, by its symbol. Nothing in an installation without them."""
    try:
        found = json.loads((FOLDER / MANIFEST).read_bytes())
        if all(isinstance(found[part], dict) for part in _PARTS):
            return dict(found)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {part: {} for part in _PARTS}


def shipped_meaning(unit: CodeUnit) -> str:
    """What the shipped code of a unit means; nothing where it does not ship for this platform."""
    if find_symbol(unit) is None:
        return ""
    return str(manifest()["meanings"].get(unit.symbol, ""))


def find_shipped(unit: CodeUnit) -> int | None:
    """The address of a unit's shipped code; None if its sources may be others by now."""
    return find_symbol(unit) if _is_current(unit.module) else None


def find_symbol(unit: CodeUnit) -> int | None:
    """The address of a unit's shipped code, whatever it was made of."""
    library = _library()
    try:
        return None if library is None else ctypes.cast(library[unit.symbol], ctypes.c_void_p).value
    except AttributeError:
        return None


@cache
def _is_current(module: str) -> bool:
    """Whether the files of a module are those that the libraries were made of."""
    names = manifest()["modules"].get(module)
    return isinstance(names, list) and all(map(_is_unchanged, names))


@cache  # modules have most of their files in common
def _is_unchanged(name: str) -> bool:
    try:
        return bool(file_digest(f"{PACKAGE}/{name}") == manifest()["files"].get(name))
    except OSError:
        return False


@cache
def _library() -> ctypes.CDLL | None:
    """The library for this platform, if it is whole and the system lets it run."""
    platform = this_platform()
    if platform is None:
        return None
    path = FOLDER / platform.library
    try:
        is_whole = file_digest(path) == manifest()["libraries"].get(platform.library)
        return ctypes.CDLL(str(path)) if is_whole else None
    except OSError:
        return None
