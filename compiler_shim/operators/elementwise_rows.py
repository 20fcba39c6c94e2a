"""Rows of operators that compute each element from those at the same place of one or more inputs."""

from __future__ import annotations

from dlasim.compiler_shim.operators import elementwise, logic
from dlasim.compiler_shim.operators.definition import Trait, alike, row
from dlasim.compiler_shim.operators.fields import ACTIVATION, SchemaField, enum_field, flag

_SPREADING = "OP_POOL OP_MAT_MUL"
_CHOICE = f"OP_C_MIN OP_C_MAX OP_ACT_LUT {_SPREADING}"
_TABLE_PRODUCT = "OP_DEPTH_CONV OP_E16_MUL OP_E32_SHIFT OP_E32_ADD OP_REQUANT"

ROWS = (
    row("ABS", "x -> x", elementwise.same_shape, elementwise.absolute,
        "LUT UNARY", "OP_ACT_LUT", version=2, traits=Trait.FOLDS),
    row("ADD", "x x -> x", elementwise.broadcast_shape, elementwise.arithmetic,
        "LUT ADD BINARY ARITHMETIC_16", f"OP_ACT_LUT OP_E_ADD {_SPREADING}", ACTIVATION,
        flag("pot_scale_int16", True), version=2, traits=Trait.FOLDS, name_words=("add",)),
    row("CAST", "* -> *", elementwise.same_shape, elementwise.cast,
        "LUT CAST", "OP_ACT_LUT OP_DEPTH_CONV", enum_field("in_data_type", "TensorType"),
        enum_field("out_data_type", "TensorType"),
        traits=Trait.FOLDS | Trait.CONVERTS),
    row("DEQUANTIZE", "* -> *", elementwise.same_shape, elementwise.dequantize,
        "LUT DEQUANTIZE", "OP_ACT_LUT OP_DEPTH_CONV", version=2, traits=Trait.FOLDS | Trait.CONVERTS),
    row("DIV", "x x -> x", elementwise.broadcast_shape, elementwise.arithmetic,
        "LUT MUL_LUT SELECT DIV BINARY ARITHMETIC_16", f"{_TABLE_PRODUCT} {_CHOICE}", ACTIVATION,
        traits=Trait.FOLDS),
    row("FLOOR_DIV", "x x -> x", elementwise.broadcast_shape, elementwise.unquantized,
        "BINARY", traits=Trait.FOLDS),
    row("FLOOR_MOD", "x x -> x", elementwise.broadcast_shape, elementwise.unquantized, "BINARY"),
    row("LOGICAL_AND", "c c -> c", elementwise.broadcast_shape, logic.logical,
        "BINARY", f"OP_C_MIN {_SPREADING}"),
    row("LOGICAL_NOT", "c -> c", elementwise.same_shape, logic.logical_not, "LUT", "OP_ACT_LUT"),
    row("LOGICAL_OR", "c c -> c", elementwise.broadcast_shape, logic.logical,
        "BINARY", f"OP_C_MAX {_SPREADING}"),
    row("MAXIMUM", "x x -> x", elementwise.broadcast_shape, elementwise.extremum,
        "BINARY", f"OP_C_MAX {_SPREADING}", table="MaximumMinimumOptions", version=2, traits=Trait.FOLDS),
    row("MINIMUM", "x x -> x", elementwise.broadcast_shape, elementwise.extremum,
        "BINARY", f"OP_C_MIN {_SPREADING}", table="MaximumMinimumOptions", version=2, traits=Trait.FOLDS),
    row("MUL", "x x -> x", elementwise.broadcast_shape, elementwise.arithmetic,
        "LUT MUL BINARY ARITHMETIC_16", f"OP_ACT_LUT OP_E_MUL {_SPREADING}", ACTIVATION, version=2,
        traits=Trait.FOLDS, name_words=("mul",)),
    row("NEG", "x -> x", elementwise.same_shape, elementwise.negative, "UNARY"),
    row("POW", "i i -> i", elementwise.broadcast_shape, elementwise.power, "BINARY"),
    row("PRELU", "q q -> q", elementwise.prelu_shape, elementwise.prelu,
        "PRELU", "OP_ACT_LUT OP_E_MUL OP_C_MAX OP_E_ADD OP_MAT_MUL", table=""),
    row("QUANTIZE", "* -> *", elementwise.same_shape, elementwise.quantize,
        "LUT QUANTIZE QUANTIZE_TABLE RESCALE MUL_LUT SELECT", f"OP_E16_ADD {_TABLE_PRODUCT} {_CHOICE}",
        traits=Trait.FOLDS | Trait.CONVERTS),
    row("RSQRT", "x -> x", elementwise.same_shape, elementwise.inverse_square_root,
        "LUT UNARY LUT_16", "OP_ACT_LUT OP_E16_LUT", table="", version=2),
    row("SELECT", "c x x -> x", logic.select_shape, logic.select,
        "SELECT", _CHOICE, version=2),
    row("ONE_HOT", "i i x x -> x", logic.one_hot_shape, logic.one_hot,
        "STRIDED_COPY COMPARE LUT SELECT", "", SchemaField("axis", usual=-1)),
    row("SELECT_V2", "c x x -> x", logic.select_shape, logic.select,
        "SELECT", _CHOICE),
    row("SQRT", "x -> x", elementwise.same_shape, elementwise.square_root,
        "LUT UNARY DEQUANTIZE BINARY CAST", "OP_ACT_LUT", table=""),
    row("SQUARE", "x -> x", elementwise.same_shape, elementwise.float_unary, "UNARY"),
    row("SQUARED_DIFFERENCE", "x x -> x", elementwise.broadcast_shape, elementwise.squared_difference,
        "SQUARED_DIFFERENCE BINARY ARITHMETIC_16", f"OP_E_SQDIFF {_SPREADING}", version=2),
    row("SUB", "x x -> x", elementwise.broadcast_shape, elementwise.arithmetic,
        "LUT SUB BINARY ARITHMETIC_16", f"OP_ACT_LUT OP_E_SUB {_SPREADING}", ACTIVATION,
        flag("pot_scale_int16", True), version=2, traits=Trait.FOLDS, name_words=("sub",)),
    *alike("CEIL FLOOR ROUND", "x -> x", elementwise.same_shape, elementwise.float_unary,
        "UNARY", table=""),
    *alike("EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL", "x x -> c", elementwise.broadcast_shape,
        logic.compare, "COMPARE", version=2),
)  # fmt: skip
