"""Plans which constants are loaded ahead: while earlier nodes compute, as far as the SRAM between allows.

Constants are otherwise loaded when their node begins. A segment that loads for longer than it computes leaves
a backlog to the segments before it, and these to others before them. From the backlogs follows which pieces
each segment loads for later ones: all in the order of their use, as late as possible. Each node's pieces get
a place of their own in SRAM, as many of them as there is room for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from dlasim.compiler_shim.lowering import allocation
from dlasim.compiler_shim.lowering.allocation import Gap
from dlasim.compiler_shim.lowering.tile_buffers import ALIGNMENT

USABLE = 0.5  # of the free SRAM: the rest is in pieces


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of a node: its step, how many pieces, bytes and cycles of loading one, their own buffers,
    and whether pieces are loaded again. If not, the buffers are free if all pieces come ahead."""

    step: int
    pieces: int
    piece_bytes: int
    piece_cycles: int
    gaps: tuple[Gap, ...]
    is_loaded_again: bool = False

    def needs_no_buffer(self, pieces: int) -> bool:
        """Whether its own buffers are free if so many pieces come ahead."""
        return pieces == self.pieces and not self.is_loaded_again


@dataclass(slots=True)
class PackedSegment:
    """A node or a chain: its first step, what it occupies, the constants of its nodes, how many tiles or
    stripes it has, and for how many cycles it computes, and loads."""

    step: int
    occupied: list[Gap]
    constants: list[Constants]
    tiles: int
    compute_cycles: int
    load_cycles: int

    @property
    def first_cycles(self) -> int:
        """Loads of as many pieces as there are buffers for; without them the segment cannot begin."""
        return sum([min(len(each.gaps), each.pieces) * each.piece_cycles for each in self.constants])

    @property
    def spare_cycles(self) -> int:
        """What is left of its time after all loads; below 0 where they take longer than anything else."""
        constants = sum([each.pieces * each.piece_cycles for each in self.constants])
        return max(self.compute_cycles, self.load_cycles - constants) - self.load_cycles


@dataclass(frozen=True, slots=True)
class Ahead:
    """Loads of some pieces of a step's constants, after so many tiles of another segment."""

    step: int
    tiles: int
    first: int
    pieces: int


@dataclass(frozen=True, slots=True)
class Reservoir:
    """Where the first pieces of a node's constants are when it begins: one after the other."""

    address: int
    pieces: int
    piece_bytes: int


@dataclass(frozen=True, slots=True)
class AheadPlan:
    """By the first step of a segment the loads that it makes, and by step what has been loaded."""

    loads: Mapping[int, Sequence[Ahead]]
    reservoirs: Mapping[int, Reservoir]


NOTHING_AHEAD = AheadPlan({}, {})


class AheadPlanner:
    """Segments in order, in an SRAM of `limit` bytes; planning changes what they occupy."""

    def __init__(self, segments: Sequence[PackedSegment], limit: int) -> None:
        self._segments, self._limit = segments, limit
        self._free = [allocation.gaps(segment.occupied, limit) for segment in segments]
        constants = [each for segment in segments for each in segment.constants]
        size = sum(each.pieces * each.piece_bytes for each in constants)
        self._cycles_per_byte = sum(each.pieces * each.piece_cycles for each in constants) / max(size, 1)
        self._from_top = False
        self._pieces: list[list[tuple[Constants, int]]] = [[] for _ in segments]  # that a segment loads
        self._reservoirs: dict[int, Reservoir] = {}

    def run(self) -> AheadPlan:
        """Plan the loads of one segment after the other."""
        wanted = self._wanted()
        for number, segment in enumerate(self._segments):
            for constants in segment.constants:
                self._place(number, constants, wanted.get(constants.step, {}))
        done: dict[int, int] = defaultdict(int)
        loads = {}
        for segment, pieces in zip(self._segments, self._pieces, strict=True):
            if pieces:
                loads[segment.step] = _spread(segment, pieces, done)
        return AheadPlan(loads, self._reservoirs)

    @property
    def peak_bytes(self) -> int:
        """The most that is in use during a segment."""
        return max((self._limit - sum(end - start for start, end in free) for free in self._free), default=0)

    def _backlogs(self) -> list[int]:
        """The cycles of loads for a segment and later ones that are made before it begins."""
        backlogs = [0] * (len(self._segments) + 1)
        for number in range(len(self._segments) - 1, 0, -1):
            segment = self._segments[number]
            backlog = max(backlogs[number + 1] - segment.spare_cycles, segment.first_cycles)
            backlogs[number] = min(backlog, self._room_cycles(number))
        possible = 0
        for number, segment in enumerate(self._segments):
            possible += segment.spare_cycles
            possible = backlogs[number + 1] = max(min(backlogs[number + 1], possible), 0)
        return backlogs

    def _room_cycles(self, number: int) -> int:
        """Loads for which there is room when a segment begins."""
        room = min(sum(end - start for start, end in free) for free in self._free[number - 1 : number + 1])
        return int(USABLE * room * self._cycles_per_byte)

    def _wanted(self) -> dict[int, dict[int, int]]:
        """By step and segment, how many pieces of its constants should be there when the segment begins."""
        wanted: dict[int, dict[int, int]] = defaultdict(dict)
        backlogs = self._backlogs()
        for number in range(1, len(self._segments)):
            left = backlogs[number]
            for later in range(number, len(self._segments)):
                for constants in self._segments[later].constants:
                    pieces = min(-(-left // constants.piece_cycles), constants.pieces)
                    wanted[constants.step][number] = pieces
                    left -= pieces * constants.piece_cycles
                    if left <= 0:
                        break
                if left <= 0:
                    break
        return wanted

    def _place(self, number: int, constants: Constants, wanted: dict[int, int]) -> None:
        """Find room for the pieces that are wanted, or for as many as there is room for."""
        if not wanted.get(number):
            return
        is_all = constants.needs_no_buffer(wanted[number])
        own = self._segments[number].occupied
        if is_all:
            own = [gap for gap in own if gap not in constants.gaps]
        free = allocation.gaps(own, self._limit)
        best, count = 0, 0
        for host in range(number - 1, min(wanted) - 2, -1):
            free = _common(free, self._free[host])
            room = max([_room(gap) for gap in free], default=0) // constants.piece_bytes
            if room <= count:
                break
            possible = min(room, wanted[number] - wanted.get(host, 0))
            if possible > count:
                best, count, gaps = host, possible, free
        if not count:
            return
        if is_all and count < constants.pieces:
            self._place(
                number,
                constants,
                {host: min(pieces, constants.pieces - 1) for host, pieces in wanted.items()},
            )
            return
        self._use(number, constants, wanted, best, count, gaps)

    def _use(
        self,
        number: int,
        constants: Constants,
        wanted: dict[int, int],
        first: int,
        count: int,
        free: list[Gap],
    ) -> None:
        addresses = allocation.fit([count * constants.piece_bytes], free, ALIGNMENT, self._from_top)
        assert addresses is not None, "the gap was measured"
        self._from_top = not self._from_top  # so that the next one has room while this one is in use
        self._reservoirs[constants.step] = Reservoir(addresses[0], count, constants.piece_bytes)
        gap = (addresses[0], addresses[0] + count * constants.piece_bytes)
        own = self._segments[number]
        if constants.needs_no_buffer(count):
            own.occupied = [taken for taken in own.occupied if taken not in constants.gaps]
        before = done = 0
        skipped = wanted.get(first, 0)
        for host in range(first, number + 1):
            segment = self._segments[host]
            segment.occupied.append(gap)
            self._free[host] = allocation.gaps(segment.occupied, self._limit)
            if host < number:
                done = max(min(wanted.get(host + 1, 0) - skipped, count), before)
                if done > before:
                    self._pieces[host].append((constants, done - before))
                before = done


def _spread(
    segment: PackedSegment, pieces: Sequence[tuple[Constants, int]], done: dict[int, int]
) -> tuple[Ahead, ...]:
    """The loads of a segment: those that its own loads can wait for between its last tiles, in the share of
    its time that they take; others after the last."""
    cycles = sum([constants.piece_cycles * count for constants, count in pieces])
    spare = max(segment.spare_cycles, 1)
    tile_cycles = spare // segment.tiles if segment.load_cycles else spare
    places = min(ceil(segment.tiles * min(cycles / spare, 1.0)), segment.tiles)
    found, spent, is_last = [], 0, False
    for constants, count in pieces:
        left = count
        while left:
            place = min(spent * places // cycles, places - 1)
            fits = -(-(cycles * (place + 1) // places - spent) // constants.piece_cycles)
            is_last = is_last or constants.piece_cycles > tile_cycles
            number = left if is_last else min(max(fits, 1), left)
            tiles = segment.tiles if is_last else segment.tiles - places + 1 + place
            found.append(Ahead(constants.step, tiles, done[constants.step], number))
            done[constants.step] += number
            left -= number
            spent += number * constants.piece_cycles
    return tuple(found)


def _common(one: list[Gap], other: list[Gap]) -> list[Gap]:
    """What is free in both."""
    found = []
    for start, end in one:
        for first, last in other:
            if first < end and start < last:
                found.append((max(start, first), min(end, last)))
    return found


def _room(gap: Gap) -> int:
    """Bytes in a gap from its first aligned address on."""
    return gap[1] // ALIGNMENT * ALIGNMENT - -(-gap[0] // ALIGNMENT) * ALIGNMENT
