"""From a model file to a program: import, partition, place, lower."""

from __future__ import annotations

from pathlib import Path

from dlasim.compiler_shim.importing import import_model
from dlasim.compiler_shim.lowering.lower import Lowered, lower
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.partition import Partitioned, partition
from dlasim.compiler_shim.placement import place
from dlasim.sim.config import DlaConfig


def load_model(path: str | Path) -> Partitioned:
    """A model file, imported and partitioned; free of any configuration."""
    return partition(import_model(path))


def lower_for(
    network: Partitioned, config: DlaConfig, options: CompileOptions, with_constants: bool = True
) -> Lowered:
    """A partitioned network placed and lowered; without constants it serves for timing only."""
    policy = Policy(config, options)
    return lower(place(network, policy), policy, with_constants)
