"""Packs the buffers of each node or chain into the SRAM that resident tensors leave free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from dlasim.compiler_shim.lowering import allocation
from dlasim.compiler_shim.lowering.ahead import Constants, PackedSegment
from dlasim.compiler_shim.lowering.allocation import Gap
from dlasim.compiler_shim.lowering.chains import Chain, ChainTiling
from dlasim.compiler_shim.lowering.geometry import Buffers
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.tile_buffers import ALIGNMENT, align
from dlasim.compiler_shim.lowering.tiling import Tiling, TilingProblem


class BufferPacker:
    """Assigns addresses to buffers, step by step, and records the tilings that go with them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.problems: dict[int, TilingProblem] = {}
        self.tilings: dict[int, Tiling] = {}
        self.buffers: dict[int, tuple[tuple[int, ...], ...]] = {}
        self.peak_bytes = 0
        self._from_top = False

    def pack_node(
        self, step: int, problem: TilingProblem, policy: Policy, taken: Sequence[allocation.Gap]
    ) -> bool:
        """Find a tiling whose buffers fit into the gaps; False where there is none."""
        free = allocation.gaps(taken, self._limit)
        budget = sum(end - start for start, end in free)
        while budget > 0:
            tiling = policy.tiling(problem, budget)
            if tiling is None:
                return False
            sizes = _sizes(tiling.buffers)
            found = allocation.fit(sizes, free, ALIGNMENT, self._from_top)
            if found is not None:
                self.problems[step], self.tilings[step] = problem, tiling
                self.buffers[step] = _grouped(tiling.buffers, iter(found))
                self._settle(taken, tiling.sram_bytes)
                return True
            budget = min(budget - 1, tiling.sram_bytes - 1)
        return False

    def pack_chain(
        self,
        steps: Sequence[int],
        problems: Sequence[TilingProblem],
        tiling: ChainTiling,
        free: list[allocation.Gap],
        taken: Sequence[allocation.Gap],
    ) -> tuple[int, ...] | None:
        """Addresses of the buffers between the nodes, once all others are placed too."""
        layout = tiling.layout
        sizes = [*(size for buffers in layout.buffers for size in _sizes(buffers)), *layout.inner]
        found = allocation.fit(sizes, free, ALIGNMENT, self._from_top)
        if found is None:
            return None
        addresses = iter(found)
        for number, step in enumerate(steps):
            self.problems[step], self.tilings[step] = problems[number], tiling.tiling(number)
            self.buffers[step] = _grouped(layout.buffers[number], addresses)
        self._settle(taken, tiling.sram_bytes)
        return tuple(addresses)

    def describe(self, steps: Sequence[int], taken: Sequence[Gap], chain: Chain | None) -> PackedSegment:
        """A packed node or chain, as the plan of loads ahead sees it."""
        occupied, constants = list(taken), []
        for step in steps:
            for addresses, (size, _) in zip(self.buffers[step], self.tilings[step].buffers, strict=True):
                occupied += [(address, address + align(size)) for address in addresses if size]
            constants += self._constants(step)
        if chain is not None:
            occupied += chain.inner_gaps
            return PackedSegment(steps[0], occupied, constants, chain.rounds, chain.cycles, chain.load_cycles)
        (step,) = steps
        tiling, problem = self.tilings[step], self.problems[step]
        compute, loads = problem.compute_cycles(tiling), problem.load_cycles(tiling)
        return PackedSegment(step, occupied, constants, tiling.tasks, compute, loads)

    def _constants(self, step: int) -> list[Constants]:
        """The constants that a node can have in SRAM when it begins."""
        problem, tiling = self.problems[step], self.tilings[step]
        place = len(problem.in_sram.inputs)
        size, pieces = tiling.buffers[place][0], problem.first_pieces(tiling)
        if not size or problem.node.matrix is not None:
            return []
        gaps = tuple((address, address + align(size)) for address in self.buffers[step][place])
        cycles = problem.machine.constants_cycles(size)
        if not cycles:
            return []  # loads take no time on this machine
        return [Constants(step, pieces, align(size), cycles, gaps, problem.loads_again(tiling))]

    def _settle(self, taken: Sequence[allocation.Gap], buffer_bytes: int) -> None:
        self.peak_bytes = max(self.peak_bytes, sum(end - start for start, end in taken) + buffer_bytes)
        self._from_top = not self._from_top  # so that the next node's first loads need not wait


def _sizes(buffers: Buffers) -> list[int]:
    return [size for size, copies in buffers for _ in range(copies)]


def _grouped(buffers: Buffers, addresses: Iterator[int]) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple(islice(addresses, copies)) for _, copies in buffers])
