"""Damage to ONNX files that leaves them sound protobuf: other names, numbers and types, more or fewer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import onnx

from tests.fuzz.mutate import mutated

NUMBERS = (0, 1, -1, 2, 3, 7, 8, 9, 100, 1 << 15, (1 << 31) - 1, 1 << 31, 1 << 40, -(1 << 63), (1 << 63) - 1)
FLOATS = (0.0, -1.0, 0.5, 6.0, 1e-45, 1e-30, 1e30, 3.4e38, float("inf"), float("nan"))
KINDS = (
    "Conv", "Gemm", "MatMul", "Add", "Mul", "Div", "Relu", "Clip", "MaxPool", "AveragePool", "Concat",
    "Reshape", "Transpose", "Softmax", "Slice", "Split", "Gather", "Expand", "ConstantOfShape", "Range",
    "Resize", "Squeeze", "Unsqueeze", "QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearConcat",
    "QGemm", "ReduceMean", "Flatten", "Pad", "Where", "Cast", "Shape", "LSTM", "If",
    "LayerNormalization", "ConvTranspose", "ScatterND", "GatherND", "Tile", "DepthToSpace", "LogSoftmax",
    "GRU", "Einsum",
)  # fmt: skip


def damaged(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A copy of one of the seeds: its bytes damaged, or its messages."""
    if random.random() < 0.3:
        return mutated(random, seeds, is_text=False)
    model = onnx.ModelProto.FromString(random.choice(seeds))
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        random.choice((_node, _node, _tensor, _tensor, _wiring, _wiring, _whole))(random, model)
    return bytes(model.SerializeToString())


def _node(random: Random, model: Any) -> None:
    node = random.choice(model.graph.node)
    if random.random() < 0.3 or not node.attribute:
        node.op_type = random.choice(KINDS)
        return
    attribute = random.choice(node.attribute)
    if random.random() < 0.2:
        node.attribute.remove(attribute)
    elif attribute.ints:
        values = list(attribute.ints)
        values[random.randrange(len(values))] = random.choice(NUMBERS)
        del attribute.ints[:]
        attribute.ints.extend(values[: random.choice((len(values), len(values), 1, 0))])
    else:
        attribute.i, attribute.f = random.choice(NUMBERS), random.choice(FLOATS)
        attribute.type = random.choice((attribute.type, 1, 2, 3, 4, 7))


def _tensor(random: Random, model: Any) -> None:
    tensor = random.choice(model.graph.initializer)
    match random.randrange(6):
        case 0:
            tensor.data_type = random.randrange(24)
        case 1 if tensor.dims:
            tensor.dims[random.randrange(len(tensor.dims))] = random.choice(NUMBERS)
        case 2:
            tensor.dims.insert(0, random.choice((1, 1, 2, 0)))
        case 3:
            tensor.raw_data = tensor.raw_data[: random.randrange(len(tensor.raw_data) + 1)]
        case 4:
            tensor.data_location = 1
            tensor.external_data.add(
                key="location", value=random.choice(("../x", "/dev/zero", "x", "input.onnx"))
            )
        case _:
            raw = bytearray(tensor.raw_data)
            for _ in range(random.choice((1, 4, 64)) if raw else 0):
                raw[random.randrange(len(raw))] = random.choice((0, 1, 127, 128, 255))
            tensor.raw_data = bytes(raw)


def _wiring(random: Random, model: Any) -> None:
    """A node reads something else, or comes elsewhere."""
    nodes = model.graph.node
    node = random.choice(nodes)
    names = [name for other in nodes for name in (*other.input, *other.output)]
    if random.random() < 0.2:
        copy = onnx.NodeProto.FromString(node.SerializeToString())
        nodes.insert(random.randrange(len(nodes)), copy)
    elif random.random() < 0.3:
        nodes.remove(node)
    elif node.input:
        node.input[random.randrange(len(node.input))] = random.choice((*names, "", "unknown"))


def _whole(random: Random, model: Any) -> None:
    graph = model.graph
    match random.randrange(4):
        case 0:
            dims = graph.input[0].type.tensor_type.shape.dim
            dims[random.randrange(len(dims))].dim_value = random.choice(NUMBERS)
        case 1:
            graph.input[0].type.tensor_type.elem_type = random.randrange(18)
        case 2:
            graph.output.add().name = random.choice([name for node in graph.node for name in node.output])
        case _:
            graph.name = "\x1b[2J" + "x" * random.choice((0, 5000))
