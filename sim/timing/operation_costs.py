"""What a compute operation costs on its unit, and what it moves through the SRAM's ports.

Routines over the numbers of one operation, for time (`word_costs.py`) and for energy (`sram_words.py`).
`docs/timing-model.md` says what the local buffers keep, and why. Time and energy count the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from dlasim.isa.instruction_rows import RECORD_BYTES, Extent, Instruction, Unit
from dlasim.isa.registers import EXTENT_BITS, MAX_EXTENT, OPERAND_COLUMN
from dlasim.native.record import Record
from dlasim.native.routine import Numbers, routine
from dlasim.sim.programs.footprint import element_bytes, is_present
from dlasim.sim.timing.formulas import (
    UnitCosts,
    block_outputs,
    excess,
    first_fetch_cycles,
    grouped_costs,
    lane_costs,
    lane_cycles,
    lines_moved,
    lines_under,
    pixel_turns,
    port_cycles,
    positions_read,
    row_crossings,
)

_IN_SIZE, _IN_CHANNELS = OPERAND_COLUMN["IN_SIZE"], OPERAND_COLUMN["IN_CHANNELS"]
_OUT_SIZE, _OUT_CHANNELS = OPERAND_COLUMN["OUT_SIZE"], OPERAND_COLUMN["OUT_CHANNELS"]
_KERNEL, _STRIDE, _DILATION = OPERAND_COLUMN["KERNEL"], OPERAND_COLUMN["STRIDE"], OPERAND_COLUMN["DILATION"]
# All that `read_sizes` reads: what an operation costs is remembered by them.
SIZE_REGISTERS = _OUT_SIZE, _IN_SIZE, _KERNEL, _STRIDE, _DILATION, _OUT_CHANNELS, _IN_CHANNELS


class OperationKind(Record):
    """What the word of a compute instruction says of its costs.

    Whether it runs in the MAC unit, has a window, works on each channel apart, and sums over input channels;
    the bytes of an element of the input under a window or in rows, of a weight, and those that it reads and
    writes of an output element; bytes of records of an output channel, and of tables; cycles of the output
    stage for RESULTS_SCALE results.
    """

    is_mac: int = 0
    has_window: int = 0
    is_depthwise: int = 0
    reduces_channels: int = 0
    input_bytes: int = 1
    weight_bytes: int = 1
    read_bytes: int = 0
    written_bytes: int = 0
    record_bytes: int = 0
    table_bytes: int = 0
    result_cycles: int = 0


class OperationSizes(Record):
    """The sizes in the operand registers. `common` is the greatest common divisor of stride and dilation."""

    rows: int = 0
    columns: int = 0
    channels: int = 0
    in_rows: int = 0
    in_columns: int = 0
    in_channels: int = 0
    kernel_rows: int = 0
    kernel_columns: int = 0
    stride_rows: int = 0
    stride_columns: int = 0
    dilation_rows: int = 0
    dilation_columns: int = 0
    common_rows: int = 0
    common_columns: int = 0


def describe_kind(instruction: Instruction, fields: Mapping[str, int], result_cycles: int) -> OperationKind:
    """The kind of an instruction with these values of its fields."""
    kind = OperationKind(result_cycles=result_cycles)
    kind.is_mac, kind.has_window = instruction.unit is Unit.MAC, instruction.has_window
    kind.is_depthwise, kind.reduces_channels = instruction.is_depthwise, instruction.reduces_channels
    for operand in instruction.operands:
        present = is_present(fields, operand)
        size = present * element_bytes(fields, operand)
        match operand.extent:
            case Extent.OUTPUT if operand.writes:
                kind.written_bytes = kind.written_bytes + size
            case Extent.OUTPUT:
                kind.read_bytes = kind.read_bytes + size
            case Extent.INPUT | Extent.ROWS_OF_INPUT:
                kind.input_bytes = size
            case Extent.MATRIX:
                kind.weight_bytes = size
            case Extent.RECORDS:
                kind.record_bytes = present * RECORD_BYTES
            case _:
                kind.table_bytes += operand.extent.table_bytes
    return kind


@routine
def read_sizes(sizes: OperationSizes, file: Numbers) -> None:
    """Take the sizes from the values of the operand registers."""
    sizes.rows, sizes.columns = file[_OUT_SIZE] & MAX_EXTENT, file[_OUT_SIZE] >> EXTENT_BITS
    sizes.in_rows, sizes.in_columns = file[_IN_SIZE] & MAX_EXTENT, file[_IN_SIZE] >> EXTENT_BITS
    sizes.kernel_rows, sizes.kernel_columns = file[_KERNEL] & MAX_EXTENT, file[_KERNEL] >> EXTENT_BITS
    sizes.stride_rows, sizes.stride_columns = file[_STRIDE] & MAX_EXTENT, file[_STRIDE] >> EXTENT_BITS
    sizes.dilation_rows, sizes.dilation_columns = file[_DILATION] & MAX_EXTENT, file[_DILATION] >> EXTENT_BITS
    sizes.channels, sizes.in_channels = file[_OUT_CHANNELS], file[_IN_CHANNELS]
    sizes.common_rows = common_divisor(sizes.stride_rows, sizes.dilation_rows)
    sizes.common_columns = common_divisor(sizes.stride_columns, sizes.dilation_columns)


@routine
def common_divisor(one: int, other: int) -> int:
    """The greatest common divisor."""
    while other:
        one, other = other, one % other
    return one


@routine
def mac_costs(unit: UnitCosts, kind: OperationKind, sizes: OperationSizes) -> tuple[int, int, int, int, int]:
    """Cycles of work of a MAC operation, and beyond that for the output stage and then for the ports; bytes
    through the ports; multiplications. One group of output channels follows the other."""
    pixels, channels = sizes.rows * sizes.columns, sizes.channels
    taps = sizes.kernel_rows * sizes.kernel_columns if kind.has_window else 1
    # Lanes take bytes of weights.
    depth = sizes.in_channels * kind.weight_bytes if kind.reduces_channels else 1
    turns = pixel_turns(unit, sizes.rows, sizes.columns)
    work = lane_cycles(unit, turns, taps, depth, channels) * kind.input_bytes  # a pass over each byte
    by_channel = pixels * channels * (kind.read_bytes + kind.written_bytes) + channels * kind.record_bytes
    each_group = window_bytes(unit, kind, sizes) if kind.has_window else rows_bytes(kind, sizes)
    if kind.is_depthwise:
        by_channel += each_group
        each_group = 0 * each_group
    block_input = first_input(unit, kind, sizes) if unit.in_blocks else 0
    first = first_fetch_cycles(
        unit, channels, pixels, turns, depth * kind.reduces_channels, taps * depth, kind.record_bytes,
        kind.read_bytes + kind.is_depthwise * kind.input_bytes, block_input,
        kind.input_bytes // kind.weight_bytes,
    )  # fmt: skip
    output, stall, moved = grouped_costs(
        unit, channels, pixels, turns, work, each_group, by_channel, taps * depth, kind.written_bytes, first
    )
    return work, output, stall, moved, pixels * channels * taps * depth // kind.weight_bytes


@routine
def vector_costs(unit: UnitCosts, kind: OperationKind, sizes: OperationSizes) -> tuple[int, int, int, int]:
    """The same of a VECTOR operation, which multiplies nothing. A table must be there as a whole before the
    work."""
    pixels, channels = sizes.rows * sizes.columns, sizes.channels
    taps = sizes.kernel_rows * sizes.kernel_columns if kind.has_window else 1
    turns = pixel_turns(unit, sizes.rows, sizes.columns)
    work = lane_cycles(unit, turns, taps, 1, channels)
    read = pixels * channels * kind.read_bytes + channels * kind.record_bytes
    moved = read * row_crossings(unit, channels * kind.read_bytes) + pixels * channels * kind.written_bytes
    if kind.has_window:
        moved += window_bytes(unit, kind, sizes)
    output, stall = lane_costs(
        unit, work, pixels, channels, kind.result_cycles, moved, taps, kind.input_bytes
    )
    stall += port_cycles(unit.port_rate, kind.table_bytes)
    return work, output, stall, moved + kind.table_bytes


@routine
def rows_bytes(kind: OperationKind, sizes: OperationSizes) -> int:
    """Bytes of an input whose pixels are rows of a matrix."""
    return sizes.rows * sizes.columns * sizes.in_channels * kind.input_bytes


@routine
def window_bytes(unit: UnitCosts, kind: OperationKind, sizes: OperationSizes) -> int:
    """Bytes of an input under windows that cross the ports for a group of output channels, or for a VECTOR
    operation."""
    channels = sizes.in_channels
    rows = positions_read(
        sizes.in_rows, sizes.rows, sizes.kernel_rows, sizes.stride_rows, sizes.dilation_rows,
        sizes.common_rows,
    )  # fmt: skip
    columns = positions_read(
        sizes.in_columns, sizes.columns, sizes.kernel_columns, sizes.stride_columns, sizes.dilation_columns,
        sizes.common_columns,
    )  # fmt: skip
    held = channels - excess(channels, unit.output_lanes) if kind.is_depthwise else channels
    span = (sizes.kernel_rows - 1) * sizes.dilation_rows + 1  # lines from the first tap to the last
    span -= excess(span, sizes.in_rows)
    lines = lines_moved(unit, columns * held * kind.input_bytes, rows, span, sizes.rows * sizes.kernel_rows)
    return lines * columns * channels * kind.input_bytes


@routine
def first_input(unit: UnitCosts, kind: OperationKind, sizes: OperationSizes) -> int:
    """Pixels of the input of the first block of pixels."""
    rows, columns = block_outputs(unit, sizes.rows, sizes.columns)
    if not kind.has_window:
        return rows * columns
    window_rows = (sizes.kernel_rows - 1) * sizes.dilation_rows + 1
    window_columns = (sizes.kernel_columns - 1) * sizes.dilation_columns + 1
    lines = lines_under(rows, sizes.stride_rows, window_rows, sizes.in_rows)
    return lines * lines_under(columns, sizes.stride_columns, window_columns, sizes.in_columns)
