"""Plans which constants are loaded ahead: while earlier nodes compute, as far as the SRAM between allows.

A node's first constants are otherwise loaded when the node begins, beside the last tile of the one before.
Here their buffers move to addresses that are free from an earlier segment on, and their loads go between the
tiles of that segment: as late as its time without transfers permits, and across as many segments as needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from dlasim.compiler_shim.lowering import allocation
from dlasim.compiler_shim.lowering.allocation import Gap
from dlasim.compiler_shim.lowering.tile_buffers import ALIGNMENT

MOST_SEGMENTS = 8  # between a load and its use


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants that a node needs first: its step, where they are planned, and cycles of loading them."""

    step: int
    gaps: tuple[Gap, ...]
    cycles: int

    @property
    def first(self) -> Constants:
        """Only the first of several loads."""
        return Constants(self.step, self.gaps[:1], self.cycles // len(self.gaps))


@dataclass(slots=True)
class PackedSegment:
    """A node or a chain: its first step, what it occupies, the constants of its nodes, how many tiles or
    stripes it has, and for how many cycles it computes without loading anything."""

    step: int
    occupied: list[Gap]
    constants: list[Constants]
    tiles: int
    idle_cycles: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """Loads of a step's first constants to these addresses, after so many tiles of another segment."""

    step: int
    tiles: int
    addresses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where loads may go: the segment that makes them, the addresses, and how much of its idle time they
    take."""

    host: int
    addresses: tuple[int, ...]
    cycles: int


class AheadPlanner:
    """Segments in order, in an SRAM of `limit` bytes; planning changes what they occupy."""

    def __init__(self, segments: Sequence[PackedSegment], limit: int) -> None:
        self._segments, self._limit = segments, limit
        self._idle = [max(segment.idle_cycles, 0) for segment in segments]
        self._from_top = False
        self.found: dict[int, list[Ahead]] = {}  # by the first step of the segment that makes them

    def run(self) -> None:
        """Plan the loads of one segment after the other."""
        for number, segment in enumerate(self._segments):
            for constants in segment.constants:
                place = self._find(number, constants)
                if place is not None:
                    self._use(number, constants, place)
        for loads in self.found.values():
            loads.sort(key=lambda ahead: ahead.tiles)

    @property
    def peak_bytes(self) -> int:
        """The most that is in use during a segment."""
        return max((sum(end - start for start, end in each.occupied) for each in self._segments), default=0)

    def _find(self, number: int, constants: Constants) -> _Place | None:
        """The latest segment from which on there is enough idle time, or else the earliest with room."""
        sizes = [end - start for start, end in constants.gaps]
        taken = [gap for gap in self._segments[number].occupied if gap not in constants.gaps]
        missing, best = constants.cycles, None
        for host in range(number - 1, max(number - 1 - MOST_SEGMENTS, -1), -1):
            taken += self._segments[host].occupied
            addresses = self._fit(sizes, taken)
            if addresses is None:
                break
            if self._idle[host] > 0:
                best = _Place(host, tuple(addresses), missing)
            missing -= self._idle[host]
            if missing <= 0:
                break
        if best is None and len(sizes) > 1:
            return self._find(number, constants.first)
        return best

    def _fit(self, sizes: list[int], taken: Sequence[Gap]) -> list[int] | None:
        return allocation.fit(sizes, allocation.gaps(taken, self._limit), ALIGNMENT, self._from_top)

    def _use(self, number: int, constants: Constants, place: _Place) -> None:
        self._from_top = not self._from_top  # so that the next one has room while this one is in use
        host = self._segments[place.host]
        share = min(place.cycles / self._idle[place.host], 1.0)
        first = min(host.tiles - ceil(host.tiles * share) + 1, host.tiles)
        self.found.setdefault(host.step, []).append(Ahead(constants.step, first, place.addresses))
        left = constants.cycles
        for between in range(number - 1, place.host - 1, -1):
            spent = min(self._idle[between], left)
            self._idle[between] -= spent
            left -= spent
        moved = constants.gaps[: len(place.addresses)]
        own = self._segments[number]
        own.occupied = [gap for gap in own.occupied if gap not in moved]
        sizes = [end - start for start, end in moved]
        gaps = [(address, address + size) for address, size in zip(place.addresses, sizes, strict=True)]
        for segment in self._segments[place.host : number + 1]:
            segment.occupied += gaps
