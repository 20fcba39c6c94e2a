"""One tile of a node: what to load, to compute and to store. The tile itself is the box TILE of the desk."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.constants import pooled
from dlasim.compiler_shim.lowering.cuts import ACCUMULATOR_BYTES, align, packed_bytes
from dlasim.compiler_shim.lowering.emission.layout import (
    ACCUMULATOR,
    B_ADDRESSES,
    B_COPIES,
    B_HELD,
    B_IS_HELD,
    B_TURN,
    BOX_LENGTH,
    BUFFER_LENGTH,
    CONSTANTS,
    H_BYTES,
    H_SPACE,
    HOME_LENGTH,
    LOAD,
    N_BUFFERS,
    N_DEPTH,
    N_FIRST_WORD,
    N_GROUP,
    N_HAS_TABLE,
    N_HAS_WEIGHTS,
    N_HOMES,
    N_INPUTS,
    N_IS_DENSE,
    N_LAST_WORD,
    N_LAYER,
    N_MIDDLE_WORD,
    N_MULTIPLIER,
    N_OFFSETS,
    N_ONE_BY_ONE,
    N_PAD,
    N_PASS,
    N_REACH,
    N_READS_CHANNELS,
    N_READS_SIZE,
    N_RECORD_BYTES,
    N_SECOND_TALL,
    N_SECOND_WIDE,
    N_SIDE_PAD,
    N_SIDE_REACH,
    N_SIDE_STRIDE,
    N_STRIDE,
    N_TALL,
    N_TENSOR,
    N_UNIT,
    N_UNIT_WEIGHTS,
    N_WIDE,
    N_WORD,
    NONE,
    O_BOX,
    O_MOVES,
    O_NODE,
    O_TENSOR,
    O_WORD,
    OUTPUT,
    OUTPUT_HOME,
    PATCH,
    PIECE,
    POOL_BYTES,
    R_CHANNEL,
    R_CHANNELS,
    R_COLUMN,
    R_COLUMNS,
    R_ROW,
    R_ROWS,
    SECOND,
    SRAM,
    TILE,
    register,
)
from dlasim.compiler_shim.lowering.emission.operations import (
    begin,
    corner,
    pair,
    put,
    put_box,
    touch,
    touch_part,
    transfer,
    transfer_bytes,
)
from dlasim.compiler_shim.lowering.emission.words import in_order
from dlasim.isa.instructions import TABLE_BYTES
from dlasim.isa.registers import Region
from dlasim.native.routine import Numbers, routine

_IN, _IN2, _OUT, _ACC = (register(f"{name}_ADDR") for name in ("IN", "IN2", "OUT", "ACC"))
_OUT_SIZE, _OUT_CHANNELS = register("OUT_SIZE"), register("OUT_CHANNELS")
_IN_SIZE, _IN_CHANNELS, _PAD = register("IN_SIZE"), register("IN_CHANNELS"), register("PAD")
_TABLE, _WEIGHTS, _RECORDS = register("LUT_ADDR"), register("WEIGHT_ADDR"), register("PARAM_ADDR")
_POOL = int(Region.CONSTANTS)


@routine
def place_output(desk: Numbers, node: int, store: int) -> tuple[int, int]:
    """Where the tile's results are computed: the address of a buffer, from which `store` takes them, and
    whether there is one; else they go to where the tensor stays in SRAM."""
    home = node + N_HOMES + OUTPUT_HOME * HOME_LENGTH
    if desk[home + H_SPACE] == SRAM:
        return 0, 0
    address, _ = _hold(desk, node + N_BUFFERS + OUTPUT * BUFFER_LENGTH, TILE)
    transfer(desk, store, 0, home, TILE, address, desk[node + N_LAYER])
    return address, 1


@routine
def tile(
    desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers, offsets: Numbers,
    node: int, operation: int, start: int, depth: int, address: int, is_stored: int,
) -> None:  # fmt: skip
    """Write the loads of the tile over some of the input channels; its computation is left in `operation`."""
    begin(desk, operation, desk[node + N_UNIT], desk[node + N_WORD], desk[node + N_LAYER])
    desk[operation + O_NODE] = node
    padding = _patch(desk, node, start, depth)
    _read(desk, flying, words, spans, slices, node, operation, 0, PATCH, _IN)
    if desk[node + N_INPUTS] > 1:
        _second(desk, node)
        _read(desk, flying, words, spans, slices, node, operation, 1, SECOND, _IN2)
    constants = _load_constants(desk, flying, words, spans, slices, offsets, node, start, depth)

    channels, is_single = desk[TILE + R_CHANNELS], desk[node + N_ONE_BY_ONE]
    is_last = start + depth >= desk[node + N_DEPTH]
    if is_last:
        _write(desk, node, operation, address, is_stored)
    else:
        _see_accumulator(desk, node, operation, _OUT, 1)
    put(desk, operation, _OUT_SIZE, pair(desk[TILE + R_ROWS], desk[TILE + R_COLUMNS]))
    put(desk, operation, _OUT_CHANNELS, 1 if is_single else channels)
    if desk[node + N_READS_CHANNELS]:
        put(desk, operation, _IN_CHANNELS, 1 if is_single else desk[PATCH + R_CHANNELS])
    if desk[node + N_READS_SIZE]:
        put(desk, operation, _IN_SIZE, pair(desk[PATCH + R_ROWS], desk[PATCH + R_COLUMNS]))
        put(desk, operation, _PAD, padding)
    _read_constants(desk, node, operation, constants, channels, depth)
    if start > 0:
        _see_accumulator(desk, node, operation, _ACC, 0)
        desk[operation + O_WORD] = desk[node + (N_LAST_WORD if is_last else N_MIDDLE_WORD)]
    elif not is_last:
        desk[operation + O_WORD] = desk[node + N_FIRST_WORD]
    if is_last:
        desk[operation + O_TENSOR] = desk[node + N_TENSOR]
        for number in range(BOX_LENGTH):
            desk[operation + O_BOX + number] = desk[TILE + number]
    if is_single:
        desk[operation + O_MOVES] = channels
        desk[operation + O_BOX + R_CHANNELS] = 1


@routine
def _patch(desk: Numbers, node: int, start: int, depth: int) -> int:
    """The part of the first input that the tile reads, in PATCH; returns the padding before it."""
    stride, side_stride = desk[node + N_STRIDE], desk[node + N_SIDE_STRIDE]
    top = desk[TILE + R_ROW] * stride - desk[node + N_PAD]
    left = desk[TILE + R_COLUMN] * side_stride - desk[node + N_SIDE_PAD]
    bottom = min(top + (desk[TILE + R_ROWS] - 1) * stride + desk[node + N_REACH], desk[node + N_TALL])
    right = min(
        left + (desk[TILE + R_COLUMNS] - 1) * side_stride + desk[node + N_SIDE_REACH], desk[node + N_WIDE]
    )
    above, before = max(-top, 0), max(-left, 0)
    top, left = top + above, left + before
    first, deep = start, depth
    if not desk[node + N_IS_DENSE]:
        multiplier = desk[node + N_MULTIPLIER]
        first, deep = desk[TILE + R_CHANNEL] // multiplier, -(-desk[TILE + R_CHANNELS] // multiplier)
    put_box(desk, PATCH, top, left, first, bottom - top, right - left, deep)
    return pair(above, before)


@routine
def _second(desk: Numbers, node: int) -> None:
    """The part of the second input that the tile reads, in SECOND."""
    down, across = desk[node + N_SECOND_TALL], desk[node + N_SECOND_WIDE]
    put_box(
        desk, SECOND, desk[TILE + R_ROW] * down, desk[TILE + R_COLUMN] * across, desk[TILE + R_CHANNEL],
        desk[TILE + R_ROWS] if down else 1, desk[TILE + R_COLUMNS] if across else 1, desk[TILE + R_CHANNELS],
    )  # fmt: skip


@routine
def _hold(desk: Numbers, buffer: int, box: int) -> tuple[int, int]:
    """The address of the copy of a buffer that holds this, and whether it has to be brought there first."""
    copies, held = desk[buffer + B_COPIES], buffer + B_HELD
    is_same = desk[buffer + B_IS_HELD]
    for number in range(BOX_LENGTH):
        if desk[held + number] != desk[box + number]:
            is_same = 0
            break
    if is_same:
        return desk[buffer + B_ADDRESSES + (desk[buffer + B_TURN] - 1) % copies], 0
    desk[buffer + B_IS_HELD] = 1
    for number in range(BOX_LENGTH):
        desk[held + number] = desk[box + number]
    address = desk[buffer + B_ADDRESSES + desk[buffer + B_TURN] % copies]
    desk[buffer + B_TURN] += 1
    return address, 1


@routine
def _read(
    desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers,
    node: int, operation: int, which: int, box: int, view: int,
) -> None:  # fmt: skip
    """Let the operation see a box of an input, and load it first if it is not in SRAM."""
    home = node + N_HOMES + which * HOME_LENGTH
    down, across = 1, 1
    if which:
        down, across = desk[node + N_SECOND_TALL], desk[node + N_SECOND_WIDE]
    if desk[home + H_SPACE] == SRAM:
        _see_home(desk, operation, view, home, box, down, across, 0)
        return
    address, is_fresh = _hold(desk, node + N_BUFFERS + which * BUFFER_LENGTH, box)
    if is_fresh:
        transfer(desk, LOAD, 1, home, box, address, desk[node + N_LAYER])
        in_order(desk, flying, words, spans, slices, LOAD)
    _see_buffer(desk, operation, view, address, box, desk[home + H_BYTES], down, across, 0)


@routine
def _write(desk: Numbers, node: int, operation: int, address: int, is_stored: int) -> None:
    """Let the operation see where the tile goes."""
    home = node + N_HOMES + OUTPUT_HOME * HOME_LENGTH
    if is_stored:
        _see_buffer(desk, operation, _OUT, address, TILE, desk[home + H_BYTES], 1, 1, 1)
    else:
        _see_home(desk, operation, _OUT, home, TILE, 1, 1, 1)


@routine
def _see_accumulator(desk: Numbers, node: int, operation: int, view: int, writes: int) -> None:
    """Let the operation see the sums of the passes so far."""
    address = desk[node + N_BUFFERS + ACCUMULATOR * BUFFER_LENGTH + B_ADDRESSES]
    _see_buffer(desk, operation, view, address, TILE, ACCUMULATOR_BYTES, 1, 1, writes)


@routine
def _see_home(
    desk: Numbers, operation: int, view: int, home: int, box: int, down: int, across: int, writes: int
) -> None:
    """A view of a box of a tensor that stays in SRAM."""
    address, pixel, line = corner(desk, home, box)
    _put_view(desk, operation, view, address, pixel * across, line * down)
    touch_part(desk, operation, home, box, SRAM, address, pixel, line, writes)


@routine
def _see_buffer(
    desk: Numbers, operation: int, view: int, address: int, box: int, element_bytes: int,
    down: int, across: int, writes: int,
) -> None:  # fmt: skip
    """A view of a buffer that holds a box."""
    pixel = desk[box + R_CHANNELS] * element_bytes
    line = desk[box + R_COLUMNS] * pixel
    _put_view(desk, operation, view, address, pixel * across, line * down)
    touch(desk, operation, SRAM, address, address + desk[box + R_ROWS] * line, writes, 0, 0, 0)


@routine
def _put_view(desk: Numbers, operation: int, view: int, address: int, pixel: int, line: int) -> None:
    """The three registers of a view, which follow each other."""
    put(desk, operation, view, address)
    put(desk, operation, view + 1, pixel)
    put(desk, operation, view + 2, line)


@routine
def _load_constants(
    desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers, offsets: Numbers,
    node: int, start: int, depth: int,
) -> int:  # fmt: skip
    """Bring the weights and records, or the table, of the tile's channels; their address."""
    channel, channels = desk[TILE + R_CHANNEL], desk[TILE + R_CHANNELS]
    weights, records, has_table = node + N_UNIT_WEIGHTS, node + N_RECORD_BYTES, desk[node + N_HAS_TABLE]
    size = packed_bytes(channels, depth, desk[weights], desk[records], has_table)
    if not size:
        return 0
    if has_table:
        put_box(desk, PIECE, 0, 0, 0, 0, 0, 0)
    else:
        put_box(desk, PIECE, channel, start, 0, 0, 0, 0)
    address, is_fresh = _hold(desk, node + N_BUFFERS + CONSTANTS * BUFFER_LENGTH, PIECE)
    if is_fresh:
        passes = -(-desk[node + N_DEPTH] // desk[node + N_PASS])
        number = channel // desk[node + N_GROUP] * passes + start // desk[node + N_PASS]
        place = desk[node + N_OFFSETS] + number
        if offsets[place] == NONE:
            offsets[place] = desk[POOL_BYTES]
            desk[POOL_BYTES] += pooled(size)
        transfer_bytes(desk, LOAD, _POOL, offsets[place], size, address, desk[node + N_LAYER])
        in_order(desk, flying, words, spans, slices, LOAD)
    return address


@routine
def _read_constants(
    desk: Numbers, node: int, operation: int, address: int, channels: int, depth: int
) -> None:
    """Let the operation see its constants."""
    if desk[node + N_HAS_TABLE]:
        put(desk, operation, _TABLE, address)
        touch(desk, operation, SRAM, address, address + TABLE_BYTES, 0, 0, 0, 0)
        return
    size = channels * desk[node + N_UNIT_WEIGHTS] * depth
    if desk[node + N_HAS_WEIGHTS]:
        put(desk, operation, _WEIGHTS, address)
        touch(desk, operation, SRAM, address, address + size, 0, 0, 0, 0)
    if desk[node + N_RECORD_BYTES]:
        records = address + align(size)
        put(desk, operation, _RECORDS, records)
        touch(desk, operation, SRAM, records, records + channels * desk[node + N_RECORD_BYTES], 0, 0, 0, 0)
