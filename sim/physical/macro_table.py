"""Energy, leakage and area of memory macros, by size and by the width of an access."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from functools import lru_cache

from dlasim.dataclass import dataclass

Rows = Sequence[Sequence[float]]  # by size, then by width


@dataclass(frozen=True, slots=True, eq=False)  # a key of what is remembered of it: no table equals another
class MacroTable:
    """Macros with the same ports. Between sizes and widths, and beyond them, figures follow power laws; a
    memory that is wider than the widest macro is several, side by side."""

    sizes: Sequence[float]  # bytes
    widths: Sequence[float]  # bytes of an access
    access_pj: Rows  # the mean of a read and a write
    leakage_mw: Rows
    area_mm2: Rows
    uncertainty: float
    source: str

    def access(self, size: float, width: float) -> float:
        """Picojoules of an access."""
        return _at(self, "access_pj", size, width)

    def leakage(self, size: float, width: float) -> float:
        """Milliwatts of a macro."""
        return _at(self, "leakage_mw", size, width)

    def area(self, size: float, width: float) -> float:
        """Square millimetres of a macro."""
        return _at(self, "area_mm2", size, width)


@lru_cache(maxsize=1 << 10)
def _at(table: MacroTable, figure: str, size: float, width: float) -> float:
    """A figure of a macro. Machines of a sweep have many macros in common."""
    beside, rows = max(width / table.widths[-1], 1.0), getattr(table, figure)
    by_size = [_interpolate(table.widths, row, width / beside) for row in rows]
    return beside * _interpolate(table.sizes, by_size, size / beside)


def _interpolate(places: Sequence[float], values: Sequence[float], at: float) -> float:
    """The value at a place: a power law between two neighbours, or beyond the ends."""
    right = min(max(bisect.bisect_left(places, at), 1), len(places) - 1)
    left = right - 1
    share = math.log(at / places[left]) / math.log(places[right] / places[left])
    between: float = values[left] * (values[right] / values[left]) ** share
    return between
