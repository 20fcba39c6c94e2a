"""What matters of a node for cutting it into tiles, whatever the machine.

There is one geometry for each shape of node and homes of its tensors, since layers and, in a sweep, machines
repeat. Its numbers are what the routines in `cuts` read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import NamedTuple

from dlasim.compiler_shim.lowering import cuts
from dlasim.compiler_shim.nodes import DlaNode, Pair, Shape
from dlasim.isa.instructions import RECORD_BYTES, TABLE_BYTES
from dlasim.native.routine import Memory, Numbers

ENDLESS = 1 << 62  # more than any budget
MOST_TASK_CYCLES = 1 << 22  # more than a task besides its work, and its transfers besides their bytes, take

Buffers = tuple[tuple[int, int], ...]


class Homes(NamedTuple):
    """Where a node's tensors live: True where a tensor stays in SRAM."""

    inputs: tuple[bool, ...]
    output: bool


class Cut(NamedTuple):
    """Rows, columns, output channels and input channels of a tile, and the order of the tiles.

    `weights_outer`: all pixels for one group of channels before the next group; else the other way round.
    `double`: buffers that are filled more than once have a second copy.
    """

    rows: int
    columns: int
    channels: int
    depth: int
    weights_outer: bool
    double: bool

    @property
    def text(self) -> str:
        """The tile as people read it: rows x columns x output channels / input channels, and the order."""
        order = "channels outer" if self.weights_outer else "pixels outer"
        buffers = ", double" if self.double else ""
        return f"{self.rows}x{self.columns}x{self.channels}/{self.depth} {order}{buffers}"


def total_bytes(buffers: Buffers) -> int:
    """What buffers take in SRAM."""
    return sum([cuts.align(size) * copies for size, copies in buffers])


class NodeShape(NamedTuple):
    """What is the same wherever a node's tensors live: as in the node, and which constants there are."""

    out_shape: Shape
    in_shape: Shape
    kernel: Pair
    stride: Pair
    dilation: Pair
    broadcast: Pair
    in_element_bytes: int
    out_element_bytes: int
    is_dense: bool
    weight_bytes: int  # of an output channel
    has_records: bool
    has_table: bool


class Row:
    """Numbers that routines read, where each of the two ways to run them finds them."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers = numbers
        self._memories: dict[bool, Memory] = {}

    def memory(self, is_compiled: bool) -> Memory:
        """For compiled code, or for plain Python."""
        found = self._memories.get(is_compiled)
        if found is None:
            found = Memory(is_compiled, len(self.numbers))
            found.put(0, self.numbers)
            self._memories[is_compiled] = found  # not before it is whole: other threads lower too
        return found

    @property
    def plain(self) -> Numbers:
        """For a routine that is called as a function."""
        return self.memory(False).numbers


class Geometry:
    """Nodes of one shape, their tensors at home somewhere."""

    def __init__(self, shape: NodeShape, homes: Homes) -> None:
        out_shape, in_shape = shape.out_shape, shape.in_shape
        self.height, self.width, self.channels = out_shape
        self.homes = homes
        self.depth = in_shape[2] if shape.is_dense else 1
        self.step = 1 if shape.is_dense else out_shape[2] // in_shape[2]  # channels that cannot be parted
        self._unit_weights = shape.weight_bytes // self.depth
        self.record_bytes = RECORD_BYTES if shape.has_records else 0  # of an output channel
        taps_apart = zip(shape.kernel, shape.dilation, strict=True)
        self.reach = [(taps - 1) * apart + 1 for taps, apart in taps_apart]  # from the first tap to the last
        first, second = (*(0 if home else shape.in_element_bytes for home in homes.inputs), 0)[:2]
        numbers = (
            *out_shape, self.depth, self.step, shape.is_dense, prod(shape.kernel),
            self._unit_weights, self.record_bytes, shape.has_table,
            *in_shape[:2], *shape.stride, *self.reach, *shape.broadcast,
            first, second, 0 if homes.output else shape.out_element_bytes,
        )  # fmt: skip
        self.row = Row(tuple(map(int, numbers)))
        self.written_bytes = prod(out_shape) * self.row.numbers[cuts.OUTPUT_BYTES]  # to system memory
        self.is_moderate = _most(self.row.numbers, prod(in_shape) * shape.in_element_bytes) < ENDLESS

    def weight_depth(self, depth: int) -> int:
        """Bytes of weights of one output channel over `depth` input channels."""
        return self._unit_weights * depth

    def constant_bytes(self, channels: int, depth: int) -> int:
        """Bytes of the weights, records and table of a group of output channels, as they are packed."""
        return cuts.constant_bytes(self.row.plain, channels, depth)

    def buffers(self, cut: Cut) -> Buffers:
        """Sizes and copies of all buffers: of each input, the constants, the accumulator and the output."""
        group, listed = [0] * cuts.GROUP_NUMBERS, [0] * cuts.BUFFER_NUMBERS
        rows, columns, channels, depth, outer, double = cut
        cuts.describe_group(self.row.plain, channels, depth, group)
        cuts.list_buffers(self.row.plain, group, rows, columns, outer, double, listed, 0)
        return self.as_buffers(listed)

    def as_buffers(self, listed: Sequence[int]) -> Buffers:
        """Buffers from their sizes and copies, one after the other."""
        first, second, *others = zip(listed[::2], listed[1::2], strict=True)
        return (first, second, *others) if len(self.homes.inputs) > 1 else (first, *others)


class Geometries(dict[Homes, Geometry]):
    """Those of one shape, by where the tensors live."""

    def __init__(self, shape: NodeShape) -> None:
        super().__init__()
        self._shape = shape

    def __missing__(self, homes: Homes) -> Geometry:
        made = self[homes] = Geometry(self._shape, homes)
        return made


_geometries = cache(Geometries)


def geometries_of(node: DlaNode) -> Geometries:
    """The geometries of nodes like this."""
    shape = NodeShape(
        node.out_shape, node.in_shape, node.kernel, node.stride, node.dilation, node.broadcast,
        node.in_element_bytes, node.out_element_bytes, node.is_dense, node.weight_bytes_per_channel,
        node.records is not None, node.table is not None,
    )  # fmt: skip
    return _geometries(shape)


def _most(numbers: tuple[int, ...], in_bytes: int) -> int:
    """More than any number that the routines meet with this geometry, on any machine."""
    out_size = numbers[cuts.HEIGHT] * numbers[cuts.WIDTH] * numbers[cuts.CHANNELS]
    tasks = out_size * numbers[cuts.DEPTH]
    weights = numbers[cuts.CHANNELS] * numbers[cuts.DEPTH] * numbers[cuts.WEIGHT_BYTES]
    constants = weights + numbers[cuts.CHANNELS] * RECORD_BYTES + TABLE_BYTES
    sram = 2 * (in_bytes + 4 * out_size + constants + 4 * out_size) + 4 * out_size + 64  # rounded up
    one_by_one = out_size * (numbers[cuts.CHANNELS] + 1)
    lines = sum(numbers[cuts.STRIDE_ROWS : cuts.REACH_COLUMNS + 1])
    return (
        tasks * (numbers[cuts.TAPS] + sram + 2 * MOST_TASK_CYCLES)
        + one_by_one * MOST_TASK_CYCLES
        + sram * lines
    )
