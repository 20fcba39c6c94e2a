"""Packs the buffers of each node or chain into the SRAM that resident tensors leave free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from dlasim.compiler_shim.lowering.addresses import allocation
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.tiles.geometry import Buffers
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT
from dlasim.compiler_shim.lowering.tiles.tiling import Tiling, TilingProblem


class Packed(NamedTuple):
    """A tiling whose buffers fit between the tensors in SRAM, and their addresses."""

    tiling: Tiling
    buffers: tuple[tuple[int, ...], ...]


# By node, what is taken, the size of the SRAM, and the end from which buffers are placed; None where nothing
# fits. Equal blocks of a network are packed once.
PackedNodes = dict[tuple[TilingProblem, tuple[allocation.Gap, ...], int, bool], Packed | None]


class BufferPacker:
    """Assigns addresses to buffers, step by step, and records the tilings that go with them."""

    def __init__(self, limit: int, policy: Policy, known: PackedNodes) -> None:
        self._limit, self._policy, self._known = limit, policy, known
        self.problems: dict[int, TilingProblem] = {}
        self.tilings: dict[int, Tiling] = {}
        self.buffers: dict[int, tuple[tuple[int, ...], ...]] = {}
        self.peak_bytes = 0
        self._from_top = False

    def pack_node(self, step: int, problem: TilingProblem, taken: Sequence[allocation.Gap]) -> bool:
        """Find a tiling whose buffers fit into the gaps; False where there is none."""
        key = problem, tuple(taken), self._limit, self._from_top
        if key not in self._known:
            self._known[key] = self._pack(problem, taken)
        found = self._known[key]
        if found is None:
            return False
        self.problems[step], (self.tilings[step], self.buffers[step]) = problem, found
        self._assign_addresses(taken, found.tiling.sram_bytes)
        return True

    def _pack(self, problem: TilingProblem, taken: Sequence[allocation.Gap]) -> Packed | None:
        free = allocation.gaps(taken, self._limit)
        budget = sum(end - start for start, end in free)
        while budget > 0:
            tiling = self._policy.tiling(problem, budget)
            if tiling is None:
                return None
            found = allocation.fit(_sizes(tiling.buffers), free, ALIGNMENT, self._from_top)
            if found is not None:
                return Packed(tiling, _grouped(tiling.buffers, iter(found)))
            budget = min(budget, tiling.sram_bytes) - 1
        return None

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
        self._assign_addresses(taken, tiling.sram_bytes)
        return tuple(addresses)

    def _assign_addresses(self, taken: Sequence[allocation.Gap], buffer_bytes: int) -> None:
        self.peak_bytes = max(self.peak_bytes, sum(end - start for start, end in taken) + buffer_bytes)
        self._from_top = not self._from_top  # so that the next node's first loads need not wait


def _sizes(buffers: Buffers) -> list[int]:
    return [size for size, copies in buffers for _ in range(copies)]


def _grouped(buffers: Buffers, addresses: Iterator[int]) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple(islice(addresses, copies)) for _, copies in buffers])
