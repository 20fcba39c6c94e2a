"""The order in which the tiles of a node, or the stripes of a chain, are loaded, computed and stored."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.constants import pooled
from dlasim.compiler_shim.lowering.emission.commands import HALT_WORD, REQUIRE_CONFIG, UNSET
from dlasim.compiler_shim.lowering.emission.operations import PieceBytes, copy, set_box
from dlasim.compiler_shim.lowering.emission.records import (
    COMPUTATIONS,
    MAX_PUT_OFF,
    OUTPUT_TENSOR,
    TENSORS,
    EmittedSegment,
    Node,
    PlannedOperation,
    StreamBuilder,
    TensorLocation,
)
from dlasim.compiler_shim.lowering.emission.tiles import (
    load_bytes,
    load_piece,
    make_tile,
    piece_bytes,
    place_output,
    reserve_piece,
)
from dlasim.compiler_shim.lowering.emission.words import (
    append_word,
    configure,
    put_off,
    write_deferred_store,
    write_put_off,
)
from dlasim.compiler_shim.lowering.segments.stripe_search import ChainNode, begin_stripe, end_stripe
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_buffers import align
from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.registers import OPERANDS, Region
from dlasim.native.routine import Routine, routine

_UNITS, _REGISTERS, _POOL = len(UNITS), len(OPERANDS), int(Region.CONSTANTS)


@routine
def emit(stream: StreamBuilder) -> int:
    """Write the words of segments, until the next task may find no room. Returns whether any are left."""
    while stream.segment < stream.segment_count:
        segment = stream.segments[stream.segment]
        if stream.task == 0:
            _begin_segment(stream, segment)
        while stream.task < segment.tasks:
            if stream.operation_count + segment.operations > stream.operation_limit:
                return 1
            if not stream.is_open:
                _begin(stream)
            _segment_task(stream, segment, stream.task)
            _prefetch(stream, segment, stream.task)
            stream.task += 1
        stream.segment += 1
        stream.task = 0
    return 0


EMIT = Routine(emit, "emission")


@routine
def _begin_segment(stream: StreamBuilder, segment: EmittedSegment) -> None:
    """Find the tensors of its nodes, and give what is loaded for later tasks its places in the pool."""
    if not stream.is_open:
        _reserve_tensors(stream)
    for step in range(segment.step, segment.step + segment.nodes):
        _locate_tensors(stream, stream.nodes[step])
    if segment.stripe_rows:
        _begin_stripes(stream, segment)
    stream.configured_node = NONE
    stream.load_number = segment.first_load
    for number in range(segment.first_load, segment.first_load + segment.loads):
        load = stream.loads[number]
        for piece in range(load.first, load.first + load.pieces):
            reserve_piece(stream, stream.nodes[load.step], piece)


@routine
def _reserve_tensors(stream: StreamBuilder) -> None:
    """Give constants that are tensors their places in the pool, before any piece of a stream: those that host
    calls before it read, then those of its nodes and of what is loaded early; with constants that stay, those
    of all nodes."""
    run = max(stream.stream_count - stream.preloads, 0)
    for number in range(stream.pooled_ends[run], stream.pooled_ends[run + 1]):
        _reserve_value(stream, stream.pooled[number])
    is_preload = 1 if stream.stream_count < stream.preloads else 0
    number = stream.segment
    while number < stream.segment_count and (is_preload or not _is_end(stream.segments[number])):
        segment = stream.segments[number]
        for step in range(segment.step, segment.step + segment.nodes):
            _reserve_operands(stream, step)
        for each in range(segment.first_load, segment.first_load + segment.loads if segment.nodes else 0):
            _reserve_operands(stream, stream.loads[each].step)
        number += 1


@routine
def _is_end(segment: EmittedSegment) -> bool:
    """Whether a stream ends there."""
    return segment.nodes == 0 and segment.loads == 0


@routine
def _reserve_operands(stream: StreamBuilder, step: int) -> None:
    for number in range(TENSORS):
        value = stream.facts[step].layouts[number].space
        if value != NONE and stream.value_bytes[value]:  # a constant
            _reserve_value(stream, value)


@routine
def _reserve_value(stream: StreamBuilder, value: int) -> None:
    place = stream.places[value]
    if place.space == NONE:
        place.space, place.offset = _POOL, stream.pool_bytes
        stream.pool_bytes += stream.value_bytes[value]


@routine
def _locate_tensors(stream: StreamBuilder, node: Node) -> None:
    """Find where the values are that have the bytes of a node's tensors."""
    for number in range(TENSORS):
        tensor, layout = node.tensors[number], stream.facts[node.step].layouts[number]
        tensor.assign(layout)
        if layout.space != NONE:
            place = stream.places[layout.space]
            tensor.space, tensor.offset = place.space, place.offset + layout.offset
            tensor.reach = place.reach


@routine
def _begin_stripes(stream: StreamBuilder, segment: EmittedSegment) -> None:
    """Nothing of the chain has been computed yet."""
    chain = stream.chain
    chain.count = segment.nodes
    for number in range(segment.nodes):
        rows = chain.nodes[number]
        rows.problem, rows.done, rows.base = stream.nodes[segment.step + number].problem, 0, 0


@routine
def _segment_task(stream: StreamBuilder, segment: EmittedSegment, task: int) -> None:
    if segment.nodes:
        write_put_off(stream, max(stream.put_off + 1 - MAX_PUT_OFF, 0))
    if segment.nodes == 1:
        _tile(stream, stream.nodes[segment.step], task)
    elif segment.groups:
        _round(stream, segment, task)
    elif segment.nodes:
        _stripe(stream, segment, task)
    if not segment.is_load_first:
        write_put_off(stream, stream.put_off)
    if _is_end(segment):
        _end(stream)


@routine
def _prefetch(stream: StreamBuilder, segment: EmittedSegment, task: int) -> None:
    """The loads for later tasks that come after a task."""
    if segment.nodes == 0:
        _load_together(stream, segment)
        return
    end = segment.first_load + segment.loads
    while stream.load_number < end and stream.loads[stream.load_number].task <= task:
        load = stream.loads[stream.load_number]
        node = stream.nodes[load.step]
        for piece in range(load.first, load.first + load.pieces):
            load_piece(stream, node, piece, stream.pieces[node.first_constant + piece].address)
        stream.load_number += 1


@routine
def _load_together(stream: StreamBuilder, segment: EmittedSegment) -> None:
    """Load constants; those that follow each other in memory and in SRAM by one transfer."""
    layer = offset = address = size = 0
    for number in range(segment.first_load, segment.first_load + segment.loads):
        load = stream.loads[number]
        node = stream.nodes[load.step]
        for each in range(load.first, load.first + load.pieces):
            piece, place = piece_bytes(stream, node, each), reserve_piece(stream, node, each)
            is_plain = piece.in_memory == piece.in_sram
            target = stream.pieces[node.first_constant + each].address
            follows = place - offset == target - address and place - offset <= pooled(size)
            if size and not (is_plain and follows):
                load_bytes(stream, offset, PieceBytes(size, size, 0, 0, 0), address, layer)
                size = 0
            if not is_plain:
                load_piece(stream, node, each, target)
            elif size:
                size = target - address + piece.in_sram
            else:
                layer, offset, address, size = stream.facts[node.step].layer, place, target, piece.in_sram
    if size:
        load_bytes(stream, offset, PieceBytes(size, size, 0, 0, 0), address, layer)


@routine
def _begin(stream: StreamBuilder) -> None:
    """A stream in which nothing is known yet: neither registers nor what is in flight."""
    for number in range(_REGISTERS):
        stream.register_file[number] = UNSET
    for unit in range(_UNITS):
        stream.issued[unit], stream.newest[unit] = 0, NONE
    stream.free_slot, stream.used_slots, stream.is_open = NONE, 0, 1
    stream.deferred_store, stream.put_off = NONE, 0
    configure(stream, REQUIRE_CONFIG, stream.fingerprint)


@routine
def _end(stream: StreamBuilder) -> None:
    write_deferred_store(stream)
    append_word(stream, HALT_WORD)
    stream.is_open = 0
    stream.ends[stream.stream_count] = stream.word_count
    stream.stream_count += 1


@routine
def _tile(stream: StreamBuilder, node: Node, number: int) -> None:
    """A task of a node: a tile, in one of the passes over the input channels; only the last has results."""
    facts, place = stream.facts[node.step], _next_place(stream)
    sizes = facts.sizes
    passes = -(-sizes.depth // node.tile.depth)
    start = number % passes * node.tile.depth
    depth = min(node.tile.depth, sizes.depth - start)
    address, is_stored = 0, 0
    _set_tile(stream, node, number // passes)
    if start + depth == sizes.depth:
        address, is_stored = place_output(stream, node, stream.stores[place])
    make_tile(stream, node, stream.computes[place], start, depth, address, is_stored)
    put_off(stream, place, is_stored, 1)


@routine
def _set_tile(stream: StreamBuilder, node: Node, number: int) -> None:
    facts = stream.facts[node.step]
    sizes = facts.sizes
    across = -(-sizes.width // node.tile.columns)
    positions = -(-sizes.height // node.tile.rows) * across
    groups = -(-sizes.channels // node.tile.channels)
    if node.tile.is_channels_outer:
        position, group = number % positions, number // positions
    else:
        position, group = number // groups, number % groups
    row, column = position // across * node.tile.rows, position % across * node.tile.columns
    channel = group * node.tile.channels
    rows = min(node.tile.rows, sizes.height - row)
    columns = min(node.tile.columns, sizes.width - column)
    channels = min(node.tile.channels, sizes.channels - channel)
    set_box(stream.tile, row, column, channel, rows, columns, channels)


@routine
def _stripe(stream: StreamBuilder, segment: EmittedSegment, stripe: int) -> None:
    """A task of a chain: what each node computes in a stripe, and the moves of rows that are still needed."""
    last = NONE
    begin_stripe(stream.chain, (stripe + 1) * segment.stripe_rows)
    for number in range(segment.nodes):
        step = segment.step + number
        node, facts = stream.nodes[step], stream.facts[step]
        sizes, rows = facts.sizes, stream.chain.nodes[number]
        if number + 1 < segment.nodes:
            _advance_buffer(stream, node, rows)
            if rows.start > rows.base and rows.done > rows.start:
                last = _next_place(stream)
                _keep_rows(stream, node, rows, stream.computes[last])
                put_off(stream, last, 0, 0)
        if rows.need > rows.done:
            last = _next_place(stream)
            set_box(stream.tile, rows.done, 0, 0, rows.need - rows.done, sizes.width, sizes.channels)
            address, is_stored = place_output(stream, node, stream.stores[last])
            make_tile(stream, node, stream.computes[last], 0, sizes.depth, address, is_stored)
            put_off(stream, last, is_stored, 0)
    end_stripe(stream.chain)
    if last != NONE:
        stream.ends_task[last] = 1


@routine
def _round(stream: StreamBuilder, segment: EmittedSegment, number: int) -> None:
    """A task of a chain: what is computed for a group of channels of the first node, and for the group before
    of the others."""
    last = NONE
    for member in range(segment.nodes):
        group = number - 1 if member else number
        if group >= 0 and group < segment.groups:
            last = _next_place(stream)
            is_stored = _group(stream, segment, member, group, last)
            put_off(stream, last, is_stored, 0)
    if last != NONE:
        stream.ends_task[last] = 1


@routine
def _group(
    stream: StreamBuilder,
    segment: EmittedSegment,
    member: int,
    group: int,
    place: int,
) -> int:
    """What a node computes of a group of channels, or adds of it to its sums. Whether it is to be stored."""
    node, facts = stream.nodes[segment.step + member], stream.facts[segment.step + member]
    sizes = facts.sizes
    start, depth, address, is_stored = 0, sizes.depth, 0, 0
    if member:
        _use_group_buffer(stream, stream.nodes[node.step - 1], node.tensors[0], group)
    if member and sizes.is_dense:
        start = group * node.tile.depth
        depth = min(node.tile.depth, sizes.depth - start)
        set_box(stream.tile, 0, 0, 0, sizes.height, sizes.width, sizes.channels)
    else:
        channel = group * node.tile.channels
        channels = min(node.tile.channels, sizes.channels - channel)
        set_box(stream.tile, 0, 0, channel, sizes.height, sizes.width, channels)
    if member + 1 < segment.nodes:
        _use_group_buffer(stream, node, node.tensors[OUTPUT_TENSOR], group)
    elif start + depth >= sizes.depth:
        address, is_stored = place_output(stream, node, stream.stores[place])
    make_tile(stream, node, stream.computes[place], start, depth, address, is_stored)
    return is_stored


@routine
def _use_group_buffer(stream: StreamBuilder, writer: Node, location: TensorLocation, group: int) -> None:
    """What a node writes for the next is in one of two buffers, which hold a group of channels each."""
    facts, pixel = stream.facts[writer.step], writer.tile.channels
    line = facts.sizes.width * pixel
    address = writer.between_address + group % 2 * align(facts.sizes.height * line)
    location.offset, location.pixel_bytes, location.line_bytes = address - group * pixel, pixel, line


@routine
def _advance_buffer(stream: StreamBuilder, node: Node, rows: ChainNode) -> None:
    """The buffer between a node and the next begins with row `start` from now on."""
    facts, following = stream.facts[node.step], stream.nodes[node.step + 1]
    offset = node.between_address - rows.start * facts.sizes.width * facts.sizes.channels
    node.tensors[OUTPUT_TENSOR].offset = offset
    following.tensors[0].offset = offset


@routine
def _keep_rows(stream: StreamBuilder, node: Node, rows: ChainNode, operation: PlannedOperation) -> None:
    """Move the rows that are still needed, from `start` on, to the start of the buffer."""
    facts, buffer = stream.facts[node.step], node.between_address
    size = facts.sizes.width * facts.sizes.channels
    kept = (rows.done - rows.start) * size
    copy(operation, facts.layer, buffer + (rows.start - rows.base) * size, buffer, kept)


@routine
def _next_place(stream: StreamBuilder) -> int:
    """Where the next computation and its store are made."""
    if stream.put_off == 0:
        stream.oldest = (stream.deferred_store + 1) % COMPUTATIONS
    return (stream.oldest + stream.put_off) % COMPUTATIONS
