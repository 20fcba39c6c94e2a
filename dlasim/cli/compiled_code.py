"""Prints as JSON which machine code for this CPU ships or is built.

`dlasim doctor` runs this in a separate process, because it must not fail if a package cannot be imported.
"""

from __future__ import annotations

import dataclasses
import json

from dlasim.cli.health import Compiled
from dlasim.machine_code import units_here
from dlasim.native.library import is_built
from dlasim.native.unit import CodeUnit


def compiled_code() -> list[Compiled]:
    """Every routine, every hook, and the engine's kernels."""
    return [
        Compiled(unit.title, _purpose(unit), is_built(unit), "the next run builds it")
        for unit in units_here()
    ]


def _purpose(unit: CodeUnit) -> str:
    if unit.kind:
        return "computes layers"
    return "runs the board" if unit.module.startswith("dlasim.vp.") else "makes plans faster"


def main(_: list[str]) -> None:
    """Print it."""
    print(json.dumps([dataclasses.asdict(each) for each in compiled_code()]))
