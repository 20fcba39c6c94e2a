"""A model with weights of 4 bits, two in a byte, as converters write them."""

from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.operators.fields import enum_numbers
from dlasim.compiler_shim.tflite.decoding import Decoder
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.writer import write_tflite

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def weights_of(graph: Graph) -> list[int]:
    """The constant int8 weights, each once."""
    return [index for index in _inputs(graph, 1) if graph.tensors[index].dtype == "int8"]


def with_small_weights(graph: Graph) -> Graph:
    """The graph with weights that 4 bits hold, and with scales of weights and biases that make up for it."""
    tensors = list(graph.tensors)
    for index in (*weights_of(graph), *_inputs(graph, 2)):
        tensor = tensors[index]
        scales = tuple(float(np.float32(16 * scale)) for scale in tensor.quantization.scales)
        tensors[index] = replace(
            tensor, data=tensor.data >> 4, quantization=replace(tensor.quantization, scales=scales)
        )
    return replace(graph, tensors=tuple(tensors))


def _inputs(graph: Graph, position: int) -> list[int]:
    found = {
        operator.inputs[position]
        for operator in graph.operators
        if operator.kind in WEIGHTED and len(operator.inputs) > position
    }
    return sorted(index for index in found if index >= 0 and graph.tensors[index].is_constant)


def packed(graph: Graph) -> bytes:
    """The .tflite file of a graph whose weights 4 bits hold, with these weights as int4."""
    model = Decoder(write_tflite(graph), "model").root("Model")
    for index in weights_of(graph):
        table = model["subgraphs"][0]["tensors"][index]
        table["type"] = enum_numbers("TensorType")["int4"]
        numbers = graph.tensors[index].data.ravel()
        even = np.append(numbers, np.zeros(numbers.size % 2, np.int8)).view(np.uint8)
        model["buffers"][table["buffer"]]["data"] = (even[::2] & 15) | (even[1::2] << 4)
    return encode("Model", model, 1 << 16)
