"""The tables of a TFLite file that dlasim understands: for reader and writer.

A field's place in its tuple is its slot in the flatbuffer; None holds the place of one that is not read.
"""

from __future__ import annotations

from collections.abc import Mapping

from dlasim.compiler_shim.operators.fields import Field
from dlasim.compiler_shim.operators.table import OPERATORS

FILE_IDENTIFIER = b"TFL3"
MODEL_VERSION = 3
TABLES: Mapping[str, tuple[Field | None, ...]] = {
    "Model": (
        Field("version", "uint32"),
        Field("operator_codes", "[OperatorCode]"),
        Field("subgraphs", "[SubGraph]"),
        Field("description", "string"),
        Field("buffers", "[Buffer]"),
    ),
    "OperatorCode": (
        Field("deprecated_builtin_code", "int8"),
        Field("custom_code", "string"),
        Field("version", "int32", 1),
        Field("builtin_code", "int32"),
    ),
    "SubGraph": (
        Field("tensors", "[Tensor]"),
        Field("inputs", "[int32]"),
        Field("outputs", "[int32]"),
        Field("operators", "[Operator]"),
        Field("name", "string"),
    ),
    "Tensor": (
        Field("shape", "[int32]"),
        Field("type", "int8"),
        Field("buffer", "uint32"),
        Field("name", "string"),
        Field("quantization", "QuantizationParameters"),
        Field("is_variable", "bool", False),
        Field("sparsity", "SparsityParameters"),
        Field("shape_signature", "[int32]"),
    ),
    "QuantizationParameters": (
        None,
        None,
        Field("scale", "[float32]"),
        Field("zero_point", "[int64]"),
        None,
        None,
        Field("quantized_dimension", "int32"),
    ),
    "SparsityParameters": (),
    "Operator": (
        Field("opcode_index", "uint32"),
        Field("inputs", "[int32]"),
        Field("outputs", "[int32]"),
        Field("builtin_options_type", "uint8"),
        Field("builtin_options", "union"),
    ),
    "Buffer": (
        Field("data", "[uint8]"),
        Field("offset", "uint64"),
        Field("size", "uint64"),
    ),
    **{row.options.table: row.options.fields for row in OPERATORS.values() if row.options.table},
}
