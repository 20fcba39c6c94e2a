"""Nodes in the form that is converted: those of opset 10 to 12 in the form of opset 13, in which what was an
attribute is a constant input; QLinear operators as plain ones between conversions; Einsum of one or two
tensors as the operators that it stands for: ReduceSum, Transpose, Reshape, MatMul."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NoReturn

import numpy as np

from dlasim.compiler_shim.network.graph import label
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_values import RefusedError

OLDEST, NEWEST_CHANGE = 10, 13
_BY_ROWS = ("Softmax", "LogSoftmax")
# Attributes that became inputs: the version, and each attribute with its type, in the order of the inputs.
_MOVED: dict[str, tuple[int, tuple[tuple[str, Any], ...]]] = {
    "Clip": (11, (("min", np.float32), ("max", np.float32))),
    "Pad": (11, (("pads", np.int64), ("value", np.float32))),
    "ReduceSum": (13, (("axes", np.int64),)),
    "Split": (13, (("split", np.int64),)),
    "Squeeze": (13, (("axes", np.int64),)),
    "Unsqueeze": (13, (("axes", np.int64),)),
}
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
_EQUATION = re.compile(r"([A-Za-z]+)(?:,([A-Za-z]+))?(?:->([A-Za-z]*))?")


def in_opset_13(nodes: Sequence[OnnxNode], opset: int) -> tuple[OnnxNode, ...]:
    """The nodes of a network of this opset."""
    if opset >= NEWEST_CHANGE:
        return tuple(nodes)
    return tuple(part for node in nodes for part in _UPGRADES.get(node.kind, _with_inputs)(node, opset))


def _with_inputs(node: OnnxNode, opset: int) -> Iterator[OnnxNode]:
    """The node behind a Constant for each attribute that is an input now."""
    version, moved = _MOVED.get(node.kind, (0, ()))
    if opset >= version:
        yield node
        return
    inputs = list(node.inputs[:1])
    for name, dtype in moved:
        inputs.append("")
        if name in node.attributes:
            inputs[-1] = f"{node.outputs[0]}/{name}"
            yield _constant(inputs[-1], np.array(node.attributes[name], dtype))
    while inputs and not inputs[-1]:
        inputs.pop()
    yield replace(node, inputs=tuple(inputs), attributes=_without(node, [name for name, _ in moved]))


def _constant(name: str, data: Any) -> OnnxNode:
    return OnnxNode("Constant", (), (name,), {"value": data}, name)


def _without(node: OnnxNode, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in node.attributes.items() if name not in names}


def _by_rows(node: OnnxNode, _: int) -> Iterator[OnnxNode]:
    """Softmax over all dimensions from one on: of the rows of a matrix."""
    name = node.outputs[0]
    shape, rows, result = f"{name}/shape", f"{name}/rows", f"{name}/matrix"
    yield OnnxNode("Shape", node.inputs, (shape,), {}, node.name)
    yield OnnxNode("Flatten", node.inputs, (rows,), {"axis": node.attributes.get("axis", 1)}, node.name)
    yield OnnxNode(node.kind, (rows,), (result,), {"axis": -1}, node.name)
    yield OnnxNode("Reshape", (result, shape), (name,), {}, node.name)


def _resize(node: OnnxNode, opset: int) -> Iterator[OnnxNode]:
    """Resize of opset 10 has scales where a region is now, and takes the pixel below."""
    if opset > 10:
        yield node
        return
    ways = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    inputs = (*node.inputs[:1], "", *node.inputs[1:2])
    yield replace(node, inputs=inputs, attributes={**node.attributes, **ways})


_UPGRADES: dict[str, Callable[[OnnxNode, int], Iterator[OnnxNode]]] = {
    **dict.fromkeys(_BY_ROWS, _by_rows),
    "Resize": _resize,
}


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


def without_einsum(nodes: Sequence[OnnxNode]) -> tuple[OnnxNode, ...]:
    """The nodes with each Einsum replaced that can be."""
    return tuple(part for node in nodes for part in _expanded(node))


def _expanded(node: OnnxNode) -> Sequence[OnnxNode]:
    found = _EQUATION.fullmatch(str(node.attributes.get("equation", "")).replace(" ", ""))
    if node.kind != "Einsum" or found is None or len(node.outputs) != 1:
        return [node]
    terms = [term for term in found.groups()[:2] if term is not None]
    result = found[3]
    if result is None:  # the letters that stand once, in their order
        whole = "".join(terms)
        result = "".join(letter for letter in sorted(set(whole)) if whole.count(letter) == 1)
    is_plain = all(len(set(term)) == len(term) for term in (*terms, result))
    if not is_plain or len(terms) != len(node.inputs) or not set(result) <= set("".join(terms)):
        return [node]
    return _Expansion(node).of(terms, result)


def refuse_einsum(_converter: object, node: OnnxNode) -> NoReturn:
    """One that could not be replaced."""
    raise RefusedError(
        "its equation must be of one or two tensors, with each letter once in each "
        f"(got {label(str(node.attributes.get('equation', '')))})"
    )


class _Expansion:
    """The nodes that replace one; sizes are computed from the shapes, which the importer knows."""

    def __init__(self, node: OnnxNode) -> None:
        self._node, self._nodes, self._numbers = node, list[OnnxNode](), count()

    def of(self, terms: Sequence[str], result: str) -> list[OnnxNode]:
        """All of them; the last writes the result."""
        names = list(self._node.inputs)
        kept = [set(result).union(*(term for other, term in enumerate(terms) if other != place))
                for place in range(len(terms))]  # fmt: skip
        pairs = [self._summed(*each) for each in zip(names, terms, kept, strict=True)]
        name, letters = pairs[0] if len(pairs) == 1 else self._product(pairs[0], pairs[-1], result)
        self._add("Identity", [self._moved(name, letters, result)], self._node.outputs[0])
        return self._nodes

    def _product(self, one: tuple[str, str], other: tuple[str, str], result: str) -> tuple[str, str]:
        shared = [letter for letter in one[1] if letter in other[1]]
        batch = "".join(letter for letter in shared if letter in result)
        inner = "".join(letter for letter in shared if letter not in result)
        left, right = ("".join(letter for letter in each[1] if letter not in shared) for each in (one, other))
        product = self._add("MatMul", [
            self._grouped(*one, (*batch, left, inner)), self._grouped(*other, (*batch, inner, right)),
        ])  # fmt: skip
        if len(left) != 1 or len(right) != 1:
            pairs = ((one, batch + left), (other, right))
            product = self._reshaped(product, [self._sizes(*each, some) for each, some in pairs if some])
        return product, batch + left + right

    def _grouped(self, name: str, letters: str, groups: Sequence[str]) -> str:
        """A tensor with a dimension for each group of letters, which may have none."""
        found = self._moved(name, letters, "".join(groups))
        if all(len(group) == 1 for group in groups):
            return found
        sizes = [self._sizes(name, letters, group) for group in groups]
        return self._reshaped(found, [self._add("ReduceProd", [size], keepdims=1) for size in sizes])

    def _sizes(self, name: str, letters: str, chosen: str) -> str:
        """The sizes of these letters; one of 1 where there are none, so that they have a product."""
        if not chosen:
            return self._constant([1])
        places = self._constant([letters.index(letter) for letter in chosen])
        return self._add("Gather", [self._add("Shape", [name]), places], axis=0)

    def _reshaped(self, name: str, sizes: Sequence[str]) -> str:
        shape = self._add("Concat", sizes, axis=0) if sizes else self._constant([])
        return self._add("Reshape", [name, shape])

    def _summed(self, name: str, letters: str, kept: set[str]) -> tuple[str, str]:
        axes = [place for place, letter in enumerate(letters) if letter not in kept]
        if not axes:
            return name, letters
        left = "".join(letter for letter in letters if letter in kept)
        return self._add("ReduceSum", [name, self._constant(axes)], keepdims=0), left

    def _moved(self, name: str, letters: str, order: str) -> str:
        if letters == order:
            return name
        return self._add("Transpose", [name], perm=[letters.index(letter) for letter in order])

    def _constant(self, numbers: Sequence[int]) -> str:
        return self._add("Constant", [], value=np.array(numbers, np.int64))

    def _add(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        found = name or f"{self._node.outputs[0]}/{next(self._numbers)}"
        self._nodes.append(OnnxNode(kind, tuple(inputs), (found,), attributes, self._node.name))
        return found
