"""The kinds of a network's nodes, and problems as `known_tilings` has them, by number: the same for all
machines."""

from __future__ import annotations

from collections.abc import Iterable

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.lowering.tiles.bounds import WorkBounds, work_bounds
from dlasim.compiler_shim.lowering.tiles.geometry import Geometries, Geometry, InSram, geometries_of
from dlasim.compiler_shim.lowering.tiles.known_tilings import WHERES
from dlasim.compiler_shim.lowering.tiles.tile_records import NodeSizes
from dlasim.named_tuple import NamedTuple
from dlasim.native.storage import Store


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
    """What a node's tilings and costs depend on."""

    geometries: Geometries
    costs: CostClass


def node_kind(node: DlaNode, is_first: bool = False) -> NodeKind:
    """The kind of a node."""
    costs = CostClass(
        node.mnemonic, node.fields.get("mode", 0), node.in_element_bytes, node.is_channel_by_channel,
        node.adds_tensor, node.matrix is not None and node.is_int16, is_first,
    )  # fmt: skip
    return NodeKind(geometries_of(node), costs)


class NodeKinds:
    """Kinds and chains of them, as they become known: their numbers, the sizes of all problems, and the cost
    classes."""

    def __init__(self) -> None:
        self._kinds: dict[NodeKind, int] = {}
        self._geometries: list[Geometries] = []  # by kind
        self._chains: dict[tuple[int, ...], int] = {}
        self.classes: dict[CostClass, int] = {}
        self.class_of: list[int] = []  # by kind
        self.sizes = Store(NodeSizes)
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

    def geometry(self, problem: int) -> Geometry:
        """The geometry of a problem."""
        kind, where = divmod(problem, WHERES)
        geometries = self._geometries[kind]
        return geometries[geometries.where(where)]

    def anywhere(self, kind: int, in_sram: bool) -> int:
        """The problem of a kind with all of its tensors in SRAM, or none."""
        inputs = (in_sram,) * self._geometries[kind].inputs
        return kind * WHERES + InSram(inputs, in_sram).number

    def _add(self, kind: NodeKind) -> int:
        number = self._kinds[kind] = len(self._kinds)
        self.most = self.most.either(work_bounds(kind.geometries.in_memory.sizes))
        self._geometries.append(kind.geometries)
        self.class_of.append(self.classes.setdefault(kind.costs, len(self.classes)))
        self.sizes.write_array(number * WHERES, kind.geometries.slots)
        return number
