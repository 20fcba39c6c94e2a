"""An ONNX file to nodes, constants, inputs and outputs, or one InputError that says what is wrong with it.

Constants are in the file, or in another file of its folder.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.files.constant_budget import ConstantBudget
from dlasim.compiler_shim.files.half_bytes import unpack_int4
from dlasim.compiler_shim.files.input_file import AnyInput, open_input
from dlasim.compiler_shim.network.graph import MAX_DIMENSIONS, label
from dlasim.compiler_shim.onnx.onnx_schema import DTYPES, EXTERNAL, HALF_BYTES, MESSAGES, OTHER_TYPES
from dlasim.compiler_shim.onnx.protobuf_wire import Message, WireReader
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable
from dlasim.system.fileio import MAX_FILE_BYTES

MIN_OPSET = 10  # the first with QuantizeLinear
STANDARD, MICROSOFT = "", "com.microsoft"
_DOMAINS = {"": STANDARD, "ai.onnx": STANDARD, MICROSOFT: MICROSOFT}
Array = NDArray[Any]
_LISTS = {
    "float32": "float_data",
    "float64": "double_data",
    "int64": "int64_data",
    "uint32": "uint64_data",
    "uint64": "uint64_data",
}


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


def dtype_name(number: int, where: str) -> str:
    """The NumPy type of a number in the file."""
    if number not in DTYPES:
        raise InputError(f"{where}: type {OTHER_TYPES.get(number, number)} is not supported")
    return DTYPES[number]


class OnnxTensorReader:
    """Makes arrays of a file's tensors; external data are read from the file's own folder only."""

    def __init__(self, path: str | Path, name: str, budget: ConstantBudget) -> None:
        self._folder, self._name, self._budget = Path(path).parent, name, budget
        self._files: dict[str, Array] = {}

    def array(self, tensor: Message) -> Array:
        """The tensor's elements."""
        where = f"{self._name}: constant {label(printable(tensor.get('name', ''))) or 'without a name'}"
        number = tensor.get("data_type", 0)
        dtype = np.dtype(HALF_BYTES[number] if number in HALF_BYTES else dtype_name(number, where))
        shape = tuple(tensor["dims"])
        if len(shape) > MAX_DIMENSIONS or min(shape, default=0) < 0:
            given, most = str(list(shape))[:60], MAX_DIMENSIONS
            raise InputError(f"{where}: shape must have up to {most} sizes of 0 or more (got {given})")
        if math.prod(filter(None, shape)) * dtype.itemsize > MAX_FILE_BYTES:
            raise InputError(f"{where}: shape {list(shape)} of {dtype.name} is larger than 2 GiB")
        size_bytes = math.prod(shape) * dtype.itemsize
        self._budget.spend(size_bytes, where)
        if number in HALF_BYTES:
            return self._halves(tensor, dtype, shape, where)
        raw = self._raw(tensor, size_bytes, where)
        if raw is None:
            return self._listed(tensor, dtype, shape, where)
        if len(raw) != size_bytes:
            raise InputError(
                f"{where}: {dtype.name}{list(shape)} takes {size_bytes} bytes, but it has {len(raw)}"
            )
        stored = np.dtype(np.uint8) if dtype.kind == "b" else dtype
        return np.frombuffer(raw, stored.newbyteorder("<")).reshape(shape).astype(dtype)

    def _halves(self, tensor: Message, dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> Array:
        """Numbers of 4 bits."""
        count = math.prod(shape)
        raw = self._raw(tensor, -(-count // 2), where)
        if raw is None:
            raw = self._listed(tensor, np.dtype(np.uint8), (len(tensor["int32_data"]),), where).tobytes()
        if len(raw) != -(-count // 2):
            raise InputError(
                f"{where}: {count} numbers of 4 bits must have half as many bytes (got {len(raw)})"
            )
        numbers = unpack_int4(np.frombuffer(raw, np.uint8), count).reshape(shape)
        return numbers.view(np.uint8) & 15 if dtype == np.uint8 else numbers

    def _raw(self, tensor: Message, size_bytes: int, where: str) -> Any:
        if tensor.get("data_location", 0) == EXTERNAL:
            return self._external(tensor, size_bytes, where)
        return tensor.get("raw_data")

    def _listed(self, tensor: Message, dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> Array:
        values = tensor[_LISTS.get(dtype.name, "int32_data")]
        if len(values) != math.prod(shape):
            raise InputError(f"{where}: {dtype.name}{list(shape)} has {len(values)} elements")
        if dtype == np.float16:  # as bits
            wide = np.array(values, np.int64)
            return wide.astype(np.uint16).view(np.float16).reshape(shape)
        if dtype.kind == "f":
            return np.array(values, dtype).reshape(shape)
        limits = np.iinfo(np.uint8 if dtype.kind == "b" else dtype)
        if any(not limits.min <= value <= limits.max for value in values):
            raise InputError(f"{where}: a number is out of the range of {dtype.name}")
        return np.array(values, dtype).reshape(shape)

    def _external(self, tensor: Message, size_bytes: int, where: str) -> Array:
        entries = {entry.get("key", ""): entry.get("value", "") for entry in tensor["external_data"]}
        whole = self._file(entries.get("location", ""), where)
        offset = _count(entries, "offset", 0, where)
        length = _count(entries, "length", size_bytes, where)
        if offset + length > len(whole):
            raise InputError(
                f"{where}: its data end at {offset + length}, but the file that holds them has "
                f"{len(whole)} bytes"
            )
        return whole[offset : offset + length]

    def _file(self, location: str, where: str) -> Array:
        """The bytes of a file in the model's folder; links that lead out of it are refused."""
        shown = printable(location)[:80]
        parts = Path(location).parts
        if not location or "\0" in location or os.path.isabs(location) or ".." in parts:
            raise InputError(f"{where}: external data must be in the model's folder (got {shown!r})")
        if location not in self._files:
            folder, path = os.path.realpath(self._folder), os.path.realpath(self._folder / location)
            if os.path.commonpath([folder, path]) != folder:
                raise InputError(f"{where}: external data {shown} is a link out of the model's folder")
            if not os.path.isfile(path):
                raise InputError(f"{where}: external data {shown} is not a file")
            self._files[location] = _mapped(path, shown, where)
            self._budget.grow(len(self._files[location]))
        return self._files[location]


def _mapped(path: str, shown: str, where: str) -> Array:
    try:
        if os.path.getsize(path) == 0:
            return np.zeros(0, np.uint8)
        return np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise InputError(f"{where}: cannot read external data {shown}: {error.strerror}") from None


def _count(entries: Mapping[str, str], key: str, default: int, where: str) -> int:
    text = entries.get(key, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InputError(
            f"{where}: {key} of its external data must be a number (got {printable(text)[:40]!r})"
        )
    return int(text)
