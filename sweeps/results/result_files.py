"""The files that a sweep leaves in its folder, and how its table says that it is not complete."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dlasim.errors import InputError
from dlasim.system.fileio import read_file

RESULTS, LAYERS, ABOUT = "results.csv", "layers.csv", "sweep.json"
CONFIRMED = "confirmed.csv"
PENDING = "pending"  # the status of a point that was not done when the table was written


def read_about(folder: Path) -> dict[str, Any]:
    """What sweep.json says; nothing where it is missing or damaged."""
    try:
        about = json.loads(read_file(folder / ABOUT))
    except (InputError, ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}


def is_of(about: dict[str, Any], name: str, networks: Iterable[str], is_search: bool) -> bool:
    """Whether it is of a study of this name, with one of these networks at least."""
    known = about.get("models")
    has_network = isinstance(known, dict) and not known.keys().isdisjoint(networks)
    return has_network and about.get("study") == name and ("search" in about) == is_search
