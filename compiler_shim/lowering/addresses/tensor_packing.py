"""Packs a plan: the tensors that stay in SRAM get addresses, then the buffers between them; a routine."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.allocation import PlacedRange, place_ranges
from dlasim.compiler_shim.lowering.addresses.buffer_packing import pack_nodes
from dlasim.compiler_shim.lowering.addresses.packed_records import Packing
from dlasim.compiler_shim.lowering.segments.known_chains import ChainTable
from dlasim.compiler_shim.lowering.states import StateSearch
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.native.routine import Routine, routine

TENSORS = -2  # do not fit


@routine
def pack_plan(packing: Packing, search: StateSearch, table: ChainTable) -> int:
    """Pack the segments that have been chosen. Returns NONE, or the place of a node whose buffers do not fit
    next to the tensors, TENSORS where these do not."""
    _find_live(packing, search)
    is_placed = 1 if packing.apart and _place_tensors(packing, 1) else 0
    if not (is_placed or _place_tensors(packing, 0)):
        return TENSORS
    return pack_nodes(packing, search, table)


PACK = Routine(pack_plan, "packing")


@routine
def _find_live(packing: Packing, search: StateSearch) -> None:
    """Find what stays, and when it is alive: what a chain uses, during all of its nodes."""
    for number in range(packing.tensor_count):
        packing.is_there[number] = search.is_whole
        packing.live[number].assign(packing.tensors[number])
    for segment in range(search.chosen_count):
        last = search.chosen[3 * segment] + search.chosen[3 * segment + 1] - 1
        if search.chosen[3 * segment + 2]:
            packing.is_there[packing.operands[3 * last + 2]] = 1
    for segment in range(search.chosen_count):
        first, count = search.chosen[3 * segment], search.chosen[3 * segment + 1]
        for operand in range(3 * first, 3 * (first + count) if count > 1 else 0):
            if packing.operands[operand] != NONE:
                tensor = packing.live[packing.operands[operand]]
                tensor.first = min(tensor.first, packing.numbers[first])
                tensor.last = max(tensor.last, packing.numbers[first + count - 1])


@routine
def _place_tensors(packing: Packing, earlier: int) -> bool:
    """Give the tensors addresses, large ones first, as if they were written so many steps earlier; whether
    they fit."""
    residents = packing.residents
    residents.count = 0
    for number in range(packing.tensor_count):
        if packing.is_there[number]:
            packing.live[number].first -= earlier
            _insert(packing, packing.live[number])
            packing.live[number].first += earlier
    return place_ranges(residents) <= max(packing.limit, 0)


@routine
def _insert(packing: Packing, tensor: PlacedRange) -> None:
    """Put a tensor behind larger ones, and those of its size that are written before it."""
    residents, place = packing.residents, packing.residents.count
    while (
        place > 0
        and residents.ranges[place - 1].size_bytes == tensor.size_bytes
        and residents.ranges[place - 1].first > tensor.first
    ):
        residents.ranges[place].assign(residents.ranges[place - 1])
        place -= 1
    residents.ranges[place].assign(tensor)
    residents.count += 1
