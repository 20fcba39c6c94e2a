"""Plans which constants are loaded ahead: while earlier nodes compute, as far as the SRAM between allows.

The planner follows the tasks in order, with the time that the bus and the units need for each. A task's own
loads come first. While the bus would wait for a task to end, it loads pieces of constants for later tasks, in
the order of their use: each into a place in SRAM that nothing else uses from then on until its own use. Not
much more is loaded ahead than the segments that load for longer than they compute need.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from dlasim.compiler_shim.lowering import allocation
from dlasim.compiler_shim.lowering.allocation import Gap
from dlasim.compiler_shim.lowering.packed_segments import Constants, PackedSegment, describe
from dlasim.compiler_shim.lowering.sram_plan import Ahead, AheadPlan, SramPlan
from dlasim.compiler_shim.lowering.tile_buffers import ALIGNMENT
from dlasim.compiler_shim.lowering.tiling import Machine
from dlasim.dataclass import dataclass

QUEUED = 4  # tasks that a unit's queue holds, the running one included


def load_ahead(
    plan: SramPlan, machine: Machine, computing: Mapping[int, float] | None = None, reserve: int = 1
) -> SramPlan:
    """The plan with loads ahead; `computing` are the cycles of the nodes by step, if they have been timed. So
    many times what is needed may be loaded ahead."""
    planner = AheadPlanner(describe(plan, machine, computing), plan.sram_bytes, reserve)
    ahead = planner.run()
    return replace(plan, ahead=ahead, peak_bytes=max(plan.peak_bytes, planner.peak_bytes))


@dataclass(slots=True)
class _Piece:
    """A piece of a segment's constants, the slots that use it, where it is, and when it is there."""

    segment: int
    constants: Constants
    number: int
    first_slot: int
    end_slot: int
    gap: Gap | None = None
    arrival: float = 0

    @property
    def is_last(self) -> bool:
        """Whether the buffers are not needed once it is placed, too."""
        return self.number + 1 == self.constants.pieces and not self.constants.is_loaded_again


class AheadPlanner:
    """Segments in order, in an SRAM of `limit` bytes; planning changes what they occupy."""

    def __init__(self, segments: Sequence[PackedSegment], limit: int, reserve: int = 1) -> None:
        self._segments, self._limit, self._reserve = segments, limit, reserve
        self._backlogs, self._next_tensors = _backlogs(segments, limit), _next_tensors(segments)
        self._waiting = deque(_pieces(segments))  # in the order of their use
        self._starting: dict[tuple[int, int], list[_Piece]] = defaultdict(list)  # by segment and first slot
        for piece in self._waiting:
            self._starting[piece.segment, piece.first_slot].append(piece)
        self._given_up = set[int]()  # steps whose other pieces are loaded by the tasks that need them
        self._own = defaultdict[int, float](float)  # cycles of these loads by slot of the segment at hand
        self._placed: list[_Piece] = []  # those that are not used up
        self._left: list[tuple[Gap, float]] = []  # places that have been used, and the end of that
        self._has_no_place: _Piece | None = None  # as long as nothing is used up
        self._free: dict[tuple[int, int], list[Gap]] = {}  # between a segment and the use of a step's pieces
        self._loads: dict[int, list[Ahead]] = defaultdict(list)
        self._addresses: dict[int, list[int]] = defaultdict(list)
        self._used: list[list[Gap]] = [list(segment.occupied) for segment in segments]
        self._ends = deque([0.0] * QUEUED, QUEUED)  # of the last tasks
        self._bus = self._issued = 0.0
        self._stock = 0.0  # cycles of loads for later segments
        self._from_top, self._step = True, -1

    def run(self) -> AheadPlan:
        """Plan the loads of one slot after the other."""
        for number, segment in enumerate(self._segments):
            self._enter(number)
            slots = segment.slots
            compute, tensors = segment.compute_cycles / slots, segment.tensor_cycles / slots
            for slot in range(slots):
                self._compute(number, slot, compute, tensors)
                if self._waiting and self._bus < self._ends[-1]:
                    self._load_ahead(number, slot, compute, tensors)
            self._leave(number)
        return AheadPlan(self._loads, {step: tuple(found) for step, found in self._addresses.items()})

    def _enter(self, number: int) -> None:
        """What was loaded ahead for a segment is for itself now."""
        self._own.clear()
        here = [piece.constants.piece_cycles for piece in self._placed if piece.segment == number]
        self._stock = max(self._stock - sum(here), 0.0)

    def _compute(self, number: int, slot: int, compute: float, tensors: float) -> None:
        """The loads that the tasks of a slot make for themselves, and the tasks."""
        arrival, starting = 0.0, self._starting.get((number, slot))
        if starting:
            for piece in starting:
                if piece.gap is not None:
                    arrival = max(arrival, piece.arrival)
                elif piece.constants.step not in self._given_up:
                    self._give_up(piece)
        ends = self._ends
        own = tensors + self._own[slot] if self._own else tensors
        if own:
            self._bus = max(self._bus, ends[-2]) + own
            arrival = max(arrival, self._bus)
        self._issued = max(self._issued, arrival, ends[0])
        end = max(ends[-1], arrival) + compute
        ends.append(end)
        for piece in self._placed:
            if piece.end_slot == slot + 1 and piece.segment == number and piece.gap is not None:
                self._left.append((piece.gap, end))
                self._has_no_place = None

    def _give_up(self, piece: _Piece) -> None:
        """This piece and those after it of the same step are loaded by the tasks that need them."""
        constants = piece.constants
        self._given_up.add(constants.step)
        for number in range(piece.number, constants.pieces):
            slot, _ = self._segments[piece.segment].slots_of(constants, number)
            self._own[slot] += constants.piece_cycles

    def _load_ahead(self, number: int, slot: int, compute: float, tensors: float) -> None:
        """Loads for later tasks while the bus would wait."""
        latest: float | None = None
        while self._waiting and self._bus < self._ends[-1]:
            piece = self._waiting[0]
            if piece.constants.step in self._given_up:
                self._waiting.popleft()
                continue
            is_later, cycles = piece.segment > number, piece.constants.piece_cycles
            if is_later and self._stock >= self._reserve * self._backlogs[number + 1] + cycles:
                return
            if piece is self._has_no_place:
                return
            if latest is None:
                latest = self._latest(number, slot, compute, tensors)
            if max(self._bus, self._issued) + cycles > latest:
                return
            found = self._find_place(piece, number, slot)
            if found is None:
                self._has_no_place = piece
                return
            since, gap = found
            if since + cycles > latest:
                return
            self._waiting.popleft()
            piece.gap = gap
            piece.arrival = self._bus = since + cycles
            self._stock += cycles if is_later else 0.0
            self._note(piece, number, slot)

    def _latest(self, number: int, slot: int, compute: float, tensors: float) -> float:
        """When the loads for later tasks must end, so that no task has to wait for its own."""
        left = self._segments[number].slots - slot - 1
        following = [each for each in self._own if each > slot]
        if tensors and left:
            following.append(slot + 1)
        if following:
            first = min(following)
            cycles = (first - slot - 1) * compute - tensors - self._own.get(first, 0.0)
        else:
            cycles = left * compute + self._next_tensors[number + 1]
        return max(self._ends[-2], self._ends[-1] + cycles)

    @property
    def peak_bytes(self) -> int:
        """The most that is in use during a segment."""
        return max(map(allocation.covered, self._used), default=0)

    def _find_place(self, piece: _Piece, number: int, slot: int) -> tuple[float, Gap] | None:
        """A place that is free after a slot until the piece is used up, and the cycle in which its load can
        begin. Best is one that is free now; and the node's own buffers are for pieces that come later."""
        if piece.constants.step != self._step:  # the next one has room while this one is in use
            self._step, self._from_top = piece.constants.step, not self._from_top
        taken = [
            each.gap for each in self._placed if each.gap and (each.segment > number or each.end_slot > slot)
        ]
        free = _common(self._free_between(number, piece), allocation.gaps(taken, self._limit))
        now = max(self._bus, self._issued)
        self._left = [each for each in self._left if each[1] > now]
        following = self._segments[piece.segment + 1 : piece.segment + 2]
        written = [gap for segment in following for gap in segment.occupied]
        best: tuple[float, bool, Gap] | None = None
        for gap in self._places(piece, free):
            since = max([now, *[end for used, end in self._left if _overlap(gap, used)]])
            is_written = any(_overlap(gap, each) for each in written)
            if best is None or (since, is_written) < best[:2]:
                best = since, is_written, gap
                if best[:2] == (now, False):
                    break
        return None if best is None else (best[0], best[2])

    def _places(self, piece: _Piece, free: list[Gap]) -> Iterator[Gap]:
        """Places for a piece at the ends of gaps, the preferred ones first."""
        constants = piece.constants
        apart = _common(free, allocation.gaps(constants.gaps, self._limit))
        choices = [apart] if constants.is_loaded_again else [apart, free]
        if constants.pieces == 1 and not constants.is_loaded_again:
            choices.insert(0, _common(free, list(constants.gaps)))
        for gaps in choices:
            for start, end in reversed(gaps) if self._from_top else gaps:
                low = -(-start // ALIGNMENT) * ALIGNMENT
                high = (end - constants.piece_bytes) // ALIGNMENT * ALIGNMENT
                if low <= high:
                    for address in (high, low) if self._from_top else (low, high):
                        yield address, address + constants.piece_bytes

    def _free_between(self, number: int, piece: _Piece) -> list[Gap]:
        """What no segment occupies, from one to that of a piece, apart from the buffers for its pieces."""
        key = number, piece.constants.step
        if key not in self._free:
            own = [gap for gap in self._segments[piece.segment].occupied if gap not in piece.constants.gaps]
            between = [self._segments[each].occupied for each in range(number, piece.segment)]
            lists = [allocation.gaps(occupied, self._limit) for occupied in (*between, own)]
            self._free[key] = reduce(_common, lists)
        return self._free[key]

    def _note(self, piece: _Piece, number: int, slot: int) -> None:
        """Plan the load of a piece that has a place."""
        segment, constants = self._segments[number], piece.constants
        assert piece.gap is not None
        self._placed.append(piece)
        self._addresses[constants.step].append(piece.gap[0])
        task = min((slot + 1) * segment.tasks_of_slot, segment.tasks) - 1
        loads = self._loads[segment.step]
        if loads and (loads[-1].step, loads[-1].task) == (constants.step, task):
            last = loads.pop()
            loads.append(Ahead(last.step, task, last.first, last.pieces + 1))
        else:
            loads.append(Ahead(constants.step, task, piece.number, 1))
        for each in range(number, piece.segment + 1):
            self._used[each].append(piece.gap)
        if piece.is_last:
            own = self._segments[piece.segment]
            own.occupied = [gap for gap in own.occupied if gap not in constants.gaps]
            self._free.clear()

    def _leave(self, number: int) -> None:
        """Forget what a segment has used up."""
        self._placed = [piece for piece in self._placed if piece.segment > number]
        self._has_no_place = None
        self._left += [(gap, self._ends[-1]) for gap in self._segments[number].occupied]


def _pieces(segments: Sequence[PackedSegment]) -> Iterator[_Piece]:
    """All pieces of constants in the order of their use."""
    for number, segment in enumerate(segments):
        found = [
            _Piece(number, constants, piece, *segment.slots_of(constants, piece))
            for constants in segment.constants
            for piece in range(constants.pieces)
        ]
        yield from sorted(found, key=lambda piece: piece.first_slot)


def _backlogs(segments: Sequence[PackedSegment], limit: int) -> list[float]:
    """By segment the cycles of loads for it and later ones that are to be made before it begins: what it and
    they have no time for, as far as there is room, and as earlier segments have time."""
    free = [limit - allocation.covered(segment.occupied) for segment in segments]
    constants = [each for segment in segments for each in segment.constants]
    size = sum([each.pieces * each.piece_bytes for each in constants])
    cycles_per_byte = sum([each.pieces * each.piece_cycles for each in constants]) / max(size, 1)
    backlogs = [0.0] * (len(segments) + 1)
    for number in range(len(segments) - 1, 0, -1):
        segment = segments[number]
        backlog = max(backlogs[number + 1] - segment.spare_cycles, segment.first_cycles)
        backlogs[number] = min(backlog, min(free[number - 1 : number + 1]) * cycles_per_byte)
    possible = 0.0
    for number, segment in enumerate(segments):
        possible += segment.spare_cycles
        possible = backlogs[number + 1] = max(min(backlogs[number + 1], possible), 0)
    return backlogs


def _next_tensors(segments: Sequence[PackedSegment]) -> list[float]:
    """By segment, how many cycles after its begin a load of tensors must begin for which a task would have to
    wait; until the end of all where there is none."""
    cycles = [0.0] * (len(segments) + 1)
    for number in range(len(segments) - 1, -1, -1):
        segment = segments[number]
        if segment.tensor_cycles:
            cycles[number] = -segment.tensor_cycles / segment.slots
        else:
            cycles[number] = segment.compute_cycles + cycles[number + 1]
    return cycles


def _common(one: list[Gap], other: list[Gap]) -> list[Gap]:
    """What is free in both."""
    found = []
    for start, end in one:
        for first, last in other:
            if first < end and start < last:
                found.append((max(start, first), min(end, last)))
    return found


def _overlap(one: Gap, other: Gap) -> bool:
    return one[0] < other[1] and other[0] < one[1]
