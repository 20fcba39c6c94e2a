"""Packs the tensors that stay in SRAM, and the buffers of a network's nodes and chains between them."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.allocation import placed_addresses
from dlasim.compiler_shim.lowering.addresses.packed_records import Packing
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.addresses.tensor_packing import PACK
from dlasim.compiler_shim.lowering.path_steps import PathSteps
from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.compiler_shim.lowering.states import StateSearch
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT
from dlasim.native.storage import PointedMemory


class PlanPacker:
    """Makes plans; its memory serves for one after the other."""

    def __init__(self) -> None:
        self._packing = Packing()
        self._path: PathSteps | None = None  # for which there is room
        self._memory = PointedMemory(self._packing)
        self._residents = PointedMemory(self._packing.residents)
        self._busy = PointedMemory(self._packing.busy)

    def pack(
        self, path: PathSteps, search: StateSearch, tables: KnownTables, limit: int, apart: bool
    ) -> SramPlan | int:
        """The plan of what a search has chosen, or the place of a node whose buffers do not fit next to the
        tensors, TENSORS where these do not."""
        packing = self._packing
        packing.limit, packing.apart = limit, int(apart)
        if self._path is not path:
            self._make_room(path)
        stuck = tables.run(PACK, packing, search, tables.table)
        if stuck != NONE:
            return stuck
        return SramPlan(
            limit,
            placed_addresses(self._residents["ranges"], packing.residents.count),
            self._memory["nodes"].array(path.count),
            self._memory["segments"].array(packing.segment_count),
            self._memory["ranges"].array(packing.range_count),
            path,
            tables,
            packing.used_bytes,
            packing.changing_bytes,
        )

    def staying(self, path: PathSteps) -> list[int]:
        """The tensors that were to stay in SRAM when nothing could be packed, large ones first."""
        there = self._memory["is_there"].take(0, len(path.tensors))
        return [value for value, is_there in zip(path.tensors, there, strict=True) if is_there]

    def _make_room(self, path: PathSteps) -> None:
        """Make room for what is found in any plan of a network."""
        packing, tensors, self._path = self._packing, len(path.tensors), path
        packing.step_count = max(path.order, default=-1) + 1
        packing.numbers, packing.operands = path.numbers.pointer, path.values.pointer
        packing.tensors, packing.tensor_count = path.ranges.pointer, tensors
        packing.residents.alignment = ALIGNMENT
        self._residents.reserve(ranges=tensors)
        self._busy.reserve(starts=path.most_ranges, ends=path.most_ranges)
        self._memory.reserve(
            nodes=path.count, segments=path.count, ranges=path.most_ranges,
            gaps=path.most_ranges + 1, live=tensors, is_there=tensors, alive=path.most_ranges,
            newest=packing.step_count,
        )  # fmt: skip
