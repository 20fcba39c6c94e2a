"""Rows of operators that are a table of 256 entries."""

from __future__ import annotations

from dlasim.compiler_shim.operators import elementwise, lookup
from dlasim.compiler_shim.operators.definition import OperatorDefinition, Options
from dlasim.compiler_shim.operators.fields import SchemaField, flag

OWN_TABLE = "TABLE"  # dlasim's own: any function of one element. A .tflite holds it as a custom operator


ROWS = (
    OperatorDefinition(
        "ELU",
        "q -> q",
        elementwise.same_shape,
        lookup.elu,
        ("LUT",),
        dla=("OP_ACT_LUT",),
    ),
    OperatorDefinition(
        "EXP",
        "q -> q",
        elementwise.same_shape,
        lookup.exponential,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        options=Options("ExpOptions"),
        version=2,
    ),
    OperatorDefinition(
        "GELU",
        "q -> q",
        elementwise.same_shape,
        lookup.gelu,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        options=Options("GeluOptions", (flag("approximate"),)),
        version=2,
    ),
    OperatorDefinition(
        "HARD_SWISH",
        "q -> q",
        elementwise.same_shape,
        lookup.hard_swish,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        options=Options("HardSwishOptions"),
    ),
    OperatorDefinition(
        "LEAKY_RELU",
        "q -> q",
        elementwise.same_shape,
        lookup.leaky_relu,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        options=Options("LeakyReluOptions", (SchemaField("alpha", "float32", 0.0),)),
        version=2,
    ),
    OperatorDefinition(
        "LOGISTIC",
        "q -> q",
        elementwise.same_shape,
        lookup.logistic,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
    OperatorDefinition(
        "RELU",
        "q -> q",
        elementwise.same_shape,
        lookup.relu,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
    OperatorDefinition(
        "RELU6",
        "q -> q",
        elementwise.same_shape,
        lookup.relu6,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
    OperatorDefinition(
        "RELU_N1_TO_1",
        "q -> q",
        elementwise.same_shape,
        lookup.relu_n1_to_1,
        ("LUT",),
        dla=("OP_ACT_LUT",),
    ),
    OperatorDefinition(
        OWN_TABLE,
        "q q -> q",
        elementwise.same_shape,
        lookup.table,
        ("LUT",),
        dla=("OP_ACT_LUT",),
    ),
    OperatorDefinition(
        "TANH",
        "q -> q",
        elementwise.same_shape,
        lookup.tanh,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
)
