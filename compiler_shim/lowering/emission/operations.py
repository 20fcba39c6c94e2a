"""One operation in the making: its registers in the order in which they are written, and what it touches."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.emission.layout import (
    COPY_WORD,
    H_BYTES,
    H_CHANNELS,
    H_OFFSET,
    H_SPACE,
    H_WIDTH,
    N_LAYER,
    NONE,
    O_LAYER,
    O_MOVES,
    O_NODE,
    O_PAIRS,
    O_REGISTERS,
    O_TENSOR,
    O_TOUCH,
    O_TOUCHES,
    O_UNIT,
    O_WORD,
    R_CHANNEL,
    R_CHANNELS,
    R_COLUMN,
    R_COLUMNS,
    R_ROW,
    R_ROWS,
    READ_WORD,
    SRAM,
    T_END,
    T_PHASE,
    T_RUN,
    T_SPACE,
    T_START,
    T_STRIDE,
    T_WRITES,
    TOUCH_LENGTH,
    WRITE_WORD,
    register,
)
from dlasim.isa.instructions import Unit
from dlasim.native.routine import Numbers, routine

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
def begin(desk: Numbers, operation: int, unit: int, word: int, layer: int) -> None:
    """An operation without registers and touches."""
    desk[operation + O_UNIT] = unit
    desk[operation + O_WORD] = word
    desk[operation + O_LAYER] = layer
    desk[operation + O_NODE] = NONE
    desk[operation + O_TENSOR] = NONE
    desk[operation + O_MOVES] = 1
    desk[operation + O_REGISTERS] = 0
    desk[operation + O_TOUCHES] = 0


@routine
def put(desk: Numbers, operation: int, number: int, value: int) -> None:
    """One more register."""
    count = desk[operation + O_REGISTERS]
    at = operation + O_PAIRS + 2 * count
    desk[at], desk[at + 1] = number, value
    desk[operation + O_REGISTERS] = count + 1


@routine
def touch(
    desk: Numbers, operation: int, space: int, start: int, end: int, writes: int,
    stride: int, phase: int, run: int,
) -> None:  # fmt: skip
    """One more touch."""
    count = desk[operation + O_TOUCHES]
    at = operation + O_TOUCH + TOUCH_LENGTH * count
    desk[at + T_SPACE], desk[at + T_START], desk[at + T_END], desk[at + T_WRITES] = space, start, end, writes
    desk[at + T_STRIDE], desk[at + T_PHASE], desk[at + T_RUN] = stride, phase, run
    desk[operation + O_TOUCHES] = count + 1


@routine
def put_box(
    desk: Numbers, box: int, row: int, column: int, channel: int, rows: int, columns: int, channels: int
) -> None:
    """Write a box."""
    desk[box + R_ROW], desk[box + R_COLUMN], desk[box + R_CHANNEL] = row, column, channel
    desk[box + R_ROWS], desk[box + R_COLUMNS], desk[box + R_CHANNELS] = rows, columns, channels


@routine
def corner(desk: Numbers, home: int, box: int) -> tuple[int, int, int]:
    """Where a box of a tensor begins, and the bytes from a pixel to the next, and from a row to the next."""
    size = desk[home + H_BYTES]
    pixel = desk[home + H_CHANNELS] * size
    line = desk[home + H_WIDTH] * pixel
    inside = desk[box + R_ROW] * line + desk[box + R_COLUMN] * pixel + desk[box + R_CHANNEL] * size
    return desk[home + H_OFFSET] + inside, pixel, line


@routine
def touch_part(
    desk: Numbers,
    operation: int,
    home: int,
    box: int,
    space: int,
    start: int,
    pixel: int,
    line: int,
    writes: int,
) -> None:
    """Touch a box of a tensor that begins at `start`."""
    part = desk[box + R_CHANNELS] * desk[home + H_BYTES]
    end = start + (desk[box + R_ROWS] - 1) * line + (desk[box + R_COLUMNS] - 1) * pixel + part
    if part < pixel:
        touch(desk, operation, space, start, end, writes, pixel, start % pixel, part)
    else:
        touch(desk, operation, space, start, end, writes, 0, 0, 0)


@routine
def transfer(
    desk: Numbers, operation: int, brings: int, home: int, box: int, address: int, layer: int
) -> None:
    """Between a box of a tensor in system memory and a dense copy in SRAM."""
    offset, pixel, line = corner(desk, home, box)
    columns, rows = desk[box + R_COLUMNS], desk[box + R_ROWS]
    run, runs, stride, planes = desk[box + R_CHANNELS] * desk[home + H_BYTES], columns, pixel, rows
    total = run * columns * rows
    if run == pixel:
        run, runs, stride, planes = run * runs, planes, line, 1
        if run == line:
            run, runs = run * runs, 1
    elif runs * pixel == line or planes == 1:
        runs, planes = runs * planes, 1
    space = desk[home + H_SPACE]
    _begin_transfer(desk, operation, brings, layer, space, offset, address)
    _shape(desk, operation, brings, run, runs, stride, planes, line)
    touch(desk, operation, SRAM, address, address + total, brings, 0, 0, 0)
    touch_part(desk, operation, home, box, space, offset, pixel, line, 1 - brings)


@routine
def transfer_bytes(
    desk: Numbers, operation: int, space: int, offset: int, size: int, address: int, layer: int
) -> None:
    """As `transfer`, for bytes without a shape, into SRAM."""
    _begin_transfer(desk, operation, 1, layer, space, offset, address)
    _shape(desk, operation, 1, size, 1, 0, 1, 0)
    touch(desk, operation, SRAM, address, address + size, 1, 0, 0, 0)
    touch(desk, operation, space, offset, offset + size, 0, 0, 0, 0)


@routine
def _begin_transfer(
    desk: Numbers, operation: int, brings: int, layer: int, space: int, offset: int, address: int
) -> None:
    if brings:
        begin(desk, operation, _DMA_IN, READ_WORD, layer)
    else:
        begin(desk, operation, _DMA_OUT, WRITE_WORD, layer)
    names = _READS if brings else _WRITES
    put(desk, operation, names[0], space)
    put(desk, operation, names[1], offset)
    put(desk, operation, names[2], address)


@routine
def _shape(
    desk: Numbers, operation: int, brings: int, run: int, runs: int, stride: int, planes: int, line: int
) -> None:
    names = _READS if brings else _WRITES
    put(desk, operation, names[3], run)
    put(desk, operation, names[4], runs)
    put(desk, operation, names[5], planes)
    if runs > 1:
        put(desk, operation, names[6], stride)
        put(desk, operation, names[7], run)
    if planes > 1:
        put(desk, operation, names[8], line)
        put(desk, operation, names[9], run * runs)


@routine
def copy(desk: Numbers, operation: int, node: int, source: int, address: int, size: int) -> None:
    """Bytes within SRAM, by the larger of a value and itself."""
    begin(desk, operation, _VECTOR, COPY_WORD, desk[node + N_LAYER])
    put(desk, operation, _IN, source)
    put(desk, operation, _IN2, source)
    put(desk, operation, _OUT, address)
    put(desk, operation, _OUT_SIZE, pair(1, 1))
    put(desk, operation, _OUT_CHANNELS, size)
    for number in _STRIDES:
        put(desk, operation, number, size)
    touch(desk, operation, SRAM, source, source + size, 0, 0, 0, 0)
    touch(desk, operation, SRAM, address, address + size, 1, 0, 0, 0)
