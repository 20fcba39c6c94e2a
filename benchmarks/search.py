"""How much of a space's front a search finds: each sampler on a table of all machines, ten seeds each.

    python benchmarks/search.py TABLE.csv [EVALUATIONS [SAMPLERS]]

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
from operator import le, lt

from dlasim.errors import InputError
from dlasim.sweeps.charts.data import varying
from dlasim.sweeps.results.decision import goals_of, machines_of
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.sweeps.search.machine_search import BATCH, MAX_FRUITLESS
from dlasim.sweeps.search.samplers import SAMPLERS, Answer, Place, SearchAxis, make_sampler

SEEDS = range(10)
Point = tuple[float, ...]


def hypervolume(points: Sequence[Point], corner: Point) -> float:
    """The volume that is beaten by some point, up to a corner: slices along the last objective."""
    inside = [point for point in points if all(map(lt, point, corner))]
    if len(corner) == 1:
        return corner[0] - min(inside)[0] if inside else 0.0
    inside.sort(key=lambda point: point[-1])
    ends = [*(point[-1] for point in inside[1:]), corner[-1]]
    volume, front = 0.0, list[Point]()
    for point, end in zip(inside, ends, strict=True):
        front = with_point(front, point[:-1])
        if end > point[-1]:
            volume += (end - point[-1]) * _area(front, corner[:-1])
    return volume


def _area(front: Sequence[Point], corner: Point) -> float:
    """The same of a front; of two objectives in one pass."""
    if len(corner) != 2:
        return hypervolume(front, corner)
    area, best = 0.0, corner[1]
    for x, y in sorted(front):
        area += (corner[0] - x) * (best - y)
        best = y
    return area


def with_point(front: list[Point], point: Point) -> list[Point]:
    """The points that no other beats, with one more."""
    if any(all(map(le, other, point)) for other in front):
        return front
    return [*(other for other in front if not all(map(le, point, other))), point]


def front_of(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats."""
    front = list[Point]()
    for point in sorted(points):  # a later one never beats an earlier
        if not any(all(map(le, other, point)) for other in reversed(front)):
            front.append(point)
    return front


def costs_of(path: str) -> tuple[list[SearchAxis], dict[Place, Point]]:
    """The axes of a table, and what each machine costs."""
    result = SweepResult(path)
    objectives = [one.name for one in goals_of(result).objectives]
    rows = machines_of([row for row in result.rows() if row["status"] == "ok"])
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


def lines(path: str, budget: int, samplers: Sequence[str]) -> Iterator[str]:
    """The report."""
    axes, known = costs_of(path)
    front = front_of(list(known.values()))
    corner = tuple(1.0001 * max(column) for column in zip(*front, strict=True))  # the ends count, too
    whole = hypervolume(front, corner)
    yield f"{len(known):,} machines, {len(front):,} on the front, {budget:,} evaluations"
    yield f"grid      {hypervolume(front_of(grid(axes, known, budget)), corner) / whole:.4f}"
    for name in samplers:
        shares, asked = [], []
        try:
            for seed in SEEDS:
                found, proposals = search(name, axes, known, seed, budget)
                shares.append(hypervolume(front_of(found), corner) / whole)
                asked.append(proposals)
        except InputError as error:
            yield f"{name:9} {error}"
            continue
        spread = f"{min(shares):.4f} to {max(shares):.4f}"
        yield f"{name:9} {statistics.median(shares):.4f} ({spread}), {statistics.median(asked):,.0f} proposed"


def main(table: str, evaluations: str = "1000", samplers: str = ",".join(SAMPLERS[1:])) -> None:
    """Print it line by line."""
    for line in lines(table, int(evaluations), samplers.split(",")):
        print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
