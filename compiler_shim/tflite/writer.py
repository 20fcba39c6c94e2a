"""Graph to .tflite: a genuine model that TensorFlow's own runtimes load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Option, Quantization, Tensor
from dlasim.compiler_shim.network.unsigned import to_unsigned
from dlasim.compiler_shim.operators.definition import Options
from dlasim.compiler_shim.operators.fields import SchemaField, enum_numbers
from dlasim.compiler_shim.operators.table import CUSTOM_NAMES, OPERATORS
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.flexible import write_numbers
from dlasim.compiler_shim.tflite.schema import MODEL_VERSION

# The schema's first field for an operator's code is a byte; larger codes leave this mark in it.
_LARGE_CODE_MARK = 127


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
