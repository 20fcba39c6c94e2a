"""Small changes of an ONNX file for the reference, in the bytes of the file: protobuf without a library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.files.input_file import InputFile
from dlasim.compiler_shim.network.graph import UNSIGNED_OFFSET
from dlasim.compiler_shim.onnx.onnx_reader import OnnxModel, read_onnx
from dlasim.errors import printable

Array = NDArray[Any]
# Numbers of fields, and of the type uint8, as ONNX's schema has them.
_GRAPH, _CONSTANT, _OUTPUT, _NAME = 7, 5, 12, 1
_DIMENSION, _TYPE, _CONSTANT_NAME, _RAW_DATA = 1, 2, 8, 9
_UINT8 = 2
# Where operators on integers have their weights, and these their zero point; that of the data is input 2.
_WEIGHTS = {"QLinearConv": (3, 5), "QLinearMatMul": (3, 5), "QGemm": (3, 5)}
_FIXED_BYTES = {1: 8, 5: 4}  # how long fields of these wire types are


def extra_outputs(names: Sequence[str]) -> bytes:
    """Further outputs of the graph, as protobuf joins them to it: a message that is there twice is merged."""
    values = b"".join(_message(_OUTPUT, _message(_NAME, name.encode())) for name in names)
    return _message(_GRAPH, values) if names else b""


def with_unsigned_weights(file: InputFile) -> bytes:
    """The file with int8 weights of operators on uint8 as uint8, 128 above; the results are the same.

    On CPUs without VNNI, onnxruntime adds pairs of products of uint8 and int8 in saturating 16 bits. Those of
    uint8 and uint8 it adds exactly.
    """
    if not any(kind.encode() in file.data for kind in _WEIGHTS):
        return file.data
    model = read_onnx(file)
    changed = {name: model.constants[name] for name in _signed_beside_unsigned(model)}
    return _with_constants(file.data, changed) if changed else file.data


def _signed_beside_unsigned(model: OnnxModel) -> set[str]:
    """The constants that only operators on uint8 read, as their int8 weights or these' zero points."""
    signed: set[str] = set()
    others = set(model.outputs)
    for node in model.nodes:
        places = _WEIGHTS.get(node.kind, ()) if len(node.inputs) > 5 else ()
        names = {node.inputs[place] for place in places}
        types = [_dtype(model, node.inputs[place]) for place in (2, *places)] if places else []
        if types != [np.uint8, np.int8, np.int8]:
            names = set()
        signed |= names
        others |= set(node.inputs) - names
    return signed - others


def _dtype(model: OnnxModel, name: str) -> Any:
    data = model.constants.get(name)
    return None if data is None else data.dtype


def _with_constants(data: bytes, constants: Mapping[str, Array]) -> bytes:
    """The file with these as uint8 instead of what it has under their names."""
    parts: list[bytes | memoryview] = []
    whole = memoryview(data)
    for number, field, content in _fields(whole):
        if number == _GRAPH:
            kept = [inner for key, inner, part in _fields(content)
                    if key != _CONSTANT or _name_of(part) not in constants]  # fmt: skip
            field = memoryview(_message(_GRAPH, b"".join(kept)))
        parts.append(field)
    added = (_message(_CONSTANT, _unsigned(name, numbers)) for name, numbers in constants.items())
    return b"".join(parts) + _message(_GRAPH, b"".join(added))


def _name_of(constant: memoryview) -> str:
    names = [bytes(content) for number, _, content in _fields(constant) if number == _CONSTANT_NAME]
    return printable(names[-1].decode("utf-8", "replace")) if names else ""


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """The number of each field, its bytes, and those of its content; the file has been read before."""
    at = 0
    while at < len(message):
        key, start = _read_varint(message, at)
        wire = key & 7
        if wire == 2:
            length, start = _read_varint(message, start)
            end = start + length
        else:
            end = start + _FIXED_BYTES[wire] if wire in _FIXED_BYTES else _read_varint(message, start)[1]
        yield key >> 3, message[at:end], message[start:end]
        at = end


def _unsigned(name: str, data: Array) -> bytes:
    """A constant of uint8."""
    numbers = (data.astype(np.int16) + UNSIGNED_OFFSET).astype(np.uint8)
    shape = b"".join(_number(_DIMENSION, size) for size in data.shape)
    text = _message(_CONSTANT_NAME, name.encode())
    return shape + _number(_TYPE, _UINT8) + text + _message(_RAW_DATA, numbers.tobytes())


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    head = b""
    while value >= 0x80:
        head += bytes([value & 0x7F | 0x80])
        value >>= 7
    return head + bytes([value])


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """A number, and where what follows it begins."""
    value, shift = 0, 0
    while data[at] >= 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1
