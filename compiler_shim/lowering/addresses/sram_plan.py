"""What a plan of the SRAM consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.addresses.packed_records import SEGMENT_SLOTS, SLOTS
from dlasim.compiler_shim.lowering.path_steps import PathSteps
from dlasim.compiler_shim.lowering.segments.chains import Chain, ChainTiling
from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tiling import Tiling, TilingProblem
from dlasim.dataclass import dataclass
from dlasim.named_tuple import NamedTuple

Segment = tuple[int, ...]  # the steps of a node or a chain
_TASKS, _ROWS, _OUTER, _PROBLEM, _TILING, _BETWEEN = (
    SLOTS[name] for name in ("tasks", "rows", "is_channels_outer", "problem", "tiling", "between_address")
)
_CHAIN, _CYCLES = SEGMENT_SLOTS["chain"], SEGMENT_SLOTS["cycles"]


class Prefetch(NamedTuple):
    """Loads of some pieces of a step's constants, after a task of another segment or an earlier one of its
    own."""

    step: int
    task: int
    first: int
    pieces: int


@dataclass(frozen=True, slots=True)
class PrefetchPlan:
    """By the first step of a segment the loads that it makes for later tasks, and by step the addresses of
    the first pieces of its constants, which are loaded so. And the steps whose tiles are each loaded before
    the tile before is computed."""

    loads: Mapping[int, Sequence[Prefetch]]
    addresses: Mapping[int, tuple[int, ...]]
    peak_bytes: int = 0  # the most SRAM that is in use during a segment; 0 where nothing is prefetched
    load_first: frozenset[int] = frozenset()


NO_PREFETCHES = PrefetchPlan({}, {})


class KeptConstants(NamedTuple):
    """Constants that stay in SRAM after the first inference: by step the address of each piece, and the bytes
    that all take."""

    addresses: Mapping[int, tuple[int, ...]]
    size_bytes: int


NO_KEPT = KeptConstants({}, 0)


@dataclass(frozen=True, eq=False)
class SramPlan:
    """A plan for a size of SRAM: the addresses of the values that stay in it; its nodes and segments in their
    order, with what they occupy, as the slots of records; and what these were found in. Each is itself only,
    so that what follows from one can be remembered."""

    sram_bytes: int
    addresses: Mapping[int, int]
    parts: Sequence[Segment]  # the steps of each segment
    nodes: NDArray[np.int64]  # rows of `PackedNode`
    segments: NDArray[np.int64]  # rows of `PackedSegment`
    ranges: NDArray[np.int64]  # rows of `OccupiedRange`
    path: PathSteps
    tables: KnownTables
    packed_bytes: int  # the most that is in use without prefetches
    changing_bytes: int  # of SRAM, below which estimates count on fewer prefetches
    prefetches: PrefetchPlan = NO_PREFETCHES
    kept: KeptConstants = NO_KEPT

    @property
    def peak_bytes(self) -> int:
        """The most SRAM that is in use at a time."""
        return self.working_bytes + self.kept.size_bytes

    @property
    def working_bytes(self) -> int:
        """The same without constants that stay."""
        return self.prefetches.peak_bytes or self.packed_bytes

    @property
    def estimated_cycles(self) -> int:
        """Cycles of the DLA by the estimates that made the plan; a chain has one for all its nodes."""
        return sum(self.segments[:, _CYCLES].tolist())

    @property
    def tasks(self) -> int:
        """Tiles, and stripes of each node in a chain."""
        return int(self.nodes[:, _TASKS].sum())

    @property
    def steps(self) -> Sequence[int]:
        """The steps of all nodes."""
        return self.path.order

    @cached_property
    def problems(self) -> Mapping[int, TilingProblem]:
        """By step what had to be cut."""
        rows = zip(self.steps, self.nodes[:, _PROBLEM].tolist(), strict=True)
        return {step: self.tables.problem(number) for step, number in rows}

    @cached_property
    def tilings(self) -> Mapping[int, Tiling]:
        """By step how it is cut."""
        found, cut = dict[int, Tiling](), self._cut_chains
        for step, row in zip(self.steps, self.nodes.tolist(), strict=True):
            if row[_TILING] != NONE:
                tiling = self.tables.tiling_at(row[_TILING], self.problems[step])
                if tiling.tasks != row[_TASKS]:  # cut further
                    shape = tiling.tile_shape._replace(rows=row[_ROWS], is_channels_outer=row[_OUTER] == 1)
                    tiling = replace(tiling, tile_shape=shape, tasks=row[_TASKS])
                found[step] = tiling
        for steps, chain in cut.items():
            found |= {step: chain.tiling(number) for number, step in enumerate(steps)}
        return {step: found[step] for step in self.steps}

    @cached_property
    def _cut_chains(self) -> Mapping[Segment, ChainTiling]:
        """How chains are cut, by their steps."""
        found, problems = dict[Segment, ChainTiling](), self.nodes[:, _PROBLEM].tolist()
        for steps, number in zip(self.parts, self.segments[:, _CHAIN].tolist(), strict=True):
            if number != NONE:
                own = [self.tables.problem(problems[self.path.places[step]]) for step in steps]
                found[steps] = self.tables.chain_at(number, own)
        return found

    @cached_property
    def chains(self) -> Mapping[int, Chain]:
        """By first step."""
        between = dict(zip(self.steps, self.nodes[:, _BETWEEN].tolist(), strict=True))
        return {
            steps[0]: cut.chain(steps, tuple([between[step] for step in steps[:-1]]))
            for steps, cut in self._cut_chains.items()
        }

    @cached_property
    def inner(self) -> frozenset[int]:
        """Values that only exist in stripes."""
        return frozenset([self.path.nodes[step].output for steps in self.parts for step in steps[:-1]])

    @property
    def has_groups(self) -> bool:
        """Whether a chain is computed in groups of channels."""
        return any(chain.groups for chain in self.chains.values())
