"""The order in which the tiles of a node, or the stripes of a chain, are loaded, computed and stored."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.emission.commands import HALT_WORD, REQUIRE_CONFIG, UNSET
from dlasim.compiler_shim.lowering.emission.operations import copy, set_box, transfer_bytes
from dlasim.compiler_shim.lowering.emission.records import (
    NONE,
    OUTPUT_TENSOR,
    Node,
    PlannedOperation,
    StreamBuilder,
    StripeRows,
    TensorLocation,
)
from dlasim.compiler_shim.lowering.emission.tiles import make_tile, place_output
from dlasim.compiler_shim.lowering.emission.words import (
    append_word,
    configure,
    write_deferred_store,
    write_operation,
)
from dlasim.compiler_shim.lowering.tile_buffers import align
from dlasim.isa.instructions import UNITS
from dlasim.isa.registers import OPERANDS, Region
from dlasim.native.routine import Routine, routine

_UNITS, _REGISTERS = len(UNITS), len(OPERANDS)
_POOL = int(Region.CONSTANTS)


@routine
def emit(stream: StreamBuilder, nodes: int, first: int, end: int) -> int:
    """Write the words of some tasks of one node, of some pieces of a chain of several, or without any the end
    of the stream. Returns how many words there are."""
    if not stream.is_open:
        _begin(stream)
    if first == 0:
        stream.configured_node = NONE
    if nodes == 0:
        _end(stream)
    elif nodes == 1:
        _node(stream, first, end)
    elif stream.groups:
        for number in range(first, end):
            _round(stream, nodes, number)
    else:
        for stripe in range(first, end):
            _stripe(stream, nodes, stripe)
    return stream.word_count


_LOWERING = "dlasim.compiler_shim.lowering"
EMIT = Routine(
    emit,
    "emission",
    (
        *(f"{_LOWERING}.{name}" for name in ("constants", "tile_buffers", "tile_records", "transfers")),
        *(f"{_LOWERING}.emission.{name}" for name in ("commands", "operations", "records", "streams")),
        *(f"{_LOWERING}.emission.{name}" for name in ("tiles", "words")),
        *(f"dlasim.isa.{name}" for name in ("bits", "codec", "instructions", "registers")),
        "dlasim.sim.formulas",
    ),
)


@routine
def _write(stream: StreamBuilder, count: int, store: int, is_stored: int, task: int) -> None:
    """The computations of a task, the store of the task before, and loads for later tasks."""
    for number in range(count):
        write_operation(stream, stream.computes[number])
    write_deferred_store(stream)
    if is_stored:
        stream.deferred_store = store
    _load_ahead(stream, task)


@routine
def _load_ahead(stream: StreamBuilder, task: int) -> None:
    """The loads for later tasks that come after a task."""
    while stream.next_load < stream.load_count and stream.loads[stream.next_load].task <= task:
        load = stream.loads[stream.next_load]
        stream.next_load += 1
        transfer_bytes(stream.load, _POOL, load.offset, load.size_bytes, load.address, load.layer)
        write_operation(stream, stream.load)


@routine
def _begin(stream: StreamBuilder) -> None:
    """A stream in which nothing is known yet: neither registers nor what is in flight."""
    for number in range(_REGISTERS):
        stream.register_file[number] = UNSET
    for unit in range(_UNITS):
        stream.issued[unit], stream.newest[unit] = 0, NONE
    stream.free_slot, stream.used_slots, stream.deferred_store, stream.is_open = NONE, 0, NONE, 1
    configure(stream, REQUIRE_CONFIG, stream.fingerprint)


@routine
def _end(stream: StreamBuilder) -> None:
    write_deferred_store(stream)
    append_word(stream, HALT_WORD)
    stream.is_open = 0


@routine
def _node(stream: StreamBuilder, first: int, end: int) -> None:
    """Some of a node's tasks: tiles, each in passes over the input channels."""
    node = stream.nodes[0]
    passes = -(-node.depth // node.tile_depth)
    across = -(-node.width // node.tile_columns)
    positions = -(-node.height // node.tile_rows) * across
    groups = -(-node.channels // node.tile_channels)
    for number in range(first, end):
        tile = number // passes
        if node.is_channels_outer:
            position, group = tile % positions, tile // positions
        else:
            position, group = tile // groups, tile % groups
        _set_tile(stream, node, position // across, position % across, group)
        _task(stream, node, number, number % passes * node.tile_depth)


@routine
def _set_tile(stream: StreamBuilder, node: Node, down: int, across: int, group: int) -> None:
    row, column, channel = down * node.tile_rows, across * node.tile_columns, group * node.tile_channels
    rows = min(node.tile_rows, node.height - row)
    columns = min(node.tile_columns, node.width - column)
    channels = min(node.tile_channels, node.channels - channel)
    set_box(stream.tile, row, column, channel, rows, columns, channels)


@routine
def _task(stream: StreamBuilder, node: Node, number: int, start: int) -> None:
    """A tile over the input channels from `start` on; only the last of them have results."""
    store, compute = _free_store(stream), stream.computes[0]
    depth = min(node.tile_depth, node.depth - start)
    address, is_stored = 0, 0
    if start + depth == node.depth:
        address, is_stored = place_output(stream, node, stream.stores[store])
    make_tile(stream, node, compute, start, depth, address, is_stored)
    _write(stream, 1, store, is_stored, number)


@routine
def _stripe(stream: StreamBuilder, nodes: int, stripe: int) -> None:
    """All loads, then all computations, then the store of what the last node computes."""
    store, count, is_stored = _free_store(stream), 0, 0
    for number in range(nodes):
        node, rows = stream.nodes[number], stream.stripes[stripe * nodes + number]
        if number + 1 < nodes:
            _advance_buffer(stream, node, rows)
            if rows.kept:
                _keep_rows(stream, node, rows, stream.computes[count])
                count += 1
        if rows.end > rows.first:
            set_box(stream.tile, rows.first, 0, 0, rows.end - rows.first, node.width, node.channels)
            address, is_stored = place_output(stream, node, stream.stores[store])
            make_tile(stream, node, stream.computes[count], 0, node.depth, address, is_stored)
            count += 1
    _write(stream, count, store, is_stored, stripe)


@routine
def _round(stream: StreamBuilder, nodes: int, number: int) -> None:
    """All loads, then all computations for a group of channels of the first node, and for the group before of
    the others; then the store of what the last node computes."""
    store, count, is_stored = _free_store(stream), 0, 0
    for member in range(nodes):
        group = number - 1 if member else number
        if group >= 0 and group < stream.groups:
            is_stored = _group(stream, nodes, stream.nodes[member], group, store, stream.computes[count])
            count += 1
    _write(stream, count, store, is_stored, number)


@routine
def _group(
    stream: StreamBuilder, nodes: int, node: Node, group: int, store: int, operation: PlannedOperation
) -> int:
    """What a node computes of a group of channels, or adds of it to its sums. Whether it is to be stored."""
    start, depth, address, is_stored = 0, node.depth, 0, 0
    if node.number:
        _use_group_buffer(stream, stream.nodes[node.number - 1], node.tensors[0], group)
    if node.number and node.is_dense:
        start = group * node.tile_depth
        depth = min(node.tile_depth, node.depth - start)
        set_box(stream.tile, 0, 0, 0, node.height, node.width, node.channels)
    else:
        channel = group * node.tile_channels
        channels = min(node.tile_channels, node.channels - channel)
        set_box(stream.tile, 0, 0, channel, node.height, node.width, channels)
    if node.number + 1 < nodes:
        _use_group_buffer(stream, node, node.tensors[OUTPUT_TENSOR], group)
    elif start + depth >= node.depth:
        address, is_stored = place_output(stream, node, stream.stores[store])
    make_tile(stream, node, operation, start, depth, address, is_stored)
    return is_stored


@routine
def _use_group_buffer(stream: StreamBuilder, writer: Node, location: TensorLocation, group: int) -> None:
    """What a node writes for the next is in one of two buffers, which hold a group of channels each."""
    pixel = writer.tile_channels
    line = writer.width * pixel
    address = stream.between_addresses[writer.number] + group % 2 * align(writer.height * line)
    location.offset, location.pixel_bytes, location.line_bytes = address - group * pixel, pixel, line


@routine
def _advance_buffer(stream: StreamBuilder, node: Node, rows: StripeRows) -> None:
    """The buffer between a node and the next begins with row `base` from now on."""
    offset = stream.between_addresses[node.number] - rows.base * node.width * node.channels
    following = stream.nodes[node.number + 1]
    node.tensors[OUTPUT_TENSOR].offset = offset
    following.tensors[0].offset = offset


@routine
def _keep_rows(stream: StreamBuilder, node: Node, rows: StripeRows, operation: PlannedOperation) -> None:
    """Move the rows that are still needed to the start of the buffer."""
    size = node.width * node.channels
    buffer = stream.between_addresses[node.number]
    copy(operation, node, buffer + (rows.base - rows.old_base) * size, buffer, rows.kept * size)


@routine
def _free_store(stream: StreamBuilder) -> int:
    """The one of two stores that is not deferred."""
    return 1 if stream.deferred_store == 0 else 0
