"""One tile of a node: what to load, to compute and to store. The tile itself is the box `stream.tile`."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.constants import pooled
from dlasim.compiler_shim.lowering.emission.commands import register
from dlasim.compiler_shim.lowering.emission.operations import (
    BoxBytes,
    PieceBytes,
    add_access,
    add_box_access,
    begin,
    box_alone,
    box_in_tensor,
    pair,
    set_box,
    set_register,
    transfer,
    transfer_bytes,
)
from dlasim.compiler_shim.lowering.emission.records import (
    MATRIX_TENSOR,
    OUTPUT_TENSOR,
    SRAM,
    Node,
    NodeFacts,
    PlannedOperation,
    StreamBuilder,
    TensorBox,
)
from dlasim.compiler_shim.lowering.emission.words import write_load
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_buffers import (
    ACCUMULATOR_BYTES,
    align,
    constant_bytes,
    packed_bytes,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import (
    ACCUMULATOR,
    CONSTANTS,
    INPUT,
    OUTPUT,
    SECOND_INPUT,
)
from dlasim.isa.registers import Region
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.native.routine import routine

_OUT, _ACC = register("OUT_ADDR"), register("ACC_ADDR")
_OUT_SIZE, _OUT_CHANNELS = register("OUT_SIZE"), register("OUT_CHANNELS")
_IN_SIZE, _IN_CHANNELS, _PAD = register("IN_SIZE"), register("IN_CHANNELS"), register("PAD")
_TABLE, _WEIGHTS, _RECORDS = register("LUT_ADDR"), register("WEIGHT_ADDR"), register("PARAM_ADDR")
_POOL = int(Region.CONSTANTS)


@routine
def place_output(stream: StreamBuilder, node: Node, store: PlannedOperation) -> tuple[int, int]:
    """Where the tile's results are computed: the address of a buffer, from which `store` takes them, and
    whether there is one; else they go to where the tensor stays in SRAM."""
    output = node.tensors[OUTPUT_TENSOR]
    if output.space == SRAM:
        return 0, 0
    address, _ = _fill(stream, node, OUTPUT, stream.tile)
    transfer(store, 0, output, stream.tile, address, stream.facts[node.step].layer)
    return address, 1


@routine
def make_tile(
    stream: StreamBuilder,
    node: Node,
    operation: PlannedOperation,
    start: int,
    depth: int,
    address: int,
    is_stored: int,
) -> None:
    """Write the loads of the tile over some of the input channels; its computation is left in `operation`."""
    tile, facts = stream.tile, stream.facts[node.step]
    begin(operation, facts.unit, facts.word, facts.layer)
    operation.node = node.step
    padding = _find_input_box(stream, facts, start, depth)
    _read(stream, node, operation, INPUT, stream.input_box, facts.input_view, 1, 1)
    if facts.sizes.input_count > 1:  # one row or column of the second may serve all
        down, across = facts.sizes.second_has_rows, facts.sizes.second_has_columns
        rows, columns = tile.rows if down else 1, tile.columns if across else 1
        box = stream.second_box
        set_box(box, tile.row * down, tile.column * across, tile.channel, rows, columns, tile.channels)
        _read(stream, node, operation, SECOND_INPUT, box, facts.second_view, down, across)
    constants = _load_constants(stream, node, start, depth)

    is_single = facts.is_channel_by_channel
    is_last = start + depth >= facts.sizes.depth
    if is_last:
        _write_output(stream, node, operation, address, is_stored)
    else:
        _use_accumulator(stream, node, operation, _OUT, 1)
    set_register(operation, _OUT_SIZE, pair(tile.rows, tile.columns))
    set_register(operation, _OUT_CHANNELS, 1 if is_single else tile.channels)
    if facts.reads_channels:
        set_register(operation, _IN_CHANNELS, 1 if is_single else stream.input_box.channels)
    if facts.reads_size:
        set_register(operation, _IN_SIZE, pair(stream.input_box.rows, stream.input_box.columns))
        set_register(operation, _PAD, padding)
    _read_constants(facts, operation, constants, tile.channels, depth)
    if start > 0:
        _use_accumulator(stream, node, operation, _ACC, 0)
        operation.word = facts.last_word if is_last else facts.middle_word
    elif not is_last:
        operation.word = facts.first_word
    if is_last:
        operation.tensor = facts.tensor
        operation.box.assign(tile)
    if is_single:
        operation.repeats = tile.channels
        operation.box.channels = 1


@routine
def _find_input_box(stream: StreamBuilder, facts: NodeFacts, start: int, depth: int) -> int:
    """The part of the first input that the tile reads, in `input_box`; returns the padding before it."""
    sizes = facts.sizes
    tile = stream.tile
    top = tile.row * sizes.stride_height - sizes.pad_top
    left = tile.column * sizes.stride_width - facts.pad_left
    bottom = min(
        top + (tile.rows - 1) * sizes.stride_height + sizes.window_height,
        sizes.input_height,
    )
    right = min(
        left + (tile.columns - 1) * sizes.stride_width + sizes.window_width,
        sizes.input_width,
    )
    above, before = max(-top, 0), max(-left, 0)
    top, left = top + above, left + before
    first, channels = start, depth
    if not sizes.is_dense:
        first = tile.channel // sizes.multiplier
        channels = -(-tile.channels // sizes.multiplier)
    set_box(stream.input_box, top, left, first, bottom - top, right - left, channels)
    return pair(above, before)


@routine
def _fill(stream: StreamBuilder, node: Node, number: int, box: TensorBox) -> tuple[int, int]:
    """The address of the copy of a buffer that holds this, and whether it has to be brought there first."""
    buffer, fill = node.buffers[number], node.fills[number]
    count = fill.count
    if count and fill.box.equals(box):
        return fill.address, 0
    fill.count = count + 1
    fill.box.assign(box)
    prefetched = node.prefetched if number == CONSTANTS else 0
    if count < prefetched:
        fill.address = stream.pieces[node.first_constant + count].address
        return fill.address, 0
    fill.address = buffer.addresses[(count - prefetched) % buffer.copies]
    return fill.address, 1


@routine
def _read(
    stream: StreamBuilder,
    node: Node,
    operation: PlannedOperation,
    number: int,
    box: TensorBox,
    view: int,
    down: int,
    across: int,
) -> None:
    """Let the operation read a box of an input, which is loaded first if it is not in SRAM; with `down` or
    `across` 0, the same row for all rows, or the same column."""
    location = node.tensors[number]
    if location.space == SRAM:
        where = box_in_tensor(location, box)
    else:
        address, is_fresh = _fill(stream, node, number, box)
        if is_fresh:
            transfer(stream.load, 1, location, box, address, stream.facts[node.step].layer)
            write_load(stream, stream.load)
        where = box_alone(address, box, location.element_bytes)
    _set_view(operation, view, where.start, where.pixel * across, where.line * down)
    add_box_access(operation, box, where, SRAM, 0)


@routine
def _write_output(
    stream: StreamBuilder, node: Node, operation: PlannedOperation, address: int, is_stored: int
) -> None:
    """Let the operation write where the tile goes."""
    output = node.tensors[OUTPUT_TENSOR]
    if is_stored:
        where = box_alone(address, stream.tile, output.element_bytes)
    else:
        where = box_in_tensor(output, stream.tile)
    _use(operation, _OUT, stream.tile, where, 1)


@routine
def _use_accumulator(
    stream: StreamBuilder, node: Node, operation: PlannedOperation, view: int, is_write: int
) -> None:
    """Let the operation read or write the sums of the passes so far."""
    address = node.buffers[ACCUMULATOR].addresses[0]
    _use(operation, view, stream.tile, box_alone(address, stream.tile, ACCUMULATOR_BYTES), is_write)


@routine
def _use(operation: PlannedOperation, view: int, box: TensorBox, where: BoxBytes, is_write: int) -> None:
    """A view of a box in SRAM."""
    _set_view(operation, view, where.start, where.pixel, where.line)
    add_box_access(operation, box, where, SRAM, is_write)


@routine
def _set_view(operation: PlannedOperation, view: int, address: int, pixel: int, line: int) -> None:
    """The three registers of a view, which follow each other."""
    set_register(operation, view, address)
    set_register(operation, view + 1, pixel)
    set_register(operation, view + 2, line)


@routine
def _load_constants(stream: StreamBuilder, node: Node, start: int, depth: int) -> int:
    """Bring the weights and records, or the matrix, or the table, of the tile's channels; their address."""
    tile, box, facts = stream.tile, stream.constants_box, stream.facts[node.step]
    sizes = facts.sizes
    if sizes.has_matrix and node.tensors[MATRIX_TENSOR].space == SRAM:
        matrix = node.tensors[MATRIX_TENSOR]
        return matrix.offset + tile.channel * matrix.line_bytes
    if not constant_bytes(sizes, tile.channels, depth):
        return 0
    if node.places_constants:
        return stream.pieces[node.first_constant + _piece(stream, node, start)].address
    if sizes.table_bytes:
        set_box(box, 0, 0, 0, 0, 0, 0)
    else:
        set_box(box, tile.channel, start, 0, 0, 0, 0)  # no part of a tensor, but told apart like one
    address, is_fresh = _fill(stream, node, CONSTANTS, box)
    if is_fresh and sizes.has_matrix:
        set_box(stream.second_box, tile.channel, 0, start, tile.channels, 1, depth)
        transfer(stream.load, 1, node.tensors[MATRIX_TENSOR], stream.second_box, address, facts.layer)
        write_load(stream, stream.load)
    elif is_fresh:
        load_piece(stream, node, _piece(stream, node, start), address)
    return address


@routine
def _piece(stream: StreamBuilder, node: Node, start: int) -> int:
    """The number of the piece of constants for the tile's channels, from an input channel on."""
    sizes = stream.facts[node.step].sizes
    if sizes.table_bytes:
        return 0
    passes = -(-sizes.depth // node.tile.depth)
    return stream.tile.channel // node.tile.channels * passes + start // node.tile.depth


@routine
def load_piece(stream: StreamBuilder, node: Node, number: int, address: int) -> None:
    """Load a piece of a node's constants."""
    offset, piece = reserve_piece(stream, node, number), piece_bytes(stream, node, number)
    load_bytes(stream, offset, piece, address, stream.facts[node.step].layer)


@routine
def load_bytes(stream: StreamBuilder, offset: int, piece: PieceBytes, address: int, layer: int) -> None:
    """Load bytes of the pool."""
    transfer_bytes(stream.load, _POOL, offset, piece, address, layer)
    write_load(stream, stream.load)


@routine
def reserve_piece(stream: StreamBuilder, node: Node, number: int) -> int:
    """Where a piece of a node's constants is in the pool, which gives it its place when first asked."""
    piece = stream.pieces[node.first_constant + number]
    if piece.offset == NONE:
        piece.offset = stream.pool_bytes
        stream.pool_bytes += pooled(piece_bytes(stream, node, number).in_memory)
    return piece.offset


@routine
def piece_bytes(stream: StreamBuilder, node: Node, number: int) -> PieceBytes:
    """A piece of a node's constants: a group of output channels, in one of the passes."""
    facts = stream.facts[node.step]
    sizes = facts.sizes
    passes = -(-sizes.depth // node.tile.depth)
    channels = min(node.tile.channels, sizes.channels - number // passes * node.tile.channels)
    depth = min(node.tile.depth, sizes.depth - number % passes * node.tile.depth)
    size, piece = constant_bytes(sizes, channels, depth), stream.pieces[node.first_constant + number]
    if piece.coded_steps:
        words = piece.coded_words
        in_memory = size - align(channels * sizes.weight_bytes * depth) + words * CODE_BYTES
        return PieceBytes(size, in_memory, 0, words, piece.coded_steps)
    packed = packed_bytes(sizes, channels, depth) if stream.unpacks else 0
    return PieceBytes(size, size - packed, packed, 0, 0)


@routine
def _read_constants(
    facts: NodeFacts, operation: PlannedOperation, address: int, channels: int, depth: int
) -> None:
    """Let the operation read its constants."""
    sizes = facts.sizes
    if sizes.table_bytes:
        set_register(operation, _TABLE, address)
        add_access(operation, SRAM, address, address + sizes.table_bytes, 0)
        return
    size = channels * sizes.weight_bytes * depth
    if sizes.weight_bytes:
        set_register(operation, _WEIGHTS, address)
        add_access(operation, SRAM, address, address + size, 0)
    if sizes.record_bytes:
        records = address + align(size)
        set_register(operation, _RECORDS, records)
        add_access(operation, SRAM, records, records + channels * sizes.record_bytes, 0)
