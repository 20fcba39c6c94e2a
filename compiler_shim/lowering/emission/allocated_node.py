"""A node as a plan has it, for emission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dlasim.compiler_shim.calls.nodes import Value
from dlasim.compiler_shim.lowering.addresses.constants import pack
from dlasim.compiler_shim.lowering.emission.network_nodes import NetworkNode
from dlasim.compiler_shim.lowering.emission.records import BUFFERS, NONE, BufferFill
from dlasim.compiler_shim.lowering.tiles.geometry import TileShape
from dlasim.compiler_shim.lowering.tiles.tile_buffers import align
from dlasim.native.record import slots_of

_NO_BUFFER = 1, 0, 0  # the slots of a `Buffer`
_NOTHING_FILLED = [0] * (BUFFERS * slots_of(BufferFill))

Location = tuple[int, int, int, int, int]  # the slots of a `TensorLocation`
NO_LOCATION: Location = (NONE, NONE, NONE, NONE, NONE)


class AllocatedNode(NamedTuple):
    """A step of the network with its tiling, the locations of its operands, and the addresses of its buffers:
    for each of inputs, constants, accumulator and output one address per copy.

    The first pieces of its constants are prefetched to `prefetch_addresses`; all are there from the first
    inference on where it `keeps_constants`. In a chain, what lies between it and the next node is at
    `between_address`.
    """

    step: int
    fixed: NetworkNode
    tile_shape: TileShape
    operands: Sequence[Location]
    buffers: tuple[tuple[int, ...], ...]
    prefetch_addresses: tuple[int, ...] = ()
    between_address: int = 0
    keeps_constants: bool = False

    @property
    def passes(self) -> int:
        """Passes over the input channels."""
        return -(-self.fixed.facts.sizes.depth // self.tile_shape.depth)

    @property
    def pieces(self) -> int:
        """The pieces of its constants: a table, or one for each group of output channels in each pass."""
        facts = self.fixed.facts
        if facts.sizes.table_bytes:
            return 1
        if facts.sizes.has_matrix or not (facts.sizes.weight_bytes or facts.sizes.record_bytes):
            return 0
        return -(-facts.sizes.channels // self.tile_shape.channels) * self.passes

    @property
    def shared(self) -> tuple[object, ...] | None:
        """Other nodes of which this is the same have the same pieces."""
        constants = self.fixed.shared
        return constants and (constants, self.tile_shape.channels, self.tile_shape.depth)

    @property
    def repeats(self) -> int:
        """The most operations that compute a tile."""
        return self.tile_shape.channels if self.fixed.node.is_channel_by_channel else 1

    def pack(self, piece: int, values: Sequence[Value], unpacks: bool) -> Callable[[], bytes]:
        """Makes a piece of its constants from the network's values, for a machine that `unpacks` or not."""
        tile_shape, facts = self.tile_shape, self.fixed.facts
        group, number = divmod(piece, self.passes)
        first, start = group * tile_shape.channels, number * tile_shape.depth
        channels, depth = (
            min(tile_shape.channels, facts.sizes.channels - first),
            min(tile_shape.depth, facts.sizes.depth - start),
        )
        size = align(channels * facts.sizes.weight_bytes * depth)
        is_packed = unpacks and self.fixed.node.packs_weights
        return lambda: pack(self.fixed.node, values, first, channels, start, depth, size, is_packed)

    def numbers(self, first_constant: int) -> list[int]:
        """The slots of its `Node`."""
        tile_shape = self.tile_shape
        numbers = [self.step, first_constant, len(self.prefetch_addresses), int(self.keeps_constants)]
        numbers.append(self.between_address)
        numbers += [
            tile_shape.rows,
            tile_shape.columns,
            tile_shape.channels,
            tile_shape.depth,
            int(tile_shape.is_channels_outer),
        ]
        for location in self.operands:
            numbers += location
        first, *second, constants, accumulator, output = self.buffers
        for addresses in (first, second[0] if second else (), constants, accumulator, output):
            numbers += (len(addresses), addresses[0], addresses[-1]) if addresses else _NO_BUFFER
        return [*numbers, *_NOTHING_FILLED]
