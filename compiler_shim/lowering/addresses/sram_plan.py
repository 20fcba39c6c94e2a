"""What a plan of the SRAM consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.addresses.packed_records import SEGMENT_SLOTS, SLOTS, TILE
from dlasim.compiler_shim.lowering.emission.records import Load
from dlasim.compiler_shim.lowering.path_steps import PathSteps
from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.dataclass import dataclass
from dlasim.named_tuple import NamedTuple
from dlasim.native.record import slots_of

_TASKS, _CYCLES = SLOTS["tasks"], SEGMENT_SLOTS["cycles"]
_PLACE, _NODES = SEGMENT_SLOTS["place"], SEGMENT_SLOTS["nodes"]
_CHAINED = [SEGMENT_SLOTS[name] for name in ("nodes", "rounds")]
_ADDRESSES = [*range(SLOTS["buffers"], SLOTS["problem"]), SLOTS["between_address"]]


class TileShape(NamedTuple):
    """Rows, columns, output channels and input channels of a tile, and the order of the tiles.

    `is_channels_outer`: all pixels for one group of channels before the next group; else the other way round.
    `buffering`: which buffers have a second copy, SINGLE, DOUBLE or DOUBLE_TENSORS of `tile_buffers`.
    """

    rows: int
    columns: int
    channels: int
    depth: int
    is_channels_outer: bool
    buffering: int

    @property
    def text(self) -> str:
        """The tile as people read it: rows x columns x output channels / input channels, and the order."""
        order = "channels outer" if self.is_channels_outer else "pixels outer"
        buffers = ("", ", double", ", double but constants")[self.buffering]
        return f"{self.rows}x{self.columns}x{self.channels}/{self.depth} {order}{buffers}"


class PlacedPieces(NamedTuple):
    """By place of a node how many of the first pieces of its constants have places, and the addresses of all
    of these. Where none have, there are no counts."""

    counts: NDArray[np.int64]
    addresses: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PrefetchPlan:
    """The loads of constants that segments make for later tasks, as rows of `Load` in their order, and the
    pieces that are loaded so; by segment whether its tiles are each loaded before the tile before is
    computed; and the most SRAM that is in use during a segment, 0 where nothing is prefetched."""

    loads: NDArray[np.int64]
    pieces: PlacedPieces
    load_first: NDArray[np.int64]
    peak_bytes: int = 0

    def commands(self) -> object:
        """All that decides about the commands."""
        return tuple([each.tobytes() for each in (self.loads, *self.pieces, self.load_first)])


class KeptConstants(NamedTuple):
    """Constants that have places of their own, and the bytes that they take. They stay there after the first
    inference, or with `batch_bytes` each inference loads them in batches of about so many."""

    pieces: PlacedPieces
    size_bytes: int
    batch_bytes: int = 0


_NOTHING = np.zeros(0, np.int64)
NO_PIECES = PlacedPieces(_NOTHING, _NOTHING)
NO_PREFETCHES = PrefetchPlan(_NOTHING.reshape(0, slots_of(Load)), NO_PIECES, _NOTHING)
NO_KEPT = KeptConstants(NO_PIECES, 0)


@dataclass(frozen=True, eq=False)
class SramPlan:
    """A plan for a size of SRAM: the addresses of the values that stay in it; its nodes and segments in their
    order, with what they occupy, as the slots of records; and what these were found in. Each is itself only,
    so that what follows from one can be remembered."""

    sram_bytes: int
    addresses: Mapping[int, int]
    nodes: NDArray[np.int64]  # rows of `PackedNode`
    segments: NDArray[np.int64]  # rows of `PackedSegment`
    ranges: NDArray[np.int64]  # rows of `OccupiedRange`
    path: PathSteps
    tables: KnownTables
    used_bytes: int  # the most that is in use without prefetches
    changing_bytes: int  # of SRAM, below which estimates count on fewer prefetches
    prefetches: PrefetchPlan = NO_PREFETCHES
    kept: KeptConstants = NO_KEPT

    def with_prefetches(self, prefetches: PrefetchPlan) -> SramPlan:
        """The same plan with other prefetches, on which nothing depends that it remembers."""
        made = object.__new__(SramPlan)
        vars(made).update(vars(self), prefetches=prefetches)
        return made

    @cached_property
    def shapes(self) -> object:
        """The network, how its nodes are cut, and which tensors stay in SRAM."""
        cut = self.nodes[:, TILE].tobytes(), self.segments[:, _CHAINED].tobytes()
        return self.path, *cut, tuple(self.addresses)

    @cached_property
    def layout(self) -> object:
        """All that decides about the commands but prefetches. Plans of different machines often have the
        same, but other estimates."""
        placed = self.nodes[:, _ADDRESSES].tobytes(), *[each.tobytes() for each in self.kept.pieces]
        return self.shapes, *placed, tuple(self.addresses.values()), self.kept.batch_bytes

    @property
    def commands(self) -> object:
        """All that decides about the commands."""
        return self.layout, self.prefetches.commands()

    @property
    def keeps_constants(self) -> bool:
        """Whether constants stay in SRAM after the first inference."""
        return self.places_constants and not self.kept.batch_bytes

    @property
    def places_constants(self) -> bool:
        """Whether all constants have places of their own."""
        return self.kept.size_bytes > 0

    @property
    def peak_bytes(self) -> int:
        """The most SRAM that is in use at a time."""
        return self.working_bytes + self.kept.size_bytes

    @property
    def working_bytes(self) -> int:
        """The same without constants that stay."""
        return self.prefetches.peak_bytes or self.used_bytes

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
    def tile_shapes(self) -> Mapping[int, TileShape]:
        """By step how it is cut."""
        rows = self.nodes[:, TILE].tolist()
        return {step: TileShape(*row) for step, row in zip(self.steps, rows, strict=True)}

    @cached_property
    def chains(self) -> Sequence[Sequence[int]]:
        """The steps of each chain."""
        rows = self.segments[self.segments[:, _NODES] > 1][:, [_PLACE, _NODES]].tolist()
        return [self.steps[place : place + nodes] for place, nodes in rows]

    @cached_property
    def inner(self) -> frozenset[int]:
        """Values that only exist in pieces."""
        return frozenset([self.path.nodes[step].output for steps in self.chains for step in steps[:-1]])
