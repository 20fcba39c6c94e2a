"""FlexBuffers, which hold the options of custom operators: a map from names to numbers.

Everything but numbers and truth values in the map is passed over. Nothing in a file is trusted: each position
is checked before it is used.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

Number = int | float | bool

_INT, _UINT, _FLOAT, _INDIRECT_INT, _INDIRECT_UINT, _INDIRECT_FLOAT, _MAP, _BOOL = 1, 2, 3, 6, 7, 8, 9, 26
_CODES = {
    _INT: {1: "b", 2: "h", 4: "i", 8: "q"},
    _UINT: {1: "B", 2: "H", 4: "I", 8: "Q"},
    _FLOAT: {2: "e", 4: "f", 8: "d"},
}
_SCALARS = {_INT: _INT, _UINT: _UINT, _FLOAT: _FLOAT, _BOOL: _UINT}
_INDIRECT = {_INDIRECT_INT: _INT, _INDIRECT_UINT: _UINT, _INDIRECT_FLOAT: _FLOAT}
_MAX_NAME_LENGTH = 100


class FlexibleError(ValueError):
    """What is wrong with a buffer, without saying of which operator."""


def read_numbers(data: bytes) -> dict[str, Number]:
    """The numbers of the map that the buffer is."""
    if len(data) < 3:
        raise FlexibleError(f"expected a map of at least 3 bytes, got {len(data)}")
    width, packed = data[-1], data[-2]
    if packed >> 2 != _MAP or width not in (1, 2, 4, 8):
        raise FlexibleError("expected a map, got another kind of FlexBuffer")
    root = len(data) - 2 - width
    return _Map(data, _target(data, root, width), 1 << (packed & 3)).numbers()


class _Map:
    """A map at a position, whose values have so many bytes each."""

    def __init__(self, data: bytes, position: int, width: int) -> None:
        self._data, self._position, self._width = data, position, width
        self._size = _unsigned(data, position - width, width)
        self._key_width = _unsigned(data, position - 2 * width, width)
        if self._key_width not in (1, 2, 4, 8):
            raise FlexibleError(f"names have offsets of {self._key_width} bytes")
        self._keys = _target(data, position - 3 * width, width)
        if self._size > len(data):
            raise FlexibleError(f"a map of {self._size} entries in {len(data)} bytes")

    def numbers(self) -> dict[str, Number]:
        found: dict[str, Number] = {}
        for entry in range(self._size):
            kind = _unsigned(self._data, self._position + self._size * self._width + entry, 1)
            value = self._value(kind >> 2, kind & 3, self._position + entry * self._width)
            if value is not None:
                found[self._name(entry)] = value
        return found

    def _name(self, entry: int) -> str:
        start = _target(self._data, self._keys + entry * self._key_width, self._key_width)
        end = self._data.find(b"\0", start, start + _MAX_NAME_LENGTH)
        if end < 0:
            raise FlexibleError(f"the name at {start} has no end")
        return self._data[start:end].decode("utf-8", "replace")

    def _value(self, kind: int, width_bits: int, position: int) -> Number | None:
        if kind in _SCALARS:
            value = _number(self._data, position, self._width, _SCALARS[kind])
            return bool(value) if kind == _BOOL else value
        if kind in _INDIRECT:
            target = _target(self._data, position, self._width)
            return _number(self._data, target, 1 << width_bits, _INDIRECT[kind])
        return None


def _target(data: bytes, position: int, width: int) -> int:
    """Where an offset leads: backwards."""
    target = position - _unsigned(data, position, width)
    if target < 0:
        raise FlexibleError(f"the offset at {position} leads before the first byte")
    return target


def _unsigned(data: bytes, position: int, width: int) -> int:
    return int(_number(data, position, width, _UINT))


def _number(data: bytes, position: int, width: int, kind: int) -> int | float:
    code = _CODES[kind].get(width)
    if code is None:
        raise FlexibleError(f"a float of {8 * width} bits")
    if not 0 <= position <= len(data) - width:
        raise FlexibleError(f"{width} bytes at {position} are beyond its {len(data)}")
    value: int | float = struct.unpack_from("<" + code, data, position)[0]
    return value


def write_numbers(values: Mapping[str, Number]) -> bytes:
    """A buffer that is a map with these values."""
    from flatbuffers import flexbuffers

    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in values.items():
            if isinstance(value, bool):
                builder.Bool(name, value)
            elif isinstance(value, int):
                builder.Int(name, value)
            else:
                builder.Float(name, value)
    return bytes(builder.Finish())
