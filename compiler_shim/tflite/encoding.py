"""Writes dictionaries as flatbuffer tables, after the schema's own description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dlasim.compiler_shim.operators.fields import SCALARS, SchemaField, enum_names
from dlasim.compiler_shim.tflite.schema import FILE_IDENTIFIER, TABLES

if TYPE_CHECKING:
    from flatbuffers import Builder

Values = Mapping[str, Any]
# TensorFlow maps weights straight from the file and asks for this.
_DATA_ALIGNMENT_BYTES = 16


def encode(root: str, values: Values, size_hint_bytes: int) -> bytes:
    """A finished flatbuffer whose root is the table `root` with these values; absent ones are defaults."""
    import flatbuffers

    builder = flatbuffers.Builder(size_hint_bytes)
    builder.Finish(_table(builder, root, values), FILE_IDENTIFIER)
    return bytes(builder.Output())


def _table(builder: Builder, name: str, values: Values) -> int:
    fields = TABLES[name]
    known = {field.name for field in fields if field is not None}
    assert values.keys() <= known, f"{name} has no {sorted(values.keys() - known)}, only {sorted(known)}"
    # Children come first: a flatbuffer is written from back to front and objects do not nest.
    slots = [(field, _child(builder, field, values)) for field in fields]
    builder.StartObject(len(fields))
    for slot, (field, value) in enumerate(slots):
        if field is not None and value is not None:
            _store(builder, slot, field, value)
    return int(builder.EndObject())


def _store(builder: Builder, slot: int, field: SchemaField, value: Any) -> None:
    if field.kind in SCALARS:
        getattr(builder, f"Prepend{field.kind.capitalize()}Slot")(slot, value, field.default)
    else:
        builder.PrependUOffsetTRelativeSlot(slot, value, 0)


def _child(builder: Builder, field: SchemaField | None, values: Values) -> Any:
    """A scalar's value, or the offset of what has been written for anything larger; None if absent."""
    if field is None or (value := values.get(field.name)) is None or field.kind in SCALARS:
        return None if field is None else values.get(field.name)
    if field.kind == "string":
        return builder.CreateString(value)
    if field.is_vector:
        return _vector(builder, field.item, value)
    if field.kind == "union":
        return _table(builder, enum_names("BuiltinOptions")[values[f"{field.name}_type"]], value)
    return _table(builder, field.kind, value)


def _vector(builder: Builder, item: str, values: Any) -> int:
    if item == "uint8":
        data = np.ascontiguousarray(values).tobytes()
        builder.Prep(_DATA_ALIGNMENT_BYTES, len(data))
        return int(builder.CreateByteVector(data))
    if item in SCALARS:
        return int(builder.CreateNumpyVector(np.asarray(values, dtype=item)))
    offsets = [_table(builder, item, value) for value in values]
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())
