"""Nodes of opset 10 to 12 in the form of opset 13, in which what was an attribute is a constant input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode

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
