"""`model.dlag`: an imported, partitioned network in one file, for any configuration.

A line `DLAGRAPH 1`, the length and CRC-32 of what follows, then JSON, then the constants' bytes. The JSON
tells for each operator where it can run and why. Reading takes the way of every model: the graph goes through
the TFLite reader's checks and is partitioned anew, so a file cannot claim what the rules do not grant.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from dlasim.compiler_shim.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.partition import UnplacedNetwork
from dlasim.compiler_shim.tflite.reader import ReadModel, read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.unsigned import to_unsigned
from dlasim.errors import InputError, printable
from dlasim.fileio import read_file

MAGIC = b"DLAGRAPH"
VERSION = 1
_HEAD = struct.Struct("<8sIIII")  # magic, version, bytes of JSON, bytes of constants, CRC-32 of both
MAX_TENSORS = 1 << 20
MAX_SCALE = float(np.finfo(np.float32).max)
DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")


def is_graph(head: bytes) -> bool:
    """Whether a file that starts so claims to be a graph."""
    return head.startswith(MAGIC)


def write_graph(graph: Graph, partitioned: UnplacedNetwork) -> bytes:
    """The file of a graph."""
    graph = to_unsigned(graph)
    blobs: list[bytes] = []
    offset = 0
    tensors = []
    for tensor in graph.tensors:
        row = _tensor_row(tensor)
        if tensor.data is not None:
            blobs.append(np.ascontiguousarray(tensor.data).tobytes())
            row["data"] = offset
            offset += len(blobs[-1])
        tensors.append(row)
    text = {
        "name": graph.name,
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "tensors": tensors,
        "operators": [_operator_row(operator) for operator in graph.operators],
        "partition": [_item_row(item) for item in partitioned.items],
    }
    encoded = json.dumps(text, separators=(",", ":"), allow_nan=False).encode()
    body = encoded + b"".join(blobs)
    return _HEAD.pack(MAGIC, VERSION, len(encoded), offset, zlib.crc32(body)) + body


def read_graph_model(path: str | Path) -> ReadModel:
    """The network in a file, checked as one from a .tflite is."""
    graph, data = _read_as_tflite(path)
    try:
        model = read_model(data)
    except InputError as error:
        raise InputError(f"{path} is not a valid graph: {error}") from None
    return replace(model, graph=replace(model.graph, name=printable(graph.name)))


def tflite_of(path: str | Path) -> bytes:
    """The network in a file as a .tflite, for those who read nothing else."""
    return _read_as_tflite(path)[1]


def _read_as_tflite(path: str | Path) -> tuple[Graph, bytes]:
    data = read_file(path)
    graph = _GraphReader(data, str(path)).graph()
    try:
        return graph, write_tflite(graph)
    except (struct.error, KeyError, TypeError, ValueError, OverflowError, AttributeError, AssertionError):
        raise InputError(f"{path} is not a valid graph: an operator's options are not its own") from None


def _tensor_row(tensor: Tensor) -> dict[str, Any]:
    row: dict[str, Any] = {"name": tensor.name, "shape": list(tensor.shape), "dtype": tensor.dtype}
    if tensor.quantization is not None:
        quantization = tensor.quantization
        row["scales"] = list(quantization.scales)
        row["zero_points"] = list(quantization.zero_points)
        row["axis"] = quantization.axis
    return row


def _operator_row(operator: Operator) -> dict[str, Any]:
    return {
        "kind": operator.kind,
        "inputs": list(operator.inputs),
        "outputs": list(operator.outputs),
        "options": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in operator.options.items()
        },
        "location": operator.location,
    }


def _item_row(item: Any) -> dict[str, Any]:
    return {
        "name": item.name,
        "operator": item.operator,
        "dla": item.dla[0].mnemonic if item.dla else None,
        "why": item.dla_refusal or "supported",
        "macs": item.macs,
    }


class _GraphReader:
    """Reads one file; whatever is wrong with it ends in `_fail`."""

    def __init__(self, data: bytes, origin: str) -> None:
        self._origin = origin
        if len(data) < _HEAD.size or not is_graph(data):
            self._fail(f"it does not start with {MAGIC.decode()}")
        _, version, text_bytes, blob_bytes, checksum = _HEAD.unpack_from(data)
        if version != VERSION:
            self._fail(f"it has format version {version}, this dlasim reads version {VERSION}")
        body = memoryview(data)[_HEAD.size :]
        if len(body) != text_bytes + blob_bytes:
            self._fail(f"its header says {text_bytes + blob_bytes} bytes follow, {len(body)} do")
        if zlib.crc32(body) != checksum:
            self._fail("its checksum does not match")
        self._blob = body[text_bytes:]
        try:
            self._text = json.loads(bytes(body[:text_bytes]))
        except (ValueError, RecursionError):
            self._fail("its JSON cannot be read")

    def _fail(self, what: str) -> NoReturn:
        raise InputError(f"{self._origin} is not a valid graph: {what}")

    def graph(self) -> Graph:
        """The graph, with every number and reference in range."""
        text = self._object(self._text, "the file")
        rows = self._list(text, "tensors")
        if len(rows) > MAX_TENSORS:
            self._fail(f"it must have at most {MAX_TENSORS} tensors (got {len(rows)})")
        tensors = tuple(self._tensor(row) for row in rows)
        count = len(tensors)
        return Graph(
            self._string(text, "name"),
            tensors,
            tuple(self._operator(row, count) for row in self._list(text, "operators")),
            self._indices(text, "inputs", 0, count),
            self._indices(text, "outputs", 0, count),
        )

    def _tensor(self, row: Any) -> Tensor:
        row = self._object(row, "a tensor")
        shape = self._indices(row, "shape", 0, 1 << 31)
        dtype = self._string(row, "dtype")
        if dtype not in DTYPES:
            self._fail(f"unknown tensor type {dtype[:40]!r}; the types are {', '.join(DTYPES)}")
        tensor = Tensor(self._string(row, "name"), shape, dtype, self._quantization(row, shape))
        if "data" not in row:
            return tensor
        elements = 1
        for extent in shape:
            elements *= extent
        begin = row["data"]
        end = begin + elements * np.dtype(dtype).itemsize if isinstance(begin, int) else -1
        if isinstance(begin, bool) or not isinstance(begin, int) or not 0 <= begin <= end <= len(self._blob):
            self._fail(f"the data of tensor {printable(tensor.name)} is outside the file")
        data = np.frombuffer(self._blob[begin:end], np.dtype(dtype).newbyteorder("<")).reshape(shape)
        return Tensor(tensor.name, shape, dtype, tensor.quantization, data.astype(dtype, copy=False))

    def _quantization(self, row: dict[str, Any], shape: tuple[int, ...]) -> Quantization | None:
        if "scales" not in row:
            return None
        scales = self._list(row, "scales")
        if not all(isinstance(s, float | int) and not isinstance(s, bool) for s in scales) or not scales:
            self._fail("a scale is not a number")
        if not all(0 <= s <= MAX_SCALE for s in scales):
            self._fail("a scale is negative or not finite")
        points = self._indices(row, "zero_points", -(1 << 31), 1 << 31)
        axis = self._indices({"axis": [row.get("axis")]}, "axis", 0, max(len(shape), 1))[0]
        if len(points) != len(scales) or (len(scales) > 1 and (not shape or shape[axis] != len(scales))):
            self._fail("a tensor's scales and zero points do not fit its shape")
        return Quantization(tuple(float(s) for s in scales), points, axis)

    def _operator(self, row: Any, count: int) -> Operator:
        row = self._object(row, "an operator")
        options = {}
        for name, value in self._object(row.get("options"), "an operator's options").items():
            if isinstance(value, list):
                value = self._indices({name: value}, name, -(1 << 63), 1 << 63)
            elif not isinstance(value, int | float | bool | str):
                self._fail(f"option {name[:40]!r} is neither number nor text")
            options[name] = value
        return Operator(
            self._string(row, "kind"),
            self._indices(row, "inputs", -1, count),
            self._indices(row, "outputs", 0, count),
            options,
            self._string(row, "location"),
        )

    def _object(self, value: Any, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._fail(f"{what} is not an object")
        return value

    def _list(self, row: dict[str, Any], key: str) -> list[Any]:
        value = row.get(key)
        if not isinstance(value, list):
            self._fail(f"{key} is not a list")
        return value

    def _string(self, row: dict[str, Any], key: str) -> str:
        value = row.get(key)
        if not isinstance(value, str):
            self._fail(f"{key} is not text")
        return value

    def _indices(self, row: dict[str, Any], key: str, low: int, high: int) -> tuple[int, ...]:
        values = self._list(row, key)
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value < high:
                self._fail(f"{key} must hold integers from {low} to {high - 1} (got {str(value)[:40]})")
        return tuple(values)
