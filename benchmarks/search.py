"""How much of a space's front a search finds: each sampler on a table of all machines, ten seeds each.

    python benchmarks/search.py TABLE.csv [EVALUATIONS [SAMPLERS [--write]]]

TABLE is results.csv of a sweep over all combinations of its axes; docs/sweeps.md quotes that of
`benchmarks/search_space.toml`. A sampler is told what the study minimizes, from the table. Printed is the
share of the front's hypervolume, of which the corner is the highest of each objective on the front, in the
median, the least and the most; and how many machines a sampler proposed.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError
from dlasim.sweeps.charts.data import varying
from dlasim.sweeps.results.decision import Decision
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.sweeps.search.machine_search import BATCH, MAX_FRUITLESS
from dlasim.sweeps.search.samplers import SAMPLERS, Answer, Place, SearchAxis, make_sampler

SEEDS = range(10)
Point = tuple[float, ...]
Floats = NDArray[np.float64]


def hypervolume(points: Sequence[Point], corner: Point) -> float:
    """The volume that is beaten by some point, up to a corner."""
    if not len(points):
        return 0.0
    found = np.array(points, float)
    return _volume(found[(found < corner).all(axis=1)], np.array(corner, float))


def _volume(points: Floats, corner: Floats) -> float:
    """Slices along the last objective, and of two objectives columns."""
    points = points[np.argsort(points[:, -1], kind="stable")]
    thick = np.diff(np.append(points[:, -1], corner[-1]))
    if len(corner) == 2:
        return float((thick * (corner[0] - np.minimum.accumulate(points[:, 0]))).sum())
    slices = (_volume(points[: number + 1, :-1], corner[:-1]) for number in np.flatnonzero(thick))
    return float(sum(size * area for size, area in zip(thick[thick > 0], slices, strict=True)))


def front_of(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats."""
    ordered = np.unique(np.array(points, float), axis=0)  # a later one never beats an earlier
    front, count = np.empty_like(ordered), 0
    for point in ordered:
        if not (front[:count] <= point).all(axis=1).any():
            front[count] = point
            count += 1
    return [tuple(point) for point in front[:count].tolist()]


def costs_of(path: str) -> tuple[list[SearchAxis], dict[Place, Point]]:
    """The axes of a table, and what each machine costs."""
    decision = Decision(SweepResult(path))
    objectives, rows = [one.name for one in decision.objectives], decision.machines
    names = [name for name in varying(rows, "model") if name != "case"]
    values = {name: sorted({row[name] for row in rows}) for name in names}
    axes = [SearchAxis(name, len(values[name]), not isinstance(values[name][0], str)) for name in names]
    known = {
        tuple(values[name].index(row[name]) for name in names): tuple(float(row[one]) for one in objectives)
        for row in rows
    }
    return axes, known


def search(
    name: str, axes: Sequence[SearchAxis], known: dict[Place, Point], seed: int, budget: int
) -> tuple[list[Point], int]:
    """What a sampler finds with so many machines, and how many it proposed."""
    sampler = make_sampler(name, axes, len(next(iter(known.values()))), seed, budget)
    found: dict[Place, Point] = {}
    asked = fruitless = 0
    while len(found) < budget and fruitless < MAX_FRUITLESS:
        done, places = len(found), sampler.ask(min(BATCH, budget - len(found)))
        asked += len(places)
        for place in places:
            costs = known.get(place)
            if costs is not None:
                found[place] = costs
            sampler.tell(place, Answer(costs))
        fruitless = 0 if len(found) > done else fruitless + 1
    return list(found.values()), asked


def grid(axes: Sequence[SearchAxis], known: dict[Place, Point], budget: int) -> list[Point]:
    """A grid of at most so many machines: the axis with the most values is thinned until they are few."""
    counts = [axis.count for axis in axes]
    while _product(counts) > budget:
        counts[counts.index(max(counts))] -= 1
    chosen = [_spread(axis.count, count) for axis, count in zip(axes, counts, strict=True)]
    return [known[place] for place in product(*chosen) if place in known]


def _spread(count: int, some: int) -> list[int]:
    return [round(number * (count - 1) / max(some - 1, 1)) for number in range(some)]


def _product(counts: Sequence[int]) -> int:
    result = 1
    for count in counts:
        result *= count
    return result


def lines(path: str, budget: int, samplers: Sequence[str], found: dict[str, str]) -> Iterator[str]:
    """The report; its shares are added to those found."""
    axes, known = costs_of(path)
    front = front_of(list(known.values()))
    corner = tuple(1.0001 * max(column) for column in zip(*front, strict=True))  # the ends count, too
    whole = hypervolume(front, corner)
    found |= {"search_machines": f"{len(known):,}", "search_front": f"{len(front):,}"}
    yield f"{len(known):,} machines, {len(front):,} on the front, {budget:,} evaluations"
    found[f"search_grid_{budget}"] = f"{hypervolume(grid(axes, known, budget), corner) / whole:.3f}"
    yield f"grid      {found[f'search_grid_{budget}']}"
    for name in samplers:
        shares, asked = [], []
        try:
            for seed in SEEDS:
                points, proposals = search(name, axes, known, seed, budget)
                shares.append(hypervolume(points, corner) / whole)
                asked.append(proposals)
        except InputError as error:
            yield f"{name:9} {error}"
            continue
        for what, reduce in (("", statistics.median), ("_least", min), ("_most", max)):
            found[f"search_{name}_{budget}{what}"] = f"{reduce(shares):.3f}"
        middle, least, most = list(found.values())[-3:]
        yield f"{name:9} {middle} ({least} to {most}), {statistics.median(asked):,.0f} proposed"


def main(table: str, evaluations: str = "1000", samplers: str = ",".join(SAMPLERS[1:]), *flags: str) -> None:
    """Print it line by line, and with `--write` put the shares into docs/sweeps.md."""
    found: dict[str, str] = {}
    for line in lines(table, int(evaluations), samplers.split(","), found):
        print(line, flush=True)
    if "--write" in flags:
        from compared import statements  # a neighbour of this script, which tests import

        statements.record(**found)


if __name__ == "__main__":
    main(*sys.argv[1:])
