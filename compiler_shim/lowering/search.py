"""Finds the cheapest tiling of a node within a budget of SRAM."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dlasim.compiler_shim.lowering.tiling import MAX_EXTENT, Cut, Tiling, TilingProblem


def best(problem: TilingProblem, budget: int) -> Tiling | None:
    """The cheapest tiling within `budget` bytes; None where not even the smallest fits."""
    tilings = map(problem.tiling, _cuts(problem, budget))
    return min(tilings, key=lambda tiling: (tiling.cycles, tiling.tasks, tiling.sram_bytes), default=None)


def smallest(problem: TilingProblem) -> Tiling:
    """The tiling that needs the least SRAM; an accumulator may take more than cut input channels save."""
    tilings = (
        problem.tiling(Cut(1, 1, problem.step, depth, weights_outer=True, double=False))
        for depth in _depths(problem)
    )
    return min(tilings, key=lambda tiling: tiling.sram_bytes)


def by_channels(problem: TilingProblem, budget: int) -> Tiling | None:
    """The paper's: the whole input, single buffers, and as many output channels as fit beside it."""
    channels = _most(lambda size: problem.sram_bytes(_whole(problem, size)), problem.channels, budget)
    channels -= channels % problem.step
    return problem.tiling(_whole(problem, channels)) if channels else None


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
    for channels in _group_sizes(problem):
        for weights_outer in (True, False):
            shape = Cut(1, problem.width, channels, depth, weights_outer, double=True)
            cut = _largest(problem, shape, budget)
            if cut is not None:
                yield cut
            counts = None if cut is None else problem.counts(cut)
            if counts is None or counts.spatial > 1:  # room for a larger tile without second buffers
                single = _largest(problem, shape._replace(double=False), budget)
                if single is not None:
                    yield single
            if counts is not None and (counts.spatial == 1 or counts.groups == 1):
                break  # with one tile along an axis both orders are the same


def _group_sizes(problem: TilingProblem) -> list[int]:
    """Group sizes worth trying: all channels, fractions in whole lanes, then halves down to the least."""
    step, channels = problem.step, problem.channels
    unit = max(problem.lanes // step, 1) * step
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
            return sorted(sizes, reverse=True)
        size = max(-(-size // 2) // step * step, step)


def _largest(problem: TilingProblem, shape: Cut, budget: int) -> Cut | None:
    """The cut with the most rows that fits, then evened out; columns are cut only below one row."""
    rows = 0
    if problem.width <= MAX_EXTENT:
        limit = min(problem.height, MAX_EXTENT)
        rows = _most(lambda size: problem.sram_bytes(shape._replace(rows=size)), limit, budget)
    if rows:
        return shape._replace(rows=_even(problem.height, rows))
    limit = min(problem.width, MAX_EXTENT)
    columns = _most(lambda size: problem.sram_bytes(shape._replace(columns=size)), limit, budget)
    return shape._replace(columns=_even(problem.width, columns)) if columns else None


def _even(whole: int, size: int) -> int:
    """Pieces of nearly one size, no more of them than pieces of `size`."""
    return -(-whole // -(-whole // size))


def _most(needed: Callable[[int], int], limit: int, budget: int) -> int:
    """The largest size up to `limit` for which no more than the budget is needed, 0 for none.

    Needs grow with the size, in nearly even steps, but for the whole, which needs no second buffer.
    """
    if needed(limit) <= budget:
        return limit
    least = needed(1)
    if least > budget:
        return 0
    low, high = 1, limit
    guess = 1 + (budget - least) // max(needed(min(2, limit)) - least, 1)
    while high - low > 1:
        middle = guess if low < guess < high else (low + high) // 2
        if needed(middle) <= budget:
            low, guess = middle, middle + 1
        else:
            high, guess = middle, middle - 1
    return low
