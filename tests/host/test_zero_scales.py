"""Constants whose scale is 0, such as the zeros that an LSTM begins with, against TFLite Micro."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.network.graph import Graph, Quantization
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from tests.host.models import check, run_on_host
from tests.oracle import random_inputs
from tests.tflite.one_operator import random_graph


def with_zeros(graph: Graph, position: int, channel: int | None = None) -> Graph:
    """An input of the operator as a constant with scale 0, for one channel or for all."""
    number = graph.operators[0].inputs[position]
    tensors = list(graph.tensors)
    tensor = tensors[number]
    assert tensor.quantization is not None
    scales = [0.0 if channel in (None, place) else s for place, s in enumerate(tensor.quantization.scales)]
    quantization = Quantization(tuple(scales), tensor.quantization.zero_points, tensor.quantization.axis)
    data = np.zeros(tensor.shape, np.int8) + 5 if tensor.data is None else tensor.data
    tensors[number] = replace(tensor, data=data, quantization=quantization)
    if graph.operators[0].kind == "FULLY_CONNECTED":  # whose bias has the scale of the product
        bias = graph.operators[0].inputs[2]
        tensors[bias] = replace(tensors[bias], quantization=Quantization((0.0,), (0,)))
    inputs = tuple(index for index in graph.inputs if index != number)
    return replace(graph, tensors=tuple(tensors), inputs=inputs)


@pytest.mark.parametrize(
    ("kind", "position", "channel"),
    [
        ("CONV_2D", 1, 0),
        ("CONV_2D", 1, None),
        ("DEPTHWISE_CONV_2D", 1, 1),
        ("FULLY_CONNECTED", 1, None),
        ("MUL", 1, None),
        ("MUL", 0, None),
        ("BATCH_MATMUL", 1, None),
    ],
)
def test_products_with_zeros(kind: str, position: int, channel: int | None, tmp_path: Path) -> None:
    for seed in range(6):
        graph = with_zeros(random_graph(kind, seed), position, channel)
        model = write_tflite(graph)
        check(graph, [np.asarray(values) for values in random_inputs(model, seed)])
    path = tmp_path / "zeros.tflite"
    path.write_bytes(model)
    assert dlasim.verify(path).passed
    assert dlasim.verify(path, place="cpu").passed


def test_a_sum_with_zeros_is_the_other_operand() -> None:
    """Both references abort."""
    graph = random_graph("ADD", 3)
    quantization = graph.tensors[graph.operators[0].inputs[0]].quantization
    tensors = [replace(t, quantization=quantization) if t.dtype == "int8" else t for t in graph.tensors]
    options = {"fused_activation_function": "NONE"}
    operator = replace(graph.operators[0], options=options)
    graph = with_zeros(replace(graph, tensors=tuple(tensors), operators=(operator,)), 1)
    values = [np.asarray(v) for v in random_inputs(write_tflite(graph), 1)]
    found = run_on_host(graph, values)[graph.outputs[0]]
    np.testing.assert_array_equal(found, np.broadcast_to(values[0], found.shape))


@pytest.mark.parametrize("kind", ["MUL", "CONV_2D", "RELU"])
def test_what_is_computed_has_a_scale(kind: str) -> None:
    graph = random_graph(kind, 1)
    tensors = list(graph.tensors)
    for number in (graph.outputs[0], graph.inputs[0]):
        changed = list(tensors)
        changed[number] = replace(tensors[number], quantization=Quantization((0.0,), (0,)))
        model = write_tflite(replace(graph, tensors=tuple(changed)))
        with pytest.raises(InputError, match="is computed, and must have one scale above 0"):
            prepare(read_model(model), "model")
