"""Addresses for values with live ranges, in SRAM and in the arena."""

from __future__ import annotations

from collections.abc import Iterable

from dlasim.compiler_shim.calls.live_ranges import LiveRange
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.native.record import Record, Records, layout, pointer
from dlasim.native.routine import Routine, routine
from dlasim.native.storage import Store


class PlacedRange(Record):
    """A live range with its key, its address, and the number of the one with the next higher address."""

    key: int = 0
    size_bytes: int = 0
    first: int = 0
    last: int = 0
    address: int = 0
    next: int = 0


class AddressSearch(Record):
    """Live ranges in the order in which they get addresses, multiples of `alignment`; `lowest` is the number
    of the one with the lowest address so far."""

    ranges: Records[PlacedRange] = pointer(PlacedRange)
    count: int = 0
    alignment: int = 0
    lowest: int = 0


@routine
def place_ranges(search: AddressSearch) -> int:
    """Put each range into the lowest gap between those that are alive at the same time. Returns the end of
    the highest."""
    top, search.lowest = 0, NONE
    for number in range(search.count):
        mine, address, before, other = search.ranges[number], 0, NONE, search.lowest
        while other != NONE and search.ranges[other].address < address + mine.size_bytes:
            theirs = search.ranges[other]
            if theirs.first <= mine.last and mine.first <= theirs.last:
                end, before = theirs.address + theirs.size_bytes, other
                address = max(address, -(-end // search.alignment) * search.alignment)
            elif theirs.address < address:
                before = other
            other = theirs.next
        mine.address, top = address, max(top, address + mine.size_bytes)
        if before == NONE:
            mine.next, search.lowest = search.lowest, number
        else:
            mine.next, search.ranges[before].next = search.ranges[before].next, number
    return top


_KEY, _ADDRESS = (layout(PlacedRange).fields[name].slot for name in ("key", "address"))
PLACE = Routine(place_ranges, "placing")


def assign_addresses(live_ranges: Iterable[LiveRange], alignment: int) -> tuple[dict[int, int], int]:
    """An address for each, large ones first, each in the lowest gap; and the end of the highest."""
    ordered = sorted(live_ranges, key=lambda live_range: (-live_range.size_bytes, live_range.first))
    ranges, search = Store(PlacedRange, len(ordered)), AddressSearch()
    ranges.write(0, [slot for each in ordered for slot in placed_slots(each)])
    search.ranges, search.count, search.alignment = ranges.pointer, len(ordered), alignment
    end = PLACE(search)
    return placed_addresses(ranges, len(ordered)), end


def placed_slots(each: LiveRange) -> tuple[int, ...]:
    """The slots of a record for it."""
    return each.key, each.size_bytes, each.first, each.last, 0, NONE


def placed_addresses(ranges: Store[PlacedRange], count: int) -> dict[int, int]:
    """By key the addresses of the first ranges."""
    return dict(ranges.view()[:count, [_KEY, _ADDRESS]].tolist())
