"""Addresses of values in system memory, and which of them may stay in SRAM."""

from __future__ import annotations

from collections.abc import Mapping

from dlasim.compiler_shim.calls.live_ranges import LiveRange, find_live_ranges, reads, variables, writes
from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork, root_of
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.lowering.addresses import allocation
from dlasim.compiler_shim.lowering.addresses.constants import MEMORY_ALIGNMENT, pooled
from dlasim.dataclass import dataclass
from dlasim.isa.registers import Region


@dataclass(frozen=True, slots=True)
class SystemPlan:
    """(region, offset) of each value that has a place in system memory, and the regions' sizes."""

    locations: Mapping[int, tuple[Region, int]]
    arena_bytes: int
    inputs_bytes: int
    outputs_bytes: int


@once
def sram_candidates(network: PlacedNetwork) -> Mapping[int, LiveRange]:
    """The values that only DLA nodes touch and that live within one inference. What stands for weights has
    no gaps, since the MAC array reads it as a transfer would bring it."""
    outside = {root_of(network.values, value) for value in (*network.outputs, *network.inputs)} | variables(
        network
    )
    for node in network.nodes:
        if not isinstance(node, DlaNode):
            outside |= {*reads(node, network), *writes(node, network)}
        elif node.matrix is not None and not _is_dense_matrix(node):
            outside.add(root_of(network.values, node.matrix))
    live_ranges = find_live_ranges(network)
    return {value: live_range for value, live_range in live_ranges.items() if value not in outside}


def _is_dense_matrix(node: DlaNode) -> bool:
    layout = node.matrix_layout
    return layout is None or node.out_shape[2] == 1 or layout.line == node.in_shape[2]


def plan_system(network: PlacedNetwork, live_ranges: Mapping[int, LiveRange]) -> SystemPlan:
    """Inputs and outputs one after the other; everything else that has a live range shares the arena."""
    locations: dict[int, tuple[Region, int]] = {}
    inputs_bytes = _assign_consecutive(network, network.inputs, Region.INPUTS, locations)
    outputs_bytes = _assign_consecutive(network, network.outputs, Region.OUTPUTS, locations)
    shared = [live_range for value, live_range in live_ranges.items() if value not in locations]
    addresses, arena = allocation.assign_addresses(shared, MEMORY_ALIGNMENT)
    locations |= {value: (Region.ARENA, address) for value, address in addresses.items()}
    return SystemPlan(locations, arena, inputs_bytes, outputs_bytes)


def _assign_consecutive(
    network: PlacedNetwork, values: tuple[int, ...], region: Region, locations: dict[int, tuple[Region, int]]
) -> int:
    end = 0
    for value in values:
        base = root_of(network.values, value)
        assert base not in locations, "partitioning copies an output that is also an input or another output"
        locations[base] = (region, end)
        end += pooled(network.values[base].size_bytes)
    return end
