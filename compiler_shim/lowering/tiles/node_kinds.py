"""The kinds of a network's nodes, and problems as `known_tilings` has them, by number: the same for all
machines."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.lowering.tiles.bounds import WorkBounds, work_bounds
from dlasim.compiler_shim.lowering.tiles.geometry import node_sizes
from dlasim.compiler_shim.lowering.tiles.known_tilings import WHERES, where_bits
from dlasim.compiler_shim.lowering.tiles.tile_records import NodeSizes
from dlasim.named_tuple import NamedTuple
from dlasim.native.record import layout
from dlasim.native.storage import Store

_SLOTS = {name: each.slot for name, each in layout(NodeSizes).fields.items()}
# What changes in a node's sizes with each of `where_bits`; the second is that of the matrix if there is one.
_CHANGES = {"input_bytes": 0}, {"second_bytes": 0}, {"output_bytes": 0}, {"keeps_constants": 1}
_OF_MATRIX = {"loaded_weight_bytes": 0, "is_matrix_in_sram": 1}


class CostClass(NamedTuple):
    """What a machine's costs for a node depend on. Nothing comes before the first node, so nothing is
    prefetched for it."""

    mnemonic: str
    mode: int
    in_element_bytes: int
    is_channel_by_channel: bool
    adds_tensor: bool
    has_int16_matrix: bool
    is_first: bool


class NodeKind(NamedTuple):
    """What a node's tilings and costs depend on: the slots of its sizes in memory, and its class."""

    sizes: tuple[int, ...]
    costs: CostClass


def node_kind(node: DlaNode, is_first: bool = False) -> NodeKind:
    """The kind of a node."""
    costs = CostClass(
        node.mnemonic, node.fields.get("mode", 0), node.in_element_bytes, node.is_channel_by_channel,
        node.adds_tensor, node.matrix is not None and node.is_int16, is_first,
    )  # fmt: skip
    return NodeKind(tuple(node_sizes(node).flatten()), costs)


class NodeKinds:
    """Kinds and chains of them, as they become known: their numbers, the sizes of all problems, and the cost
    classes."""

    def __init__(self) -> None:
        self._kinds: dict[NodeKind, int] = {}
        self._chains: dict[tuple[int, ...], int] = {}
        self.classes: dict[CostClass, int] = {}
        self.class_of: list[int] = []  # by kind
        self.sizes = Store(NodeSizes)  # by problem
        self.most = WorkBounds()  # of any kind

    def __len__(self) -> int:
        return len(self._kinds)

    @property
    def chain_count(self) -> int:
        """How many chains are known."""
        return len(self._chains)

    def numbers(self, kinds: Iterable[NodeKind]) -> list[int]:
        """The numbers of some kinds."""
        return [self._kinds[kind] if kind in self._kinds else self._add(kind) for kind in kinds]

    def chains(self, chains: Iterable[tuple[int, ...]]) -> list[int]:
        """The numbers of chains of nodes of these kinds."""
        return [self._chains.setdefault(kinds, len(self._chains)) for kinds in chains]

    def anywhere(self, kind: int, in_sram: bool) -> int:
        """The problem of a kind with all of its inputs and its output in SRAM, or nothing."""
        has_second = self.sizes[kind * WHERES].input_count > 1
        return kind * WHERES + where_bits(in_sram, in_sram and has_second, in_sram, 0)

    def _add(self, kind: NodeKind) -> int:
        number = self._kinds[kind] = len(self._kinds)
        self.class_of.append(self.classes.setdefault(kind.costs, len(self.classes)))
        self.sizes.write_array(number * WHERES, _sizes_anywhere(kind.sizes))
        self.most = self.most.either(work_bounds(self.sizes[number * WHERES]))
        return number


def _sizes_anywhere(slots: tuple[int, ...]) -> NDArray[np.int64]:
    """The slots of all problems of a kind, from those in memory."""
    found = np.tile(np.array(slots, np.int64), (WHERES, 1))
    for bit, changes in enumerate(_CHANGES):
        of_matrix = _OF_MATRIX if bit == 1 and slots[_SLOTS["has_matrix"]] else {}
        for name, value in {**changes, **of_matrix}.items():
            found[np.arange(WHERES) >> bit & 1 == 1, _SLOTS[name]] = value
    return found.ravel()
