"""Packs the buffers of each node or chain into the SRAM that resident tensors leave free."""

from __future__ import annotations

from collections import deque
from dataclasses import field
from itertools import chain, pairwise

from dlasim.compiler_shim.lowering.addresses import allocation
from dlasim.compiler_shim.lowering.addresses.packed_segments import CutNodes, PackedNodes
from dlasim.compiler_shim.lowering.addresses.sram_plan import Segment
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT
from dlasim.compiler_shim.lowering.tiles.tiling import Tiling, TilingProblem
from dlasim.dataclass import dataclass

# Segments before, some of which are short: with 1, smollm2 with weights of 4 bits lost 0.6 %.
_KEPT_APART = 3

Problems = tuple[TilingProblem, ...]
Taken = tuple[allocation.Gap, ...]


@dataclass(slots=True)
class KnownSegments:
    """What has been packed, so that equal blocks of a network are packed once: by nodes, what is taken, the
    size of the SRAM, the end from which buffers are placed, and what these keep away from; None where nothing
    fits. And nodes by how they are cut, which does not depend on addresses: of equal tilings there is one
    object."""

    packed: dict[object, PackedNodes | None] = field(default_factory=dict)
    cuts: dict[tuple[Problems, Tiling | ChainTiling], CutNodes] = field(default_factory=dict)


class BufferPacker:
    """Assigns addresses to buffers, step by step, and records the tilings that go with them."""

    def __init__(
        self, limit: int, policy: Policy, by_groups: bool, known: KnownSegments, apart: bool = False
    ) -> None:
        """With `apart`, buffers keep away from what the segments before occupy, as far as there is room."""
        self._limit, self._policy, self._by_groups, self._known = limit, policy, by_groups, known
        self.parts: list[tuple[Segment, PackedNodes]] = []
        self.problems: dict[int, TilingProblem] = {}
        self.tilings: dict[int, Tiling] = {}
        self.peak_bytes = 0
        self._from_top = False
        self._recent = deque[Taken](maxlen=_KEPT_APART if apart else 0)

    def pack(self, steps: Segment, problems: Problems, taken: Taken) -> PackedNodes | None:
        """Find tilings of a node or a chain whose buffers fit into the gaps; None where there are none."""
        known, key = self._known.packed, (problems, taken, self._limit, self._from_top, tuple(self._recent))
        if key not in known:
            known[key] = self._find(problems, taken)
        found = known[key]
        if found is not None:
            for number, step in enumerate(steps):
                self.problems[step], self.tilings[step] = problems[number], found.cut.tilings[number]
            self.parts.append((steps, found))
            if self._recent.maxlen:
                self._recent.append(found.ranges)
            self.peak_bytes = max(self.peak_bytes, found.used_bytes)
            self._from_top = not self._from_top  # so that the next node's first loads need not wait
        return found

    def _find(self, problems: Problems, taken: Taken) -> PackedNodes | None:
        if len(problems) > 1 and _take_turns(taken):
            return None
        free = allocation.gaps(taken, self._limit)
        apart = [allocation.gaps(chain(taken, *self._recent), self._limit)] if self._recent else []
        budget = sum([end - start for start, end in free])
        while budget > 0:
            cut = self._cut(problems, budget)
            if cut is None:
                return None
            for room in (*apart, free):
                found = allocation.fit(cut.sizes, cut.largest_first, room, ALIGNMENT, self._from_top)
                if found is not None:
                    return PackedNodes(cut, found, taken)
            budget = min(budget, cut.sram_bytes) - 1
        return None

    def _cut(self, problems: Problems, budget: int) -> CutNodes | None:
        found: Tiling | ChainTiling | None
        if len(problems) == 1:
            found = self._policy.tiling(problems[0], budget)
        else:
            found = self._policy.chain_tiling(problems, budget, self._by_groups)
        if found is None:
            return None
        known, key = self._known.cuts, (problems, found)
        if key not in known:
            known[key] = _cut_nodes(problems, found)
        return known[key]


def _cut_nodes(problems: Problems, found: Tiling | ChainTiling) -> CutNodes:
    if isinstance(found, Tiling):
        return CutNodes(problems, (found,), (found.buffers,))
    tilings = tuple([found.tiling(number) for number in range(len(problems))])
    return CutNodes(problems, tilings, found.layout.buffers, found)


def _take_turns(taken: Taken) -> bool:
    """Whether values share a place one after the other: they would meet where steps run side by side."""
    return any(end > start for (_, end), (start, _) in pairwise(sorted(taken)))
