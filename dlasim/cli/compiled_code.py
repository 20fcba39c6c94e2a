"""Prints as JSON which machine code for this CPU ships or is built.

`dlasim doctor` runs this in a separate process, because it must not fail if a package cannot be imported.
"""

from __future__ import annotations

import dataclasses
import json

from dlasim.cli.health import Compiled
from dlasim.native.library import find_code
from dlasim.native.shipped import is_shipped
from dlasim.sim.kernels.loader import best_kind, find_kernels, kernel_unit
from dlasim.sweeps.compiled import ROUTINES


def compiled_code() -> list[Compiled]:
    """The engine's kernels and every routine."""
    kernels = kernel_unit(kind := best_kind())
    builder = "the first `dlasim run` builds it"
    found = [Compiled(kernels.name, "computes layers", find_kernels(kind) is not None, builder)]
    builder = "the first sweep of many points builds it"
    for each in ROUTINES:
        is_there = is_shipped(each) or find_code(each.unit) is not None
        found.append(Compiled(each.unit.name, "makes plans faster", is_there, builder))
    return found


def main(_: list[str]) -> None:
    """Print it."""
    print(json.dumps([dataclasses.asdict(each) for each in compiled_code()]))
