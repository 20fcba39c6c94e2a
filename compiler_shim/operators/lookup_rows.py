"""Rows of operators that are a table of 256 entries."""

from __future__ import annotations

from dlasim.compiler_shim.operators import elementwise, int16, lookup
from dlasim.compiler_shim.operators.definition import row
from dlasim.compiler_shim.operators.fields import SchemaField, flag

OWN_TABLE = "TABLE"  # dlasim's own: any function of one element. A .tflite holds it as a custom operator


ROWS = (
    row("ELU", "x -> x", elementwise.same_shape, lookup.or_float(lookup.elu),
        "LUT UNARY", "OP_ACT_LUT", table=""),
    row("EXP", "x -> x", elementwise.same_shape, lookup.or_float(lookup.exponential),
        "LUT UNARY", "OP_ACT_LUT", version=2),
    row("GELU", "q -> q", elementwise.same_shape, lookup.gelu,
        "LUT", "OP_ACT_LUT", flag("approximate"), version=2),
    row("HARD_SWISH", "q -> q", elementwise.same_shape, lookup.hard_swish, "LUT", "OP_ACT_LUT"),
    row("LEAKY_RELU", "a -> a", elementwise.same_shape, lookup.or_int16(lookup.leaky_relu, int16.leaky_relu),
        "LUT LEAKY_16", "OP_ACT_LUT OP_ACT_LRELU", SchemaField("alpha", "float32", 0.0), version=2),
    row("LOG", "q -> q", elementwise.same_shape, lookup.logarithm,
        "LUT", "OP_ACT_LUT", table="", version=2),
    row("LOGISTIC", "x -> x", elementwise.same_shape,
        lookup.or_float(lookup.or_int16(lookup.logistic, int16.sigmoid)),
        "LUT SIGMOID_16 UNARY", "OP_ACT_LUT OP_E16_SIGMOID", table="", version=2),
    row("RELU", "a -> a", elementwise.same_shape, lookup.or_int16(lookup.relu, int16.relu),
        "LUT LEAKY_16", "OP_ACT_LUT OP_ACT_LRELU", table="", version=2),
    row("RELU6", "a -> a", elementwise.same_shape, lookup.or_int16(lookup.limited_relu, int16.relu),
        "LUT LEAKY_16", "OP_ACT_LUT OP_ACT_LRELU", table="", version=2),
    row("RELU_N1_TO_1", "a -> a", elementwise.same_shape, lookup.or_int16(lookup.limited_relu, int16.relu),
        "LUT LEAKY_16", "OP_ACT_LUT OP_ACT_LRELU", table=""),
    row(OWN_TABLE, "q x -> x", elementwise.same_shape, lookup.table, "LUT", "OP_ACT_LUT OP_DEPTH_CONV",
        table=""),
    row("TANH", "a -> a", elementwise.same_shape, lookup.or_int16(lookup.tanh, int16.sigmoid),
        "LUT SIGMOID_16", "OP_ACT_LUT OP_E16_SIGMOID", table="", version=2),
)  # fmt: skip
