"""From a model file to a program: import, partition, place, lower."""

from __future__ import annotations

from dataclasses import replace

from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.files.input_file import AnyInput, InputFile, InputKind, open_input
from dlasim.compiler_shim.forms.partition import UnplacedNetwork, partition
from dlasim.compiler_shim.lowering.lower import Lowered
from dlasim.compiler_shim.network.graph import Graph, Numerics
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.planning.plan_maker import PlanMemory
from dlasim.compiler_shim.planning.planner import fastest_plan
from dlasim.compiler_shim.tflite.reader import ReadModel, read_model
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig


def load_model(given: AnyInput, assumes_int8: bool = False, numerics: str = Numerics.TFLM) -> UnplacedNetwork:
    """A model file, imported and partitioned; free of any configuration."""
    return partition(load_graph(given, assumes_int8, numerics))


def load_graph(given: AnyInput, assumes_int8: bool = False, numerics: str = Numerics.TFLM) -> Graph:
    """The network in a model file, checked, with shapes resolved and constants folded; whose integers it
    computes is said by `numerics`, if not by the file."""
    file = open_input(given)
    found = read_network(file, assumes_int8)
    if numerics == Numerics.LITERT:
        if file.kind in (InputKind.ONNX, InputKind.TOSA) or found.graph.rounds_once:
            raise InputError(
                f"{given}: numerics litert is for TensorFlow Lite networks; this one rounds otherwise"
            )
        found = replace(found, graph=replace(found.graph, numerics=Numerics.LITERT))
    return prepare(found, str(given))


def read_network(given: AnyInput, assumes_int8: bool = False) -> ReadModel:
    """The network in a file, of which nothing is checked or resolved yet; in int8 if it `assumes_int8`."""
    file = open_input(given)
    if assumes_int8:
        return _assumed(file)
    match file.kind:
        case InputKind.PROGRAM:
            raise InputError(f"{file} is already compiled; give a .tflite, .onnx, .tosa or .dlag file")
        case InputKind.ASSEMBLY:
            raise InputError(f"{file} is assembly, not a model; `dlasim run {file}` runs it")
        case InputKind.ONNX:
            from dlasim.compiler_shim.onnx.onnx_import import read_onnx_model  # few need it

            return read_onnx_model(file)
        case InputKind.TOSA:
            from dlasim.compiler_shim.tosa.tosa_import import read_tosa_model  # few need it

            return read_tosa_model(file)
        case InputKind.DLAG:
            from dlasim.compiler_shim.dlag.dlag_reader import read_graph_model  # few need it

            return read_graph_model(file)
        case _:
            return read_model(file)


def _assumed(file: InputFile) -> ReadModel:
    """A float network with stand-in scales, whose name says so."""
    from dlasim.compiler_shim.files.assumed_scales import marked, with_assumed_scales

    if file.kind is InputKind.ONNX:
        from dlasim.compiler_shim.onnx.onnx_import import read_onnx_model  # few need it

        found = read_onnx_model(file, assumes_int8=True)
    else:
        found = with_assumed_scales(read_network(file), str(file))
    return replace(found, graph=marked(found.graph))


def load_tflite(given: AnyInput) -> bytes:
    """The model in a .tflite or .dlag file as a .tflite."""
    file = open_input(given)
    if file.kind is not InputKind.DLAG:
        return file.data
    from dlasim.compiler_shim.dlag.dlag_reader import tflite_of  # few need it

    return tflite_of(file)


def save_graph(graph: Graph) -> bytes:
    """The `.dlag` file of a network."""
    from dlasim.compiler_shim.dlag.dlag_writer import write_graph  # few need it

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
