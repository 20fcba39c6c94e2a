"""Graph to .tflite: a genuine model that TensorFlow's own runtimes load; and flatbuffers of any format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Option, Quantization, Tensor
from dlasim.compiler_shim.network.unsigned import to_unsigned
from dlasim.compiler_shim.operators.definition import Options
from dlasim.compiler_shim.operators.fields import SCALARS, FlatbufferFormat, SchemaField, enum_numbers
from dlasim.compiler_shim.operators.table import CUSTOM_NAMES, OPERATORS
from dlasim.compiler_shim.tflite.flexible import write_numbers
from dlasim.compiler_shim.tflite.schema import MODEL_VERSION, TFLITE

if TYPE_CHECKING:
    from flatbuffers import Builder

Values = Mapping[str, Any]
# TensorFlow maps weights straight from the file and asks for this.
_DATA_ALIGNMENT_BYTES = 16
# The schema's first field for an operator's code is a byte; larger codes leave this mark in it.
_LARGE_CODE_MARK = 127


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


def write_tflite(graph: Graph) -> bytes:
    """The graph as a .tflite file with one subgraph, a buffer per constant and int8 operator versions.

    What is int8 for uint8 becomes uint8 again.

    A tensor that is read before an operator writes it, and neither constant nor an input, is a variable:
    state that lasts from one inference to the next, as SVDF's.
    """
    graph = to_unsigned(graph)
    kinds = sorted({operator.kind for operator in graph.operators})
    constants = [tensor for tensor in graph.tensors if tensor.is_constant]
    model = {
        "version": MODEL_VERSION,
        "description": "dlasim",
        "operator_codes": [_operator_code(kind) for kind in kinds],
        "subgraphs": [_subgraph(graph, kinds)],
        # By convention buffer 0 is empty and stands for "no data".
        "buffers": [{}] + [{"data": _data_bytes(tensor)} for tensor in constants],
    }
    # The builder doubles its memory when it runs out; the hint spares it most of the copying.
    return encode("Model", model, sum(tensor.size_bytes for tensor in constants) + 65_536)


def _data_bytes(tensor: Tensor) -> Any:
    assert tensor.data is not None
    found, declared = (tensor.data.dtype.name, tensor.data.shape), (tensor.dtype, tensor.shape)
    assert found == declared, f"{tensor.name}: data is {found}, declared {declared}"
    return np.frombuffer(tensor.data.tobytes(), dtype=np.uint8)


def _operator_code(kind: str) -> Mapping[str, Any]:
    if kind in CUSTOM_NAMES:
        number = enum_numbers("BuiltinOperator")["CUSTOM"]
        return {"deprecated_builtin_code": number, "builtin_code": number, "custom_code": CUSTOM_NAMES[kind]}
    code = enum_numbers("BuiltinOperator")[kind]
    return {
        "deprecated_builtin_code": min(code, _LARGE_CODE_MARK),
        "builtin_code": code,
        "version": OPERATORS[kind].version,
    }


def _subgraph(graph: Graph, kinds: list[str]) -> Mapping[str, Any]:
    variables = variable_tensors(graph)
    buffers = _buffer_numbers(graph)
    return {
        "name": graph.name,
        "tensors": [
            _tensor(tensor, buffers[index], index in variables) for index, tensor in enumerate(graph.tensors)
        ],
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        "operators": [_operator(operator, kinds) for operator in graph.operators],
    }


def variable_tensors(graph: Graph) -> frozenset[int]:
    """Tensors that keep state between inferences: read, but not written before that."""
    known = {index for index, tensor in enumerate(graph.tensors) if tensor.is_constant} | {-1, *graph.inputs}
    found: set[int] = set()
    for operator in graph.operators:
        found |= set(operator.inputs) - known
        known |= {*operator.inputs, *operator.outputs}
    return frozenset(found | set(graph.outputs) - known)


def _buffer_numbers(graph: Graph) -> list[int]:
    numbers, last = [], 0
    for tensor in graph.tensors:
        last += tensor.is_constant
        numbers.append(last if tensor.is_constant else 0)
    return numbers


def _tensor(tensor: Tensor, buffer: int, is_variable: bool) -> Mapping[str, Any]:
    return {
        "name": tensor.name,
        "shape": tensor.shape,
        "type": enum_numbers("TensorType")[tensor.dtype],
        "buffer": buffer,
        "quantization": _quantization(tensor.quantization),
        "is_variable": is_variable,
    }


def _quantization(quantization: Quantization | None) -> Mapping[str, Any] | None:
    if quantization is None:
        return None
    return {
        "scale": quantization.scales,
        "zero_point": quantization.zero_points,
        "quantized_dimension": quantization.axis,
    }


def _operator(operator: Operator, kinds: list[str]) -> Mapping[str, Any]:
    options = OPERATORS[operator.kind].options
    tensors = {
        "opcode_index": kinds.index(operator.kind),
        "inputs": operator.inputs,
        "outputs": operator.outputs,
    }
    if options.flexible:
        found = _options(options, operator).items()
        numbers = {name: value for name, value in found if value is not None}
        return tensors | {"custom_options": np.frombuffer(write_numbers(numbers), np.uint8)}
    return tensors | {
        "builtin_options_type": enum_numbers("BuiltinOptions")[options.table] if options.table else 0,
        "builtin_options": _options(options, operator) if options.table else None,
    }


def _options(options: Options, operator: Operator) -> Mapping[str, Any]:
    fields = [field for field in options.fields if field is not None]
    unknown = operator.options.keys() - {field.name for field in fields}
    assert not unknown, f"{operator.kind} has no option {sorted(unknown)}"
    return {field.name: _option(field, operator.options.get(field.name)) for field in fields}


def _option(field: SchemaField, value: Option | None) -> Option | None:
    if value is None:
        return field.usual
    return enum_numbers(field.enum)[str(value)] if field.enum else value
