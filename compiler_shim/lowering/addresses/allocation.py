"""Addresses for values with live ranges, in SRAM and in the arena."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from dlasim.dataclass import dataclass

Gap = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LiveRange:
    """A value that needs `size_bytes` from step `first` to step `last`."""

    key: int
    size_bytes: int
    first: int
    last: int


def assign_addresses(
    live_ranges: Iterable[LiveRange], alignment: int, limit: int | None = None
) -> dict[int, int] | None:
    """An address for each, large ones first, each in the lowest gap; None where `limit` is exceeded."""
    alive: dict[int, dict[int, Gap]] = defaultdict(dict)  # by step and key
    addresses: dict[int, int] = {}
    for live_range in sorted(live_ranges, key=lambda live_range: (-live_range.size_bytes, live_range.first)):
        steps = range(live_range.first, live_range.last + 1)
        met: dict[int, Gap] = {}
        for step in steps:
            met.update(alive.get(step, {}))
        address = 0
        for start, end in sorted(met.values()):
            if address + live_range.size_bytes <= start:
                break
            address = max(address, -(-end // alignment) * alignment)
        if limit is not None and address + live_range.size_bytes > limit:
            return None
        addresses[live_range.key] = address
        for step in steps:
            alive[step][live_range.key] = (address, address + live_range.size_bytes)
    return addresses


def gaps(taken: Iterable[Gap], limit: int) -> list[Gap]:
    """The ranges below `limit` that the (start, end) ranges `taken` leave free."""
    free, position = [], 0
    for start, end in sorted(taken):
        if start > position:
            free.append((position, start))
        position = max(position, end)
    if position < limit:
        free.append((position, limit))
    return free


def covered(taken: Iterable[Gap]) -> int:
    """How many bytes (start, end) ranges cover."""
    total, position = 0, 0
    for start, end in sorted(taken):
        total += max(end - max(start, position), 0)
        position = max(position, end)
    return total


def fit(sizes: list[int], free: list[Gap], alignment: int, from_top: bool) -> list[int] | None:
    """Addresses of buffers of these sizes in the gaps, large ones first; None where they do not fit."""
    room = [[-(-start // alignment) * alignment, end // alignment * alignment] for start, end in free]
    addresses = [0] * len(sizes)
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        size = -(-sizes[number] // alignment) * alignment
        for gap in reversed(room) if from_top else room:
            if gap[1] - gap[0] >= size:
                if from_top:
                    gap[1] -= size
                    addresses[number] = gap[1]
                else:
                    addresses[number] = gap[0]
                    gap[0] += size
                break
        else:
            return None
    return addresses
