"""Operators on integers (QLinearConv and its like) as their float forms between conversions (QDQ).

After this there is one form of quantized network: DequantizeLinear, an operator on real numbers,
QuantizeLinear. The tensors of the file keep their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode

# Where an operator has its operands (each a tensor, a scale, a zero point), its output's scale, and its bias.
_BINARY = ((0, 3), 6, None)
_UNARY = ((0,), 3, None)
_FORMS: dict[str, tuple[str, tuple[int, ...], int, int | None]] = {
    "QLinearConv": ("Conv", (0, 3), 6, 8),
    "QLinearMatMul": ("MatMul", *_BINARY),
    "QLinearAdd": ("Add", *_BINARY),
    "QLinearMul": ("Mul", *_BINARY),
    "QLinearAveragePool": ("AveragePool", *_UNARY),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", *_UNARY),
    "QLinearLeakyRelu": ("LeakyRelu", *_UNARY),
    "QLinearSigmoid": ("Sigmoid", *_UNARY),
    "QLinearSoftmax": ("Softmax", *_UNARY),
    "QGemm": ("Gemm", (0, 3), 7, 6),
}
KINDS = frozenset(_FORMS) | {"QLinearConcat", "QLinearWhere"}


def as_qdq(nodes: Sequence[OnnxNode]) -> tuple[OnnxNode, ...]:
    """The nodes with every operator on integers in its float form."""
    return tuple(part for node in nodes for part in _parts(node))


def _parts(node: OnnxNode) -> Iterator[OnnxNode]:
    if node.kind == "QLinearConcat":
        yield from _concat(node)
    elif node.kind == "QLinearWhere":
        yield from _where(node)
    elif node.kind in _FORMS:
        yield from _operator(node)
    else:
        yield node


def _operator(node: OnnxNode) -> Iterator[OnnxNode]:
    kind, operands, output, bias = _FORMS[node.kind]
    given = (*node.inputs, *("" for _ in range(10)))
    axes = {"MatMul": -1, "Conv": 0, "Gemm": 0 if node.attributes.get("transB") else -1}
    names = []
    for place, position in enumerate(operands):
        name = f"{node.outputs[0]}/operand {place}"
        # The second operand is the weights, which may have a scale for each output channel.
        attributes = {"axis": axes[kind]} if place == 1 and kind in axes else {}
        yield OnnxNode("DequantizeLinear", given[position : position + 3], (name,), attributes, node.name)
        names.append(name)
    if bias is not None and given[bias]:
        names.append(f"{node.outputs[0]}/bias")
        scales = (given[operands[0] + 1], given[operands[1] + 1])
        yield OnnxNode("BiasScale", (given[bias], *scales), (names[-1],), {}, node.name)
    yield from _quantized(node, kind, names, given[output], given[output + 1])


def _concat(node: OnnxNode) -> Iterator[OnnxNode]:
    places = range(2, len(node.inputs) - 2, 3)
    names = [f"{node.outputs[0]}/operand {place}" for place in places]
    yield from _operands(node, places, names)
    yield from _quantized(node, "Concat", names, *(*node.inputs[:2], "", "")[:2])


def _where(node: OnnxNode) -> Iterator[OnnxNode]:
    """Its condition has no scale."""
    given = (*node.inputs, *[""] * 9)
    names = [f"{node.outputs[0]}/operand {place}" for place in (1, 4)]
    yield from _operands(node, (1, 4), names)
    yield from _quantized(node, "Where", [given[0], *names], given[7], given[8])


def _operands(node: OnnxNode, places: Sequence[int], names: list[str]) -> Iterator[OnnxNode]:
    for place, name in zip(places, names, strict=True):
        yield OnnxNode("DequantizeLinear", node.inputs[place : place + 3], (name,), {}, node.name)


def _quantized(
    node: OnnxNode, kind: str, inputs: list[str], scale: str, zero_point: str
) -> Iterator[OnnxNode]:
    real = f"{node.outputs[0]}/real"
    yield OnnxNode(kind, tuple(inputs), (real,), node.attributes, node.name)
    yield OnnxNode("QuantizeLinear", (real, scale, zero_point), node.outputs[:1], {}, node.name)
