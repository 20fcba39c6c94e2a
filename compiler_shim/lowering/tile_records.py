"""The records that the routines on tiles read and fill.

`NodeSizes` and `MachineCosts` hold everything that matters of a node and of a configuration. A `ChannelGroup`
is what tiles of so many output channels over so many input channels share, whatever their rows and columns.
"""

from __future__ import annotations

from dlasim.native.record import Record, array, member, record
from dlasim.sim.formulas import BusCosts, UnitCosts

MAX_CHAIN = 6  # nodes


@record
class NodeSizes(Record):
    """A node's sizes. `depth` is the input channels that one output channel reads, `step` the output channels
    that cannot be parted, `multiplier` those of an input channel where channels stay apart; tensor bytes are
    those of a channel of a pixel that travels, 0 for a tensor that stays in SRAM and where there is none;
    element bytes are the same wherever tensors are; strides are those of whole tensors, in elements, the
    second input's those of a matrix instead. `loaded_weight_bytes` are `weight_bytes`, or 0 for a matrix in
    SRAM. `common` is the greatest common divisor of stride and dilation."""

    height: int = 0
    width: int = 0
    channels: int = 0
    depth: int = 0
    step: int = 0
    multiplier: int = 0
    is_dense: int = 0
    taps: int = 0
    weight_bytes: int = 0
    loaded_weight_bytes: int = 0
    record_bytes: int = 0
    table_bytes: int = 0
    has_matrix: int = 0
    is_matrix_in_sram: int = 0
    input_height: int = 0
    input_width: int = 0
    input_pixel_stride: int = 0
    input_line_stride: int = 0
    second_pixel_stride: int = 0
    second_line_stride: int = 0
    output_pixel_stride: int = 0
    output_line_stride: int = 0
    input_count: int = 0
    kernel_height: int = 0
    kernel_width: int = 0
    dilation_height: int = 0
    dilation_width: int = 0
    common_height: int = 0
    common_width: int = 0
    stride_height: int = 0
    stride_width: int = 0
    window_height: int = 0
    window_width: int = 0
    second_has_rows: int = 0
    second_has_columns: int = 0
    input_bytes: int = 0
    second_bytes: int = 0
    output_bytes: int = 0
    input_element_bytes: int = 0
    output_element_bytes: int = 0


@record
class MachineCosts(Record):
    """A machine as one class of nodes meets it.

    The memory of tensors, that of constants, and that of tensors for stores beside loads of constants, and
    whether all are one; whether transfers share the ports with the units; the unit that computes; whether
    that reads its input again for each group of output channels, and whether each output channel is an
    operation of its own; cycles of a task besides its work, and of each of a task's channels; whether
    estimates assume that loads, computations and stores overlap perfectly, and that the first constants are
    prefetched.
    """

    bus: BusCosts = member(BusCosts)
    constants: BusCosts = member(BusCosts)
    stores: BusCosts = member(BusCosts)
    is_one_memory: int = 0
    dma_shares_ports: int = 1
    unit: UnitCosts = member(UnitCosts)
    is_mac: int = 0
    rereads_input: int = 0
    is_channel_by_channel: int = 0
    task_cycles: int = 0
    channel_cycles: int = 0
    assumes_overlap: int = 0
    assumes_prefetch: int = 0


@record
class Tile(Record):
    """How a node is cut: rows, columns, output and input channels of a tile; whether all pixels of a group of
    channels come before the next group; which buffers that are filled more than once have a second copy."""

    rows: int = 0
    columns: int = 0
    channels: int = 0
    depth: int = 0
    is_channels_outer: int = 0
    is_double: int = 0


@record
class Lines(Record):
    """What one of several tiles takes by its lines: rows, or columns of one row.

    `steady_bytes` are always there; each buffer has bytes of a line and copies; `start` and `slope` are those
    of the straight line that would describe the whole if nothing were rounded up.
    """

    steady_bytes: int = 0
    stride: int = 0
    window: int = 0
    input_lines: int = 0
    input_bytes: int = 0
    input_copies: int = 0
    second_bytes: int = 0
    second_copies: int = 0
    sum_bytes: int = 0
    output_bytes: int = 0
    output_copies: int = 0
    start: int = 0
    slope: int = 0


@record
class ChannelGroup(Record):
    """What tiles of so many channels share.

    How many groups there are, and passes over the input channels; bytes of constants, and of a pixel of the
    inputs, the accumulator and the output; cycles of work over all groups, and of a task besides.
    """

    groups: int = 0
    passes: int = 0
    constant_bytes: int = 0
    input_pixel: int = 0
    second_pixel: int = 0
    sum_pixel: int = 0
    output_pixel: int = 0
    work_cycles: int = 0
    task_cycles: int = 0
    prefetched_pieces: int = 0
    lines: Lines = member(Lines)


@record
class BufferSize(Record):
    """A buffer's size, and how many copies there are of it."""

    size_bytes: int = 0
    copies: int = 0


@record
class BufferSizes(Record):
    """The buffers of two inputs, the constants, the accumulator and the output; 0 bytes for none."""

    buffers: list[BufferSize] = array(BufferSize, 5)
