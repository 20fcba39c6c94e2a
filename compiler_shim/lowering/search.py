"""Finds the cheapest tiling of a node within a budget of SRAM."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from dlasim.compiler_shim.lowering.geometry import Cut, most
from dlasim.compiler_shim.lowering.tiling import Tiling, TilingProblem

PIECES = 4


def best(problem: TilingProblem, budget: int) -> Tiling | None:
    """The cheapest tiling within `budget` bytes; None where not even the smallest fits."""
    geometry = problem.geometry
    cuts = geometry.known_cuts(problem.lanes, budget)
    if cuts is None:
        cuts = geometry.remember_cuts(problem.lanes, budget, tuple(_cuts(problem, budget)))
    cut = min(cuts, key=problem.rank, default=None)
    return None if cut is None else problem.tiling(cut)


def smallest(problem: TilingProblem) -> Tiling:
    """The tiling that needs the least SRAM; an accumulator may take more than cut input channels save."""
    tilings = (
        problem.tiling(Cut(1, 1, problem.step, depth, weights_outer=True, double=False))
        for depth in _depths(problem)
    )
    return min(tilings, key=lambda tiling: tiling.sram_bytes)


def ample(problem: TilingProblem) -> int:
    """The budget from which on every cut worth trying is as large as can be: the best stays the best."""
    geometry = problem.geometry
    found = geometry.ample.get(problem.lanes)
    if found is None:
        sizes = _group_sizes(problem.step, problem.channels, problem.lanes)
        shapes = product(sizes, (problem.depth,), (True, False), (True, False))
        found = max(geometry.largest_needs(Cut(1, problem.width, *shape)) for shape in shapes)
        geometry.ample[problem.lanes] = found
    return found


def by_channels(problem: TilingProblem, budget: int) -> Tiling | None:
    """The paper's: the whole input, single buffers, and as many output channels as fit beside it."""
    needed = problem.geometry.sram_bytes
    channels, _, _ = most(lambda size: needed(_whole(problem, size)), problem.channels, budget)
    channels -= channels % problem.step
    return problem.tiling(_whole(problem, channels)) if channels else None


def ample_by_channels(problem: TilingProblem) -> int:
    """The budget from which on the paper's tiling is one tile."""
    return problem.geometry.sram_bytes(_whole(problem, problem.channels))


def smallest_by_channels(problem: TilingProblem) -> Tiling:
    """The paper's with the fewest output channels."""
    return problem.tiling(_whole(problem, problem.step))


def _whole(problem: TilingProblem, channels: int) -> Cut:
    return Cut(problem.height, problem.width, channels, problem.depth, weights_outer=True, double=False)


def _cuts(problem: TilingProblem, budget: int) -> Iterator[Cut]:
    """For each size of a group of channels the largest tiles that fit, in both orders, with and without
    second buffers; input channels are cut only where nothing else fits, since that costs accumulators."""
    for depth in _depths(problem):
        found = False
        for cut in _cuts_of_depth(problem, depth, budget):
            found = True
            yield cut
        if found:
            return


def _depths(problem: TilingProblem) -> Iterator[int]:
    """All input channels, then half as many, down to one."""
    depth = problem.depth
    yield depth
    while depth > 1:
        depth = -(-depth // 2)
        yield depth


def _cuts_of_depth(problem: TilingProblem, depth: int, budget: int) -> Iterator[Cut]:
    travels = not (all(problem.homes.inputs) and problem.homes.output)
    largest, count = problem.geometry.largest, problem.geometry.counts
    for channels in _group_sizes(problem.step, problem.channels, problem.lanes):
        for weights_outer in (True, False):
            shape = Cut(1, problem.width, channels, depth, weights_outer, double=True)
            cut = largest(shape, budget)
            if cut is not None:
                yield cut
                if travels and cut.rows >= 2 * PIECES:  # smaller tiles wait less for the first and the last
                    yield cut._replace(rows=-(-cut.rows // PIECES))
            counts = None if cut is None else count(cut)
            if counts is None or counts.spatial > 1:  # room for a larger tile without second buffers
                single = largest(shape._replace(double=False), budget)
                if single is not None:
                    yield single
            if counts is not None and (counts.spatial == 1 or counts.groups == 1):
                break  # with one tile along an axis both orders are the same


@lru_cache(maxsize=4096)
def _group_sizes(step: int, channels: int, lanes: int) -> tuple[int, ...]:
    """Group sizes worth trying: all channels, fractions in whole lanes, then halves down to the least."""
    unit = max(lanes // step, 1) * step
    sizes = {channels}
    parts = 2
    while channels // parts >= unit:
        size = -(-channels // parts)
        sizes.add(-(-size // unit) * unit)
        parts = parts + 1 if parts < 6 else parts * 2
    size = unit
    while True:
        if size < channels:
            sizes.add(size)
        if size <= step:
            return tuple(sorted(sizes, reverse=True))
        size = max(-(-size // 2) // step * step, step)
