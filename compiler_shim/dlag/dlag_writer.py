"""The layout of a `.dlag` file, which docs/graph-format.md describes, and what writes a network so."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np

from dlasim.compiler_shim.forms.partition import Item, UnplacedNetwork
from dlasim.compiler_shim.network.graph import Graph, Numerics, Operator, Tensor
from dlasim.compiler_shim.network.unsigned import to_unsigned

MAGIC = b"DLAGRAPH"
VERSION = 3
HEAD = struct.Struct("<8sIIII")  # magic, version, bytes of JSON, bytes of constants, CRC-32 of both
MAX_TENSORS = 1 << 20
MAX_SCALE = float(np.finfo(np.float32).max)
DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")
ROUNDINGS = {"twice": Numerics.TFLM, "once": Numerics.ONCE}  # of a sum of products that is rescaled


def write_graph(graph: Graph, partitioned: UnplacedNetwork | None = None) -> bytes:
    """The file of a graph; with its partition, if given, for people to read."""
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
        "rounding": "once" if graph.rounds_once else "twice",
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "tensors": tensors,
        "operators": [_operator_row(operator) for operator in graph.operators],
    }
    if partitioned is not None:
        text["partition"] = [_item_row(item) for item in partitioned.items]
    encoded = json.dumps(text, separators=(",", ":"), allow_nan=False).encode()
    body = encoded + b"".join(blobs)
    return HEAD.pack(MAGIC, VERSION, len(encoded), offset, zlib.crc32(body)) + body


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


def _item_row(item: Item) -> dict[str, Any]:
    return {
        "name": item.name,
        "operator": item.operator,
        "dla": item.dla[0].mnemonic if item.dla else None,
        "why": item.dla_refusal or "supported",
        "macs": item.macs,
    }


def is_graph(head: bytes) -> bool:
    """Whether a file that starts so claims to be a graph."""
    return head.startswith(MAGIC)
