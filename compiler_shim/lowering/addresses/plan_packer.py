"""Packs the buffers of a network's nodes and chains between the tensors that stay in SRAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dlasim.compiler_shim.lowering.addresses.allocation import LiveRange
from dlasim.compiler_shim.lowering.addresses.buffer_packing import PACK
from dlasim.compiler_shim.lowering.addresses.packed_records import (
    MAX_BUFFERS,
    SEGMENT_SLOTS,
    Gap,
    PackedNode,
    PackedSegment,
    Packing,
    Resident,
)
from dlasim.compiler_shim.lowering.addresses.sram_plan import Segment, SramPlan
from dlasim.compiler_shim.lowering.loads.load_records import OccupiedRange
from dlasim.compiler_shim.lowering.path_search import PathSearch
from dlasim.compiler_shim.lowering.path_steps import PathSteps
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.named_tuple import NamedTuple
from dlasim.native.storage import Store

_PLACE, _NODES = SEGMENT_SLOTS["place"], SEGMENT_SLOTS["nodes"]


class Residents(NamedTuple):
    """The values that stay in SRAM, with their addresses and the steps at which they are there."""

    addresses: Mapping[int, int]
    live_ranges: Mapping[int, LiveRange]


class PlanPacker:
    """Makes plans; its memory serves for one after the other."""

    def __init__(self) -> None:
        self._packing, self._chosen, self._there = Packing(), Store(int), Store(int)
        self._nodes, self._segments = Store(PackedNode), Store(PackedSegment)
        self._residents, self._ranges = Store(Resident), Store(OccupiedRange)
        self._ordered, self._gaps = Store(Gap), Store(Gap)

    def pack(
        self,
        search: PathSearch,
        segments: Sequence[Segment],
        residents: Residents,
        limit: int,
        by_groups: bool,
        apart: bool,
    ) -> SramPlan | int:
        """The plan, or the step whose buffers do not fit next to the values that stay."""
        packing, tables, path = self._packing, search.tables, search.steps
        packing.limit, packing.apart, tables.table.by_groups = limit, int(apart), int(by_groups)
        self._describe(path, segments, residents)
        stuck = tables.run(PACK, packing, search.record, tables.table)
        if stuck != NONE:
            return path.order[stuck]
        found, order = self._segments.array(packing.segment_count), path.order
        parts = [tuple(order[place : place + count]) for place, count in found[:, [_PLACE, _NODES]].tolist()]
        return SramPlan(
            limit,
            residents.addresses,
            parts,
            self._nodes.array(path.count),
            found,
            self._ranges.array(packing.range_count),
            path,
            tables,
            packing.used_bytes,
            packing.changing_bytes,
        )

    def _describe(self, path: PathSteps, segments: Sequence[Segment], residents: Residents) -> None:
        """Say which segments are packed, and what stays in SRAM; make room for what is found."""
        packing, there = self._packing, self._there.clear(path.value_count)
        rows, lives = list[int](), 0
        for value, start in residents.addresses.items():
            each = residents.live_ranges[value]
            rows += (start, start + each.size_bytes, each.first, each.last)
            lives += each.last - each.first + 1
        there[list(residents.addresses)] = 1
        self._residents.write(0, rows)
        self._chosen.write(
            0, [number for steps in segments for number in (path.places[steps[0]], len(steps))]
        )
        packing.chosen_count, packing.resident_count = len(segments), len(residents.addresses)
        ranges = lives + path.count * MAX_BUFFERS
        rooms = (
            (self._nodes, path.count), (self._segments, path.count), (self._ranges, ranges),
            (self._ordered, ranges), (self._gaps, ranges + 1),
        )  # fmt: skip
        for memory, most in rooms:
            memory.reserve(most, 0)
        packing.nodes, packing.segments = self._nodes.pointer, self._segments.pointer
        packing.ranges, packing.ordered = self._ranges.pointer, self._ordered.pointer
        packing.gaps = self._gaps.pointer
        packing.numbers, packing.operands = path.numbers.pointer, path.values.pointer
        packing.is_there = self._there.pointer
        packing.chosen, packing.residents = self._chosen.pointer, self._residents.pointer
