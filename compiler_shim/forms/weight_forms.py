"""Decides for a machine whose DMA_IN decodes which weights are compressed: those that it loads sooner so."""

from __future__ import annotations

from dataclasses import replace

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.forms.partition import Item, UnplacedNetwork
from dlasim.compiler_shim.lowering.addresses.weight_codes import WeightCodes, whole_weights
from dlasim.compiler_shim.lowering.tiles.tile_buffers import CODE_PARTS
from dlasim.isa.registers import Region
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import bus_costs, fully_timed, packs_weights
from dlasim.sim.timing.formulas import ceil_div, decode_beats, transfer_beats, unpack_beats


def compress_weights(network: UnplacedNetwork, config: DlaConfig) -> UnplacedNetwork:
    """The network, with how long its compressed weights take."""
    return _Compression(network, config).run() if config.dma_decoding else network


class _Compression:
    def __init__(self, network: UnplacedNetwork, config: DlaConfig) -> None:
        self._network, self._packs, self._codes = network, packs_weights(config), WeightCodes(network.values)
        self._bus = bus_costs(fully_timed(config), Region.CONSTANTS)
        self._known = dict[tuple[object, ...], int]()  # of weights that several nodes may have

    def run(self) -> UnplacedNetwork:
        """Each node by itself."""
        items = tuple([self._item(item) for item in self._network.items])
        return replace(self._network, items=items, codes=self._codes)

    def _item(self, item: Item) -> Item:
        return replace(item, dla=tuple([self._node(node) for node in item.dla]))

    def _node(self, node: DlaNode) -> DlaNode:
        if node.weights is None:
            return node
        key = (node.weights, node.mnemonic, node.is_channel_by_channel, node.out_shape[2], node.in_shape[2])
        if key not in self._known:
            self._known[key] = self._code_parts(node)
        parts = self._known[key]
        return replace(node, code_parts=parts, packs_weights=False) if parts else node

    def _code_parts(self, node: DlaNode) -> int:
        """Of CODE_PARTS of the time that bytes take; 0 where another form is faster."""
        part = whole_weights(node)
        (words, steps), size = self._codes.measure(node, [part])[0].tolist(), part.size_bytes
        plain = other = transfer_beats(self._bus, size, 1)
        cycles = decode_beats(self._bus, words * CODE_BYTES, steps, 0)
        if node.packs_weights and self._packs:
            other = unpack_beats(self._bus, size // 2, size // 2)
        return ceil_div(CODE_PARTS * cycles, plain) if cycles < other else 0
