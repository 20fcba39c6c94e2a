"""What emission works on: tensors, buffers, nodes, operations, and the command stream so far."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.tile_records import MAX_CHAIN
from dlasim.isa import registers
from dlasim.isa.instructions import UNITS
from dlasim.native.record import Record, Records, array, member, pointer, record
from dlasim.native.routine import Numbers

SRAM = -1  # the space of SRAM addresses; regions are spaces 0 and up
NONE = -1

MAX_REGISTERS = 24  # that one operation sets
MAX_FIXED = 16  # that stay the same over all tiles of a node
MAX_ACCESSES = 6

CONSTANTS, ACCUMULATOR, OUTPUT = 2, 3, 4  # a node's buffers, after those of two inputs
MATRIX_TENSOR, OUTPUT_TENSOR = 1, 2  # a node's tensors; a matrix is there instead of a second input


@record
class TensorBox(Record):
    """Part of a tensor: first row, column and channel, and how many of each."""

    row: int = 0
    column: int = 0
    channel: int = 0
    rows: int = 0
    columns: int = 0
    channels: int = 0


@record
class MemoryAccess(Record):
    """Bytes [start, end) of a space that an operation reads or writes.

    With a stride: of those only `run` bytes from `phase` on, within every stride.
    """

    space: int = 0
    start: int = 0
    end: int = 0
    is_write: int = 0
    stride: int = 0
    phase: int = 0
    run: int = 0


@record
class PlannedOperation(Record):
    """An operation before it is written: its registers in the order in which they are set, and its accesses.

    It is repeated `repeats` times, each time one channel further.
    """

    unit: int = 0
    word: int = 0
    layer: int = 0
    node: int = 0
    tensor: int = 0
    box: TensorBox = member(TensorBox)
    repeats: int = 0
    register_count: int = 0
    registers: list[int] = array(int, MAX_REGISTERS)
    values: list[int] = array(int, MAX_REGISTERS)
    access_count: int = 0
    accesses: list[MemoryAccess] = array(MemoryAccess, MAX_ACCESSES)


@record
class InFlight(Record):
    """An operation that no WAIT has shown to be complete: its number on its unit, and the next older one."""

    older: int = 0
    number: int = 0
    access_count: int = 0
    accesses: list[MemoryAccess] = array(MemoryAccess, MAX_ACCESSES)


@record
class TensorLocation(Record):
    """Where a tensor lies: at an SRAM address, or at an offset of a region, with so many bytes from a pixel
    to the next and from a row to the next."""

    space: int = NONE
    offset: int = NONE
    pixel_bytes: int = NONE
    line_bytes: int = NONE
    element_bytes: int = NONE


@record
class Buffer(Record):
    """A buffer of a node with up to two copies. The first `ahead` fills come ahead of their tasks, at the
    stream's `ahead_addresses` from `first_constant` on. The last fill is at `filled` and holds `held`."""

    copies: int = 1
    ahead: int = 0
    first_constant: int = 0
    addresses: list[int] = array(int, 2)
    fills: int = 0
    is_filled: int = 0
    filled: int = 0
    held: TensorBox = member(TensorBox)


@record
class Node(Record):
    """A node as it is cut: sizes of its output and of a tile, what it reads, its instruction words."""

    number: int = 0  # in its chain
    height: int = 0
    width: int = 0
    channels: int = 0
    depth: int = 0
    tile_rows: int = 0
    tile_columns: int = 0
    tile_channels: int = 0
    tile_depth: int = 0
    is_channels_outer: int = 0
    input_height: int = 0
    input_width: int = 0
    stride_height: int = 0
    stride_width: int = 0
    pad_top: int = 0
    pad_left: int = 0
    window_height: int = 0
    window_width: int = 0
    is_dense: int = 0
    channel_multiplier: int = 0
    is_one_by_one: int = 0
    inputs: int = 0
    second_has_rows: int = 0
    second_has_columns: int = 0
    table_bytes: int = 0
    has_weights: int = 0
    has_matrix: int = 0
    record_bytes: int = 0
    weight_bytes: int = 0
    reads_channels: int = 0
    reads_size: int = 0
    unit: int = 0
    word: int = 0
    first_word: int = 0
    middle_word: int = 0
    last_word: int = 0
    layer: int = 0
    tensor: int = 0
    first_constant: int = 0
    fixed_count: int = 0
    fixed_registers: list[int] = array(int, MAX_FIXED)
    fixed_values: list[int] = array(int, MAX_FIXED)
    tensors: list[TensorLocation] = array(TensorLocation, 3)
    buffers: list[Buffer] = array(Buffer, 5)


@record
class StripeRows(Record):
    """What one node of a chain does in a stripe: computes rows [first, end); before that the buffer of its
    output, which began at row `old_base`, is made to begin at `base`, by moving `kept` rows."""

    first: int = 0
    end: int = 0
    old_base: int = 0
    base: int = 0
    kept: int = 0


@record
class Load(Record):
    """Constants that are loaded for a later task: after the computations of which task, from which offset in
    the pool, how many bytes, and to which address."""

    task: int = 0
    offset: int = 0
    size_bytes: int = 0
    address: int = 0
    layer: int = 0


@record
class Span(Record):
    """Words that belong to one layer."""

    first: int = 0
    count: int = 0
    layer: int = 0


@record
class Slice(Record):
    """What a compute instruction writes of a tensor."""

    word: int = 0
    tensor: int = 0
    box: TensorBox = member(TensorBox)


@record
class StreamBuilder(Record):
    """The command stream so far, the nodes at hand, and the operations that are being made.

    `deferred_store` is the store that is put off, `configured_node` the node whose fixed registers are set,
    `free_slot` the first free slot of `in_flight`, of which `used_slots` were ever used. Each unit has its
    newest operation in flight, and how many operations were issued to it. A chain is computed in `groups` of
    channels, or in stripes where that is 0. Of `load_count` loads for later tasks, `next_load` is the next.
    """

    word_count: int = 0
    span_count: int = 0
    slice_count: int = 0
    pool_bytes: int = 0
    is_open: int = 0
    deferred_store: int = 0
    configured_node: int = 0
    keeps_slices: int = 0
    fingerprint: int = 0
    free_slot: int = 0
    used_slots: int = 0
    newest: list[int] = array(int, len(UNITS))
    issued: list[int] = array(int, len(UNITS))
    register_file: list[int] = array(int, len(registers.OPERANDS))
    tile: TensorBox = member(TensorBox)
    input_box: TensorBox = member(TensorBox)
    second_box: TensorBox = member(TensorBox)
    constants_box: TensorBox = member(TensorBox)
    load: PlannedOperation = member(PlannedOperation)
    stores: list[PlannedOperation] = array(PlannedOperation, 2)
    computes: list[PlannedOperation] = array(PlannedOperation, 2 * MAX_CHAIN)
    nodes: list[Node] = array(Node, MAX_CHAIN)
    groups: int = 0
    load_count: int = 0
    next_load: int = 0
    between_addresses: list[int] = array(int, MAX_CHAIN)
    stripes: Records[StripeRows] = pointer(StripeRows)
    loads: Records[Load] = pointer(Load)
    in_flight: Records[InFlight] = pointer(InFlight)
    words: Numbers = pointer(int)
    spans: Records[Span] = pointer(Span)
    slices: Records[Slice] = pointer(Slice)
    constant_offsets: Numbers = pointer(int)
    ahead_addresses: Numbers = pointer(int)
