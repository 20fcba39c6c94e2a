"""From a model file to a program: import, partition, place, lower."""

from __future__ import annotations

from pathlib import Path

from dlasim.compiler_shim.dlag.dlag_layout import MAGIC, is_graph
from dlasim.compiler_shim.dlag.dlag_reader import read_graph_model, tflite_of
from dlasim.compiler_shim.dlag.dlag_writer import write_graph
from dlasim.compiler_shim.graph import Graph
from dlasim.compiler_shim.importing import import_model, prepare
from dlasim.compiler_shim.lowering.lower import Lowered
from dlasim.compiler_shim.onnx import is_onnx
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.partition import UnplacedNetwork, partition
from dlasim.compiler_shim.planner import PlanMemory, fastest_plan
from dlasim.errors import InputError
from dlasim.fileio import read_file, read_head
from dlasim.isa import container
from dlasim.native.backend import Backend
from dlasim.native.shipped import SHIPPED
from dlasim.sim.config import DlaConfig


def load_model(path: str | Path) -> UnplacedNetwork:
    """A model file, imported and partitioned; free of any configuration."""
    return partition(load_graph(path))


def load_graph(path: str | Path) -> Graph:
    """The network in a .tflite, .onnx or .dlag file, checked, with shapes resolved and constants folded."""
    head = read_head(path, len(MAGIC))
    if container.is_program(head):
        raise InputError(f"{path} is already compiled; give a .tflite, .onnx or .dlag file")
    if str(path).endswith(".s"):
        raise InputError(f"{path} is assembly, not a model; `dlasim run {path}` runs it")
    if is_onnx(path):
        from dlasim.compiler_shim.onnx.onnx_import import load_onnx  # few need it

        return load_onnx(path)
    if not is_graph(head):
        return import_model(path)
    return prepare(read_graph_model(path), str(path))


def is_graph_file(path: str | Path) -> bool:
    """Whether the file is a `.dlag`."""
    return is_graph(read_head(path, len(MAGIC)))


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
    backend: Backend = SHIPPED,
    memory: PlanMemory | None = None,
) -> Lowered:
    """A partitioned network placed and lowered; without constants it serves for timing only.

    Calls for machines that differ only in their SRAM are faster with one memory.
    """
    return fastest_plan(network, config, options, backend, memory).lower(with_constants)
