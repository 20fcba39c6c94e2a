"""Pieces of constants: their bytes, and how large those of compressed weights are, which decides where in
memory they lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.files.half_bytes import pack_int4
from dlasim.compiler_shim.lowering.addresses.constants import WeightsPart, pack, part_of_weights
from dlasim.compiler_shim.lowering.emission.network_nodes import NetworkNode, WeightCut, network_nodes
from dlasim.compiler_shim.lowering.tiles.tile_buffers import align
from dlasim.isa.instruction_rows import COPIED_BYTES
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.named_tuple import NamedTuple

_DECODE = BY_MNEMONIC["OP_DMA_DECODE"]
_MOST = {name: _DECODE.field(name).highest for name in ("words", "steps", "copied")}


class CodeSizes(NamedTuple):
    """The words of each piece of compressed weights and the steps in which they are decoded, 0 where one is
    not compressed."""

    words: NDArray[np.int64]
    steps: NDArray[np.int64]


class PieceCodes:
    """The pieces of a network's weights, measured once for each way to cut them; those of some `steps` are
    compressed."""

    def __init__(self, network: PlacedNetwork) -> None:
        self._network, self._nodes = network, network_nodes(network)
        self.steps = [step for step, found in self._nodes.items() if found.node.code_parts]
        self._known = dict[tuple[int, WeightCut], CodeSizes]()

    def sizes(self, step: int, cut: WeightCut) -> CodeSizes:
        """Of all pieces of a node whose weights are cut so."""
        key = step, cut
        if key not in self._known:
            self._known[key] = self._measure(self._nodes[step], cut)
        return self._known[key]

    def _measure(self, found: NetworkNode, cut: WeightCut) -> CodeSizes:
        assert self._network.codes is not None, "there are nodes with codes"
        parts, passes = weight_parts(found, cut), -(-found.facts.sizes.depth // cut.depth)
        measured = np.zeros((len(parts), 2), np.int64)
        for first in range(passes):
            measured[first::passes] = self._network.codes.measure(found.node, parts[first::passes])
        words, steps = measured.T
        channels, sizes = np.array([(part.channels, part.size_bytes) for part in parts]).T
        copied = channels * found.facts.sizes.record_bytes // COPIED_BYTES
        fits = (words <= _MOST["words"]) & (steps <= _MOST["steps"]) & (copied <= _MOST["copied"])
        gains = fits & (words * CODE_BYTES < sizes)
        return CodeSizes(words * gains, steps * gains)


@once
def piece_codes(network: PlacedNetwork) -> PieceCodes:
    """Those of a network, which its plans share."""
    return PieceCodes(network)


def stored_piece(
    network: PlacedNetwork, found: NetworkNode, cut: WeightCut, number: int, is_coded: bool, unpacks: bool
) -> bytes:
    """A piece of a node's constants as it is in memory, for a machine that `unpacks` or not."""
    node, values, part = found.node, network.values, _part(found, cut, number)
    stored = b""
    if is_coded and network.codes:
        stored = network.codes.code(node, part).to_bytes()
    elif node.weights is not None:
        weights = part_of_weights(node, values, part)
        stored = (pack_int4(weights) if unpacks and node.packs_weights else weights).tobytes()
    return pack(node, values, part, stored)


def weight_parts(found: NetworkNode, cut: WeightCut) -> list[WeightsPart]:
    """The weights of each piece of a node's constants, in their order."""
    return [_part(found, cut, piece) for piece in range(found.pieces(cut))]


def _part(found: NetworkNode, cut: WeightCut, piece: int) -> WeightsPart:
    sizes = found.facts.sizes
    group, number = divmod(piece, -(-sizes.depth // cut.depth))
    first, start = group * cut.channels, number * cut.depth
    channels, depth = min(cut.channels, sizes.channels - first), min(cut.depth, sizes.depth - start)
    return WeightsPart(first, channels, start, depth, align(channels * sizes.weight_bytes * depth))
