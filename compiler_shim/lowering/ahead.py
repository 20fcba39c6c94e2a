"""Plans which constants are loaded ahead: while earlier nodes compute, as far as the SRAM between allows.

Constants are otherwise loaded when their node begins. A segment that loads for longer than it computes leaves
a backlog to the segments before it, and these to others before them. From the backlogs follows which pieces
each segment loads for later ones: all in the order of their use, as late as possible. Each piece gets a place
of its own in SRAM from its load to its use, if there is room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import accumulate, pairwise
from math import ceil

from dlasim.compiler_shim.lowering import allocation
from dlasim.compiler_shim.lowering.allocation import Gap
from dlasim.compiler_shim.lowering.tile_buffers import ALIGNMENT
from dlasim.dataclass import dataclass

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
    """A node or a chain: its first step, what it occupies, the constants of its nodes, how many tasks or
    pieces it has, and for how many cycles it computes, and loads."""

    step: int
    occupied: list[Gap]
    constants: list[Constants]
    tasks: int
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
    """Loads of some pieces of a step's constants with a task of another segment, after that task's own loads.
    If no task has the number, they come after all of them."""

    step: int
    task: int
    first: int
    pieces: int


@dataclass(frozen=True, slots=True)
class Reservoir:
    """Where the first pieces of a node's constants are when it begins."""

    addresses: tuple[int, ...]


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

    def _place(self, number: int, constants: Constants, wanted: Mapping[int, int]) -> None:
        """Find room for the pieces that are wanted, or for as many as there is room for."""
        if not wanted.get(number):
            return
        is_all = constants.needs_no_buffer(wanted[number])
        own = self._segments[number].occupied
        if is_all:
            own = [gap for gap in own if gap not in constants.gaps]
        batches = self._find_room(number, constants.piece_bytes, allocation.gaps(own, self._limit), wanted)
        count = sum(len(addresses) for _, addresses in batches)
        if is_all and count < constants.pieces:
            most = constants.pieces - 1  # the others need the buffers
            self._place(number, constants, {host: min(pieces, most) for host, pieces in wanted.items()})
        elif count:
            self._use(number, constants, batches)

    def _find_room(
        self, number: int, size: int, free: list[Gap], wanted: Mapping[int, int]
    ) -> list[tuple[int, list[int]]]:
        """By segment that loads, the addresses of pieces of so many bytes, the first segment first. A piece
        keeps its place from then on."""
        hosts = range(min(wanted) - 1, number)
        levels = [0, *accumulate([wanted.get(host + 1, 0) for host in hosts], max)]
        common = reduce(_common, [self._free[host] for host in hosts], free)
        together = allocation.fit([levels[-1] * size], common, ALIGNMENT, self._from_top)
        if together is not None:  # which leaves larger gaps to others
            ends = pairwise([together[0] + level * size for level in levels])
            batches = [(host, list(range(*each, size))) for host, each in zip(hosts, ends, strict=True)]
        else:
            batches = []
            for host, (before, after) in reversed(list(zip(hosts, pairwise(levels), strict=True))):
                free = _common(free, self._free[host])
                batches.insert(0, (host, _take(free, after - before, size, self._from_top)))
        return [(host, addresses) for host, addresses in batches if addresses]

    def _use(self, number: int, constants: Constants, batches: Sequence[tuple[int, list[int]]]) -> None:
        self._from_top = not self._from_top  # so that the next one has room while this one is in use
        self._reservoirs[constants.step] = Reservoir(tuple([each for _, found in batches for each in found]))
        own = self._segments[number]
        if constants.needs_no_buffer(len(self._reservoirs[constants.step].addresses)):
            own.occupied = [taken for taken in own.occupied if taken not in constants.gaps]
        for first, addresses in batches:
            self._pieces[first].append((constants, len(addresses)))
            taken = [(address, address + constants.piece_bytes) for address in addresses]
            for segment in self._segments[first : number + 1]:
                segment.occupied += taken
        for host in range(batches[0][0], number + 1):
            self._free[host] = allocation.gaps(self._segments[host].occupied, self._limit)


def _spread(
    segment: PackedSegment, pieces: Sequence[tuple[Constants, int]], done: dict[int, int]
) -> tuple[Ahead, ...]:
    """The loads of a segment: those that its own loads can wait for with its last tasks, in the share of its
    time that they take; others after all tasks."""
    cycles = sum([constants.piece_cycles * count for constants, count in pieces])
    spare = max(segment.spare_cycles, 1)
    task_cycles = spare // segment.tasks if segment.load_cycles else spare
    places = min(ceil(segment.tasks * min(cycles / spare, 1.0)), segment.tasks)
    found, spent, is_last = [], 0, False
    for constants, count in pieces:
        left = count
        while left:
            place = min(spent * places // cycles, places - 1)
            fits = -(-(cycles * (place + 1) // places - spent) // constants.piece_cycles)
            is_last = is_last or constants.piece_cycles > task_cycles
            number = left if is_last else min(max(fits, 1), left)
            task = segment.tasks if is_last else segment.tasks - places + 1 + place
            found.append(Ahead(constants.step, task, done[constants.step], number))
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


def _take(free: list[Gap], count: int, size: int, from_top: bool) -> list[int]:
    """Addresses of up to so many pieces of so many bytes, whose places leave `free`."""
    found: list[int] = []
    for number in range(len(free) - 1, -1, -1) if from_top else range(len(free)):
        start, end = -(-free[number][0] // ALIGNMENT) * ALIGNMENT, free[number][1] // ALIGNMENT * ALIGNMENT
        fits = max(min((end - start) // size, count - len(found)), 0)
        if from_top:
            end -= fits * size
            found += range(end, end + fits * size, size)
        else:
            found += range(start, start + fits * size, size)
            start += fits * size
        free[number] = start, end
    return found
