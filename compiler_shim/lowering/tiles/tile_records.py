"""The records that the routines on tiles read and fill.

`NodeSizes` and `MachineCosts` hold all that routines need of a node and of a configuration. A `ChannelGroup`
holds what tiles with the same numbers of output and input channels share, whatever their rows and columns.
"""

from __future__ import annotations

from dlasim.native.record import Record, array, member
from dlasim.sim.timing.formulas import BusCosts, UnitCosts

MAX_CHAIN = 6  # nodes
BUFFERS = 5  # of a node
INPUT, SECOND_INPUT, CONSTANTS, ACCUMULATOR, OUTPUT = range(BUFFERS)
INFINITE = 1 << 62  # more than any budget of bytes, and any estimate of cycles


class NodeSizes(Record):
    """A node's sizes.

    `depth`: input channels that one output channel reads. `step`: output channels that must stay in one tile.
    `multiplier`: output channels per input channel, if channels stay separate. `input_bytes`, `second_bytes`
    and `output_bytes`: bytes to transfer for each channel of a pixel; 0 if the tensor stays in SRAM or does
    not exist. Element bytes do not depend on where a tensor is. Strides are in elements of the whole tensor;
    those of the second input are the matrix's if there is one. `loaded_weight_bytes`: `weight_bytes`, or 0
    for a matrix in SRAM. `packs_weights`: whether they may be packed in memory; `code_parts`: if
    not 0, compressed ones take as many of CODE_PARTS of their time. `keeps_constants`: whether weights,
    records and table stay in SRAM. `common`: greatest common divisor of stride and dilation.
    """

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
    packs_weights: int = 0
    code_parts: int = 0
    record_bytes: int = 0
    table_bytes: int = 0
    has_matrix: int = 0
    is_matrix_in_sram: int = 0
    keeps_constants: int = 0
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
    pad_top: int = 0
    window_height: int = 0
    window_width: int = 0
    second_has_rows: int = 0
    second_has_columns: int = 0
    input_bytes: int = 0
    second_bytes: int = 0
    output_bytes: int = 0
    input_element_bytes: int = 0
    output_element_bytes: int = 0


class MachineCosts(Record):
    """The cost model of a machine for one class of nodes.

    `bus`, `constants`: the memories of tensors and of constants. `stores`: the memory of tensors, while
    constants are loaded. `is_one_memory`: whether all three are the same memory. `dma_shares_ports`: whether
    transfers share the ports with the units. `unit`: the unit that computes. `rereads_input`: whether it
    reads its input again for each group of output channels. `is_channel_by_channel`: whether each output
    channel is an operation of its own. `task_cycles`, `channel_cycles`: cycles of a task in addition to its
    work, and of each of its channels. `assumes_overlap`: whether estimates assume that loads, computations
    and stores overlap perfectly. `assumes_prefetch`: whether they also assume that the first constants have
    been prefetched. `byte_price`: what a byte over the bus counts, in 1/1024 of a cycle, beside its time.
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
    byte_price: int = 0


class Tile(Record):
    """How a node is cut: rows, columns, output and input channels of a tile; whether all pixels of a group of
    channels come before the next group; which buffers that are filled more than once have a second copy."""

    rows: int = 0
    columns: int = 0
    channels: int = 0
    depth: int = 0
    is_channels_outer: int = 0
    buffering: int = 0


class ChannelGroup(Record):
    """What tiles with the same numbers of channels share.

    The number of groups, and of passes over the input channels; bytes of constants, what they take less
    in memory if weights are packed or compressed, and bytes of a pixel of the inputs, the accumulator and
    the output; cycles of work over all groups, and of a task in addition; and what `task_traffic` says of
    tiles with as many rows and columns as the last.
    """

    groups: int = 0
    passes: int = 0
    constant_bytes: int = 0
    packed_bytes: int = 0
    spared_bytes: int = 0
    input_pixel: int = 0
    second_pixel: int = 0
    sum_pixel: int = 0
    output_pixel: int = 0
    work_cycles: int = 0
    task_cycles: int = 0
    prefetched_pieces: int = 0
    traffic_rows: int = 0
    traffic_columns: int = 0
    stall: int = 0
    moved: int = 0


class BufferSize(Record):
    """A buffer's size, and how many copies there are of it."""

    size_bytes: int = 0
    copies: int = 0


class BufferSizes(Record):
    """The buffers of two inputs, the constants, the accumulator and the output; 0 bytes for none."""

    buffers: list[BufferSize] = array(BufferSize, BUFFERS)
