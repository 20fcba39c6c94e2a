"""The nodes of a plan as emission reads them: their `Node` records, all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork
from dlasim.compiler_shim.files.half_bytes import pack_int4
from dlasim.compiler_shim.lowering.addresses.constants import WeightsPart, pack, part_of_weights
from dlasim.compiler_shim.lowering.addresses.packed_records import SLOTS
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.emission.network_nodes import WeightCut, network_nodes, node_columns
from dlasim.compiler_shim.lowering.emission.piece_codes import cut_weights, piece_codes
from dlasim.compiler_shim.lowering.emission.records import NONE, InFlight, Node, Slice, Span
from dlasim.native.record import layout
from dlasim.native.storage import Store

_NODE = layout(Node).fields
_FIRST, _PLACED, _KEEPS, _BETWEEN, _ROWS, _CHANNELS, _DEPTH, _TENSORS = (
    _NODE[name].slot
    for name in (
        "first_constant", "prefetched", "keeps_constants", "between_address", "tile_rows", "tile_channels",
        "tile_depth", "tensors",
    )
)  # fmt: skip


class EmissionMemory:
    """What emission works on, which grows with the largest program so far."""

    def __init__(self) -> None:
        self.in_flight, self.words, self.ends = Store(InFlight), Store(int), Store(int)
        self.spans, self.slices, self.nodes = Store(Span), Store(Slice), Store(Node)
        self.addresses, self.offsets = Store(int), Store(int)
        self.coded_words, self.coded_steps = Store(int), Store(int)


class PlannedNodes:
    """The nodes of a network with their tilings, and the addresses of their buffers and of constants that are
    prefetched or stay in SRAM.

    By step: how many `pieces` its constants have, and from `first` on their places in `constant_offsets` and
    `prefetch_addresses`; its `tasks`, the `repeats` of a task's computation, one for each channel or one in
    all, and the most `operations` of a task. `steps` are in the order of the plan. The constants of
    `kept_steps` stay in SRAM. Pieces of compressed weights have `coded_words` and `coded_steps`; `spared`
    are their bytes that do not cross the bus, by value.
    """

    def __init__(self, network: PlacedNetwork, plan: SramPlan, memory: EmissionMemory) -> None:
        self._network, self._nodes = network, network_nodes(network)
        columns, count = node_columns(network), len(network.nodes)
        kept = plan.kept.addresses
        given = kept or plan.prefetches.addresses
        self.records, self.steps, self.tasks = memory.nodes, plan.steps, np.zeros(count, int)
        records, steps = memory.nodes.clear(count), plan.steps
        self.tasks[steps] = plan.nodes[:, SLOTS["tasks"]]
        records[steps, _ROWS:_TENSORS] = plan.nodes[:, SLOTS["rows"] : SLOTS["buffering"]]
        records[steps, _BETWEEN] = plan.nodes[:, SLOTS["between_address"]]
        channels, depths = (np.maximum(records[:, slot], 1) for slot in (_CHANNELS, _DEPTH))
        self.pieces = -(-columns.constant_channels // channels) * -(-columns.constant_depth // depths)
        self.repeats = np.where(columns.is_channel_by_channel, channels, 1)
        self.operations = columns.inputs + 2 + self.repeats
        same = self._find_shared(given, bool(kept))
        own = self.pieces.copy()
        own[list(same)] = 0
        self.first = np.cumsum(own) - own
        for step, other in same.items():
            self.first[step] = self.first[other]
        self.kept_steps = [step for step in steps if step in kept and step not in same]
        pieces = int(own.sum())
        self.prefetch_addresses, self.constant_offsets = memory.addresses, memory.offsets
        self.coded_words, self.coded_steps = memory.coded_words, memory.coded_steps
        addresses = self.prefetch_addresses.clear(pieces)
        self.constant_offsets.clear(pieces)[:] = NONE
        self.coded_words.clear(pieces)
        self.coded_steps.clear(pieces)
        records[:, 0], records[:, _FIRST] = np.arange(count), self.first
        for step, found in given.items():
            records[step, _PLACED], records[step, _KEEPS] = len(found), bool(kept)
            if step not in same:
                addresses[self.first[step] : self.first[step] + len(found)] = found
        self.spared = dict[int, int]()
        self._describe_codes()

    def _find_shared(self, given: Mapping[int, Sequence[int]], keeps: bool) -> dict[int, int]:
        """The steps whose constants are those of an earlier one, and that one."""
        found, known = dict[int, int](), dict[object, int]()
        for step, constants in node_columns(self._network).shared.items():
            key = constants, self._cut(step)
            if key in known and (keeps or not given.get(step)):
                found[step] = known[key]
            else:
                known[key] = step
        return found

    def _cut(self, step: int) -> WeightCut:
        """How a node's weights are cut."""
        channels, depth = self.records.view()[step, [_CHANNELS, _DEPTH]].tolist()
        return WeightCut(channels, depth)

    def pack(self, step: int, piece: int, unpacks: bool) -> Callable[[], bytes]:
        """Makes a piece of a node's constants from the network's values, for a machine that `unpacks` or
        not."""
        found = self._nodes[step]
        part = cut_weights(found, self._cut(step), piece)
        is_coded = self.coded_steps[int(self.first[step]) + piece] > 0
        return lambda: self._bytes(found.node, part, is_coded, unpacks)

    def _bytes(self, node: DlaNode, part: WeightsPart, is_coded: bool, unpacks: bool) -> bytes:
        stored, values, codes = b"", self._network.values, self._network.codes
        if is_coded and codes:
            stored = codes.code(node, part).to_bytes()
        elif node.weights is not None:
            weights = part_of_weights(node, values, part)
            stored = (pack_int4(weights) if unpacks and node.packs_weights else weights).tobytes()
        return pack(node, values, part, stored)

    def _describe_codes(self) -> None:
        """Note how large pieces of compressed weights are."""
        codes = piece_codes(self._network)
        for step in codes.steps:
            node, sizes = self._nodes[step].node, codes.sizes(step, self._cut(step))
            own = slice(self.first[step], self.first[step] + len(sizes.words))
            self.coded_words.view()[own], self.coded_steps.view()[own] = sizes.words, sizes.steps
            assert node.weights is not None, "what has a code has weights"
            self.spared[node.weights] = max(sizes.spared, self.spared.get(node.weights, 0))
