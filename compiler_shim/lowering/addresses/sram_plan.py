"""What a plan of the SRAM consists of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dlasim.compiler_shim.lowering.addresses import allocation
from dlasim.compiler_shim.lowering.addresses.allocation import LiveRange
from dlasim.compiler_shim.lowering.addresses.packed_segments import PackedNodes
from dlasim.compiler_shim.lowering.segments.chains import Chain
from dlasim.compiler_shim.lowering.tiles.tiling import Tiling, TilingProblem
from dlasim.dataclass import dataclass
from dlasim.named_tuple import NamedTuple

Segment = tuple[int, ...]  # the steps of a node or a chain


class Residents:
    """The values that stay in SRAM, each at its address while it is alive."""

    def __init__(self, addresses: Mapping[int, int], live_ranges: Mapping[int, LiveRange]) -> None:
        self.addresses = addresses
        self._at: dict[int, dict[int, allocation.Gap]] = defaultdict(dict)  # by step and value
        for value, address in addresses.items():
            live_range = live_ranges[value]
            gap = (address, address + live_range.size_bytes)
            for step in range(live_range.first, live_range.last + 1):
                self._at[step][value] = gap

    def during(self, steps: Sequence[int]) -> tuple[allocation.Gap, ...]:
        """The address ranges that they occupy while any of these steps runs."""
        found = self._at.get(steps[0], {})
        for step in steps[1:]:
            found = found | self._at.get(step, {})
        return tuple(found.values())


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


@dataclass(frozen=True, slots=True, eq=False)
class SramPlan:
    """A plan for a size of SRAM: the values that stay in it; its nodes and chains in their order, with the
    addresses of their buffers; for each DLA node its problem and tiling. Each is itself only, so that what
    follows from one can be remembered."""

    sram_bytes: int
    residents: Residents
    parts: Sequence[tuple[Segment, PackedNodes]]
    problems: Mapping[int, TilingProblem]
    tilings: Mapping[int, Tiling]
    packed_bytes: int  # the most that is in use without prefetches
    chains: Mapping[int, Chain]  # by first step
    inner: frozenset[int]  # values that only exist in stripes
    prefetches: PrefetchPlan = NO_PREFETCHES
    kept: KeptConstants = NO_KEPT

    @property
    def addresses(self) -> Mapping[int, int]:
        """Of the values that stay in SRAM."""
        return self.residents.addresses

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
        nodes = sum(tiling.cycles for tiling in self.tilings.values())
        return nodes + sum(chain.cycles for chain in self.chains.values())

    @property
    def tasks(self) -> int:
        """Tiles, and stripes of each node in a chain."""
        return sum(tiling.tasks for tiling in self.tilings.values())

    @property
    def has_groups(self) -> bool:
        """Whether a chain is computed in groups of channels."""
        return any(chain.groups for chain in self.chains.values())

    @property
    def chained(self) -> frozenset[int]:
        """The steps that belong to chains."""
        return frozenset(step for chain in self.chains.values() for step in chain.steps)
