"""What packing works on: nodes cut into tiles, chains, and the bytes of SRAM that each occupies."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.allocation import AddressSearch, PlacedRange
from dlasim.compiler_shim.lowering.addresses.range_list import RangeList
from dlasim.compiler_shim.lowering.emission.records import Buffer
from dlasim.compiler_shim.lowering.loads.load_records import OccupiedRange
from dlasim.compiler_shim.lowering.tiles.tile_records import BUFFERS, MAX_CHAIN, Tile
from dlasim.native.record import Record, Records, array, layout, member, pointer, slots_of
from dlasim.native.routine import Numbers

COPIES = 2  # of a buffer at most
MAX_BUFFERS = MAX_CHAIN * (BUFFERS * COPIES + 1)  # of a chain, with those between nodes


class PackedNode(Record):
    """A node as emission reads it: its tasks, its tile and its buffers, where the addresses of a buffer that
    it lacks are 0. And its problem, and where what lies between it and the next one is."""

    tasks: int = 0
    tile: Tile = member(Tile)
    buffers: list[Buffer] = array(Buffer, BUFFERS)
    problem: int = 0
    between_address: int = 0


class PackedSegment(Record):
    """A node or a chain from a place on: its tasks or rounds; of a chain its groups of channels, or the rows
    of a stripe; its cycles by the estimate and those of its loads of tensors; the ranges that it occupies, of
    which tensors come first. Groups have one more round, since the first node is a group ahead."""

    place: int = 0
    nodes: int = 0
    rounds: int = 0
    groups: int = 0
    stripe_rows: int = 0
    cycles: int = 0
    tensor_cycles: int = 0
    first_range: int = 0
    ranges: int = 0


class Gap(Record):
    """Bytes [start, end) of SRAM."""

    start: int = 0
    end: int = 0


class AliveTensor(Record):
    """A tensor that is in SRAM at a step, by its number among residents, and the place of another."""

    tensor: int = 0
    older: int = 0


class Packing(Record):
    """The chosen segments, whose tensors and buffers get places in an SRAM of `limit` bytes.

    By place a node has its step in the network, and the numbers of the tensors that it reads and writes among
    those that may stay, of which the largest come first. They are in SRAM where `is_there`; `live` are the
    same while chains run, `residents` those with addresses, of which `newest` and the older ones are `alive`
    at a step. `apart`: tensors and buffers keep away from what the steps before occupy, as far as there is
    room. Buffers of one segment are placed from the low end, those of the next from the high one. `busy` is
    what the segment that is looked at leaves no room in, `gaps` lie between; its tensors take `tensor_bytes`.
    `sizes`, `order`, `addresses` are those of its buffers, of which those between nodes come last, from `own`
    on.

    Found are the nodes, the segments, the most bytes that one uses, and below how many bytes of SRAM some
    node is cut in another way, for what it counts on for prefetches.
    """

    numbers: Numbers = pointer(int)
    operands: Numbers = pointer(int)
    is_there: Numbers = pointer(int)
    tensors: Records[PlacedRange] = pointer(PlacedRange)
    live: Records[PlacedRange] = pointer(PlacedRange)
    residents: AddressSearch = member(AddressSearch)
    nodes: Records[PackedNode] = pointer(PackedNode)
    segments: Records[PackedSegment] = pointer(PackedSegment)
    alive: Records[AliveTensor] = pointer(AliveTensor)
    newest: Numbers = pointer(int)
    ranges: Records[OccupiedRange] = pointer(OccupiedRange)
    gaps: Records[Gap] = pointer(Gap)
    busy: RangeList = member(RangeList)
    tensor_bytes: int = 0
    tensor_count: int = 0
    step_count: int = 0
    limit: int = 0
    apart: int = 0
    is_from_top: int = 0
    gap_count: int = 0
    own: int = 0
    buffer_count: int = 0
    sizes: list[int] = array(int, MAX_BUFFERS)
    order: list[int] = array(int, MAX_BUFFERS)
    addresses: list[int] = array(int, MAX_BUFFERS)
    segment_count: int = 0
    range_count: int = 0
    used_bytes: int = 0
    changing_bytes: int = 0


SLOTS = {name: each.slot for name, each in layout(PackedNode).fields.items()}  # of a node
TILE = slice(SLOTS["tile"], SLOTS["tile"] + slots_of(Tile))
SEGMENT_SLOTS = {name: each.slot for name, each in layout(PackedSegment).fields.items()}
