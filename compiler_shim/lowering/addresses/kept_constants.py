"""Places constants that stay in SRAM behind what a plan uses there, where no inference overwrites them."""

from __future__ import annotations

from collections.abc import Mapping

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.constants import MEMORY_ALIGNMENT, pooled
from dlasim.compiler_shim.lowering.addresses.memory import once
from dlasim.compiler_shim.lowering.addresses.sram_plan import KeptConstants
from dlasim.compiler_shim.lowering.emission.network_nodes import NetworkNode, network_nodes
from dlasim.compiler_shim.lowering.tiles.tile_buffers import packed_bytes

Cut = tuple[int, int]  # output and input channels of a piece


def place_kept(network: PlacedNetwork, first: int, cuts: Mapping[int, Cut] | None = None) -> KeptConstants:
    """Addresses from `first` on for the pieces into which the tilings of steps cut their constants; without
    tilings each node has one. Nodes with the same constants, cut alike, share them."""
    addresses, shared = dict[int, tuple[int, ...]](), dict[object, tuple[int, ...]]()
    begin = end = pooled(first)
    for step, node in network_nodes(network).items():
        cut = (node.facts.sizes.channels, node.facts.sizes.depth) if cuts is None else cuts[step]
        key = (node.shared, cut) if node.shared else step
        if key not in shared:
            found = []
            for size in piece_sizes(node, cut):
                found.append(end)
                end += pooled(size)
            shared[key] = tuple(found)
        if shared[key]:
            addresses[step] = shared[key]
    return KeptConstants(addresses, end - begin)


@once
def kept_bytes(network: PlacedNetwork) -> int:
    """What all constants take, each in one piece."""
    return place_kept(network, 0).size_bytes + MEMORY_ALIGNMENT


def piece_sizes(node: NetworkNode, cut: Cut) -> list[int]:
    """The bytes of the pieces of a node's constants, in their order."""
    facts, (channels, depth) = node.facts.sizes, cut
    if facts.table_bytes:
        return [facts.table_bytes]
    if facts.has_matrix or not (facts.weight_bytes or facts.record_bytes):
        return []
    return [
        packed_bytes(
            min(channels, facts.channels - first),
            min(depth, facts.depth - start),
            facts.weight_bytes,
            facts.record_bytes,
            facts.table_bytes,
        )
        for first in range(0, facts.channels, channels)
        for start in range(0, facts.depth, depth)
    ]
