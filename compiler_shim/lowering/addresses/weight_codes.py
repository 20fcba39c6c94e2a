"""The compressed weights of a network, each encoded once for all machines, placements and tilings."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.compiler_shim.calls.nodes import DlaNode, Value
from dlasim.compiler_shim.lowering.addresses.constants import WeightsPart, part_of_weights
from dlasim.compiler_shim.lowering.addresses.weight_encoder import CodedWeights, WeightCode


class WeightCodes:
    """Encodes parts of weights.

    Where channels lie behind each other, parts of the same depth are pieces of one whole, which is encoded
    when the first of them is asked for.
    """

    def __init__(self, values: Sequence[Value]) -> None:
        self._values, self._known = values, dict[object, CodedWeights]()

    def measure(self, node: DlaNode, part: WeightsPart) -> tuple[int, int]:
        """The words of a part, and the steps in which they are decoded."""
        whole, first, end = self._whole(node, part)
        return whole.measure(first, end, part.size_bytes)

    def code(self, node: DlaNode, part: WeightsPart) -> WeightCode:
        """A part as it is in memory."""
        whole, first, end = self._whole(node, part)
        return whole.piece(first, end, part.size_bytes)

    def _whole(self, node: DlaNode, part: WeightsPart) -> tuple[CodedWeights, int, int]:
        """What a part lies in, from where to where."""
        row, channels = node.weight_bytes_per_channel * part.depth // depth_of(node), node.out_shape[2]
        first, end = part.first * row, (part.first + part.channels) * row
        whole = part._replace(first=0, channels=channels, size_bytes=channels * row)
        if not (node.is_dense or node.is_channel_by_channel):
            first, end, whole = 0, end - first, part
        key = (node.weights, node.mnemonic, node.is_channel_by_channel, channels, depth_of(node), whole)
        if key not in self._known:
            self._known[key] = CodedWeights(part_of_weights(node, self._values, whole))
        return self._known[key], first, end


def depth_of(node: DlaNode) -> int:
    """The input channels of a filter."""
    return node.in_shape[2] if node.is_dense else 1


def whole_weights(node: DlaNode) -> WeightsPart:
    """All weights of a node, in the order in which they are loaded."""
    channels = node.out_shape[2]
    return WeightsPart(0, channels, 0, depth_of(node), node.weight_bytes_per_channel * channels)
