"""Writes dictionaries as flatbuffer tables, after the description of the file's format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dlasim.compiler_shim.operators.fields import SCALARS, FlatbufferFormat, SchemaField
from dlasim.compiler_shim.tflite.schema import TFLITE

if TYPE_CHECKING:
    from flatbuffers import Builder

Values = Mapping[str, Any]
# TensorFlow maps weights straight from the file and asks for this.
_DATA_ALIGNMENT_BYTES = 16


def encode(root: str, values: Values, size_hint_bytes: int, format: FlatbufferFormat = TFLITE) -> bytes:
    """A finished flatbuffer whose root is the table `root` with these values; absent ones are defaults."""
    import flatbuffers

    encoder = _Encoder(flatbuffers.Builder(size_hint_bytes), format)
    encoder.builder.Finish(encoder.table(root, values), format.identifier)
    return bytes(encoder.builder.Output())


class _Encoder:
    """One file being written."""

    def __init__(self, builder: Builder, format: FlatbufferFormat) -> None:
        self.builder, self._format = builder, format

    def table(self, name: str, values: Values) -> int:
        """The offset of a table."""
        fields = self._format.tables[name]
        known = {field.name for field in fields if field is not None}
        assert values.keys() <= known, f"{name} has no {sorted(values.keys() - known)}, only {sorted(known)}"
        # Children come first: a flatbuffer is written from back to front and objects do not nest.
        slots = [(field, self._child(field, values)) for field in fields]
        self.builder.StartObject(len(fields))
        for slot, (field, value) in enumerate(slots):
            if field is not None and value is not None:
                self._store(slot, field, value)
        return int(self.builder.EndObject())

    def _store(self, slot: int, field: SchemaField, value: Any) -> None:
        if field.kind in SCALARS:
            getattr(self.builder, f"Prepend{field.kind.capitalize()}Slot")(slot, value, field.default)
        else:
            self.builder.PrependUOffsetTRelativeSlot(slot, value, 0)

    def _child(self, field: SchemaField | None, values: Values) -> Any:
        """A scalar's value, or the offset of what has been written for anything larger; None if absent."""
        if field is None or (value := values.get(field.name)) is None or field.kind in SCALARS:
            return None if field is None else values.get(field.name)
        if field.kind == "string":
            return self.builder.CreateString(value)
        if field.is_vector:
            return self._vector(field.item, value)
        if field.kind == "union":
            return self.table(self._format.union_member(values[f"{field.name}_type"]), value)
        return self.table(field.kind, value)

    def _vector(self, item: str, values: Any) -> int:
        if item == "uint8":
            data = np.ascontiguousarray(values).tobytes()
            self.builder.Prep(_DATA_ALIGNMENT_BYTES, len(data))
            return int(self.builder.CreateByteVector(data))
        if item in SCALARS:
            return int(self.builder.CreateNumpyVector(np.asarray(values, dtype=item)))
        is_text = item == "string"
        offsets = [self.builder.CreateString(v) if is_text else self.table(item, v) for v in values]
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return int(self.builder.EndVector())
