"""What cutting a layer cannot avoid in the MAC unit: fills, drains and the end of each operation's results.

An operation is not over before its results have left, and nothing overlaps within a unit. So each operation
of a layer adds cycles to the layer's steps, whose number depends on its pixels: few where the last block of
pixels is small. The least sum over all ways to divide the pixels among operations is found block by block,
since operations that differ by whole blocks add the same. `docs/timing-model.md` says why this is a bound.
"""

from __future__ import annotations

from functools import lru_cache
from operator import add

from dlasim.sim.timing.formulas import RESULTS_SCALE, UnitCosts, ceil_div, output_stall_cycles, output_steps

_INFINITE = 1 << 200  # more than any sum of costs
MAX_ACCUMULATORS = 128  # with more, fills and drains of one operation are all that is counted


@lru_cache(maxsize=4096)
def least_mac_cycles(
    fixed: tuple[int, int, int, int, int, int],
    pixels: int,
    taps: int,
    in_channels: int,
    out_channels: int,
) -> int:
    """Cycles that a layer takes in a MAC unit of one pixel at a time at least, however it is cut. `fixed` are
    the unit's lanes of inputs and of outputs, step group, overhead cycles, accumulators and result cycles."""
    inputs, lanes, group, overhead, accumulators, result_cycles = fixed
    unit = UnitCosts(
        input_lanes=inputs,
        output_lanes=lanes,
        step_group=group,
        accumulators=accumulators,
        result_cycles=result_cycles,
    )
    groups = ceil_div(out_channels, lanes)
    steps = output_steps(unit, taps, ceil_div(in_channels, inputs))
    last = out_channels - (groups - 1) * lanes
    kinds = _Kinds(unit, pixels, steps, overhead, ((1, last), (groups, out_channels)), last)
    return pixels * steps * groups + kinds.least()


class _Kinds:
    """Operations of a layer by the pixels of their last block, and what each adds to the layer's steps.

    Costs are in parts of a cycle, RESULTS_SCALE to each, less what every pixel adds wherever it is computed.
    """

    def __init__(
        self,
        unit: UnitCosts,
        pixels: int,
        steps: int,
        overhead: int,
        spans: tuple[tuple[int, int], ...],
        last_channels: int,
    ) -> None:
        self._unit, self._pixels, self._steps, self._overhead = unit, pixels, steps, overhead
        self._last = last_channels
        # Of each pixel, how much longer its results take than its steps: of one group of channels, of all.
        self._slopes = [
            channels * unit.result_cycles - steps * groups * RESULTS_SCALE for groups, channels in spans
        ]
        self._slope = max(min(self._slopes), 0)

    def least(self) -> int:
        """Cycles of all operations in addition to their steps, for the best way to divide the pixels."""
        block = self._unit.accumulators
        costs = [_INFINITE] * block  # by the pixels of the last block, 0 for a whole one
        for rest in range(1, min(block, self._pixels) + 1):
            costs[rest % block] = min(self._small(rest), self._large(rest))
        cheapest = min(costs)
        if cheapest <= 0:
            return 0
        wanted = self._pixels % block
        # What is to be added to each sum for a remainder: `backwards[block - 1 - remainder :]`.
        backwards = costs[::-1] * 2
        sums, best, count = costs, costs[wanted], 1
        while best >= _INFINITE or (count + 1) * cheapest < best:
            count += 1
            sums = [min(map(add, sums, backwards[block - 1 - remainder :])) for remainder in range(block)]
            best = min(best, sums[wanted])
        return (best + self._slope * self._pixels) // RESULTS_SCALE

    def _small(self, pixels: int) -> int:
        """Of an operation on one block."""
        return self._cost(pixels, pixels, pixels)

    def _large(self, rest: int) -> int:
        """The least of operations on several blocks, the last of which has so many pixels."""
        block = self._unit.accumulators
        more = (self._pixels - rest) // block
        if more < 1:
            return self._small(rest)
        return self._cost(rest, rest + block, rest + more * block)

    def _cost(self, rest: int, fewest: int, most: int) -> int:
        """Where the results of the last blocks leave late, or those of the whole operation; or, if that is
        less, of computing the pixels a second time, which is what operations on fewer channels come to."""
        block = min(self._unit.accumulators, fewest)
        left = RESULTS_SCALE * self._left(fewest)
        late = min(
            block * (self._steps - 1) * RESULTS_SCALE + slope * (fewest if slope >= 0 else most)
            for slope in self._slopes
        )
        twice = self._steps * RESULTS_SCALE
        again = twice * fewest - self._slope * (fewest if twice >= self._slope else most)
        least = max(left - self._slope * most, late - self._slope * fewest, -self._slope * most)
        return self._overhead * RESULTS_SCALE + min(least, again)

    def _left(self, pixels: int) -> int:
        """What the results of the last one or two blocks take after the work: the stall of an operation whose
        other results have all left."""
        enough = pixels * self._steps + (1 << 40)
        return output_stall_cycles(self._unit, pixels, pixels, self._last, self._last, enough, self._steps)
