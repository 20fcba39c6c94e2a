"""The race checker finds accesses that a stream leaves unordered. `docs/races.md` defines a race.

Read in this order: `findings`, `boxes`, `accesses`, `pairs`, `written`, `checker`.
"""

from dlasim.sim.races.checker import check_program, check_races
from dlasim.sim.races.findings import OperandAccess, Race, RaceReport, UninitialisedRead
from dlasim.sim.races.written import WrittenMap

__all__ = [
    "OperandAccess",
    "Race",
    "RaceReport",
    "UninitialisedRead",
    "WrittenMap",
    "check_program",
    "check_races",
]
