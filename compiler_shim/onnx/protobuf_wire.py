"""Reads protobuf messages into dictionaries, after a table of their fields.

Nothing in a file is trusted: each length is checked against what is left of its message, messages nest only
as deep as the table says, and the work is bounded, tensor data aside, which is never copied.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from dlasim.dataclass import dataclass
from dlasim.errors import InputError

Message = dict[str, Any]
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_STEPS = 4_000_000  # fields and packed numbers; the largest networks have some hundred thousand
_DEEPEST = 24
_NUMBERS = {"float": "<f4", "double": "<f8"}
_CODES = {"float": "<f", "double": "<d"}


@dataclass(frozen=True, slots=True)
class WireField:
    """A field: "int", "float", "double", "text", "bytes" or a message's name; repeated or not."""

    name: str
    kind: str
    is_repeated: bool = False


Schema = Mapping[str, Mapping[int, WireField]]


class WireReader:
    """One file being read; `name` is how errors call it."""

    def __init__(self, data: bytes, schema: Schema, name: str) -> None:
        self._data, self._schema, self._name = memoryview(data), schema, name
        self._steps_left = _MAX_STEPS

    def message(self, kind: str) -> Message:
        """The whole file as one message."""
        return self._message(kind, 0, len(self._data), 0)

    def _bad(self, what: str) -> InputError:
        return InputError(f"{self._name}: damaged ONNX file: {what}")

    def _step(self, count: int = 1) -> None:
        self._steps_left -= count
        if self._steps_left < 0:
            raise self._bad(f"it has more than {_MAX_STEPS:,} fields and numbers")

    def _message(self, kind: str, at: int, end: int, depth: int) -> Message:
        if depth > _DEEPEST:
            raise self._bad(f"messages nest more than {_DEEPEST} deep")
        fields = self._schema[kind]
        values: Message = {field.name: [] for field in fields.values() if field.is_repeated}
        while at < end:
            self._step()
            key, at = self._varint(at, end)
            number, wire = key >> 3, key & 7
            if number == 0:
                raise self._bad(f"a field of {kind} has number 0")
            start, at = self._extent(wire, at, end)
            field = fields.get(number)
            if field is not None:
                self._store(values, field, wire, start, at, depth)
        return values

    def _extent(self, wire: int, at: int, end: int) -> tuple[int, int]:
        """Where the content of a field begins and ends."""
        if wire == _VARINT:
            return at, self._varint(at, end)[1]
        if wire == _BYTES:
            length, at = self._varint(at, end)
        elif wire in (_FIXED32, _FIXED64):
            length = 4 if wire == _FIXED32 else 8
        else:
            raise self._bad(f"at byte {at}: wire type {wire}")
        if length > end - at:
            raise self._bad(
                f"{length} bytes at {at} are beyond the {end - at} that are left of their message"
            )
        return at, at + length

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value, shift = 0, 0
        while True:
            if at >= end or shift > 63:
                raise self._bad(f"at byte {at}: an unterminated varint")
            byte = self._data[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, at

    def _store(self, values: Message, field: WireField, wire: int, start: int, end: int, depth: int) -> None:
        if field.kind in self._schema:
            self._expect(field, wire, _BYTES)
            value: Any = self._message(field.kind, start, end, depth + 1)
            if not field.is_repeated and field.name in values:  # protobuf joins the parts of a message
                value = _joined(values[field.name], value)
        elif field.kind in ("text", "bytes"):
            self._expect(field, wire, _BYTES)
            raw = self._data[start:end]
            value = raw if field.kind == "bytes" else bytes(raw).decode("utf-8", "replace")
        elif wire == _BYTES and field.is_repeated:
            values[field.name] += self._packed(field, start, end)
            return
        else:
            value = self._number(field, wire, start, end)
        if field.is_repeated:
            values[field.name].append(value)
        else:
            values[field.name] = value

    def _expect(self, field: WireField, wire: int, expected: int) -> None:
        if wire != expected:
            raise self._bad(f"field {field.name} has wire type {wire}; expected {expected}")

    def _number(self, field: WireField, wire: int, start: int, end: int) -> int | float:
        if field.kind == "int":
            self._expect(field, wire, _VARINT)
            value = self._varint(start, end)[0]
            return value - (1 << 64) if value >> 63 else value
        self._expect(field, wire, _FIXED32 if field.kind == "float" else _FIXED64)
        number: float = struct.unpack(_CODES[field.kind], self._data[start:end])[0]
        return number

    def _packed(self, field: WireField, start: int, end: int) -> list[Any]:
        if field.kind in _NUMBERS:
            size = int(_NUMBERS[field.kind][-1])
            if (end - start) % size:
                raise self._bad(f"field {field.name} has {end - start} bytes, not a multiple of {size}")
            self._step((end - start) // size)
            return list(np.frombuffer(self._data[start:end], _NUMBERS[field.kind]).tolist())
        found = []
        while start < end:
            self._step()
            value, start = self._varint(start, end)
            found.append(value - (1 << 64) if value >> 63 else value)
        return found


def _joined(first: Message, second: Message) -> Message:
    return {
        name: first[name] + second[name]
        if isinstance(second.get(name), list) and isinstance(first.get(name), list)
        else second.get(name, first.get(name))
        for name in {**first, **second}
    }
