"""What emission works on: tensors, buffers, nodes, operations, and the command stream so far."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.compiler_shim.lowering.segments.stripe_search import ChainSearch
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_records import BUFFERS, MAX_CHAIN, NodeSizes, Tile
from dlasim.isa import registers
from dlasim.isa.instruction_rows import UNITS
from dlasim.native.record import Record, Records, array, member, pointer
from dlasim.native.routine import Numbers

SRAM = -1  # the space of SRAM addresses; regions are spaces 0 and up

MAX_REGISTERS = 24  # that one operation sets
MAX_FIXED = 20  # that stay the same over all tiles of a node
MAX_ACCESSES = 6
MAX_PUT_OFF = 8  # computations that wait while loads go first; those of a task may come on top
OF_A_TASK = 2 * MAX_CHAIN  # computations at most, with moves of rows
COMPUTATIONS = MAX_PUT_OFF + 2 * OF_A_TASK + 1  # with half a task that is written, and the store before it

TENSORS = 3  # of a node; a matrix is there instead of a second input
MATRIX_TENSOR, OUTPUT_TENSOR = 1, 2


class TensorBox(Record):
    """Part of a tensor: first row, column and channel, and how many of each."""

    row: int = 0
    column: int = 0
    channel: int = 0
    rows: int = 0
    columns: int = 0
    channels: int = 0


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


class InFlight(Record):
    """An operation that no WAIT has shown to be complete: its number on its unit, and the next older one."""

    older: int = 0
    number: int = 0
    access_count: int = 0
    accesses: list[MemoryAccess] = array(MemoryAccess, MAX_ACCESSES)


class TensorLocation(Record):
    """Where a tensor is: at an SRAM address, or at an offset in a region; its strides, in bytes from a pixel
    to the next and from a row to the next; and by how many bytes the region may move."""

    space: int = NONE
    offset: int = NONE
    pixel_bytes: int = NONE
    line_bytes: int = NONE
    element_bytes: int = NONE
    reach: int = 0


class Place(Record):
    """Where a value is: its space, its offset there, and by how many bytes the space may move."""

    space: int = NONE
    offset: int = 0
    reach: int = 0


class Buffer(Record):
    """A buffer of a node with up to two copies."""

    copies: int = 1
    addresses: list[int] = array(int, 2)


class BufferFill(Record):
    """How often a buffer was filled. The last fill is at `address` and holds `box`."""

    count: int = 0
    address: int = 0
    box: TensorBox = member(TensorBox)


class NodeFacts(Record):
    """What is the same of a node however it is cut and wherever its tensors are: its sizes, over how many
    output and input channels its constants are, 0 where it has none, how its tensors lie in the values whose
    numbers are in the place of spaces, what it reads, its instruction words, and the registers that stay the
    same over all tiles."""

    sizes: NodeSizes = member(NodeSizes)
    constant_channels: int = 0
    constant_depth: int = 0
    layouts: Sequence[TensorLocation] = array(TensorLocation, TENSORS)
    pad_left: int = 0
    is_channel_by_channel: int = 0
    input_view: int = 0
    second_view: int = 0
    reads_channels: int = 0
    reads_size: int = 0
    unit: int = 0
    word: int = 0
    first_word: int = 0
    middle_word: int = 0
    last_word: int = 0
    layer: int = 0
    tensor: int = 0
    fixed_count: int = 0
    fixed_registers: Sequence[int] = array(int, MAX_FIXED)
    fixed_values: Sequence[int] = array(int, MAX_FIXED)


class Node(Record):
    """A node as a plan has it: its tile, tensors and buffers, and how far the buffers are filled.

    The pieces of its constants are those from `first_constant` on. The first `prefetched` of them are loaded
    before their tasks; all have places of their own where it `places_constants`. In a chain, what lies
    between it and the next node is at `between_address`.
    """

    step: int = 0
    problem: int = 0
    first_constant: int = 0
    prefetched: int = 0
    places_constants: int = 0
    between_address: int = 0
    tile: Tile = member(Tile)
    buffers: list[Buffer] = array(Buffer, BUFFERS)
    tensors: list[TensorLocation] = array(TensorLocation, TENSORS)
    fills: list[BufferFill] = array(BufferFill, BUFFERS)


class Piece(Record):
    """A piece of constants: its offset among them, where it is in SRAM if it is loaded early or stays there,
    and the words and steps in which it is decoded, if it is compressed."""

    offset: int = NONE
    address: int = 0
    coded_words: int = 0
    coded_steps: int = 0


class Load(Record):
    """Some pieces of a node's constants that are loaded after a task of a segment, for later tasks."""

    segment: int = 0
    step: int = 0
    task: int = 0
    first: int = 0
    pieces: int = 0


class EmittedSegment(Record):
    """A node or a chain of several, from `step` on; without any, loads alone, or else the end of the stream.

    A chain is computed in `groups` of channels, or in stripes of `stripe_rows` rows where that is 0.
    `is_load_first`: its tasks are computed after tasks that follow are loaded. `operations`
    are the most that a task takes, with all loads for later tasks.
    """

    step: int = 0
    nodes: int = 0
    tasks: int = 0
    groups: int = 0
    stripe_rows: int = 0
    first_load: int = 0
    loads: int = 0
    is_load_first: int = 0
    operations: int = 0


class Span(Record):
    """Words that belong to one layer."""

    first: int = 0
    count: int = 0
    layer: int = 0


class Slice(Record):
    """What a compute instruction writes of a tensor."""

    word: int = 0
    tensor: int = 0
    box: TensorBox = member(TensorBox)


class StreamBuilder(Record):
    """The command streams so far, the segments to be written, and the operations that are being made.

    Of `segment_count` segments `segment` is the next, and `task` its next task; of its loads for later tasks
    `load_number` is the next. There is room until `operation_count` is `operation_limit`. `deferred_store` is
    the store that is put off. From `oldest` on, so many computations are `put_off`, each with its store,
    whether it ends its task, and how many loads were issued before it; at most `most_ahead` loads overtake
    one. `configured_node` is the node whose fixed registers are set, `free_slot` the first free slot of
    `in_flight`, of which `used_slots` were ever used. Each unit has its newest operation in flight, and how
    many operations were issued to it. `chain` says which rows of a chain come next. `unpacks`: whether the
    machine can. Facts and nodes are there by step of the network. Each stream has the word after its last in
    `ends`. Host calls before a stream read the `pooled` constants up to each of `pooled_ends`, the last ones
    after all streams; before these streams there are so many `preloads`.
    """

    stream_count: int = 0
    word_count: int = 0
    span_count: int = 0
    slice_count: int = 0
    pool_bytes: int = 0
    operation_count: int = 0
    operation_limit: int = 0
    segment_count: int = 0
    segment: int = 0
    task: int = 0
    load_number: int = 0
    is_open: int = 0
    deferred_store: int = 0
    oldest: int = 0
    put_off: int = 0
    most_ahead: int = 0
    is_stored: list[int] = array(int, COMPUTATIONS)
    ends_task: list[int] = array(int, COMPUTATIONS)
    loads_before: list[int] = array(int, COMPUTATIONS)
    configured_node: int = 0
    keeps_slices: int = 0
    fingerprint: int = 0
    unpacks: int = 0
    preloads: int = 0
    free_slot: int = 0
    used_slots: int = 0
    newest: list[int] = array(int, len(UNITS))
    issued: list[int] = array(int, len(UNITS))
    register_file: list[int] = array(int, len(registers.OPERANDS))
    tile: TensorBox = member(TensorBox)
    input_box: TensorBox = member(TensorBox)
    second_box: TensorBox = member(TensorBox)
    constants_box: TensorBox = member(TensorBox)
    chain: ChainSearch = member(ChainSearch)
    load: PlannedOperation = member(PlannedOperation)
    stores: list[PlannedOperation] = array(PlannedOperation, COMPUTATIONS)
    computes: list[PlannedOperation] = array(PlannedOperation, COMPUTATIONS)
    facts: Records[NodeFacts] = pointer(NodeFacts)
    nodes: Records[Node] = pointer(Node)
    places: Records[Place] = pointer(Place)
    segments: Records[EmittedSegment] = pointer(EmittedSegment)
    ends: Numbers = pointer(int)
    pooled: Numbers = pointer(int)
    pooled_ends: Numbers = pointer(int)
    value_bytes: Numbers = pointer(int)
    loads: Records[Load] = pointer(Load)
    in_flight: Records[InFlight] = pointer(InFlight)
    words: Numbers = pointer(int)
    spans: Records[Span] = pointer(Span)
    slices: Records[Slice] = pointer(Slice)
    pieces: Records[Piece] = pointer(Piece)
