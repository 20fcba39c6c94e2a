"""The fastest clock of the RTL, from static timing of its blocks.

`tools/static_timing.py` measures the blocks of the default machine in 45 nm cells, without wires. Another
technology is as much faster as its constant `clock_mhz` says. Blocks that elements of int16 make longer have
a point with and one without; other sizes of machines are not measured.
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
_LIMITED = frozenset({"ports", "crossbar", "arrivals", "departures", "mac_words", "vector_words"})
# Among the parameters of a point
_WITH_INT16 = re.compile(r"\b(BITS=48|ELEMENT_BITS=16|QUOTIENT_BITS=16|INT16=1)\b")
_MEASURED = "45nm"


def max_clock_hz(config: DlaConfig) -> int:
    """What the machine's slowest block allows, at the nominal supply of its technology."""
    delays = block_delays() | (block_delays(has_int16=True) if config.int16 else {})
    slowest = max(ns for block, ns in delays.items() if config.sram_bandwidth or block not in _LIMITED)
    measured, own = (technology(name).value("clock_mhz") for name in (_MEASURED, config.technology))
    return round(1e9 / slowest * own / measured)


@cache
def block_delays(has_int16: bool = False) -> dict[str, float]:
    """The longest path of each block, in nanoseconds; or of those that int16 makes longer."""
    with _POINTS.open(newline="") as file:
        return {
            row["block"]: float(row["ns"])
            for row in csv.DictReader(file)
            if has_int16 == is_of_int16(row["parameters"])
        }


def is_of_int16(parameters: str) -> bool:
    """Whether a point is one of a machine with elements of int16."""
    return bool(_WITH_INT16.search(parameters))
