"""Nodes as emission's routines see them: rows of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from dlasim.compiler_shim.lowering.constants import pack
from dlasim.compiler_shim.lowering.cuts import align, spatial_tiles
from dlasim.compiler_shim.lowering.emission.layout import (
    BUFFER_LENGTH,
    HOME_LENGTH,
    MOST_FIXED,
    NODE_LENGTH,
    NONE,
    register,
)
from dlasim.compiler_shim.lowering.emission.operations import pair
from dlasim.compiler_shim.lowering.geometry import Cut, Geometry
from dlasim.compiler_shim.nodes import DlaNode, Pair, Shape, Value
from dlasim.isa import codec
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS, Init, Out

_READS = {row.mnemonic: frozenset(row.registers) for row in INSTRUCTIONS}
_NO_HOME = (NONE,) * HOME_LENGTH
_NO_BUFFER = (1, *(0,) * (BUFFER_LENGTH - 1))


class Home(NamedTuple):
    """Where a whole tensor lies, dense: at an SRAM address, or at an offset of a region."""

    space: int
    offset: int
    shape: Shape
    element_bytes: int

    @property
    def row(self) -> tuple[int, ...]:
        """As a row."""
        _, width, channels = self.shape
        return self.space, self.offset, width, channels, self.element_bytes


@dataclass(frozen=True, slots=True)
class Placed:
    """A node that is cut and has its place: homes of its tensors, and the addresses of its buffers, for each
    of inputs, constants, accumulator and output one per copy. `values` are the network's."""

    node: DlaNode
    geometry: Geometry
    cut: Cut
    inputs: tuple[Home, ...]
    output: Home
    buffers: tuple[tuple[int, ...], ...]
    values: Sequence[Value]

    @property
    def tiles(self) -> int:
        """Tiles of the output."""
        return spatial_tiles(self.geometry.row.plain, self.cut.rows, self.cut.columns) * self.groups

    @property
    def groups(self) -> int:
        """Groups of output channels."""
        return -(-self.geometry.channels // self.cut.channels)

    @property
    def passes(self) -> int:
        """Passes over the input channels."""
        return -(-self.geometry.depth // self.cut.depth)

    def pack(self, group: int, number: int) -> Callable[[], bytes]:
        """Makes the constants of a group of channels for one of the passes."""
        first, start = group * self.cut.channels, number * self.cut.depth
        channels = min(self.cut.channels, self.geometry.channels - first)
        depth = min(self.cut.depth, self.geometry.depth - start)
        size = align(channels * self.geometry.weight_depth(depth))
        return lambda: pack(self.node, self.values, first, channels, start, depth, size)

    def row(self, offsets: int) -> list[int]:
        """The node as a row; `offsets` is where those of its constants are."""
        node, cut, geometry = self.node, self.cut, self.geometry
        reads = _READS[node.mnemonic]
        more = tuple(node.registers.items())
        fixed = _fixed_registers(node.mnemonic, node.kernel, node.stride, node.dilation, more)
        words = _words(node.mnemonic, node.is_dense, tuple(node.fields.items()))
        tensor = node.output if node.out_element_bytes == 1 else NONE
        row = [
            geometry.height, geometry.width, geometry.channels, geometry.depth,
            cut.rows, cut.columns, cut.channels, cut.depth, int(cut.weights_outer),
            *node.in_shape[:2], *node.stride, *node.pad, *geometry.reach,
            int(node.is_dense), 1 if node.is_dense else node.multiplier, int(node.one_by_one),
            len(node.inputs), *node.broadcast,
            int(node.table is not None), int(node.weights is not None), geometry.record_bytes,
            geometry.weight_depth(1), int("IN_CHANNELS" in reads), int("IN_SIZE" in reads),
            int(BY_MNEMONIC[node.mnemonic].unit), *words, node.layer, tensor, offsets, len(fixed) // 2,
            *fixed, *(0,) * (2 * MOST_FIXED - len(fixed)),
        ]  # fmt: skip
        second = self.inputs[1].row if len(self.inputs) > 1 else _NO_HOME
        row += [*self.inputs[0].row, *second, *self.output.row]
        count = len(self.inputs)
        for addresses in (*self.buffers[:count], *((),) * (2 - count), *self.buffers[count:]):
            row += _buffer(addresses)
        assert len(row) == NODE_LENGTH
        return row


def _buffer(addresses: Sequence[int]) -> tuple[int, ...]:
    if not addresses:
        return _NO_BUFFER
    return (len(addresses), addresses[0], addresses[-1], *_NO_BUFFER[3:])


@lru_cache(maxsize=4096)
def _fixed_registers(
    mnemonic: str, kernel: Pair, stride: Pair, dilation: Pair, more: tuple[tuple[str, int], ...]
) -> tuple[int, ...]:
    """What stays the same over all tiles, among the registers that the instruction reads: number, value, …"""
    sizes = {"KERNEL": kernel, "STRIDE": stride, "DILATION": dilation}
    values = {name: pair(*size) for name, size in sizes.items()} | dict(more)
    used = _READS[mnemonic]
    fixed = [(register(name), value & 0xFFFF_FFFF) for name, value in values.items() if name in used]
    assert len(fixed) <= MOST_FIXED
    return tuple(number for both in fixed for number in both)


@lru_cache(maxsize=4096)
def _words(mnemonic: str, is_dense: bool, fields: tuple[tuple[str, int], ...]) -> tuple[int, int, int, int]:
    """The instruction alone, and as the first, a middle and the last pass over some of the input channels."""
    given = dict(fields)
    alone = codec.encode(mnemonic, **given)
    if not is_dense:
        return alone, alone, alone, alone
    bare = "OP_CONV" if mnemonic == "OP_CONV_RELU" else mnemonic
    first = codec.encode(bare, **given | {"out": Out.INT32})
    middle = codec.encode(bare, **given | {"out": Out.INT32, "init": Init.PARTIAL})
    return alone, first, middle, codec.encode(mnemonic, **given | {"init": Init.PARTIAL})
