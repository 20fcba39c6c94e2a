"""One operation before it is written: its registers, and the memory that it reads and writes."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.emission.commands import (
    COPY_WORD,
    DECODE_COPIED,
    DECODE_STEPS,
    DECODE_WORD,
    DECODE_WORDS,
    READ_WORD,
    UNPACK_PACKED,
    UNPACK_WORD,
    WRITE_WORD,
    register,
)
from dlasim.compiler_shim.lowering.emission.records import SRAM, PlannedOperation, TensorBox, TensorLocation
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.transfers import transfer_shape
from dlasim.isa.instruction_rows import COPIED_BYTES, PACKED_BYTES, Unit
from dlasim.isa.registers import CURSORS, Region
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import routine

_ARENA, _FIRST_CURSOR = int(Region.ARENA), int(CURSORS[0])
_DMA_IN, _DMA_OUT, _VECTOR = int(Unit.DMA_IN), int(Unit.DMA_OUT), int(Unit.VECTOR)
# The registers of a transfer have the same order in both directions.
_PARTS = (
    "REGION", "OFFSET", "SRAM_ADDR", "RUN_BYTES", "RUNS", "PLANES",
    "RUN_STRIDE", "RUN_SRAM_STRIDE", "PLANE_STRIDE", "PLANE_SRAM_STRIDE",
)  # fmt: skip
_READS = tuple(register(f"DMA_IN_{part}") for part in _PARTS)
_WRITES = tuple(register(f"DMA_OUT_{part}") for part in _PARTS)
_IN, _IN2, _OUT = (register(f"{name}_ADDR") for name in ("IN", "IN2", "OUT"))
_OUT_SIZE, _OUT_CHANNELS = register("OUT_SIZE"), register("OUT_CHANNELS")
_STRIDES = tuple(
    register(f"{name}_{kind}_STRIDE") for name in ("IN", "IN2", "OUT") for kind in ("PIXEL", "ROW")
)


@routine
def pair(first: int, second: int) -> int:
    """Two 16-bit halves as a packed register holds them."""
    return first | second << 16


@routine
def begin(operation: PlannedOperation, unit: int, word: int, layer: int) -> None:
    """An operation without registers and accesses."""
    operation.unit = unit
    operation.word = word
    operation.layer = layer
    operation.node = NONE
    operation.tensor = NONE
    operation.repeats = 1
    operation.register_count = 0
    operation.access_count = 0


@routine
def set_register(operation: PlannedOperation, number: int, value: int) -> None:
    """Add a register with its value."""
    count = operation.register_count
    operation.registers[count] = number
    operation.values[count] = value
    operation.register_count = count + 1


@routine
def add_access(operation: PlannedOperation, space: int, start: int, end: int, is_write: int) -> None:
    """One more access, to all bytes of a range."""
    _add_strided_access(operation, space, start, end, is_write, 0, 0)


@routine
def _add_strided_access(
    operation: PlannedOperation, space: int, start: int, end: int, is_write: int, stride: int, run: int
) -> None:
    count = operation.access_count
    access = operation.accesses[count]
    access.space = space
    access.start = start
    access.end = end
    access.is_write = is_write
    access.stride = stride
    access.phase = start % stride if stride else 0
    access.run = run
    operation.access_count = count + 1


@routine
def set_box(
    box: TensorBox, row: int, column: int, channel: int, rows: int, columns: int, channels: int
) -> None:
    """Fill in a box."""
    box.row = row
    box.column = column
    box.channel = channel
    box.rows = rows
    box.columns = columns
    box.channels = channels


class BoxBytes(NamedTuple):
    """Where the bytes of a box are: where it begins, how many there are from a pixel to the next and from a
    row to the next, and how many of a pixel belong to it."""

    start: int
    pixel: int
    line: int
    part: int


@routine
def box_in_tensor(location: TensorLocation, box: TensorBox) -> BoxBytes:
    """The bytes of a box within its tensor."""
    pixel, line = location.pixel_bytes, location.line_bytes
    start = location.offset + box.row * line + box.column * pixel + box.channel * location.element_bytes
    return BoxBytes(start, pixel, line, box.channels * location.element_bytes)


@routine
def box_alone(address: int, box: TensorBox, element_bytes: int) -> BoxBytes:
    """The bytes of a dense copy of a box."""
    pixel = box.channels * element_bytes
    return BoxBytes(address, pixel, box.columns * pixel, pixel)


@routine
def _box_end(box: TensorBox, where: BoxBytes) -> int:
    """One past its last byte."""
    return where.start + (box.rows - 1) * where.line + (box.columns - 1) * where.pixel + where.part


@routine
def add_box_access(
    operation: PlannedOperation, box: TensorBox, where: BoxBytes, space: int, is_write: int
) -> None:
    """One more access, to a box."""
    end = _box_end(box, where)
    if where.part < where.pixel and where.line % where.pixel == 0:
        _add_strided_access(operation, space, where.start, end, is_write, where.pixel, where.part)
    else:
        add_access(operation, space, where.start, end, is_write)


@routine
def transfer(
    operation: PlannedOperation,
    is_read: int,
    location: TensorLocation,
    box: TensorBox,
    address: int,
    layer: int,
) -> None:
    """Between a box of a tensor in system memory and a dense copy in SRAM. At a cursor it may be anywhere
    within reach."""
    where = box_in_tensor(location, box)
    run, runs, stride, planes = transfer_shape(box.rows, box.columns, where.part, where.pixel, where.line)
    total = run * runs * planes
    _begin_transfer(operation, is_read, layer, location.space, where.start, address)
    _shape(operation, is_read, run, runs, stride, planes, where.line)
    add_access(operation, SRAM, address, address + total, is_read)
    if location.space >= _FIRST_CURSOR:
        end = _box_end(box, where) + location.reach
        add_access(operation, _ARENA, where.start, end, 1 - is_read)
    else:
        add_box_access(operation, box, where, location.space, 1 - is_read)


class PieceBytes(NamedTuple):
    """A piece of constants: its bytes in SRAM and in memory; of those in memory the first `packed` become
    twice as many, or so many `words` are decoded in `steps`."""

    in_sram: int
    in_memory: int
    packed: int
    words: int
    steps: int


@routine
def transfer_bytes(
    operation: PlannedOperation, space: int, offset: int, piece: PieceBytes, address: int, layer: int
) -> None:
    """As `transfer`, for a piece of constants, into SRAM."""
    _begin_transfer(operation, 1, layer, space, offset, address)
    if piece.packed:
        operation.word = UNPACK_WORD + (piece.packed // PACKED_BYTES << UNPACK_PACKED)
    if piece.steps:
        copied = (piece.in_memory - piece.words * CODE_BYTES) // COPIED_BYTES
        operation.word = DECODE_WORD + (piece.words << DECODE_WORDS)
        operation.word += (piece.steps << DECODE_STEPS) + (copied << DECODE_COPIED)
    _shape(operation, 1, piece.in_sram, 1, 0, 1, 0)
    add_access(operation, SRAM, address, address + piece.in_sram, 1)
    add_access(operation, space, offset, offset + piece.in_memory, 0)


@routine
def _begin_transfer(
    operation: PlannedOperation, is_read: int, layer: int, space: int, offset: int, address: int
) -> None:
    if is_read:
        begin(operation, _DMA_IN, READ_WORD, layer)
    else:
        begin(operation, _DMA_OUT, WRITE_WORD, layer)
    names = _READS if is_read else _WRITES
    set_register(operation, names[0], space)
    set_register(operation, names[1], offset)
    set_register(operation, names[2], address)


@routine
def _shape(
    operation: PlannedOperation, is_read: int, run: int, runs: int, stride: int, planes: int, line: int
) -> None:
    names = _READS if is_read else _WRITES
    set_register(operation, names[3], run)
    set_register(operation, names[4], runs)
    set_register(operation, names[5], planes)
    if runs > 1:
        set_register(operation, names[6], stride)
        set_register(operation, names[7], run)
    if planes > 1:
        set_register(operation, names[8], line)
        set_register(operation, names[9], run * runs)


@routine
def copy(operation: PlannedOperation, layer: int, source: int, address: int, size: int) -> None:
    """Bytes within SRAM, by the larger of a value and itself."""
    begin(operation, _VECTOR, COPY_WORD, layer)
    set_register(operation, _IN, source)
    set_register(operation, _IN2, source)
    set_register(operation, _OUT, address)
    set_register(operation, _OUT_SIZE, pair(1, 1))
    set_register(operation, _OUT_CHANNELS, size)
    for number in _STRIDES:
        set_register(operation, number, size)
    add_access(operation, SRAM, source, source + size, 0)
    add_access(operation, SRAM, address, address + size, 1)
