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
)
from dlasim.compiler_shim.lowering.emission.tiles import make_tile, place_output
from dlasim.compiler_shim.lowering.emission.words import (
    append_word,
    configure,
    write_deferred_store,
    write_operation,
)
from dlasim.isa.instructions import UNITS
from dlasim.isa.registers import OPERANDS, Region
from dlasim.native.routine import Routine, routine

_UNITS, _REGISTERS = len(UNITS), len(OPERANDS)
_POOL = int(Region.CONSTANTS)
LOADS = -1  # instead of a number of nodes


@routine
def emit(stream: StreamBuilder, nodes: int, first: int, end: int) -> int:
    """Write the words of some tiles of one node, of some stripes of a chain of several, of some loads for
    later nodes (LOADS nodes), or without any the end of the stream. Returns how many words there are."""
    if not stream.is_open:
        _begin(stream)
    if nodes == LOADS:
        _load_ahead(stream, first, end)
        return stream.word_count
    if first == 0:
        stream.configured_node = NONE
    if nodes == 0:
        _end(stream)
    elif nodes == 1:
        _node(stream, first, end)
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
def _load_ahead(stream: StreamBuilder, first: int, end: int) -> None:
    """Some of the loads for later nodes."""
    for number in range(first, end):
        load = stream.loads[number]
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
    """Some of a node's tiles."""
    node = stream.nodes[0]
    across = -(-node.width // node.tile_columns)
    positions = -(-node.height // node.tile_rows) * across
    groups = -(-node.channels // node.tile_channels)
    for number in range(first, end):
        if node.is_channels_outer:
            position, group = number % positions, number // positions
        else:
            position, group = number // groups, number % groups
        _tile(stream, node, position // across, position % across, group)


@routine
def _tile(stream: StreamBuilder, node: Node, down: int, across: int, group: int) -> None:
    """A tile, in passes over the input channels; only the last has results."""
    row, column, channel = down * node.tile_rows, across * node.tile_columns, group * node.tile_channels
    rows = min(node.tile_rows, node.height - row)
    columns = min(node.tile_columns, node.width - column)
    channels = min(node.tile_channels, node.channels - channel)
    set_box(stream.tile, row, column, channel, rows, columns, channels)
    store, compute = _free_store(stream), stream.computes[0]
    address, is_stored = place_output(stream, node, stream.stores[store])
    for start in range(0, node.depth, node.tile_depth):
        depth = min(node.tile_depth, node.depth - start)
        make_tile(stream, node, compute, start, depth, address, is_stored)
        write_operation(stream, compute)
        write_deferred_store(stream)
    if is_stored:
        stream.deferred_store = store


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
    for number in range(count):
        write_operation(stream, stream.computes[number])
    write_deferred_store(stream)
    if is_stored:
        stream.deferred_store = store


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
