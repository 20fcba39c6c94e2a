"""Reads a `.dlag` file, or says in one line what is wrong with it; docs/graph-format.md describes the file.

Reading takes the way of every model: the graph goes through the TFLite reader's checks and is partitioned
again, so a file cannot claim what the rules do not grant.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from dlasim.compiler_shim.dlag.dlag_layout import (
    DTYPES,
    HEAD,
    MAGIC,
    MAX_SCALE,
    MAX_TENSORS,
    ROUNDINGS,
    VERSION,
    is_graph,
)
from dlasim.compiler_shim.dlag.option_check import OptionError, checked_options
from dlasim.compiler_shim.files.constant_budget import ConstantBudget
from dlasim.compiler_shim.files.input_file import AnyInput, open_input
from dlasim.compiler_shim.network.graph import MAX_DIMENSIONS, Graph, Operator, Quantization, Tensor, label
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.compiler_shim.tflite.reader import ReadModel, read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError, one_of, printable, unknown

_TOP = ("name", "rounding", "inputs", "outputs", "tensors", "operators", "partition")
_TENSOR = ("name", "shape", "dtype", "scales", "zero_points", "axis", "data")
_OPERATOR = ("kind", "inputs", "outputs", "options", "location")


def read_graph_model(given: AnyInput) -> ReadModel:
    """The network in a file, checked as one from a .tflite is."""
    graph, data = _read_as_tflite(given)
    try:
        model = read_model(data)
    except InputError as error:
        raise InputError(f"{given} is not a valid graph: {error}") from None
    kept = replace(model.graph, name=printable(graph.name), numerics=graph.numerics)
    return replace(model, graph=kept)


def tflite_of(given: AnyInput) -> bytes:
    """The network in a file as a .tflite, for those who read nothing else."""
    return _read_as_tflite(given)[1]


def _read_as_tflite(given: AnyInput) -> tuple[Graph, bytes]:
    file = open_input(given)
    graph = _GraphReader(file.data, file.path).graph()
    try:
        return graph, write_tflite(graph)
    except (struct.error, ValueError, OverflowError):  # text that is not Unicode, for example
        raise InputError(f"{file} is not a valid graph: its names or numbers cannot be written") from None


class _GraphReader:
    """Reads one file; whatever is wrong with it ends in `_fail`."""

    def __init__(self, data: bytes, origin: str) -> None:
        self._origin = origin
        if len(data) < HEAD.size or not is_graph(data):
            self._fail(f"it does not start with {MAGIC.decode()}")
        _, version, text_bytes, blob_bytes, checksum = HEAD.unpack_from(data)
        if version != VERSION:
            self._fail(f"it has format version {version}, but this dlasim reads version {VERSION}")
        body = memoryview(data)[HEAD.size :]
        if len(body) != text_bytes + blob_bytes:
            self._fail(f"its header says {text_bytes + blob_bytes} bytes follow, but {len(body)} do")
        if zlib.crc32(body) != checksum:
            self._fail("its checksum does not match")
        self._blob = body[text_bytes:]
        self._budget = ConstantBudget(len(data))
        try:
            self._text = json.loads(bytes(body[:text_bytes]))
        except (ValueError, RecursionError):
            self._fail("its JSON cannot be read")

    def _fail(self, what: str) -> NoReturn:
        raise InputError(f"{self._origin} is not a valid graph: {what}")

    def graph(self) -> Graph:
        """The graph, with every number and reference in range."""
        text = self._object(self._text, "the file", _TOP)
        rows = self._list(text, "tensors", "the file")
        if len(rows) > MAX_TENSORS:
            self._fail(f"it must have at most {MAX_TENSORS} tensors (got {len(rows)})")
        tensors = tuple(self._tensor(row, f"tensor {number}") for number, row in enumerate(rows))
        count = len(tensors)
        rounding = text.get("rounding", "twice")
        if rounding not in tuple(ROUNDINGS):
            self._fail(f"rounding must be {one_of(ROUNDINGS)} (got {str(rounding)[:40]!r})")
        rows = self._list(text, "operators", "the file")
        self._check_kinds(rows)
        return Graph(
            self._string(text, "name", "the file"),
            tensors,
            tuple(self._operator(row, count, f"operator {number}") for number, row in enumerate(rows)),
            self._integers(text, "inputs", "the file", 0, count),
            self._integers(text, "outputs", "the file", 0, count),
            numerics=ROUNDINGS[rounding],
        )

    def _check_kinds(self, rows: list[Any]) -> None:
        """Rejects operators that dlasim does not know, all at once."""
        kinds = [row["kind"] for row in rows if isinstance(row, dict) and isinstance(row.get("kind"), str)]
        unexpected = list(dict.fromkeys(kind for kind in kinds if kind not in OPERATORS))
        if len(unexpected) > 1:
            names = ", ".join(label(kind) for kind in unexpected[:20])
            self._fail(f"unknown operators {names}{', …' if len(unexpected) > 20 else ''}")
        if unexpected:
            self._fail(unknown("operator", unexpected[0], OPERATORS))

    def _tensor(self, row: Any, where: str) -> Tensor:
        row = self._object(row, where, _TENSOR)
        name = self._string(row, "name", where)
        where = f"{where} ({label(name)})"
        shape = self._integers(row, "shape", where, 0, 1 << 31)
        if len(shape) > MAX_DIMENSIONS:
            self._fail(f"{where}: shape must have at most {MAX_DIMENSIONS} dimensions (got {len(shape)})")
        dtype = self._string(row, "dtype", where)
        if dtype not in DTYPES:
            self._fail(f"{where}: dtype must be {one_of(DTYPES)} (got {dtype[:40]!r})")
        tensor = Tensor(name, shape, dtype, self._quantization(row, shape, where))
        return tensor if "data" not in row else self._with_data(tensor, row["data"], where)

    def _with_data(self, tensor: Tensor, begin: Any, where: str) -> Tensor:
        if isinstance(begin, bool) or not isinstance(begin, int):
            self._fail(f"{where}: data must be an offset in the constants")
        size_bytes = math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize
        if not 0 <= begin <= len(self._blob) - size_bytes:
            self._fail(
                f"{where}: its {size_bytes} bytes of data at {str(begin)[:40]} are outside of the "
                f"{len(self._blob)} bytes of constants"
            )
        self._budget.spend(size_bytes, f"{self._origin}: {where}")
        raw = self._blob[begin : begin + size_bytes]
        data = np.frombuffer(raw, np.dtype(tensor.dtype).newbyteorder("<")).reshape(tensor.shape)
        if tensor.dtype == "bool" and data.size and data.view(np.uint8).max() > 1:
            self._fail(f"{where}: a bool is neither 0 nor 1")
        return replace(tensor, data=data.astype(tensor.dtype, copy=False))

    def _quantization(self, row: dict[str, Any], shape: tuple[int, ...], where: str) -> Quantization | None:
        if "scales" not in row:
            if unexpected := [name for name in ("zero_points", "axis") if name in row]:
                self._fail(f"{where}: {unexpected[0]} without scales")
            return None
        scales = self._list(row, "scales", where)
        if not scales:
            self._fail(f"{where}: scales is empty; leave it out for a tensor without a scale")
        for scale in scales:
            if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 <= scale <= MAX_SCALE:
                self._fail(
                    f"{where}: a scale must be a number from 0 to {MAX_SCALE:g} (got {str(scale)[:40]})"
                )
        points = self._integers(row, "zero_points", where, -(1 << 31), 1 << 31)
        axis = row.get("axis", 0)
        if isinstance(axis, bool) or not isinstance(axis, int) or not 0 <= axis < max(len(shape), 1):
            self._fail(f"{where}: axis must be one of its {len(shape)} dimensions (got {str(axis)[:40]})")
        if len(points) != len(scales):
            self._fail(f"{where}: it has {len(scales)} scales and {len(points)} zero points")
        if len(scales) > 1 and (not shape or shape[axis] != len(scales)):
            self._fail(f"{where}: it has {len(scales)} scales along axis {axis} of shape {list(shape)}")
        return Quantization(tuple(float(scale) for scale in scales), points, axis)

    def _operator(self, row: Any, count: int, where: str) -> Operator:
        row = self._object(row, where, _OPERATOR)
        kind = self._string(row, "kind", where)
        where = f"{where} ({kind})"
        inputs = self._integers(row, "inputs", where, -1, count)
        outputs = self._integers(row, "outputs", where, 0, count)
        location = self._string(row, "location", where) if "location" in row else where
        given = self._object(row.get("options", {}), f"{where}: options")
        try:
            return Operator(kind, inputs, outputs, checked_options(kind, given), location)
        except OptionError as error:
            self._fail(f"{where}: {error}")

    def _object(self, value: Any, what: str, known: tuple[str, ...] = ()) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._fail(f"{what} is not an object")
        for key in value:
            if known and key not in known:
                self._fail(f"{what} has an {unknown('field', key, known)}")
        return value

    def _list(self, row: dict[str, Any], key: str, where: str) -> list[Any]:
        value = self._required(row, key, where)
        if not isinstance(value, list):
            self._fail(f"{where}: {key} is not a list")
        return value

    def _string(self, row: dict[str, Any], key: str, where: str) -> str:
        value = self._required(row, key, where)
        if not isinstance(value, str):
            self._fail(f"{where}: {key} is not text")
        return value

    def _required(self, row: dict[str, Any], key: str, where: str) -> Any:
        if key not in row:
            self._fail(f"{where} has no field {key}")
        return row[key]

    def _integers(self, row: dict[str, Any], key: str, where: str, low: int, high: int) -> tuple[int, ...]:
        values = self._list(row, key, where)
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value < high:
                self._fail(
                    f"{where}: {key} must hold integers from {low} to {high - 1} (got {str(value)[:40]})"
                )
        return tuple(values)
