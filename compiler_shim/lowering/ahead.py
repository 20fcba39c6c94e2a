"""Plans which constants are loaded ahead: while earlier nodes compute, as far as the SRAM between allows.

What must be loaded before a segment begins, because it and those after it load for longer than they compute,
is found from the last to the first. `load_schedule` then finds when each piece is loaded, and where to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dlasim.compiler_shim.lowering import allocation
from dlasim.compiler_shim.lowering.load_schedule import (
    LOADS,
    NONE,
    LoadSchedule,
    OccupiedRange,
    TimedConstants,
    TimedPiece,
    TimedSegment,
    UsedPlace,
)
from dlasim.compiler_shim.lowering.packed_segments import PackedSegment, describe
from dlasim.compiler_shim.lowering.sram_plan import NOTHING_AHEAD, Ahead, AheadPlan, SramPlan
from dlasim.compiler_shim.lowering.tiling import Machine
from dlasim.native.backend import PLAIN, Backend
from dlasim.native.number_memory import NumberMemory
from dlasim.native.shipped import SHIPPED
from dlasim.native.storage import RecordMemory, bind, create

_MOST_CYCLES = 1 << 60  # of all segments, for which 64 bits hold every number that is met


def load_ahead(
    plan: SramPlan,
    machine: Machine,
    computing: Mapping[int, float] | None = None,
    reserve: int = 1,
    backend: Backend = SHIPPED,
) -> SramPlan:
    """The plan with loads ahead; `computing` are the cycles of the nodes by step, if they have been timed. So
    many times what is needed may be loaded ahead."""
    ahead, peak = plan_ahead(describe(plan, machine, computing), plan.sram_bytes, reserve, backend)
    return replace(plan, ahead=ahead, peak_bytes=max(plan.peak_bytes, peak))


def plan_ahead(
    segments: Sequence[PackedSegment], limit: int, reserve: int = 1, backend: Backend = SHIPPED
) -> tuple[AheadPlan, int]:
    """The loads that segments make for later tasks in an SRAM of `limit` bytes, and the most that is in use
    during one of them."""
    cycles = sum([segment.compute_cycles + segment.load_cycles for segment in segments])
    run = (backend if cycles * reserve < _MOST_CYCLES else PLAIN).runner(LOADS)
    schedule, memories = _describe(segments, limit, reserve, run.is_compiled)
    if not schedule.piece_count:
        return NOTHING_AHEAD, 0
    return (_list_loads(segments, memories) if run(schedule) else NOTHING_AHEAD), schedule.peak


class _Memories:
    """What a schedule points at."""

    def __init__(self, is_compiled: bool) -> None:
        self.segments = RecordMemory(TimedSegment, is_compiled)
        self.ranges = RecordMemory(OccupiedRange, is_compiled)
        self.constants = RecordMemory(TimedConstants, is_compiled)
        self.pieces = RecordMemory(TimedPiece, is_compiled)
        self.used = RecordMemory(UsedPlace, is_compiled)
        self.order, self.live = NumberMemory(is_compiled), NumberMemory(is_compiled)
        self.busy_starts, self.busy_ends = NumberMemory(is_compiled), NumberMemory(is_compiled)
        self.apart_starts, self.apart_ends = NumberMemory(is_compiled), NumberMemory(is_compiled)


def _describe(
    packed: Sequence[PackedSegment], limit: int, reserve: int, is_compiled: bool
) -> tuple[LoadSchedule, _Memories]:
    """What the routine reads of segments."""
    schedule, memories = create(LoadSchedule, is_compiled), _Memories(is_compiled)
    segments, ranges = list[TimedSegment](), list[OccupiedRange]()
    constants, pieces, order = list[TimedConstants](), list[TimedPiece](), list[int]()
    following = zip(_backlogs(packed, limit), _next_tensors(packed), strict=True)
    for number, (segment, (backlog, next_tensors)) in enumerate(zip(packed, following, strict=True)):
        slots = segment.slots
        first_range, first_constants, owners = len(ranges), len(constants), dict[allocation.Gap, int]()
        for each in segment.constants:
            owners |= dict.fromkeys(each.gaps, len(constants))
            first_piece = len(pieces)
            again, cycles = int(each.is_loaded_again), round(each.piece_cycles)
            constants.append(
                TimedConstants(number, first_piece, each.pieces, each.piece_bytes, cycles, again)
            )
            for piece in range(each.pieces):
                first, end = segment.slots_of(each, piece)
                pieces.append(TimedPiece(len(constants) - 1, first, end))
        ranges += [OccupiedRange(*gap, owners.get(gap, NONE)) for gap in segment.occupied]
        here = range(len(order), len(pieces))
        order += sorted(here, key=lambda piece: pieces[piece].first_slot)
        segments.append(
            TimedSegment(
                slots=slots,
                compute=int(segment.compute_cycles / slots),
                tensors=int(segment.tensor_cycles / slots),
                backlog=int(backlog),
                next_tensors=int(next_tensors),
                first_range=first_range,
                ranges=len(segment.occupied),
                first_constants=first_constants,
                constants=len(segment.constants),
            )
        )
    memories.segments.put(segments)
    memories.ranges.put(ranges)
    memories.constants.put(constants)
    memories.pieces.put(pieces)
    memories.order.put(0, order)
    places = len(ranges) + len(pieces) + 1
    memories.used.reserve(places, 0)
    memories.live.reserve(len(pieces), 0)
    for name in ("busy_starts", "busy_ends", "apart_starts", "apart_ends"):
        getattr(memories, name).reserve(places, 0)
    for name in vars(memories):
        bind(schedule, name, getattr(memories, name))
    schedule.segment_count, schedule.piece_count = len(segments), len(pieces)
    schedule.limit, schedule.reserve = limit, reserve
    return schedule, memories


def _list_loads(segments: Sequence[PackedSegment], memories: _Memories) -> AheadPlan:
    """The loads of pieces that have places, in the order in which they are made."""
    loads, addresses = defaultdict[int, list[Ahead]](list), defaultdict[int, list[int]](list)
    steps = [each.step for segment in segments for each in segment.constants]
    order = memories.order.take(0, sum([each.pieces for segment in segments for each in segment.constants]))
    rows = memories.pieces.array(len(order)).tolist()
    for number in order:
        constants, _, _, start, _, host, slot = rows[number]
        if start == NONE:
            continue
        step, segment = steps[constants], segments[host]
        task = min((slot + 1) * segment.tasks_of_slot, segment.tasks) - 1
        here, first = loads[segment.step], len(addresses[step])
        if here and (here[-1].step, here[-1].task) == (step, task):
            here[-1] = replace(here[-1], pieces=here[-1].pieces + 1)
        else:
            here.append(Ahead(step, task, first, 1))
        addresses[step].append(start)
    return AheadPlan(dict(loads), {step: tuple(found) for step, found in addresses.items()})


def _backlogs(segments: Sequence[PackedSegment], limit: int) -> list[float]:
    """By segment the cycles of loads for later ones that are to be made before it ends: what they have no
    time for, as far as there is room, and as it and earlier ones have time."""
    free = [limit - allocation.covered(segment.occupied) for segment in segments]
    constants = [each for segment in segments for each in segment.constants]
    size = sum([each.pieces * each.piece_bytes for each in constants])
    cycles_per_byte = sum([each.pieces * each.piece_cycles for each in constants]) / max(size, 1)
    spare = [segment.compute_cycles - segment.load_cycles for segment in segments]
    spare = [
        max(each, segment.tensor_cycles - segment.load_cycles)
        for each, segment in zip(spare, segments, strict=True)
    ]
    backlogs = [0.0] * (len(segments) + 1)
    for number in range(len(segments) - 1, 0, -1):
        backlog = max(backlogs[number + 1] - spare[number], segments[number].first_cycles)
        backlogs[number] = min(backlog, min(free[number - 1], free[number]) * cycles_per_byte)
    possible = 0.0
    for number, more in enumerate(spare):
        possible = backlogs[number + 1] = max(min(backlogs[number + 1], possible + more), 0)
    return backlogs[1:]


def _next_tensors(segments: Sequence[PackedSegment]) -> list[float]:
    """By segment, how many cycles after its end a load of tensors must begin for which a task would have to
    wait; until the end of all where there is none."""
    cycles, found = 0.0, list[float]()
    for segment in reversed(segments):
        found.append(cycles)
        tensors = segment.tensor_cycles / segment.slots
        cycles = -tensors if tensors else cycles + segment.compute_cycles
    return found[::-1]
