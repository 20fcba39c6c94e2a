"""Writes a network as a `.dlag` file; docs/graph-format.md describes it."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np

from dlasim.compiler_shim.dlag.dlag_layout import HEAD, MAGIC, VERSION
from dlasim.compiler_shim.forms.partition import Item, UnplacedNetwork
from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor
from dlasim.compiler_shim.network.unsigned import to_unsigned


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
