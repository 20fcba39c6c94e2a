"""DETECTION_POSTPROCESS as TensorFlow's exporter writes it: outputs are declared `[]`, or with one size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.detection_networks import FAST, REGULAR, Head, head, head_inputs
from tests.oracle import run_litert_reference


def declared(graph: Graph, shape: tuple[int, ...]) -> Graph:
    """The network with the outputs of its last operator declared so."""
    tensors = list(graph.tensors)
    for index in graph.operators[-1].outputs:
        tensors[index] = replace(tensors[index], shape=shape)
    return replace(graph, tensors=tuple(tensors))


@pytest.mark.parametrize("shape", [(), (10,)])
@pytest.mark.parametrize("mode", [FAST, REGULAR])
@pytest.mark.parametrize("host", ["none", "riscv"])
def test_shapes_follow_from_options_and_inputs(shape, mode, host, tmp_path) -> None:
    made = head(4, "uint8", mode)
    path = tmp_path / "ssd.tflite"
    path.write_bytes(write_tflite(declared(made.graph, shape)))
    values = head_inputs(made, 7, distinct=False)
    expected = made.counted(run_litert_reference(path, values))
    graph = load_graph(path)
    for index in graph.outputs:
        assert graph.tensors[index].shape == made.graph.tensors[index].shape
    outputs = dlasim.run(path, inputs=values, host=host).outputs
    found = Head(made.graph).counted(dict(zip(made.graph.outputs, outputs, strict=True)))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_such_a_network_is_verified(dtype, tmp_path) -> None:
    """TFLite Micro gives no output the room that its declared shape lacks."""
    path = tmp_path / "ssd.tflite"
    path.write_bytes(write_tflite(declared(head(2, dtype, FAST).graph, ())))
    assert dlasim.verify(path).passed
