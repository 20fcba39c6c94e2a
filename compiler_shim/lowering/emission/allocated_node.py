"""A node as a plan has it, for emission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dlasim.compiler_shim.lowering.constants import pack
from dlasim.compiler_shim.lowering.emission.records import NONE, NodeFacts
from dlasim.compiler_shim.lowering.geometry import Cut
from dlasim.compiler_shim.lowering.tile_buffers import align
from dlasim.compiler_shim.nodes import DlaNode, Value

_NO_BUFFER = 1, 0, 0  # the slots of a `Buffer`


class Location(NamedTuple):
    """Where a tensor lies: the slots of `TensorLocation`."""

    space: int
    offset: int
    pixel_bytes: int
    line_bytes: int
    element_bytes: int


NO_LOCATION = Location(NONE, NONE, NONE, NONE, NONE)


class AllocatedNode(NamedTuple):
    """A step of the network with its tiling, the locations of its tensors, and the addresses of its buffers:
    for each of inputs, constants, accumulator and output one address per copy.

    The tensors are the first input, the second or the matrix, and the output. The first pieces of its
    constants are loaded ahead, to the addresses in `ahead`. In a chain, what lies between it and the next
    node is at `between_address`.
    """

    step: int
    node: DlaNode
    facts: NodeFacts
    cut: Cut
    tensors: Sequence[Location]
    buffers: tuple[tuple[int, ...], ...]
    ahead: tuple[int, ...] = ()
    between_address: int = 0

    @property
    def passes(self) -> int:
        """Passes over the input channels."""
        return -(-self.facts.depth // self.cut.depth)

    @property
    def pieces(self) -> int:
        """The pieces of its constants: a table, or one for each group of output channels in each pass."""
        node, facts = self.node, self.facts
        if node.table is not None:
            return 1
        if node.matrix is not None or (node.weights is None and node.records is None):
            return 0
        return -(-facts.channels // self.cut.channels) * self.passes

    @property
    def constants(self) -> tuple[object, ...]:
        """What decides about its packed constants: the images of a batch share them."""
        node, cut = self.node, self.cut
        same = node.weights, node.records, node.table, node.mnemonic, node.one_by_one
        return *same, cut.channels, cut.depth, self.pieces

    @property
    def repeats(self) -> int:
        """The most operations that compute a tile."""
        return self.cut.channels if self.node.one_by_one else 1

    def pack(self, piece: int, values: Sequence[Value]) -> Callable[[], bytes]:
        """Makes a piece of its constants, of the network's values."""
        group, number = divmod(piece, self.passes)
        first, start = group * self.cut.channels, number * self.cut.depth
        channels = min(self.cut.channels, self.facts.channels - first)
        depth = min(self.cut.depth, self.facts.depth - start)
        size = align(channels * self.facts.weight_bytes * depth)
        return lambda: pack(self.node, values, first, channels, start, depth, size)

    def numbers(self, first_constant: int) -> list[int]:
        """The first slots of its `Node`; the others are 0 before it is written."""
        cut = self.cut
        numbers = [self.step, first_constant, len(self.ahead), self.between_address]
        numbers += [cut.rows, cut.columns, cut.channels, cut.depth, int(cut.weights_outer)]
        for location in self.tensors:
            numbers += location
        *inputs, constants, accumulator, results = self.buffers
        for addresses in (inputs[0], inputs[-1] if len(inputs) > 1 else (), constants, accumulator, results):
            numbers += (len(addresses), addresses[0], addresses[-1]) if addresses else _NO_BUFFER
        return numbers
