"""Nodes with their tiling and the addresses of their buffers, and the records that emission makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from dlasim.compiler_shim.lowering.constants import pack
from dlasim.compiler_shim.lowering.emission.commands import register
from dlasim.compiler_shim.lowering.emission.operations import pair
from dlasim.compiler_shim.lowering.emission.records import (
    CONSTANTS,
    MAX_FIXED,
    NONE,
    Buffer,
    Load,
    Node,
    TensorLocation,
)
from dlasim.compiler_shim.lowering.geometry import Cut, Geometry
from dlasim.compiler_shim.lowering.tile_buffers import align, spatial_tiles
from dlasim.compiler_shim.nodes import DlaNode, Pair, Value
from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS, Init, Out

_READS = {row.mnemonic: frozenset(row.registers) for row in INSTRUCTIONS}
_NO_TENSOR, _NO_BUFFER = TensorLocation(), Buffer()  # nothing ever writes them


@dataclass(frozen=True, slots=True)
class AllocatedNode:
    """A node with its tiling, the locations of its tensors, and the addresses of its buffers: for each of
    inputs, constants, accumulator and output one address per copy. `fixed` are its `fixed_fields`, `values`
    the network's. The first pieces of its constants are loaded ahead, to the addresses
    in `ahead`."""

    node: DlaNode
    fixed: Mapping[str, Any]
    geometry: Geometry
    cut: Cut
    inputs: tuple[TensorLocation, ...]
    output: TensorLocation
    buffers: tuple[tuple[int, ...], ...]
    values: Sequence[Value]
    step: int = 0  # of the network
    ahead: tuple[int, ...] = ()
    matrix: TensorLocation | None = None

    @property
    def tasks(self) -> int:
        """Tiles of the output, each in passes over the input channels."""
        spatial = spatial_tiles(self.geometry.sizes.plain, self.cut.rows, self.cut.columns)
        return spatial * self.groups * self.passes

    @property
    def groups(self) -> int:
        """Groups of output channels."""
        return -(-self.geometry.channels // self.cut.channels)

    @property
    def passes(self) -> int:
        """Passes over the input channels."""
        return -(-self.geometry.depth // self.cut.depth)

    @property
    def constants(self) -> tuple[object, ...]:
        """What decides about its packed constants: the images of a batch share them."""
        node, cut = self.node, self.cut
        return node.weights, node.records, node.table, node.mnemonic, node.one_by_one, cut.channels, cut.depth

    def loads(self, task: int, first: int, offsets: Sequence[int]) -> list[Load]:
        """The loads of pieces that come ahead after a task, from number `first` on, from these offsets of the
        pool."""
        return [
            Load(task, offset, self.constant_bytes(number), self.ahead[number], self.node.layer)
            for number, offset in enumerate(offsets, first)
        ]

    def constant_bytes(self, number: int) -> int:
        """The size of a piece of its constants."""
        channels, depth = self._part(*divmod(number, self.passes))
        return self.geometry.constant_bytes(channels, depth)

    def _part(self, group: int, number: int) -> tuple[int, int]:
        """Output and input channels of a group of channels in one of the passes."""
        channels = min(self.cut.channels, self.geometry.channels - group * self.cut.channels)
        return channels, min(self.cut.depth, self.geometry.depth - number * self.cut.depth)

    def pack(self, group: int, number: int) -> Callable[[], bytes]:
        """Makes the constants of a group of channels for one of the passes."""
        first, start = group * self.cut.channels, number * self.cut.depth
        channels, depth = self._part(group, number)
        size = align(channels * self.geometry.weight_depth(depth))
        return lambda: pack(self.node, self.values, first, channels, start, depth, size)

    def record(self, number: int, first_constant: int) -> Node:
        """What emission's routines work on: the node's number in its chain, and its first constant's."""
        cut, geometry = self.cut, self.geometry
        second = self.inputs[1] if len(self.inputs) > 1 else self.matrix or _NO_TENSOR
        buffers = [_buffer(addresses) for addresses in self.buffers]
        buffers[1:1] = [_NO_BUFFER] * (2 - len(self.inputs))
        if self.ahead:
            own = buffers[CONSTANTS]
            buffers[CONSTANTS] = Buffer(own.copies, len(self.ahead), first_constant, own.addresses)
        return Node(
            number=number,
            height=geometry.height,
            width=geometry.width,
            channels=geometry.channels,
            depth=geometry.depth,
            tile_rows=cut.rows,
            tile_columns=cut.columns,
            tile_channels=cut.channels,
            tile_depth=cut.depth,
            is_channels_outer=int(cut.weights_outer),
            window_height=geometry.reach[0],
            window_width=geometry.reach[1],
            record_bytes=geometry.record_bytes,
            weight_bytes=geometry.weight_depth(1),
            first_constant=first_constant,
            tensors=[self.inputs[0], second, self.output],
            buffers=buffers,
            **self.fixed,
        )


def fixed_fields(node: DlaNode) -> dict[str, Any]:
    """Of a node's record, the fields that are the same however the node is cut and wherever its tensors
    are."""
    reads = _READS[node.mnemonic]
    more = tuple(node.registers.items())
    registers = _fixed_registers(node.mnemonic, node.kernel, node.stride, node.dilation, more)
    word, first, middle, last = _words(node.mnemonic, node.is_dense, tuple(node.fields.items()))
    return {
        "input_height": node.in_shape[0],
        "input_width": node.in_shape[1],
        "stride_height": node.stride[0],
        "stride_width": node.stride[1],
        "pad_top": node.pad[0],
        "pad_left": node.pad[1],
        "is_dense": int(node.is_dense),
        "channel_multiplier": 1 if node.is_dense else node.multiplier,
        "is_one_by_one": int(node.one_by_one),
        "inputs": len(node.inputs),
        "second_has_rows": node.broadcast[0],
        "second_has_columns": node.broadcast[1],
        "table_bytes": node.table_bytes,
        "has_weights": int(node.weights is not None or node.matrix is not None),
        "has_matrix": int(node.matrix is not None),
        "reads_channels": int("IN_CHANNELS" in reads),
        "reads_size": int("IN_SIZE" in reads),
        "unit": int(BY_MNEMONIC[node.mnemonic].unit),
        "word": word,
        "first_word": first,
        "middle_word": middle,
        "last_word": last,
        "layer": node.layer,
        "tensor": node.output if node.out_element_bytes == 1 else NONE,
        "fixed_count": registers.used,
        "fixed_registers": registers.registers,
        "fixed_values": registers.values,
    }


@lru_cache(maxsize=4096)
def _buffer(addresses: tuple[int, ...]) -> Buffer:
    """An empty buffer; nodes share it, and emission works on a copy."""
    if not addresses:
        return _NO_BUFFER
    return Buffer(copies=len(addresses), addresses=[addresses[0], addresses[-1]])


class _Fixed(NamedTuple):
    """Registers and their values, followed by zeros."""

    used: int
    registers: list[int]
    values: list[int]


@lru_cache(maxsize=4096)
def _fixed_registers(
    mnemonic: str, kernel: Pair, stride: Pair, dilation: Pair, more: tuple[tuple[str, int], ...]
) -> _Fixed:
    """What stays the same over all tiles, among the registers that the instruction reads."""
    sizes = {"KERNEL": kernel, "STRIDE": stride, "DILATION": dilation}
    values = {name: pair(*size) for name, size in sizes.items()} | dict(more)
    used = _READS[mnemonic]
    fixed = {register(name): value & 0xFFFF_FFFF for name, value in values.items() if name in used}
    assert len(fixed) <= MAX_FIXED
    rest = [0] * (MAX_FIXED - len(fixed))
    return _Fixed(len(fixed), [*fixed, *rest], [*fixed.values(), *rest])


@lru_cache(maxsize=4096)
def _words(mnemonic: str, is_dense: bool, fields: tuple[tuple[str, int], ...]) -> tuple[int, int, int, int]:
    """The instruction alone, and as the first, a middle and the last pass over some of the input channels."""
    given = dict(fields)
    alone = codec.encode(mnemonic, **given)
    if not is_dense:
        return alone, alone, alone, alone
    bare = BY_MNEMONIC[mnemonic].sums or mnemonic
    first = codec.encode(bare, **given | {"out": Out.INT32})
    middle = codec.encode(bare, **given | {"out": Out.INT32, "init": Init.PARTIAL})
    return alone, first, middle, codec.encode(mnemonic, **given | {"init": Init.PARTIAL})
