"""What emission reads of the nodes of a network, the same for all its programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from dlasim.compiler_shim.calls.nodes import DlaNode, Pair, PlacedNetwork, root_of
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.lowering.addresses.constants import pooled
from dlasim.compiler_shim.lowering.emission.commands import register
from dlasim.compiler_shim.lowering.emission.operations import pair
from dlasim.compiler_shim.lowering.emission.records import MAX_FIXED, NodeFacts, TensorLocation
from dlasim.compiler_shim.lowering.tiles.geometry import node_sizes
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.isa import codec
from dlasim.isa.instruction_rows import Init, Out
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS
from dlasim.named_tuple import NamedTuple
from dlasim.native.storage import Store, filled_numbers

_READS = {row.mnemonic: frozenset(row.registers) for row in INSTRUCTIONS}
_IN, _IN2, _ACC = (register(f"{name}_ADDR") for name in ("IN", "IN2", "ACC"))
_NO_FACTS = NodeFacts()  # of the nodes of the CPU


class WeightCut(NamedTuple):
    """Output and input channels of a piece of weights."""

    channels: int
    depth: int


class NetworkNode(NamedTuple):
    """A node, however it is cut and wherever its tensors are.

    What decides about the packed bytes of its constants is `shared`, if it is the same for other nodes.
    """

    node: DlaNode
    facts: NodeFacts
    shared: tuple[object, ...] | None

    def pieces(self, cut: WeightCut) -> int:
        """The pieces of its constants: one for each group of output channels in each pass, or a table."""
        return -(-self.facts.constant_channels // cut.channels) * -(-self.facts.constant_depth // cut.depth)


@once
def network_nodes(network: PlacedNetwork) -> Mapping[int, NetworkNode]:
    """The nodes for the DLA, by step."""
    nodes = {step: node for step, node in enumerate(network.nodes) if isinstance(node, DlaNode)}
    found = {step: _network_node(network, node) for step, node in nodes.items()}
    users = Counter([each.shared for each in found.values()])
    return {
        step: each if users[each.shared] > 1 else each._replace(shared=None) for step, each in found.items()
    }


def _network_node(network: PlacedNetwork, node: DlaNode) -> NetworkNode:
    """A node of a network."""
    owners = [root_of(network.values, value) for value in (*node.sources, node.output)]
    if node.cursor:
        owners[-1] = node.output  # what begins at a cursor has a place of its own
    return _describe_node(node, tuple(owners))


@lru_cache(maxsize=1 << 14)
def _describe_node(node: DlaNode, owners: tuple[int, ...]) -> NetworkNode:
    """Found once for all placements of a network that have this object, and values with the same bytes."""
    return NetworkNode(node, _facts(node, _layouts(node, owners)), _constants(node))


@once
def alike_steps(network: PlacedNetwork) -> Store[int]:
    """By step the last one before whose node has the same constants, NONE for none."""
    alike, last = [NONE] * len(network.nodes), dict[object, int]()
    for step, found in network_nodes(network).items():
        if found.shared:
            alike[step], last[found.shared] = last.get(found.shared, NONE), step
    return filled_numbers(alike)


@once
def value_bytes(network: PlacedNetwork) -> Store[int]:
    """By value that is a constant the bytes that it takes among the constants."""
    return filled_numbers([0 if each.data is None else pooled(each.data.nbytes) for each in network.values])


@once
def facts_memory(network: PlacedNetwork) -> Store[NodeFacts]:
    """The facts of each DLA node by step, for routines, which only read them."""
    nodes, store = network_nodes(network), Store(NodeFacts)
    facts = [nodes[step].facts if step in nodes else _NO_FACTS for step in range(len(network.nodes))]
    store.fill(b"".join(map(bytes, facts)))
    return store


def _constants(node: DlaNode) -> tuple[object, ...]:
    """What decides about packed constants, besides how they are cut: the images of a batch share them."""
    return (node.mnemonic, node.table) if node.table is not None else (node.weights_key, node.records)


def _layouts(node: DlaNode, owners: Sequence[int]) -> tuple[TensorLocation, TensorLocation, TensorLocation]:
    """How the first input, the second or the matrix, and the output lie in the values that have their bytes:
    the numbers of these are in the place of spaces."""
    layouts = node.operand_layouts
    sizes = [node.in_element_bytes] * (len(layouts) - 1) + [node.out_element_bytes]
    first, *second, output = [
        TensorLocation(owner, layout[0] * size, layout[1] * size, layout[2] * size, size)
        for owner, layout, size in zip(owners, layouts, sizes, strict=True)
    ]
    return first, second[0] if second else TensorLocation(), output


def _facts(node: DlaNode, layouts: tuple[TensorLocation, ...]) -> NodeFacts:
    reads = _READS[node.mnemonic]
    more = tuple(node.registers.items())
    registers = _fixed_registers(node.mnemonic, node.kernel, node.stride, node.dilation, more)
    views = (_IN2, _IN) if node.swaps_inputs else (_IN, _ACC if node.adds_tensor else _IN2)
    word, first, middle, last = _words(node.mnemonic, node.is_dense, tuple(node.fields.items()))
    sizes, cut = node_sizes(node), (0, 0)
    if sizes.table_bytes:
        cut = 1, 1
    elif (sizes.weight_bytes or sizes.record_bytes) and not sizes.has_matrix:
        cut = sizes.channels, sizes.depth
    return NodeFacts(
        sizes=sizes,
        constant_channels=cut[0],
        constant_depth=cut[1],
        layouts=layouts,
        pad_left=node.pad[1],
        is_channel_by_channel=int(node.is_channel_by_channel),
        input_view=views[0],
        second_view=views[1],
        reads_channels=int("IN_CHANNELS" in reads),
        reads_size=int("IN_SIZE" in reads),
        unit=int(BY_MNEMONIC[node.mnemonic].unit),
        word=word,
        first_word=first,
        middle_word=middle,
        last_word=last,
        layer=node.layer,
        tensor=node.output if node.is_observed else NONE,
        fixed_count=registers.used,
        fixed_registers=registers.registers,
        fixed_values=registers.values,
    )


class _Fixed(NamedTuple):
    """Registers and their values, followed by zeros."""

    used: int
    registers: tuple[int, ...]
    values: tuple[int, ...]


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
    return _Fixed(len(fixed), (*fixed, *rest), (*fixed.values(), *rest))


@lru_cache(maxsize=4096)
def _words(mnemonic: str, is_dense: bool, fields: tuple[tuple[str, int], ...]) -> tuple[int, int, int, int]:
    """The instruction alone, and as the first, a middle and the last pass over some of the input channels."""
    given = dict(fields)
    alone = codec.encode(mnemonic, **given)
    if not is_dense:
        return alone, alone, alone, alone
    sums_mnemonic = BY_MNEMONIC[mnemonic].sums or mnemonic
    first = codec.encode(sums_mnemonic, **given | {"out": Out.INT32})
    middle = codec.encode(sums_mnemonic, **given | {"out": Out.INT32, "init": Init.PARTIAL})
    return alone, first, middle, codec.encode(mnemonic, **given | {"init": Init.PARTIAL})
