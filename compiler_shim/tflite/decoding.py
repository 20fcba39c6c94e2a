"""Reads flatbuffer tables into dictionaries, after the description of the file's format.

Nothing in a file is trusted: each position and length is checked against the file before it is used, and
the work is bounded by the file's size, because a hostile file may refer to the same bytes many times over.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.operators.fields import SCALARS, FlatbufferFormat, SchemaField, absent
from dlasim.compiler_shim.tflite.schema import TFLITE
from dlasim.errors import InputError

Values = dict[str, Any]
# Bytes that may be looked at, tensor data aside, which is never copied. An honest file refers to nearly
# everything once and describes its largest network in a few megabytes.
_MAX_WORK_BYTES = 16 << 20
_TABLE_WORK_BYTES = 32  # what making the objects of a table counts as, besides its bytes
_HEADER_BYTES = 8


class Decoder:
    """One file being read; `name` is how errors call it."""

    def __init__(self, data: bytes, name: str, format: FlatbufferFormat = TFLITE) -> None:
        self._data = data
        self._name = name
        self._format = format
        self._work_left_bytes = _MAX_WORK_BYTES
        self._end_bytes = 0  # of what has been read

    def root(self, table: str) -> Values:
        """The table that the file is about."""
        mark = self._format.identifier
        if len(self._data) < _HEADER_BYTES or self._data[4:8] != mark:
            raise InputError(
                f"{self._name}: not a {self._format.name} model: bytes 4 to 7 should read {mark.decode()}; "
                "models are .tflite, .onnx, .tosa and .dlag files"
            )
        return self._table(table, self._follow(0))

    def behind_tables(self, offset: int, size_bytes: int, what: str) -> NDArray[np.uint8]:
        """Data that follows everything read so far; `what` is how errors call it."""
        if offset + size_bytes > len(self._data):
            raise self.bad(
                f"{what}: {size_bytes} bytes at {offset} are beyond the file's {len(self._data)} bytes"
            )
        if offset < self._end_bytes:
            raise self.bad(f"{what}: its data at {offset} overlaps the tables up to {self._end_bytes}")
        return np.frombuffer(self._data, np.uint8, size_bytes, offset)

    def bad(self, what: str) -> InputError:
        """The error that the file is damaged."""
        return InputError(f"{self._name}: damaged {self._format.name} file: {what}")

    def _claim(self, position: int, size_bytes: int) -> int:
        """The position, once it is certain that so many bytes are there."""
        if position < 0 or position + size_bytes > len(self._data):
            raise self.bad(f"{size_bytes} bytes at {position} are beyond its {len(self._data)} bytes")
        self._end_bytes = max(self._end_bytes, position + size_bytes)
        return position

    def _work(self, size_bytes: int) -> None:
        self._work_left_bytes -= size_bytes
        if self._work_left_bytes < 0:
            raise self.bad(f"its tables take more than {_MAX_WORK_BYTES} bytes to read")

    def _scalar(self, kind: str, position: int) -> Any:
        code = "<" + SCALARS[kind]
        if kind == "bool":
            return self._data[self._claim(position, 1)] != 0
        return struct.unpack_from(code, self._data, self._claim(position, struct.calcsize(code)))[0]

    def _follow(self, position: int) -> int:
        return position + int(self._scalar("uint32", position))

    def _table(self, name: str, position: int) -> Values:
        slots = self._slots(position)
        values: Values = {}
        for slot, field in enumerate(self._format.tables[name]):
            if field is not None:
                offset = slots[slot] if slot < len(slots) else 0
                values[field.name] = (
                    self._field(field, position + offset, values) if offset else absent(field)
                )
        return values

    def _slots(self, position: int) -> tuple[int, ...]:
        """The offsets of a table's fields, from its vtable; 0 for an absent field."""
        vtable = position - struct.unpack_from("<i", self._data, self._claim(position, 4))[0]
        size_bytes = struct.unpack_from("<H", self._data, self._claim(vtable, 4))[0]
        if size_bytes < 4:
            raise self.bad(f"the vtable at {vtable} has {size_bytes} bytes; at least 4 are needed")
        count = (size_bytes - 4) // 2
        self._work(_TABLE_WORK_BYTES + size_bytes)
        return struct.unpack_from(f"<{count}H", self._data, self._claim(vtable + 4, 2 * count))

    def _field(self, field: SchemaField, position: int, before: Values) -> Any:
        if field.kind in SCALARS:
            return self._scalar(field.kind, position)
        if field.kind == "string":
            return self._string(position)
        if field.is_vector:
            return self._vector(field.item, position)
        is_union = field.kind == "union"
        name = self._format.union_member(before[f"{field.name}_type"]) if is_union else field.kind
        return self._table(name, self._follow(position)) if name in self._format.tables else None

    def _string(self, position: int) -> str:
        start, length = self._extent(position, 1)
        self._work(length)
        return self._data[start : start + length].decode("utf-8", "replace")

    def _extent(self, position: int, item_bytes: int) -> tuple[int, int]:
        """Start and number of elements of a vector whose length is known to fit the file."""
        start = self._follow(position)
        length = int(self._scalar("uint32", start))
        return self._claim(start + 4, length * item_bytes), length

    def _vector(self, item: str, position: int) -> Any:
        if item in SCALARS:
            dtype = np.dtype(item).newbyteorder("<")
            start, length = self._extent(position, dtype.itemsize)
            self._work(0 if item == "uint8" else length * dtype.itemsize)
            return np.frombuffer(self._data, dtype=dtype, count=length, offset=start)
        start, length = self._extent(position, 4)
        if item == "string":
            self._work(4 * length)
            return [self._string(start + 4 * index) for index in range(length)]
        return [self._table(item, self._follow(start + 4 * index)) for index in range(length)]
