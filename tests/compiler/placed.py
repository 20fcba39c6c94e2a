"""The placement that estimates prefer, for tests that need one."""

from __future__ import annotations

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.forms.weight_forms import compress_weights
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.placement import Placements


def place(network: UnplacedNetwork, policy: Policy) -> PlacedNetwork:
    """The network with the cheapest runs of operators on the DLA and on the CPU, by estimates."""
    stored = compress_weights(network, policy.config)
    return next(Placements(stored, policy).promising(policy.config.sram_bytes))
