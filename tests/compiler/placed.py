"""What tests ask of placements and plans."""

from __future__ import annotations

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.forms.weight_forms import compress_weights
from dlasim.compiler_shim.lowering.addresses.packed_records import SEGMENT_SLOTS
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.placement import Placements


def place(network: UnplacedNetwork, policy: Policy) -> PlacedNetwork:
    """The network with the cheapest runs of operators on the DLA and on the CPU, by estimates."""
    stored = compress_weights(network, policy.config)
    return next(Placements(stored, policy).promising(policy.config.sram_bytes))


def parts_of(plan: SramPlan) -> list[tuple[int, ...]]:
    """The steps of each segment of a plan."""
    rows = plan.segments[:, [SEGMENT_SLOTS["place"], SEGMENT_SLOTS["nodes"]]].tolist()
    return [tuple(plan.steps[place : place + nodes]) for place, nodes in rows]
