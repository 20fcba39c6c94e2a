"""Rows of operators that are a table of 256 entries."""

from __future__ import annotations

from dlasim.compiler_shim.operators import elementwise, int16, lookup
from dlasim.compiler_shim.operators.definition import OperatorDefinition, Options
from dlasim.compiler_shim.operators.fields import SchemaField, flag

OWN_TABLE = "TABLE"  # dlasim's own: any function of one element. A .tflite holds it as a custom operator


ROWS = (
    OperatorDefinition(
        "ELU",
        "x -> x",
        elementwise.same_shape,
        lookup.or_float(lookup.elu),
        ("LUT", "UNARY"),
        dla=("OP_ACT_LUT",),
    ),
    OperatorDefinition(
        "EXP",
        "x -> x",
        elementwise.same_shape,
        lookup.or_float(lookup.exponential),
        ("LUT", "UNARY"),
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
        "a -> a",
        elementwise.same_shape,
        lookup.or_int16(lookup.leaky_relu, int16.leaky_relu),
        ("LUT", "LEAKY_16"),
        dla=("OP_ACT_LUT", "OP_ACT_LRELU"),
        options=Options("LeakyReluOptions", (SchemaField("alpha", "float32", 0.0),)),
        version=2,
    ),
    OperatorDefinition(
        "LOG",
        "q -> q",
        elementwise.same_shape,
        lookup.logarithm,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
    OperatorDefinition(
        "LOGISTIC",
        "x -> x",
        elementwise.same_shape,
        lookup.or_float(lookup.or_int16(lookup.logistic, int16.sigmoid)),
        ("LUT", "SIGMOID_16", "UNARY"),
        dla=("OP_ACT_LUT", "OP_E16_SIGMOID"),
        version=2,
    ),
    OperatorDefinition(
        "RELU",
        "a -> a",
        elementwise.same_shape,
        lookup.or_int16(lookup.relu, int16.relu),
        ("LUT", "LEAKY_16"),
        dla=("OP_ACT_LUT", "OP_ACT_LRELU"),
        version=2,
    ),
    OperatorDefinition(
        "RELU6",
        "a -> a",
        elementwise.same_shape,
        lookup.or_int16(lookup.limited_relu, int16.relu),
        ("LUT", "LEAKY_16"),
        dla=("OP_ACT_LUT", "OP_ACT_LRELU"),
        version=2,
    ),
    OperatorDefinition(
        "RELU_N1_TO_1",
        "a -> a",
        elementwise.same_shape,
        lookup.or_int16(lookup.limited_relu, int16.relu),
        ("LUT", "LEAKY_16"),
        dla=("OP_ACT_LUT", "OP_ACT_LRELU"),
    ),
    OperatorDefinition(
        OWN_TABLE,
        "q x -> x",
        elementwise.same_shape,
        lookup.table,
        ("LUT",),
        dla=("OP_ACT_LUT",),
    ),
    OperatorDefinition(
        "TANH",
        "a -> a",
        elementwise.same_shape,
        lookup.or_int16(lookup.tanh, int16.sigmoid),
        ("LUT", "SIGMOID_16"),
        dla=("OP_ACT_LUT", "OP_E16_SIGMOID"),
        version=2,
    ),
)
