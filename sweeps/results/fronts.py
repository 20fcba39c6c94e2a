"""The machines that no other beats in all objectives."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlasim.sweeps.charts.measures import Measure

Row = dict[str, Any]


def front(rows: list[Row], *objectives: str | Measure) -> list[Row]:
    """The rows that no other row equals or beats in every objective; of equal ones the first."""
    measures = [Measure(name, name) if isinstance(name, str) else name for name in objectives]
    first, *others = measures
    least: dict[tuple[Any, ...], Row] = {}  # of rows that differ in the first objective only, the best
    for row in rows:
        point = tuple(one.cost(row[one.name]) for one in others)
        if point not in least or first.cost(row[first.name]) < first.cost(least[point][first.name]):
            least[point] = row
    ordered = sorted(
        least.values(), key=lambda row: tuple(one.cost(row[one.name]) for one in reversed(measures))
    )
    points = np.array([[one.cost(row[one.name]) for one in measures] for row in ordered], np.float64)
    kept = []
    for number, row in enumerate(ordered):
        if not np.any(np.all(points[:number] <= points[number], axis=1)):
            kept.append(row)
    return kept
