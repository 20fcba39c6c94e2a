"""What segments compute and load on a machine, for the planner of prefetches; a routine."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.packed_records import PackedNode, PackedSegment
from dlasim.compiler_shim.lowering.loads.load_backlogs import MAX_CYCLES
from dlasim.compiler_shim.lowering.loads.load_records import LoadSchedule, OccupiedRange, TimedSegment
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE, WHERES
from dlasim.compiler_shim.lowering.tiles.tile_buffers import (
    align,
    constant_bytes,
    load_counts,
    spatial_tiles,
)
from dlasim.compiler_shim.lowering.tiles.tile_costs import (
    compute_cycles,
    tensor_load_cycles,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import ChannelGroup, MachineCosts, NodeSizes
from dlasim.compiler_shim.lowering.tiles.transfers import constants_beats
from dlasim.isa.instruction_rows import UNITS
from dlasim.native.record import Record, Records, array, member, pointer
from dlasim.native.routine import Numbers, Routine, routine

_UNITS = len(UNITS)


class SegmentTimes(Record):
    """Packed segments, the sizes of their problems, the costs of their kinds on a machine, and by place the
    step and the unit of each node; where transfers share the SRAM's ports with the units, `port_share` is not
    0. Found are the cycles of all computations and loads, MAX_CYCLES at most."""

    nodes: Records[PackedNode] = pointer(PackedNode)
    segments: Records[PackedSegment] = pointer(PackedSegment)
    ranges: Records[OccupiedRange] = pointer(OccupiedRange)
    sizes: Records[NodeSizes] = pointer(NodeSizes)
    costs: Records[MachineCosts] = pointer(MachineCosts)
    numbers: Numbers = pointer(int)
    units: Numbers = pointer(int)
    port_share: int = 0
    segment_count: int = 0
    constant_count: int = 0
    most_cycles: int = 0
    group: ChannelGroup = member(ChannelGroup)
    of_unit: list[int] = array(int, _UNITS)


@routine
def time_segments(times: SegmentTimes, schedule: LoadSchedule) -> int:
    """Describe all segments to a schedule; returns how many pieces of constants they have."""
    times.constant_count = times.most_cycles = schedule.piece_count = 0
    for number in range(times.segment_count):
        packed, segment = times.segments[number], schedule.segments[number]
        segment.tasks, segment.is_chain = packed.rounds, 1 if packed.nodes > 1 else 0
        segment.first_unit = times.units[packed.place]
        segment.last_unit = times.units[packed.place + packed.nodes - 1]
        segment.first_range, segment.ranges = packed.first_range, packed.ranges
        segment.first_constants, segment.constants = times.constant_count, 0
        for each in range(packed.first_range, packed.first_range + packed.ranges):
            given, occupied = times.ranges[each], schedule.ranges[each]
            occupied.start, occupied.end, occupied.owner = given.start, given.end, NONE
        _time_nodes(times, schedule, packed, segment)
        _add(times, segment.compute_cycles, 1)
        _add(times, segment.tensor_cycles, 1)
    schedule.segment_count = times.segment_count
    return schedule.piece_count


TIMES = Routine(time_segments, "segments")


@routine
def _time_nodes(
    times: SegmentTimes, schedule: LoadSchedule, packed: PackedSegment, segment: TimedSegment
) -> None:
    """Cycles of a segment, and the constants of its nodes; units of a chain work side by side, a round
    apart."""
    for unit in range(_UNITS):
        times.of_unit[unit] = 0
    segment.tensor_cycles, segment.port_cycles, together = packed.tensor_cycles, 0, 0
    for number in range(packed.nodes):
        place = packed.place + number
        node, tile = times.nodes[place], times.nodes[place].tile
        sizes, costs = times.sizes[node.problem], times.costs[node.problem // WHERES]
        computing, crossing = compute_cycles(sizes, costs, times.group, tile, packed.rounds)
        together += computing
        times.of_unit[times.units[place]] += computing
        if times.port_share:
            segment.port_cycles += crossing
        if packed.nodes == 1:
            segment.tensor_cycles = tensor_load_cycles(sizes, costs, times.group, tile)
        if times.group.constant_bytes and not sizes.has_matrix:
            _time_constants(times, schedule, packed, segment, node, number)
    most = 0
    for unit in range(_UNITS):
        most = max(most, times.of_unit[unit])
    segment.compute_cycles = most + (together - most) // packed.rounds


@routine
def _time_constants(
    times: SegmentTimes,
    schedule: LoadSchedule,
    packed: PackedSegment,
    segment: TimedSegment,
    node: PackedNode,
    number: int,
) -> None:
    """The pieces of a node's constants that may be prefetched."""
    sizes, costs, group = times.sizes[node.problem], times.costs[node.problem // WHERES], times.group
    tile, size = node.tile, group.constant_bytes
    spatial = spatial_tiles(sizes, tile.rows, tile.columns)
    _, loads = load_counts(sizes, group, spatial, tile.is_channels_outer)
    pieces = 1 if sizes.table_bytes else group.groups * group.passes
    if loads > pieces and tile.is_channels_outer:  # the other groups' come after these are loaded again
        pieces = group.passes
    again, whole = loads - pieces, pieces * size
    loaded = whole if again else min(constant_bytes(sizes, sizes.channels, sizes.depth), whole)
    each = constants_beats(costs.constants, size, group.packed_bytes, group.spared_bytes)
    each += costs.constants.latency
    cycles = each // whole * loaded + each % whole * loaded // whole  # the last may be smaller
    if packed.nodes == 1:
        segment.tensor_cycles += again * cycles
    if not cycles:
        return
    constants = schedule.constants[times.constant_count]
    constants.place, constants.step = packed.place + number, times.numbers[packed.place + number]
    constants.pieces, constants.size, constants.cycles = pieces, align(size), cycles
    constants.is_loaded_again, constants.buffers = 1 if again > 0 else 0, 0
    constants.tasks = 1 if packed.nodes > 1 or again > 0 else packed.rounds // pieces
    for each in range(packed.first_range, packed.first_range + packed.ranges):
        if times.ranges[each].owner == number:
            schedule.ranges[each].owner = times.constant_count
            constants.buffers += 1
    segment.constants += 1
    times.constant_count += 1
    schedule.piece_count += pieces
    _add(times, pieces, cycles)


@routine
def _add(times: SegmentTimes, pieces: int, cycles: int) -> None:
    """Add loads, or computations, as far as 64 bits hold them."""
    if pieces and cycles > (MAX_CYCLES - times.most_cycles) // pieces:
        times.most_cycles = MAX_CYCLES
    else:
        times.most_cycles += pieces * cycles
