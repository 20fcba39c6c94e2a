"""Packs the tensors that stay in SRAM, and the buffers of a network's nodes and chains between them."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.allocation import PlacedRange, placed_addresses
from dlasim.compiler_shim.lowering.addresses.packed_records import (
    AliveTensor,
    Gap,
    PackedNode,
    PackedSegment,
    Packing,
)
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.addresses.tensor_packing import PACK
from dlasim.compiler_shim.lowering.loads.load_records import OccupiedRange
from dlasim.compiler_shim.lowering.path_search import PathChoice, PathSearch
from dlasim.compiler_shim.lowering.path_steps import PathSteps
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT
from dlasim.native.storage import Store


class PlanPacker:
    """Makes plans; its memory serves for one after the other."""

    def __init__(self) -> None:
        self._packing = Packing()
        self._path: PathSteps | None = None  # for which there is room
        self._nodes, self._segments = Store(PackedNode), Store(PackedSegment)
        self._live, self._residents = Store(PlacedRange), Store(PlacedRange)
        self._ranges, self._there = Store(OccupiedRange), Store(int)
        self._alive, self._newest = Store(AliveTensor), Store(int)
        self._ordered, self._gaps = Store(Gap), Store(Gap)

    def pack(
        self, search: PathSearch, choice: PathChoice, limit: int, by_groups: bool, apart: bool
    ) -> SramPlan | int:
        """The plan, or the place of a node whose buffers do not fit next to the tensors, TENSORS where these
        do not."""
        packing, tables, path = self._packing, search.tables, search.steps
        packing.limit, packing.apart, tables.table.by_groups = limit, int(apart), int(by_groups)
        if self._path is not path:
            self._make_room(path)
        stuck = tables.run(PACK, packing, search.choose_again(choice), tables.table)
        if stuck != NONE:
            return stuck
        return SramPlan(
            limit,
            placed_addresses(self._residents, packing.residents.count),
            self._nodes.array(path.count),
            self._segments.array(packing.segment_count),
            self._ranges.array(packing.range_count),
            path,
            tables,
            packing.used_bytes,
            packing.changing_bytes,
        )

    def staying(self, path: PathSteps) -> list[int]:
        """The tensors that were to stay in SRAM when nothing could be packed, large ones first."""
        there = self._there.take(0, len(path.tensors))
        return [value for value, is_there in zip(path.tensors, there, strict=True) if is_there]

    def _make_room(self, path: PathSteps) -> None:
        """Make room for what is found in any plan of a network."""
        packing, tensors, self._path = self._packing, len(path.tensors), path
        packing.step_count = max(path.order, default=-1) + 1
        rooms = (
            (self._nodes, path.count), (self._segments, path.count), (self._ranges, path.most_ranges),
            (self._ordered, path.most_ranges), (self._gaps, path.most_ranges + 1),
            (self._live, tensors), (self._residents, tensors), (self._there, tensors),
            (self._alive, path.most_ranges), (self._newest, packing.step_count),
        )  # fmt: skip
        for memory, most in rooms:
            memory.reserve(most, 0)
        packing.nodes, packing.segments = self._nodes.pointer, self._segments.pointer
        packing.ranges, packing.ordered = self._ranges.pointer, self._ordered.pointer
        packing.gaps, packing.is_there = self._gaps.pointer, self._there.pointer
        packing.numbers, packing.operands = path.numbers.pointer, path.values.pointer
        packing.tensors, packing.tensor_count = path.ranges.pointer, tensors
        packing.alive, packing.newest = self._alive.pointer, self._newest.pointer
        packing.live, packing.residents.ranges = self._live.pointer, self._residents.pointer
        packing.residents.alignment = ALIGNMENT
