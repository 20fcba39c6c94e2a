"""From a model file to a program: import, partition, place, lower."""

from __future__ import annotations

from pathlib import Path

from dlasim.compiler_shim.dlag.dlag_reader import tflite_of
from dlasim.compiler_shim.dlag.dlag_writer import write_graph
from dlasim.compiler_shim.graph import Graph
from dlasim.compiler_shim.importing import prepare
from dlasim.compiler_shim.lowering.lower import Lowered
from dlasim.compiler_shim.model_files import is_graph_file, read_network
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.partition import UnplacedNetwork, partition
from dlasim.compiler_shim.planning.plan_maker import PlanMemory
from dlasim.compiler_shim.planning.planner import fastest_plan
from dlasim.fileio import read_file
from dlasim.sim.config import DlaConfig


def load_model(path: str | Path) -> UnplacedNetwork:
    """A model file, imported and partitioned; free of any configuration."""
    return partition(load_graph(path))


def load_graph(path: str | Path) -> Graph:
    """The network in a .tflite, .onnx or .dlag file, checked, with shapes resolved and constants folded."""
    return prepare(read_network(path), str(path))


def load_tflite(path: str | Path) -> bytes:
    """The model in a .tflite or .dlag file as a .tflite."""
    return tflite_of(path) if is_graph_file(path) else read_file(path)


def save_graph(graph: Graph) -> bytes:
    """The `.dlag` file of a network."""
    return write_graph(graph, partition(graph))


def lower_for(
    network: UnplacedNetwork,
    config: DlaConfig,
    options: CompileOptions,
    with_constants: bool = True,
    memory: PlanMemory | None = None,
) -> Lowered:
    """A partitioned network placed and lowered; without constants it serves for timing only.

    Calls for machines that differ only in their SRAM are faster with one memory.
    """
    return fastest_plan(network, config, options, memory).lower(with_constants)
