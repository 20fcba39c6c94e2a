"""The nodes of a plan as emission reads them: their `Node` records, all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.constants import StoredForm, pack
from dlasim.compiler_shim.lowering.addresses.memory import once
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.emission.network_nodes import network_nodes
from dlasim.compiler_shim.lowering.emission.piece_codes import cut_weights, piece_codes
from dlasim.compiler_shim.lowering.emission.records import BUFFERS, NONE, Buffer, Node, TensorLocation
from dlasim.compiler_shim.lowering.tiles.geometry import TileShape
from dlasim.native.record import layout, slots_of
from dlasim.native.storage import Store

_SLOT = {name: field.slot for name, field in layout(Node).fields.items()}
_TILE = slice(_SLOT["tile_rows"], _SLOT["buffers"])
_BUFFERS = slice(_SLOT["buffers"], _SLOT["tensors"])
_TENSORS = slice(_SLOT["tensors"], _SLOT["fills"])
_NO_TENSOR = (NONE,) * slots_of(TensorLocation)
_NO_BUFFER = 1, 0, 0  # the slots of a `Buffer`
_TILE_SLOTS, _BUFFER_SLOTS = Struct("5q"), Struct(f"{BUFFERS * slots_of(Buffer)}q")

Places = tuple[NDArray[np.int64], NDArray[np.int64]]  # by value its space and offset; the last is for none


class _NodeColumns(NamedTuple):
    """The nodes for the DLA: their steps; operands, with the numbers of values in the place of spaces; output
    and input channels; whether they have a table, or pieces of weights or records; whether a channel is an
    operation of its own; and the operations of a task besides those that compute."""

    steps: NDArray[np.int64]
    operands: NDArray[np.int64]
    channels: NDArray[np.int64]
    depth: NDArray[np.int64]
    has_table: NDArray[np.bool_]
    has_pieces: NDArray[np.bool_]
    is_by_channel: NDArray[np.bool_]
    transfers: NDArray[np.int64]


class PlannedNodes:
    """The nodes of a network with their tilings, the locations of their operands, and the addresses of their
    buffers and of constants that are prefetched or stay in SRAM.

    By step: `pieces` of its constants, which have their places in `constant_offsets` and `prefetch_addresses`
    from `first` on; `repeats`, the most operations that compute a tile, and `operations`, the most of a task.
    Constants of `kept_steps` stay in SRAM. Pieces of compressed weights have `coded_words` and `coded_steps`;
    `spared` are their bytes that do not cross the bus, by value.
    """

    def __init__(self, network: PlacedNetwork, plan: SramPlan) -> None:
        self._network, self._plan, self.spared = network, plan, dict[int, int]()
        columns, self.records = _columns(network), Store(Node, len(network.nodes))
        self._columns, self._slots, steps = columns, self.records.view(), columns.steps.tolist()
        tiles = self._fill(_TILE, [_tile_slots(plan.tilings[step].tile_shape) for step in steps])
        self._fill(_BUFFERS, [_buffer_slots(plan.buffers[step]) for step in steps])
        self._slots[columns.steps, _SLOT["step"]] = columns.steps
        for each in plan.chains.values():
            for step, address in zip(each.steps, each.inner_addresses, strict=False):
                self._slots[step, _SLOT["between_address"]] = address
        _, _, channels, depth, _ = tiles.T
        repeats = np.where(columns.is_by_channel, channels, 1)
        groups, passes = -(-columns.channels // channels), -(-columns.depth // depth)
        pieces = np.where(columns.has_table, 1, columns.has_pieces * groups * passes)
        self.repeats, self.operations = self._by_step(repeats), self._by_step(columns.transfers + repeats)
        self.pieces, self.first = self._by_step(pieces), self._by_step(np.cumsum(pieces) - pieces)
        self._place_constants(int(pieces.sum()))
        self._describe_codes(int(pieces.sum()))

    def _fill(self, slots: slice, rows: Sequence[bytes]) -> NDArray[np.int64]:
        """Write some slots of all nodes."""
        numbers = np.frombuffer(b"".join(rows), np.int64).reshape(-1, slots.stop - slots.start)
        self._slots[self._columns.steps, slots] = numbers
        return numbers

    def _by_step(self, numbers: NDArray[np.int64]) -> dict[int, int]:
        return dict(zip(self._columns.steps.tolist(), numbers.tolist(), strict=True))

    def _place_constants(self, pieces: int) -> None:
        """Note which constants have addresses in SRAM, and where those of all nodes are in the lists."""
        kept = self._plan.kept.addresses
        given = kept or self._plan.prefetches.addresses
        sharing = self._share(given, bool(kept))
        self.kept_steps = [step for step in kept if step not in sharing]
        self.prefetch_addresses, self.constant_offsets = Store(int, pieces), Store(int, pieces)
        self.constant_offsets.view()[:] = NONE
        for step, addresses in given.items():
            self.prefetch_addresses.write(self.first[step], addresses)
            self._slots[step, _SLOT["prefetched"]] = len(addresses)
            self._slots[step, _SLOT["keeps_constants"]] = bool(kept)
        self._slots[self._columns.steps, _SLOT["first_constant"]] = list(self.first.values())

    def _describe_codes(self, pieces: int) -> None:
        """Note how large pieces of compressed weights are."""
        self.coded_words, self.coded_steps = Store(int, pieces), Store(int, pieces)
        codes = piece_codes(self._network)
        for step in codes.steps:
            shape, node = self._plan.tilings[step].tile_shape, network_nodes(self._network)[step].node
            sizes = codes.sizes(step, shape.channels, shape.depth)
            self.coded_words.write(self.first[step], [each.words for each in sizes])
            self.coded_steps.write(self.first[step], [each.steps for each in sizes])
            spared = sum([each.spared for each in sizes])
            assert node.weights is not None, "what has a code has weights"
            self.spared[node.weights] = max(spared, self.spared.get(node.weights, 0))

    def _share(self, given: Mapping[int, Sequence[int]], are_kept: bool) -> set[int]:
        """Let nodes whose constants are not prefetched, or all stay, have those of an earlier image of a
        batch; returns their steps."""
        found, sharing = dict[object, int](), set[int]()
        for step, constants in _shared_constants(self._network).items():
            shape = self._plan.tilings[step].tile_shape
            key = constants, shape.channels, shape.depth
            if key in found and (are_kept or step not in given):
                self.first[step] = found[key]
                sharing.add(step)
            found[key] = self.first[step]
        return sharing

    def locate(self, first: int, end: int, places: Places) -> None:
        """Note where the operands of the nodes of some steps are."""
        spaces, offsets = places
        rows = slice(*np.searchsorted(self._columns.steps, (first, end)).tolist())
        values = self._columns.operands[rows, :, 0]
        tensors = self._columns.operands[rows].copy()
        tensors[:, :, 0], tensors[:, :, 1] = spaces[values], tensors[:, :, 1] + offsets[values]
        self._slots[self._columns.steps[rows], _TENSORS] = tensors.reshape(len(tensors), -1)

    def pack(self, step: int, piece: int, unpacks: bool) -> Callable[[], bytes]:
        """Makes a piece of a node's constants from the network's values, for a machine that `unpacks` or
        not."""
        shape, found = self._plan.tilings[step].tile_shape, network_nodes(self._network)[step]
        part, values = cut_weights(found, shape.channels, shape.depth, piece), self._network.values
        is_coded = self.coded_steps.take(self.first[step] + piece, self.first[step] + piece + 1)[0]
        form = StoredForm.CODED if is_coded else StoredForm.PLAIN
        if unpacks and found.node.packs_weights:
            form = StoredForm.PACKED
        return lambda: pack(found.node, values, part, form)


@once
def _columns(network: PlacedNetwork) -> _NodeColumns:
    nodes = network_nodes(network)
    sizes = [node.facts.sizes for node in nodes.values()]
    operands = [[each or _NO_TENSOR for each in node.operands] for node in nodes.values()]
    are_cut = [(each.weight_bytes or each.record_bytes) and not each.has_matrix for each in sizes]
    return _NodeColumns(
        np.array(list(nodes), np.int64),
        np.array(operands, np.int64).reshape(-1, 3, len(_NO_TENSOR)),
        np.array([each.channels for each in sizes], np.int64),
        np.array([each.depth for each in sizes], np.int64),
        np.array([each.table_bytes > 0 for each in sizes], bool),
        np.array(are_cut, bool),
        np.array([node.node.is_channel_by_channel for node in nodes.values()], bool),
        np.array([each.input_count + 2 for each in sizes], np.int64),
    )


@once
def _shared_constants(network: PlacedNetwork) -> Mapping[int, tuple[object, ...]]:
    """By step what decides about packed constants, where it is the same for other steps."""
    return {step: node.shared for step, node in network_nodes(network).items() if node.shared}


@lru_cache(maxsize=1 << 14)
def _tile_slots(shape: TileShape) -> bytes:
    return _TILE_SLOTS.pack(*shape[:-1])


@lru_cache(maxsize=1 << 14)
def _buffer_slots(buffers: tuple[tuple[int, ...], ...]) -> bytes:
    """The slots of the two inputs, the constants, the accumulator and the output."""
    first, *second, constants, accumulator, output = buffers
    numbers = list[int]()
    for addresses in (first, second[0] if second else (), constants, accumulator, output):
        numbers += (len(addresses), addresses[0], addresses[-1]) if addresses else _NO_BUFFER
    return _BUFFER_SLOTS.pack(*numbers)
