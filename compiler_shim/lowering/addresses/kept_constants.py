"""Places constants that stay in SRAM behind what a plan uses there, where no inference overwrites them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.lowering.addresses.constants import MEMORY_ALIGNMENT, pooled
from dlasim.compiler_shim.lowering.addresses.sram_plan import KeptConstants, PlacedPieces
from dlasim.compiler_shim.lowering.emission.network_nodes import WeightCut, network_nodes
from dlasim.compiler_shim.lowering.emission.piece_codes import weight_parts
from dlasim.compiler_shim.lowering.tiles.tile_buffers import constant_bytes


def place_kept(
    network: PlacedNetwork, first: int, cuts: Mapping[int, WeightCut] | None = None
) -> KeptConstants:
    """Addresses from `first` on for the pieces into which the tilings of steps cut their constants; without
    tilings each node has one. Nodes with the same constants, cut alike, share them."""
    counts, addresses, shared = list[int](), list[int](), dict[object, list[int]]()
    begin = end = pooled(first)
    for step, node in network_nodes(network).items():
        sizes = node.facts.sizes
        cut = WeightCut(sizes.channels, sizes.depth) if cuts is None else cuts[step]
        key = (node.shared, cut) if node.shared else step
        if key not in shared:
            found = shared[key] = []
            for part in weight_parts(node, cut):
                found.append(end)
                end += pooled(constant_bytes(sizes, part.channels, part.depth))
        counts.append(len(shared[key]))
        addresses += shared[key]
    return KeptConstants(PlacedPieces(np.array(counts), np.array(addresses, np.int64)), end - begin)


@once
def kept_bytes(network: PlacedNetwork) -> int:
    """What all constants take, each in one piece."""
    return place_kept(network, 0).size_bytes + MEMORY_ALIGNMENT
