"""Decides for a machine whose DMA_IN decodes which weights are compressed: those that it loads sooner so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.facts import Recent, once
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.lowering.addresses.weight_codes import WeightCodes, whole_weights
from dlasim.compiler_shim.lowering.tiles.tile_buffers import CODE_PARTS
from dlasim.isa.registers import Region
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.named_tuple import NamedTuple
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import bus_costs, fully_timed, packs_weights
from dlasim.sim.timing.formulas import BusCosts, ceil_div, decode_beats, transfer_beats, unpack_beats

MAX_COMPRESSED = 4  # networks that are remembered, of one


def compress_weights(network: UnplacedNetwork, config: DlaConfig) -> UnplacedNetwork:
    """The network, with how long its compressed weights take. Machines on which they take as long share it,
    and so all that is found for it."""
    return _compression(network).run(network, config) if config.dma_decoding else network


class _Measured(NamedTuple):
    """The bytes of weights, their words and steps if they are compressed, and whether they may be packed."""

    size: int
    words: int
    steps: int
    may_pack: bool


class _Compression:
    """The weights of a network, encoded once for all machines."""

    def __init__(self, network: UnplacedNetwork) -> None:
        self._codes, known = WeightCodes(network.values), dict[object, _Measured]()
        self._nodes = list[_Measured | None]()  # in order
        self._made = Recent[UnplacedNetwork](MAX_COMPRESSED)  # by what the nodes take
        for node in [node for item in network.items for node in item.dla]:
            key = node.weights_key
            if node.weights is not None and key not in known:
                part = whole_weights(node)
                words, steps = self._codes.measure(node, [part])[0].tolist()
                known[key] = _Measured(part.size_bytes, words, steps, node.packs_weights)
            self._nodes.append(known.get(key))

    def run(self, network: UnplacedNetwork, config: DlaConfig) -> UnplacedNetwork:
        """The network on a machine."""
        bus, packs = bus_costs(fully_timed(config), Region.CONSTANTS), packs_weights(config)
        by_weights = {each: _code_parts(each, bus, packs) for each in {*self._nodes} if each is not None}
        parts = tuple([0 if each is None else by_weights[each] for each in self._nodes])
        if not any(parts):
            return network
        return self._made.get(parts, lambda: self._compressed(network, parts))

    def _compressed(self, network: UnplacedNetwork, parts: Sequence[int]) -> UnplacedNetwork:
        each = iter(parts)
        items = [
            replace(item, dla=tuple([_node(node, next(each)) for node in item.dla])) for item in network.items
        ]
        return replace(network, items=tuple(items), codes=self._codes)


def _node(node: DlaNode, parts: int) -> DlaNode:
    return replace(node, code_parts=parts, packs_weights=False) if parts else node


def _code_parts(weights: _Measured, bus: BusCosts, packs: bool) -> int:
    """Of CODE_PARTS of the time that bytes take; 0 where another form is faster."""
    size = weights.size
    plain = other = transfer_beats(bus, size, 1)
    cycles = decode_beats(bus, weights.words * CODE_BYTES, weights.steps, 0)
    if weights.may_pack and packs:
        other = unpack_beats(bus, size // 2, size // 2)
    return ceil_div(CODE_PARTS * cycles, plain) if cycles < other else 0


_compression = once(_Compression)
