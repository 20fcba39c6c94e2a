"""The fastest clock of the RTL, from static timing of its blocks.

`tools/static_timing.py` measures the blocks of the default machine in 45 nm cells, without wires. Another
technology is as much faster as its constant `clock_mhz` says. Blocks that elements of int16 or several pixels
at once make longer have points with and without; other sizes of machines are not measured.
"""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.technology import technology

_POINTS = Path(__file__).parent / "timing_points.csv"
# Blocks that only machines with limited ports have
_LIMITED = frozenset({"ports", "crossbar", "arrivals", "departures", "mac_words", "vector_words", "writers"})
# Among the parameters of a point
_KINDS = {
    "int16": re.compile(r"\b(BITS=48|ELEMENT_BITS=16|QUOTIENT_BITS=16|INT16=1)\b"),
    "pixels": re.compile(r"\bPIXEL_"),
}
_MEASURED = "45nm"


def max_clock_hz(config: DlaConfig) -> int:
    """What the machine's slowest block allows, at the nominal supply of its technology."""
    kinds = ["", *["int16"] * config.int16, *["pixels"] * (config.pixel_tile != (1, 1))]
    delays = [delay for kind in kinds for delay in block_delays(kind).items()]
    slowest = max(ns for block, ns in delays if config.sram_bandwidth or block not in _LIMITED)
    measured, own = (technology(name).value("clock_mhz") for name in (_MEASURED, config.technology))
    return round(1e9 / slowest * own / measured)


@cache
def block_delays(kind: str = "") -> dict[str, float]:
    """The longest path of each block, in nanoseconds; or of those that `int16` or `pixels` make longer."""
    with _POINTS.open(newline="") as file:
        return {
            row["block"]: float(row["ns"])
            for row in csv.DictReader(file)
            if kind_of(row["parameters"]) == kind
        }


def kind_of(parameters: str) -> str:
    """What makes a point longer than that of the default machine: `int16`, `pixels`, or nothing."""
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(parameters)), "")
