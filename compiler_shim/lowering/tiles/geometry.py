"""What matters of a node for cutting it into tiles, whatever the machine.

There is one geometry for each shape of node and location of its tensors, since layers repeat, and in a sweep
machines do. Its sizes are what the routines on tiles read.
"""

from __future__ import annotations

from functools import cache, cached_property
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode, Pair, Shape
from dlasim.compiler_shim.calls.views import dense_layout
from dlasim.compiler_shim.lowering.tiles import tile_buffers
from dlasim.compiler_shim.lowering.tiles.tile_records import BufferSizes, ChannelGroup, NodeSizes, Tile
from dlasim.isa.instruction_rows import RECORD_BYTES
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.named_tuple import NamedTuple

Buffers = tuple[tuple[int, int], ...]


class InSram(NamedTuple):
    """Which of a node's tensors stay in SRAM, and whether its constants are there from the first inference
    on; the others are in system memory."""

    inputs: tuple[bool, ...]
    output: bool
    matrix: bool = False
    constants: bool = False

    @property
    def number(self) -> int:
        """A bit for the first input, the second or the matrix, the output, and the constants."""
        second = self.matrix or self.inputs[1:] == (True,)
        return int(self.inputs[0]) + 2 * second + 4 * self.output + 8 * self.constants


class TileShape(NamedTuple):
    """Rows, columns, output channels and input channels of a tile, and the order of the tiles.

    `is_channels_outer`: all pixels for one group of channels before the next group; else the other way round.
    `buffering`: which buffers have a second copy, SINGLE, DOUBLE or DOUBLE_TENSORS of `tile_buffers`.
    """

    rows: int
    columns: int
    channels: int
    depth: int
    is_channels_outer: bool
    buffering: int

    @property
    def text(self) -> str:
        """The tile as people read it: rows x columns x output channels / input channels, and the order."""
        order = "channels outer" if self.is_channels_outer else "pixels outer"
        buffers = ("", ", double", ", double but constants")[self.buffering]
        return f"{self.rows}x{self.columns}x{self.channels}/{self.depth} {order}{buffers}"


def total_bytes(buffers: Buffers) -> int:
    """What buffers take in SRAM."""
    return sum([tile_buffers.align(size) * copies for size, copies in buffers])


class NodeShape(NamedTuple):
    """What is the same wherever a node's tensors live: as in the node, and which constants there are."""

    out_shape: Shape
    in_shape: Shape
    kernel: Pair
    stride: Pair
    pad_top: int
    dilation: Pair
    broadcast: Pair
    in_element_bytes: int
    out_element_bytes: int
    is_dense: bool
    weight_bytes: int  # of an output channel
    packs_weights: bool
    code_parts: int
    has_records: bool
    table_bytes: int
    has_whole_pixels: bool  # no tile may have a part of the channels
    has_matrix: bool
    strides: tuple[Pair, ...]  # of inputs, matrix and output: elements from a pixel and a row to the next


class Geometry:
    """Nodes of one shape, their tensors in SRAM or in memory."""

    def __init__(self, shape: NodeShape, in_sram: InSram) -> None:
        out_shape, in_shape = shape.out_shape, shape.in_shape
        self.height, self.width, self.channels = out_shape
        self.in_sram = in_sram
        self.depth = in_shape[2] if shape.is_dense else 1
        multiplier = 1 if shape.is_dense else out_shape[2] // in_shape[2]
        self.step = out_shape[2] if shape.has_whole_pixels else multiplier  # channels that cannot be parted
        weight_bytes = shape.weight_bytes // self.depth  # of an output and an input channel
        record_bytes = RECORD_BYTES if shape.has_records else 0  # of an output channel
        taps_apart = zip(shape.kernel, shape.dilation, strict=True)
        reach = [(taps - 1) * apart + 1 for taps, apart in taps_apart]  # from the first tap to the last
        (first_pixel, first_line), *others, (out_pixel, out_line) = shape.strides
        second_pixel, second_line = others[0] if others else (0, 0)
        first, second = (*(0 if is_in_sram else shape.in_element_bytes for is_in_sram in in_sram.inputs), 0)[
            :2
        ]
        self.sizes = NodeSizes(
            *out_shape,
            depth=self.depth,
            step=self.step,
            multiplier=multiplier,
            is_dense=int(shape.is_dense),
            taps=prod(shape.kernel),
            weight_bytes=weight_bytes,
            loaded_weight_bytes=0 if in_sram.matrix else weight_bytes,
            packs_weights=int(shape.packs_weights),
            code_parts=shape.code_parts,
            record_bytes=record_bytes,
            table_bytes=shape.table_bytes,
            has_matrix=int(shape.has_matrix),
            is_matrix_in_sram=int(in_sram.matrix),
            keeps_constants=int(in_sram.constants),
            input_height=in_shape[0],
            input_width=in_shape[1],
            input_pixel_stride=first_pixel,
            input_line_stride=first_line,
            second_pixel_stride=second_pixel,
            second_line_stride=second_line,
            output_pixel_stride=out_pixel,
            output_line_stride=out_line,
            input_count=len(in_sram.inputs),
            kernel_height=shape.kernel[0],
            kernel_width=shape.kernel[1],
            dilation_height=shape.dilation[0],
            dilation_width=shape.dilation[1],
            common_height=gcd(shape.stride[0], shape.dilation[0]),
            common_width=gcd(shape.stride[1], shape.dilation[1]),
            stride_height=shape.stride[0],
            stride_width=shape.stride[1],
            pad_top=shape.pad_top,
            window_height=reach[0],
            window_width=reach[1],
            second_has_rows=shape.broadcast[0],
            second_has_columns=shape.broadcast[1],
            input_bytes=first,
            second_bytes=second,
            output_bytes=0 if in_sram.output else shape.out_element_bytes,
            input_element_bytes=shape.in_element_bytes,
            output_element_bytes=shape.out_element_bytes,
        )

    def constant_bytes(self, channels: int, depth: int) -> int:
        """Bytes that are loaded of the weights, records and table of a group of output channels."""
        return tile_buffers.constant_bytes(self.sizes, channels, depth)

    def buffers(self, tile_shape: TileShape) -> Buffers:
        """Sizes and copies of all buffers: of each input, the constants, the accumulator and the output."""
        group, listed = ChannelGroup(), BufferSizes()
        tile = Tile(*tile_shape)
        tile_buffers.describe_group(self.sizes, tile_shape.channels, tile_shape.depth, group)
        tile_buffers.list_buffers(self.sizes, group, tile, listed)
        return self.as_buffers(listed)

    def as_buffers(self, listed: BufferSizes) -> Buffers:
        """Sizes and copies of the buffers that there are."""
        numbers = listed.flatten()
        first, second, *others = zip(numbers[::2], numbers[1::2], strict=True)
        return (first, second, *others) if len(self.in_sram.inputs) > 1 else (first, *others)


class Geometries:
    """The geometries of one shape, by where its tensors are."""

    def __init__(self, shape: NodeShape) -> None:
        self.shape, self.inputs = shape, len(shape.strides) - 1 - shape.has_matrix
        self._known: dict[InSram, Geometry] = {}

    def __getitem__(self, in_sram: InSram) -> Geometry:
        found = self._known.get(in_sram)
        if found is None:
            found = self._known[in_sram] = Geometry(self.shape, in_sram)
        return found

    @property
    def in_memory(self) -> Geometry:
        """That of nodes with no tensor in SRAM."""
        return self[self.where(0)]

    def where(self, number: int) -> InSram:
        """What is in SRAM, by its number."""
        first, second, output, constants = (number >> bit & 1 == 1 for bit in range(4))
        return InSram((first, second)[: self.inputs], output, self.shape.has_matrix and second, constants)

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """Those of the sizes for each number of an `InSram`."""
        return np.array([slot for number in range(16) for slot in self[self.where(number)].sizes.flatten()])


_geometries = cache(Geometries)


def geometries_of(node: DlaNode) -> Geometries:
    """The geometries of nodes like this."""
    shape = NodeShape(
        node.out_shape, node.in_shape, node.kernel, node.stride, node.pad[0], node.dilation, node.broadcast,
        node.in_element_bytes, node.out_element_bytes, node.is_dense, node.weight_bytes_per_channel,
        node.packs_weights, node.code_parts, node.records is not None, node.table_bytes,
        BY_MNEMONIC[node.mnemonic].normalizes_rows, node.matrix is not None, _strides(node),
    )  # fmt: skip
    return _geometries(shape)


def _strides(node: DlaNode) -> tuple[Pair, ...]:
    layouts = [node.layout(number) or dense_layout(image) for number, image in enumerate(node.images)]
    if node.matrix is not None:
        layouts.insert(1, node.matrix_layout or dense_layout(node.matrix_image))
    return tuple((layout.pixel, layout.line) for layout in layouts)
