"""An ONNX file to nodes, constants, inputs and outputs, or one InputError that says what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from dlasim.compiler_shim.files.constant_budget import ConstantBudget
from dlasim.compiler_shim.files.input_file import AnyInput, open_input
from dlasim.compiler_shim.network.graph import MAX_DIMENSIONS, label
from dlasim.compiler_shim.onnx.onnx_schema import MESSAGES
from dlasim.compiler_shim.onnx.onnx_tensors import Array, OnnxTensorReader, dtype_name
from dlasim.compiler_shim.onnx.protobuf_wire import Message, WireReader
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable

MIN_OPSET = 10  # the first with QuantizeLinear
STANDARD, MICROSOFT = "", "com.microsoft"
_DOMAINS = {"": STANDARD, "ai.onnx": STANDARD, MICROSOFT: MICROSOFT}


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One operator with the names of what it reads ("" for an input left out) and writes."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the network; a dynamic dimension is None."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A network as its file has it."""

    name: str
    nodes: tuple[OnnxNode, ...]
    constants: Mapping[str, Array]
    inputs: tuple[Port, ...]
    outputs: tuple[str, ...]
    budget: ConstantBudget
    opset: int = 13


def read_onnx(given: AnyInput, name: str | None = None) -> OnnxModel:
    """The network in a file; `name` is how errors call it."""
    file = open_input(given)
    path, data = file.path, file.data
    name = path if name is None else name
    model = WireReader(data, MESSAGES, name).message("Model")
    graph = model.get("graph")
    if graph is None:
        raise InputError(f"{name}: not an ONNX model: it has no graph")
    opset = _opset(model, name)
    if graph["sparse_initializer"]:
        raise InputError(f"{name}: sparse constants are not supported")
    budget = ConstantBudget(len(data))
    reader = OnnxTensorReader(path, name, budget)
    constants = {printable(t.get("name", "")): reader.array(t) for t in graph["initializer"]}
    nodes = tuple(_node(number, node, reader, name) for number, node in enumerate(graph["node"]))
    ports = [_port(port, name) for port in graph["input"] if printable(port.get("name", "")) not in constants]
    outputs = tuple(printable(port.get("name", "")) for port in graph["output"])
    stem = printable(graph.get("name", "") or Path(path).stem)
    return OnnxModel(stem, nodes, constants, tuple(ports), outputs, budget, opset)


def _opset(model: Message, name: str) -> int:
    versions = {entry.get("domain", ""): entry.get("version", 0) for entry in model["opset_import"]}
    opset = int(versions.get("", versions.get("ai.onnx", 0)))
    if opset < MIN_OPSET:
        raise InputError(f"{name}: its opset must be at least {MIN_OPSET} (got {opset}); convert it with "
                         f"onnx.version_converter, or export it anew")  # fmt: skip
    return opset


def _node(number: int, node: Message, reader: OnnxTensorReader, name: str) -> OnnxNode:
    kind = printable(node.get("op_type", ""))
    where = f"{name}: node {number} ({label(kind)})"
    domain = node.get("domain", "")
    if domain not in _DOMAINS:
        kind = f"{label(printable(domain))}.{kind}"
    attributes = {}
    for attribute in node["attribute"]:
        attributes[printable(attribute.get("name", ""))] = _attribute(attribute, reader, where)
    inputs, outputs = (tuple(printable(text) for text in node[side]) for side in ("input", "output"))
    if not outputs:
        raise InputError(f"{where}: it has no output")
    return OnnxNode(kind, inputs, outputs, attributes, printable(node.get("name", "")) or f"node {number}")


# The attributes that dlasim reads; a name has the same type in every operator.
_EXPECTED = {
    "i": "axis group ceil_mode count_include_pad transA transB keepdims to start end allowzero "
    "noop_with_empty_axes block_size value_int",
    "ints": "axes pads strides dilations kernel_shape perm value_ints",
    "f": "alpha beta gamma epsilon value_float",
    "s": "auto_pad mode approximate coordinate_transformation_mode equation nearest_mode",
    "t": "value",
    "floats": "value_floats",
}
_TYPE_OF = {name: kind for kind, names in _EXPECTED.items() for name in names.split()}
_KINDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
_DEFAULTS = {"f": 0.0, "i": 0, "s": b""}


def _attribute(attribute: Message, reader: OnnxTensorReader, where: str) -> Any:
    """The value of an attribute; None for one of a kind that no operator here has."""
    kind = _KINDS.get(attribute.get("type", 0), "")
    name = printable(attribute.get("name", ""))
    if _TYPE_OF.get(name, kind) != kind:
        raise InputError(f"{where}: attribute {name} does not have the type that ONNX states")
    if not kind:
        return None
    value = attribute.get(kind, _DEFAULTS.get(kind))
    if kind == "t":
        if value is None:
            raise InputError(f"{where}: an attribute without its tensor")
        return reader.array(value)
    if kind == "s":
        return bytes(value).decode("utf-8", "replace")
    if kind == "strings":
        return tuple(bytes(text).decode("utf-8", "replace") for text in value)
    return tuple(value) if isinstance(value, list) else value


def _port(port: Message, name: str) -> Port:
    text = printable(port.get("name", ""))
    where = f"{name}: input {label(text)}"
    tensor = port.get("type", {}).get("tensor_type")
    if tensor is None or "shape" not in tensor:
        raise InputError(f"{where}: it must be a tensor with a shape")
    sizes = [dim.get("dim_value") for dim in tensor["shape"]["dim"]]
    if len(sizes) > MAX_DIMENSIONS or any(size is not None and not 0 < size < 1 << 31 for size in sizes):
        raise InputError(
            f"{where}: shape must have up to {MAX_DIMENSIONS} sizes above 0 (got {str(sizes)[:60]})"
        )
    return Port(text, dtype_name(tensor.get("elem_type", 0), where), tuple(sizes))
