"""The race checker: what a stream leaves to chance, found before it runs. `docs/races.md` defines it.

Read in this order: findings, boxes, box_overlap, accesses, order, pairs, written, checker.
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
