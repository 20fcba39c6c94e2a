"""A float TFLite network with stand-in scales: what it would cost as int8, not what it would compute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.reader import ReadModel
from dlasim.errors import InputError

MARK = "int8 assumed"  # in the name of the network, which every report, table, chart and page shows
_USUAL = Quantization((1 / 16,), (0,))  # a range of -8 to 8
_FIXED = {  # what the kernels of int8 write, whatever the network
    "LOGISTIC": Quantization((1 / 256,), (-128,)),
    "SOFTMAX": Quantization((1 / 256,), (-128,)),
    "L2_NORMALIZATION": Quantization((1 / 128,), (0,)),
    "TANH": Quantization((1 / 128,), (0,)),
}
_BIASES = {"CONV_2D": 2, "DEPTHWISE_CONV_2D": 2, "FULLY_CONNECTED": 2, "TRANSPOSE_CONV": 3}


def with_assumed_scales(model: ReadModel, name: str) -> ReadModel:
    """The network in int8; one that computes with int8 already is refused."""
    graph = model.graph
    computed = [graph.tensors[number] for operator in graph.operators for number in operator.outputs]
    if any(tensor.dtype in ("int8", "uint8", "int16") and not tensor.is_constant for tensor in computed):
        raise InputError(f"{name} is quantized; --assume-int8 is for float networks")
    biases = {
        operator.inputs[_BIASES[operator.kind]]
        for operator in graph.operators
        if len(operator.inputs) > _BIASES.get(operator.kind, 1 << 30)
    }
    tensors = [_assumed(tensor, number in biases) for number, tensor in enumerate(graph.tensors)]
    operators: list[Operator] = []
    renamed: dict[int, int] = {}
    for operator in graph.operators:
        inputs = tuple(renamed.get(number, number) for number in operator.inputs)
        if operator.kind == "DEQUANTIZE":  # of weights that are stored in fewer bits
            renamed[operator.outputs[0]] = operator.inputs[0]
            continue
        operators += _placed(replace(operator, inputs=inputs), tensors)
    outputs = tuple(renamed.get(number, number) for number in graph.outputs)
    new = range(len(graph.tensors), len(tensors))
    made = replace(graph, tensors=tuple(tensors), operators=tuple(operators), outputs=outputs)
    return replace(model, graph=made, open_shapes=model.open_shapes.union(new))


def marked(graph: Graph) -> Graph:
    """The network with a name that says what it is."""
    return replace(graph, name=f"{graph.name or 'network'} ({MARK})")


def _assumed(tensor: Tensor, is_bias: bool) -> Tensor:
    if tensor.dtype not in ("float16", "float32"):
        return tensor
    if not tensor.is_constant:
        return replace(tensor, dtype="int8", quantization=_USUAL)
    dtype = "int32" if is_bias else "int8"
    data = np.broadcast_to(np.zeros((), dtype), tensor.shape)
    return replace(tensor, dtype=dtype, quantization=_USUAL, data=data)


def _placed(operator: Operator, tensors: list[Tensor]) -> list[Operator]:
    """The operator; behind one whose kernel has a scale of its own, a conversion to the usual one."""
    fixed = _FIXED.get(operator.kind)
    if fixed is None or tensors[operator.outputs[0]].dtype != "int8":
        return [operator]
    number = operator.outputs[0]
    tensors.append(replace(tensors[number], name=f"{tensors[number].name}/int8", quantization=fixed))
    own = replace(operator, outputs=(len(tensors) - 1,))
    return [own, Operator("QUANTIZE", own.outputs, (number,), location=f"behind {operator.location}")]
