"""The supply at which a machine reaches its clock, and what that does to its energy; and its fastest clock.

Logic is as fast as the alpha-power law says (T. Sakurai and A. R. Newton, IEEE JSSC 25(2), 1990): its clock
is proportional to (V - Vt) ** 1.3 / V. The energy of an event follows the square of the supply, the power of
leakage its cube: a drain that lowers the barrier by 0.1 V for each volt changes a current below the
threshold, with a slope of 36 mV, by e ** 2.8 for each volt, which near the nominal supply is like its square.

The fastest clock is from static timing of the RTL's blocks: `tools/static_timing.py` measures those of the
default machine in 45 nm cells, without wires. Another technology is as much faster as its constant
`clock_mhz` says. Blocks that elements of int16 make longer have a point with and one without; other sizes of
machines are not measured.
"""

from __future__ import annotations

import csv
import re
from functools import cache, lru_cache
from pathlib import Path

from dlasim.dataclass import dataclass
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.technology import Technology, technology

ALPHA = 1.3  # of short channels
_STEPS = 50  # of a bisection
_POINTS = Path(__file__).parent / "timing_points.csv"
# Blocks that only machines with limited ports have
_LIMITED = frozenset({"ports", "crossbar", "dma_words", "mac_words", "vector_words"})
# Among the parameters of a point
_WITH_INT16 = re.compile(r"\b(BITS=48|ELEMENT_BITS=16|QUOTIENT_BITS=16|INT16=1)\b")
_MEASURED = "45nm"


@dataclass(frozen=True, slots=True)
class Supply:
    """A supply, as ratios to the one at which the technology's constants hold.

    `clock` is at most the fastest that the technology has a supply for.
    """

    volts: float
    energy: float  # of an event
    leakage: float  # power
    clock_mhz: float


def supply_for(technology: Technology, clock_mhz: float) -> Supply:
    """The least supply of the technology that the clock allows; its greatest for one that is too fast."""
    nominal, least, most = map(technology.value, ("supply_v", "least_supply_v", "most_supply_v"))
    speed = clock_mhz / technology.value("clock_mhz")  # as a ratio to that at the nominal supply
    threshold = technology.value("threshold_v")
    volts = _volts(threshold, nominal, least, most, speed)
    fastest = technology.value("clock_mhz") * _speed(threshold, most) / _speed(threshold, nominal)
    return Supply(volts, (volts / nominal) ** 2, (volts / nominal) ** 3, min(clock_mhz, fastest))


def _speed(threshold: float, volts: float) -> float:
    return float((volts - threshold) ** ALPHA / volts)


@lru_cache(maxsize=1024)
def _volts(threshold: float, nominal: float, least: float, most: float, speed: float) -> float:
    """The supply for a speed, by bisection."""
    wanted = speed * _speed(threshold, nominal)
    low, high = (least, least) if _speed(threshold, least) >= wanted else (least, most)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _speed(threshold, middle) < wanted else (low, middle)
    return high


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
