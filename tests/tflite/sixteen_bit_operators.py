"""Random networks of one operator each with int16 activations, as the converter's 16x8 mode makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Quantization
from tests.tflite.maker import Maker, one_scale
from tests.tflite.one_operator import BUILDERS

_SHARED = (
    "ADD", "SUB", "MUL", "AVERAGE_POOL_2D", "MAX_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED",
    "TRANSPOSE_CONV", "LEAKY_RELU", "RELU", "RELU6", "PAD", "PADV2", "RESHAPE", "CONCATENATION", "SLICE",
    "STRIDED_SLICE", "TRANSPOSE", "MEAN", "SOFTMAX", "LOGISTIC", "TANH", "QUANTIZE", "SPLIT", "PACK",
    "UNPACK", "SQUEEZE", "EXPAND_DIMS", "BATCH_MATMUL",
)  # fmt: skip
_WITH_BIAS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
_UNIT_OUTPUT = ("SOFTMAX", "LOGISTIC", "TANH")  # whose output scale is 1/32768


def _widened(quantization: Quantization, finer: float = 2.0**-8) -> Quantization:
    """Without a zero point, and with smaller steps."""
    return one_scale(quantization.scale * finer)


def _int16(kind: str) -> Callable[[Maker], Graph]:
    """The int8 network with its activations, and some biases, in more bits."""

    def build(make: Maker) -> Graph:
        graph = BUILDERS[kind](make)
        operator = graph.operators[0]
        activations = {*graph.inputs, *operator.outputs}
        narrow = bool(make.number(0, 1)) and kind in ("CONV_2D", "FULLY_CONNECTED")
        tensors = []
        for number, tensor in enumerate(graph.tensors):
            given: dict[str, Any] = {}
            if number in activations and tensor.dtype == "int8":
                assert tensor.quantization is not None
                given = {"dtype": "int16", "quantization": _widened(tensor.quantization)}
                if kind in _UNIT_OUTPUT and number in operator.outputs:
                    given["quantization"] = one_scale(1 / 32768)
            elif tensor.name == "bias" and tensor.data is not None and tensor.quantization is not None:
                scales = tuple(float(np.float32(scale * 2.0**-8)) for scale in tensor.quantization.scales)
                data = tensor.data.astype(np.int32 if narrow else np.int64) * (1 if narrow else 4001)
                given = {
                    "dtype": data.dtype.name, "data": data,
                    "quantization": replace(tensor.quantization, scales=scales),
                }  # fmt: skip
            elif (
                tensor.is_constant
                and tensor.dtype == "int8"
                and tensor.quantization is not None
                and (kind == "PADV2" or tensor.name == "constant")
            ):
                given = {
                    "dtype": "int16", "data": tensor.data.astype(np.int16) * 200,
                    "quantization": _widened(tensor.quantization),
                }  # fmt: skip
            tensors.append(replace(tensor, **given))
        if kind in _WITH_BIAS and make.number(0, 2) == 0:
            operator = replace(operator, inputs=operator.inputs[:-1])
        return replace(graph, tensors=tuple(tensors), operators=(operator,))

    return build


INT16_BUILDERS: dict[str, Callable[[Maker], Graph]] = {kind: _int16(kind) for kind in _SHARED}


def random_int16_graph(kind: str, seed: int) -> Graph:
    """A network of one operator of this kind with random shapes, options, scales and constants."""
    return INT16_BUILDERS[kind](Maker(seed))
