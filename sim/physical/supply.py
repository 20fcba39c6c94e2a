"""The supply at which a machine reaches its clock, and what that does to its energy.

Logic is as fast as the alpha-power law says (T. Sakurai and A. R. Newton, IEEE JSSC 25(2), 1990): its clock
is proportional to (V - Vt) ** 1.3 / V. The energy of an event follows the square of the supply, the power of
leakage its cube: a drain that lowers the barrier by 0.1 V for each volt changes a current below the
threshold, with a slope of 36 mV, by e ** 2.8 for each volt, which near the nominal supply is like its square.
"""

from __future__ import annotations

from functools import lru_cache

from dlasim.dataclass import dataclass
from dlasim.sim.physical.technology import Technology

ALPHA = 1.3  # of short channels
_STEPS = 50  # of a bisection


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
