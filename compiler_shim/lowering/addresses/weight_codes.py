"""The compressed weights of a network, each encoded once for all machines, placements and tilings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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

    def measure(self, node: DlaNode, parts: Sequence[WeightsPart]) -> NDArray[np.int64]:
        """The words of parts of the same depth, and the steps in which they are decoded."""
        wholes = [parts] if _has_wholes(node) else [[part] for part in parts]
        return np.concatenate([self._whole(node, each[0]).measure(_bounds(node, each)) for each in wholes])

    def code(self, node: DlaNode, part: WeightsPart) -> WeightCode:
        """A part as it is in memory."""
        ((first, end, _),) = _bounds(node, [part])
        return self._whole(node, part).piece(first, end, part.size_bytes)

    def _whole(self, node: DlaNode, part: WeightsPart) -> CodedWeights:
        """What a part lies in."""
        whole = part
        if _has_wholes(node):
            channels = node.out_shape[2]
            size = channels * _row_bytes(node, part)
            whole = part._replace(first=0, channels=channels, size_bytes=size)
        key = node.weights_key, whole
        if key not in self._known:
            self._known[key] = CodedWeights(part_of_weights(node, self._values, whole))
        return self._known[key]


def _has_wholes(node: DlaNode) -> bool:
    """Whether its channels lie behind each other."""
    return node.is_dense or node.is_channel_by_channel


def _row_bytes(node: DlaNode, part: WeightsPart) -> int:
    """Of a channel."""
    return node.weight_bytes_per_channel * part.depth // node.depth


def _bounds(node: DlaNode, parts: Sequence[WeightsPart]) -> list[tuple[int, int, int]]:
    """Where each part begins in its whole, where it ends, and where with the zeros that align it."""
    row, found = _row_bytes(node, parts[0]), list[tuple[int, int, int]]()
    for part in parts:
        first = part.first * row if _has_wholes(node) else 0
        found.append((first, first + part.channels * row, first + part.size_bytes))
    return found


def whole_weights(node: DlaNode) -> WeightsPart:
    """All weights of a node, in the order in which they are loaded."""
    channels = node.out_shape[2]
    return WeightsPart(0, channels, 0, node.depth, node.weight_bytes_per_channel * channels)
