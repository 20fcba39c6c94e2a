"""The constants region: packed per tile so that one transfer brings a tile's weights, records and table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode, Value
from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import routine

MEMORY_ALIGNMENT = 16  # of values in system memory


@routine
def pooled(size_bytes: int) -> int:
    """The bytes that a blob of this size takes in the region."""
    return -(-size_bytes // MEMORY_ALIGNMENT) * MEMORY_ALIGNMENT


class WeightsPart(NamedTuple):
    """The weights of some output channels over some input channels: the first and how many of both, and their
    bytes, which are aligned."""

    first: int
    channels: int
    start: int
    depth: int
    size_bytes: int


def pack(node: DlaNode, values: Sequence[Value], part: WeightsPart, weights: bytes) -> bytes:
    """A table, or a part of the weights as they are stored, then their records."""
    parts = [weights] if node.table is None else [_table(node, values, node.table).tobytes(), weights]
    if node.records is not None:
        records = _data(values, node.records)[part.first : part.first + part.channels]
        parts.append(records.astype("<i4").tobytes())
    return b"".join(parts)


def part_of_weights(node: DlaNode, values: Sequence[Value], part: WeightsPart) -> NDArray[np.int8]:
    """A part of the weights of a node, as they are in SRAM."""
    assert node.weights is not None
    weights = _slice(node, _data(values, node.weights), *part[:4]).ravel()
    return np.pad(weights, (0, part.size_bytes - weights.size)) if weights.size < part.size_bytes else weights


def _data(values: Sequence[Value], number: int) -> NDArray[Any]:
    data = values[number].data
    assert data is not None
    return data


def _table(node: DlaNode, values: Sequence[Value], number: int) -> NDArray[Any]:
    """The table by q + 128: the DLA takes the bytes of a uint8 or bool input for int8."""
    table = _data(values, number)
    if table.dtype == np.int32:
        return table.astype("<i4")
    is_unsigned = values[node.inputs[0]].dtype in ("uint8", "bool")
    return np.roll(table, len(table) // 2) if is_unsigned else table


def _slice(
    node: DlaNode, weights: NDArray[Any], first: int, channels: int, start: int, depth: int
) -> NDArray[Any]:
    if node.is_dense:
        chosen = weights[first : first + channels]
        return np.ascontiguousarray(chosen[..., start : start + depth])
    chosen = weights.reshape(*node.kernel, node.out_shape[2])[..., first : first + channels]
    return np.ascontiguousarray(np.moveaxis(chosen, -1, 0) if node.is_channel_by_channel else chosen)
