"""The tables of a TOSA file that dlasim understands, and the numbers of its operators and types.

Facts of the TOSA 1.0 serialization schema: an operator's attribute has the operator's own number.
"""

from __future__ import annotations

from collections.abc import Mapping

from dlasim.compiler_shim.operators.fields import FlatbufferFormat, SchemaField

DTYPES: Mapping[int, str] = {1: "bool", 3: "int8", 4: "int16", 5: "int32"}
OTHER_DTYPES = {
    2: "int4", 6: "int48", 7: "float32", 8: "float16", 9: "bfloat16", 10: "shape", 17: "int64",
}  # fmt: skip
SINGLE_ROUND, INEXACT_ROUND, DOUBLE_ROUND = 1, 2, 3
NEAREST, BILINEAR = 1, 2

# By number, from 1 on: the names in the order of the schema's enum.
OPERATORS: tuple[str, ...] = (
    "", "ARGMAX", "AVG_POOL2D", "CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "FFT2D", "MATMUL", "MAX_POOL2D",
    "RFFT2D", "TRANSPOSE_CONV2D", "CLAMP", "ERF", "SIGMOID", "TANH", "ADD", "ARITHMETIC_RIGHT_SHIFT",
    "BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "INTDIV", "LOGICAL_AND", "LOGICAL_LEFT_SHIFT",
    "LOGICAL_RIGHT_SHIFT", "LOGICAL_OR", "LOGICAL_XOR", "MAXIMUM", "MINIMUM", "MUL", "POW", "SUB", "TABLE",
    "ABS", "BITWISE_NOT", "CEIL", "CLZ", "COS", "EXP", "FLOOR", "LOG", "LOGICAL_NOT", "NEGATE", "RECIPROCAL",
    "RSQRT", "SIN", "SELECT", "EQUAL", "GREATER", "GREATER_EQUAL", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX",
    "REDUCE_MIN", "REDUCE_PRODUCT", "REDUCE_SUM", "CONCAT", "PAD", "RESHAPE", "REVERSE", "SLICE", "TILE",
    "TRANSPOSE", "GATHER", "SCATTER", "RESIZE", "CAST", "RESCALE", "CONST", "IDENTITY", "CUSTOM", "COND_IF",
    "WHILE_LOOP", "VARIABLE", "VARIABLE_WRITE", "VARIABLE_READ", "CONST_SHAPE",
)  # fmt: skip


def _numbers(*names: str) -> tuple[SchemaField, ...]:
    return tuple(SchemaField(name, "[int32]") for name in names)


_AXIS = (SchemaField("axis"),)
_SUM_TYPE = SchemaField("acc_type", "uint32")
_IS_BOUND = SchemaField("local_bound", "bool", False)
_CONVOLUTION = (*_numbers("pad", "stride", "dilation"), _IS_BOUND, _SUM_TYPE)
_NAN_MODE = SchemaField("nan_mode", "uint32")
_ATTRIBUTES: Mapping[str, tuple[SchemaField | None, ...]] = {
    **dict.fromkeys(OPERATORS[1:], ()),
    "ARGMAX": (*_AXIS, _NAN_MODE),
    "AVG_POOL2D": (*_numbers("kernel", "stride", "pad"), _SUM_TYPE),
    "CONV2D": _CONVOLUTION,
    "DEPTHWISE_CONV2D": _CONVOLUTION,
    "MAX_POOL2D": (*_numbers("kernel", "stride", "pad"), _NAN_MODE),
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), (_NAN_MODE,)),
    "TRANSPOSE_CONV2D": (*_numbers("out_pad", "stride"), _IS_BOUND, _SUM_TYPE),
    "CLAMP": (SchemaField("min_val", "[uint8]"), SchemaField("max_val", "[uint8]"), _NAN_MODE),
    "ARITHMETIC_RIGHT_SHIFT": (SchemaField("round", "bool", False),),
    **{f"REDUCE_{kind}": _AXIS for kind in ("ALL", "ANY", "PRODUCT", "SUM")},
    **{f"REDUCE_{kind}": (*_AXIS, _NAN_MODE) for kind in ("MAX", "MIN")},
    "CONCAT": _AXIS,
    "REVERSE": _AXIS,
    "TRANSPOSE": _numbers("perms"),
    "RESIZE": (SchemaField("mode", "uint32"),),
    "RESCALE": (
        SchemaField("scale32", "bool", False),
        SchemaField("rounding_mode", "uint32"),
        SchemaField("per_channel", "bool", False),
        SchemaField("input_unsigned", "bool", False),
        SchemaField("output_unsigned", "bool", False),
    ),
}
_TABLES: Mapping[str, tuple[SchemaField | None, ...]] = {
    "TosaGraph": (SchemaField("version", "Version"), SchemaField("regions", "[TosaRegion]")),
    "Version": (
        *(SchemaField(name, "int32", -1) for name in ("major", "minor", "patch")),
        SchemaField("draft", "bool", True),
    ),
    "TosaRegion": (SchemaField("name", "string"), SchemaField("blocks", "[TosaBasicBlock]")),
    "TosaBasicBlock": (
        SchemaField("name", "string"),
        SchemaField("operators", "[TosaOperator]"),
        SchemaField("tensors", "[TosaTensor]"),
        SchemaField("inputs", "[string]"),
        SchemaField("outputs", "[string]"),
        SchemaField("shapes", "[TosaShape]"),
    ),
    "TosaOperator": (
        SchemaField("op", "uint32"),
        SchemaField("attribute_type", "uint8"),
        SchemaField("attribute", "union"),
        SchemaField("inputs", "[string]"),
        SchemaField("outputs", "[string]"),
    ),
    "TosaTensor": (
        SchemaField("name", "string"),
        SchemaField("shape", "[int32]"),
        SchemaField("type", "uint32"),
        SchemaField("data", "[uint8]"),
        SchemaField("variable", "bool", False),
        SchemaField("is_unranked", "bool", False),
        None,
        SchemaField("offset", "uint64"),
    ),
    "TosaShape": (
        SchemaField("name", "string"),
        SchemaField("rank", "uint32"),
        SchemaField("data", "[uint8]"),
    ),
}
TOSA = FlatbufferFormat(
    "TOSA",
    b"TOSA",
    {**_TABLES, **_ATTRIBUTES},
    lambda number: OPERATORS[number] if 0 < number < len(OPERATORS) else "",
)
