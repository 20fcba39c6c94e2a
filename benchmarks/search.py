"""How much of a space's front a search finds: each sampler on a table of all machines, ten seeds each.

    python benchmarks/search.py TABLE.csv [EVALUATIONS]

TABLE is results.csv of a sweep over all combinations of its axes. A sampler is told the energy and the area
of all networks together, from the table. Printed is the share of the front's hypervolume, of which the corner
is the highest of either, in the median, the least and the most; and how many machines a sampler proposed.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product

from dlasim.errors import InputError
from dlasim.sweeps.charts.data import varying
from dlasim.sweeps.definition.study import WORKLOAD
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.sweeps.search.machine_search import BATCH, MAX_FRUITLESS
from dlasim.sweeps.search.samplers import Answer, Place, SearchAxis, make_sampler

SEEDS = range(10)
OBJECTIVES = ("energy_nj", "area_kge")
Point = tuple[float, float]


def hypervolume(points: Sequence[Point], corner: Point) -> float:
    """The area that is beaten by some point, up to a corner."""
    area, best = 0.0, corner[1]
    for x, y in sorted(points):
        if x < corner[0] and y < best:
            area += (corner[0] - x) * (best - y)
            best = y
    return area


def costs_of(path: str) -> tuple[list[SearchAxis], dict[Place, Point]]:
    """The axes of a table, and what each machine costs: energies added up over the networks."""
    rows = [row for row in SweepResult(path).rows() if row["status"] == "ok" and row["model"] != WORKLOAD]
    names = [name for name in varying(rows, "model") if name != "case"]
    values = {name: sorted({row[name] for row in rows}) for name in names}
    energy: defaultdict[Place, float] = defaultdict(float)
    area: dict[Place, float] = {}
    for row in rows:
        place = tuple(values[name].index(row[name]) for name in names)
        energy[place] += row[OBJECTIVES[0]]
        area[place] = row[OBJECTIVES[1]]
    axes = [SearchAxis(name, len(values[name]), not isinstance(values[name][0], str)) for name in names]
    return axes, {place: (energy[place], area[place]) for place in area}


def search(
    name: str, axes: Sequence[SearchAxis], known: dict[Place, Point], seed: int, budget: int
) -> tuple[list[Point], int]:
    """What a sampler finds with so many machines, and how many it proposed."""
    sampler = make_sampler(name, axes, 2, seed, budget)
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


def lines(path: str, budget: int) -> Iterator[str]:
    """The report."""
    axes, known = costs_of(path)
    corner = max(energy for energy, _ in known.values()), max(area for _, area in known.values())
    whole = hypervolume(list(known.values()), corner)
    yield f"{len(known):,} machines, {budget:,} evaluations"
    yield f"grid      {hypervolume(grid(axes, known, budget), corner) / whole:.4f}"
    for name in ("random", "nsga2", "tpe", "walk"):
        shares, asked = [], []
        try:
            for seed in SEEDS:
                found, proposals = search(name, axes, known, seed, budget)
                shares.append(hypervolume(found, corner) / whole)
                asked.append(proposals)
        except InputError as error:
            yield f"{name:9} {error}"
            continue
        spread = f"{min(shares):.4f} to {max(shares):.4f}"
        yield f"{name:9} {statistics.median(shares):.4f} ({spread}), {statistics.median(asked):,.0f} proposed"


if __name__ == "__main__":
    for line in lines(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000):
        print(line, flush=True)
