"""The tables of a TFLite file that dlasim understands: for reader and writer."""

from __future__ import annotations

from collections.abc import Mapping

from dlasim.compiler_shim.operators.fields import FlatbufferFormat, SchemaField, enum_names
from dlasim.compiler_shim.operators.table import OPERATORS

FILE_IDENTIFIER = b"TFL3"
MODEL_VERSION = 3
TABLES: Mapping[str, tuple[SchemaField | None, ...]] = {
    "Model": (
        SchemaField("version", "uint32"),
        SchemaField("operator_codes", "[OperatorCode]"),
        SchemaField("subgraphs", "[SubGraph]"),
        SchemaField("description", "string"),
        SchemaField("buffers", "[Buffer]"),
    ),
    "OperatorCode": (
        SchemaField("deprecated_builtin_code", "int8"),
        SchemaField("custom_code", "string"),
        SchemaField("version", "int32", 1),
        SchemaField("builtin_code", "int32"),
    ),
    "SubGraph": (
        SchemaField("tensors", "[Tensor]"),
        SchemaField("inputs", "[int32]"),
        SchemaField("outputs", "[int32]"),
        SchemaField("operators", "[Operator]"),
        SchemaField("name", "string"),
    ),
    "Tensor": (
        SchemaField("shape", "[int32]"),
        SchemaField("type", "int8"),
        SchemaField("buffer", "uint32"),
        SchemaField("name", "string"),
        SchemaField("quantization", "QuantizationParameters"),
        SchemaField("is_variable", "bool", False),
        SchemaField("sparsity", "SparsityParameters"),
        SchemaField("shape_signature", "[int32]"),
    ),
    "QuantizationParameters": (
        None,
        None,
        SchemaField("scale", "[float32]"),
        SchemaField("zero_point", "[int64]"),
        None,
        None,
        SchemaField("quantized_dimension", "int32"),
    ),
    "SparsityParameters": (),
    "Operator": (
        SchemaField("opcode_index", "uint32"),
        SchemaField("inputs", "[int32]"),
        SchemaField("outputs", "[int32]"),
        SchemaField("builtin_options_type", "uint8"),
        SchemaField("builtin_options", "union"),
        SchemaField("custom_options", "[uint8]"),
        None,
        None,
        None,
        SchemaField("large_custom_options_offset", "uint64"),
        SchemaField("large_custom_options_size", "uint64"),
    ),
    "Buffer": (
        SchemaField("data", "[uint8]"),
        SchemaField("offset", "uint64"),
        SchemaField("size", "uint64"),
    ),
    # Of operators that become others when a file is read.
    "CallOnceOptions": (SchemaField("init_subgraph_index"),),
    "VarHandleOptions": (SchemaField("container", "string"), SchemaField("shared_name", "string")),
    **{
        row.options.table: row.options.fields
        for row in OPERATORS.values()
        if row.options.table and not row.options.flexible
    },
}
TFLITE = FlatbufferFormat(
    "TFLite", FILE_IDENTIFIER, TABLES, lambda number: enum_names("BuiltinOptions").get(number, "")
)
