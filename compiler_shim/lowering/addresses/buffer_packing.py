"""Packs the buffers of each node or chain into the SRAM that resident tensors leave free."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice, pairwise
from typing import NamedTuple

from dlasim.compiler_shim.lowering.addresses import allocation
from dlasim.compiler_shim.lowering.addresses.packed_segments import PackedNodes
from dlasim.compiler_shim.lowering.addresses.sram_plan import Segment
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.tiles.geometry import Buffers
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT, align
from dlasim.compiler_shim.lowering.tiles.tiling import Tiling, TilingProblem


class _CutNodes(NamedTuple):
    """How a node or a chain is cut: by node its tiling and its buffers; the buffers between the nodes."""

    tilings: tuple[Tiling, ...]
    buffers: tuple[Buffers, ...]
    inner: tuple[int, ...]
    sram_bytes: int
    chain: ChainTiling | None


Problems = tuple[TilingProblem, ...]
Taken = tuple[allocation.Gap, ...]
# By nodes, what is taken, the size of the SRAM, and the end from which buffers are placed; None where nothing
# fits. Equal blocks of a network are packed once.
KnownSegments = dict[tuple[Problems, Taken, int, bool], PackedNodes | None]


class BufferPacker:
    """Assigns addresses to buffers, step by step, and records the tilings that go with them."""

    def __init__(self, limit: int, policy: Policy, by_groups: bool, known: KnownSegments) -> None:
        self._limit, self._policy, self._by_groups, self._known = limit, policy, by_groups, known
        self.parts: list[tuple[Segment, PackedNodes]] = []
        self.problems: dict[int, TilingProblem] = {}
        self.tilings: dict[int, Tiling] = {}
        self.buffers: dict[int, tuple[tuple[int, ...], ...]] = {}
        self.peak_bytes = 0
        self._from_top = False

    def pack(self, steps: Segment, problems: Problems, taken: Taken) -> PackedNodes | None:
        """Find tilings of a node or a chain whose buffers fit into the gaps; None where there are none."""
        key = problems, taken, self._limit, self._from_top
        if key not in self._known:
            self._known[key] = self._find(problems, taken)
        found = self._known[key]
        if found is not None:
            for number, step in enumerate(steps):
                self.problems[step], self.tilings[step] = problems[number], found.tilings[number]
                self.buffers[step] = found.buffers[number]
            self.parts.append((steps, found))
            self.peak_bytes = max(self.peak_bytes, found.used_bytes)
            self._from_top = not self._from_top  # so that the next node's first loads need not wait
        return found

    def _find(self, problems: Problems, taken: Taken) -> PackedNodes | None:
        if len(problems) > 1 and _take_turns(taken):
            return None
        free = allocation.gaps(taken, self._limit)
        budget = sum([end - start for start, end in free])
        while budget > 0:
            cut = self._cut(problems, budget)
            if cut is None:
                return None
            sizes = [size for buffers in cut.buffers for size, copies in buffers for _ in range(copies)]
            found = allocation.fit([*sizes, *cut.inner], free, ALIGNMENT, self._from_top)
            if found is not None:
                return _packed(problems, cut, found, taken)
            budget = min(budget, cut.sram_bytes) - 1
        return None

    def _cut(self, problems: Problems, budget: int) -> _CutNodes | None:
        if len(problems) == 1:
            alone = self._policy.tiling(problems[0], budget)
            if alone is None:
                return None
            return _CutNodes((alone,), (alone.buffers,), (), alone.sram_bytes, None)
        pieces = self._policy.chain_tiling(problems, budget, self._by_groups)
        if pieces is None:
            return None
        tilings = tuple([pieces.tiling(number) for number in range(len(problems))])
        return _CutNodes(tilings, pieces.layout.buffers, pieces.layout.inner, pieces.sram_bytes, pieces)


def _packed(problems: Problems, cut: _CutNodes, found: Sequence[int], taken: Taken) -> PackedNodes:
    """The nodes with the addresses that were found for the buffers of each, and then for those between."""
    addresses, own = iter(found), list[allocation.Gap]()
    every, constants = list[tuple[tuple[int, ...], ...]](), list[tuple[allocation.Gap, ...]]()
    for problem, buffers in zip(problems, cut.buffers, strict=True):
        every.append(tuple([tuple(islice(addresses, copies)) for _, copies in buffers]))
        sized = [(align(size), copies) for (size, _), copies in zip(buffers, every[-1], strict=True)]
        gaps = [tuple([(start, start + size) for start in copies]) if size else () for size, copies in sized]
        own += chain.from_iterable(gaps)
        constants.append(gaps[len(problem.in_sram.inputs)])  # which come after the inputs
    inner = tuple(addresses)
    between = [(start, start + align(size)) for start, size in zip(inner, cut.inner, strict=True)]
    used = sum([end - start for start, end in taken]) + cut.sram_bytes
    occupied = [*taken, *between, *own]
    return PackedNodes(problems, cut.tilings, every, constants, occupied, used, cut.chain, inner)


def _take_turns(taken: Taken) -> bool:
    """Whether values share a place one after the other: they would meet where steps run side by side."""
    return any(end > start for (_, end), (start, _) in pairwise(sorted(taken)))
