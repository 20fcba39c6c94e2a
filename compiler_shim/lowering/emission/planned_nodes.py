"""The nodes of a plan as emission reads them: their `Node` records, all at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct

import numpy as np

from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork
from dlasim.compiler_shim.files.half_bytes import pack_int4
from dlasim.compiler_shim.lowering.addresses.constants import WeightsPart, pack, part_of_weights
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.emission.network_nodes import network_nodes
from dlasim.compiler_shim.lowering.emission.piece_codes import cut_weights, piece_codes
from dlasim.compiler_shim.lowering.emission.records import BUFFERS, NONE, Buffer, Node
from dlasim.native.record import SLOT_BYTES, layout, slots_of
from dlasim.native.storage import Store

_FIRST_SLOTS, _BUFFER_SLOTS = Struct("10q"), Struct(f"{BUFFERS * slots_of(Buffer)}q")
_PLANNED_SLOTS = layout(Node).fields["tensors"].slot  # what follows changes while a node is emitted
_NO_BUFFER = 1, 0, 0  # the slots of a `Buffer`


class PlannedNodes:
    """The nodes of a network with their tilings, and the addresses of their buffers and of constants that are
    prefetched or stay in SRAM.

    By step: how many `pieces` its constants have, and from `first` on their places in `constant_offsets` and
    `prefetch_addresses`. Those of `kept_steps` stay in SRAM. Pieces of compressed weights have `coded_words`
    and `coded_steps`; `spared` are their bytes that do not cross the bus, by value.
    """

    def __init__(self, network: PlacedNetwork, plan: SramPlan) -> None:
        self._network, self._plan, self._nodes = network, plan, network_nodes(network)
        self.pieces, self.first = dict[int, int](), dict[int, int]()
        self.kept_steps, kept = list[int](), plan.kept.addresses
        given, keeps = kept or plan.prefetches.addresses, int(bool(kept))
        between = {
            step: address
            for each in plan.chains.values()
            for step, address in zip(each.steps, each.inner_addresses, strict=False)
        }
        rows, addresses = [bytes(_PLANNED_SLOTS * SLOT_BYTES)] * len(network.nodes), list[int]()
        shared = dict[object, int]()  # places of constants that several nodes have
        for step, node in self._nodes.items():
            shape, found = plan.tilings[step].tile_shape, given.get(step, ())
            key = node.shared and (node.shared, shape.channels, shape.depth)
            first = shared.get(key) if key and (keeps or not found) else None
            self.pieces[step] = pieces = node.pieces(shape)
            if first is None:
                first = len(addresses)
                addresses += [*found, *[0] * (pieces - len(found))]
                if keeps and found:
                    self.kept_steps.append(step)
            self.first[step] = first
            if key:
                shared[key] = first
            start = step, first, len(found), keeps and len(found) > 0, between.get(step, 0)
            rows[step] = _FIRST_SLOTS.pack(*start, *shape[:5]) + _buffer_slots(plan.buffers[step])
        self.records = Store(Node, len(rows))
        planned = np.frombuffer(b"".join(rows), np.int64).reshape(-1, _PLANNED_SLOTS)
        self.records.view()[:, :_PLANNED_SLOTS] = planned
        self.prefetch_addresses, self.constant_offsets = Store(int), Store(int)
        self.prefetch_addresses.write(0, addresses)
        self.constant_offsets.write(0, [NONE] * len(addresses))
        self.coded_words, self.coded_steps = Store(int, len(addresses)), Store(int, len(addresses))
        self.spared = dict[int, int]()
        self._describe_codes()

    def repeats(self, step: int) -> int:
        """The most operations that compute a tile."""
        is_by_channel = self._nodes[step].node.is_channel_by_channel
        return self._plan.tilings[step].tile_shape.channels if is_by_channel else 1

    def operations(self, step: int) -> int:
        """The most operations of a task: its loads, computations and store."""
        return len(self._nodes[step].node.inputs) + 1 + self.repeats(step) + 1

    def pack(self, step: int, piece: int, unpacks: bool) -> Callable[[], bytes]:
        """Makes a piece of a node's constants from the network's values, for a machine that `unpacks` or
        not."""
        shape, found = self._plan.tilings[step].tile_shape, self._nodes[step]
        part, place = cut_weights(found, shape, piece), self.first[step] + piece
        is_coded = self.coded_steps.take(place, place + 1)[0] > 0
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
            shape, node = self._plan.tilings[step].tile_shape, self._nodes[step].node
            sizes = codes.sizes(step, shape)
            self.coded_words.write(self.first[step], sizes.words)
            self.coded_steps.write(self.first[step], sizes.steps)
            assert node.weights is not None, "what has a code has weights"
            self.spared[node.weights] = max(sizes.spared, self.spared.get(node.weights, 0))


@lru_cache(maxsize=1 << 14)
def _buffer_slots(buffers: tuple[tuple[int, ...], ...]) -> bytes:
    """The slots of the two inputs, the constants, the accumulator and the output."""
    first, *second, constants, accumulator, output = buffers
    numbers = list[int]()
    for addresses in (first, second[0] if second else (), constants, accumulator, output):
        numbers += (len(addresses), addresses[0], addresses[-1]) if addresses else _NO_BUFFER
    return _BUFFER_SLOTS.pack(*numbers)
