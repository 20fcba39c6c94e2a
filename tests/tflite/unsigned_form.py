"""int8 networks as TensorFlow 1 would have made them: uint8, weights with one scale and a zero point."""

from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor

# LiteRT has no uint8 kernel for these, or one in float32, which dlasim refuses.
NOT_IN_UINT8 = {
    "ABS", "BATCH_MATMUL", "CEIL", "DEPTH_TO_SPACE", "ELU", "EXP", "FLOOR_DIV", "LOG",
    "ROUND", "RSQRT", "SQRT", "SQUARED_DIFFERENCE", "SVDF",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
}  # fmt: skip
_WEIGHTS = {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "FULLY_CONNECTED": 1, "TRANSPOSE_CONV": 1}


def has_unsigned_form(graph: Graph) -> bool:
    """Whether LiteRT and dlasim compute all of its operators in uint8."""
    kinds_fit = NOT_IN_UINT8.isdisjoint(operator.kind for operator in graph.operators)
    return kinds_fit and all(tensor.dtype != "int16" for tensor in graph.tensors)


def unsigned_form(graph: Graph, seed: int) -> Graph:
    """The same operators on uint8: numbers and zero points 128 higher, weights with any zero point."""
    rng = np.random.default_rng(seed)
    weights = {
        operator.inputs[_WEIGHTS[operator.kind]] for operator in graph.operators if operator.kind in _WEIGHTS
    }
    tensors = [
        _unsigned(tensor, int(rng.integers(0, 256)) if number in weights else None)
        for number, tensor in enumerate(graph.tensors)
    ]
    for operator in graph.operators:
        if operator.kind in _WEIGHTS:
            _suit_bias(operator, tensors)
    return replace(graph, tensors=tuple(tensors), operators=tuple(map(_cast_unsigned, graph.operators)))


def _unsigned(tensor: Tensor, zero_point: int | None) -> Tensor:
    if tensor.dtype != "int8" or tensor.quantization is None:
        return tensor
    if zero_point is None:
        zero_point = tensor.quantization.zero_points[0] + 128
    quantization = Quantization((tensor.quantization.scales[0],), (zero_point,))
    data = None if tensor.data is None else (tensor.data.astype(np.int16) + 128).astype(np.uint8)
    return replace(tensor, dtype="uint8", quantization=quantization, data=data)


def _suit_bias(operator: Operator, tensors: list[Tensor]) -> None:
    """A bias has the scale of products, which LiteRT checks for uint8."""
    *_, bias = operator.inputs
    if tensors[bias].dtype == "int32":
        scales = [_scale(tensors[index]) for index in operator.inputs[-3:-1]]
        product = float(np.float32(scales[0]) * np.float32(scales[1]))
        tensors[bias] = replace(tensors[bias], quantization=Quantization((product,), (0,)))


def _scale(tensor: Tensor) -> float:
    assert tensor.quantization is not None
    return tensor.quantization.scale


def _cast_unsigned(operator: Operator) -> Operator:
    if operator.kind != "CAST":
        return operator
    return replace(operator, options={**operator.options, "in_data_type": "uint8"})
