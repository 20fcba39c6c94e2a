"""Which code that is compiled for this CPU is there: `python -m dlasim.cli.compiled_code` tells as JSON.

A process of its own for `dlasim doctor`, which must not fail over a package that cannot be loaded.
"""

from __future__ import annotations

import dataclasses
import json

import dlasim.sweeps.evaluate  # noqa: F401 - with it comes every routine
from dlasim.cli.health import Compiled
from dlasim.native.build import read_object
from dlasim.native.routine import routines
from dlasim.sim.kernels.library import best_kind, kernel_unit


def compiled_code() -> list[Compiled]:
    """The engine's kernels and every routine."""
    wanted = [(kernel_unit(best_kind()), "computes layers", "the first `dlasim run` builds it")]
    told = ("makes sweeps faster", "the first sweep of more than some seconds builds it")
    wanted += [(routine.unit, *told) for routine in routines()]
    return [
        Compiled(unit.name, purpose, read_object(unit.path) is not None, builder)
        for unit, purpose, builder in wanted
    ]


if __name__ == "__main__":
    print(json.dumps([dataclasses.asdict(each) for each in compiled_code()]))
