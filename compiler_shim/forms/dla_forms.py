"""The host operators that the DLA has instructions for: kind of layer, instructions, limits, translation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dlasim.compiler_shim.calls import copies
from dlasim.compiler_shim.calls.nodes import DlaNode, Value, with_layouts
from dlasim.compiler_shim.forms import (
    int16_forms,
    products,
    real_numbers,
    reductions,
    rules,
    translate,
    wide_arithmetic,
)
from dlasim.compiler_shim.forms.arg_max import arg_max
from dlasim.compiler_shim.forms.bilinear import resize_bilinear
from dlasim.compiler_shim.forms.choice import select
from dlasim.compiler_shim.forms.filter_memory import svdf
from dlasim.compiler_shim.forms.lstm_cell import lstm_cell
from dlasim.compiler_shim.forms.prelu import prelu
from dlasim.compiler_shim.forms.rules import Candidate, Rule
from dlasim.compiler_shim.forms.table_product import multiply_by_table
from dlasim.compiler_shim.operators.bound import KernelCall
from dlasim.dataclass import dataclass
from dlasim.isa import host_ops
from dlasim.isa.file_records import LayerKind
from dlasim.isa.program import HostCall

Translation = Callable[[Candidate], list[DlaNode] | None]


@dataclass(frozen=True, slots=True)
class DlaForm:
    """A host operator on the DLA; `rules` are those that not every operator has to fulfil.

    The nodes of a translation write parts of the output; where it gives none, the DLA cannot do it well.
    """

    kind: LayerKind
    mnemonics: tuple[str, ...]
    translate: Translation
    rules: tuple[Rule, ...]
    activation_count: int


_WINDOWS = (rules.rule_extents, rules.rule_window_overlaps_input)
_TWO_INPUTS = (rules.rule_batch, rules.rule_broadcast)
_PRODUCTS16 = (
    rules.rule_batch, rules.rule_constant_weights, int16_forms.rule_sums, int16_forms.rule_limits,
)  # fmt: skip
_SPREADING = "OP_POOL OP_MAT_MUL"
_QUANTIZING = "OP_E32_SHIFT OP_E32_ADD OP_REQUANT OP_ACT_LUT OP_DEPTH_CONV OP_C_MIN OP_C_MAX"


def _form(
    kind: str, mnemonics: str, translation: Translation, *own_rules: Rule, activations: int = 1
) -> DlaForm:
    return DlaForm(LayerKind[kind], tuple(mnemonics.split()), translation, own_rules, activations)


DLA_FORMS: Mapping[str, DlaForm] = {
    "CONV_2D": _form("CONV", "OP_CONV OP_CONV_RELU", translate.convolution, rules.rule_batch,
        rules.rule_groups, rules.rule_constant_weights, *_WINDOWS),
    "DEPTHWISE_CONV_2D": _form("DEPTH", "OP_DEPTH_CONV", translate.depthwise, rules.rule_batch,
        rules.rule_constant_weights, *_WINDOWS),
    "FULLY_CONNECTED": _form("FC", "OP_MAT_MUL", translate.fully_connected, rules.rule_constant_weights),
    "MATRIX_SUMS": _form("FC", "OP_MAT_MUL", translate.matrix_sums, rules.rule_constant_weights),
    "LSTM_CELL": _form("ELTWISE", "OP_E16_ADD OP_E16_MUL OP_E16_SIGMOID OP_REQUANT", lstm_cell,
        activations=3),
    "SVDF": _form("FC", "OP_MAT_MUL OP_ACT_LUT OP_DEPTH_CONV OP_E16_ADD OP_E16_MUL OP_E32_SHIFT OP_E32_ADD "
        "OP_POOL OP_REQUANT", svdf, rules.rule_filter_memory),
    "RESCALE": _form("OTHER", "OP_E16_ADD OP_E32_SHIFT OP_POOL OP_REQUANT", wide_arithmetic.rescale,
        rules.rule_widths),
    "BATCH_MATMUL": _form("FC", "OP_MAT_MUL", products.batch_matmul, activations=2),
    "AVERAGE_POOL_2D": _form("POOL", "OP_POOL", translate.average_pool, rules.rule_batch, *_WINDOWS),
    "MAX_POOL_2D": _form("POOL", "OP_POOL", translate.maximum_pool, rules.rule_batch, *_WINDOWS),
    "MEAN": _form("POOL", "OP_POOL OP_MAT_MUL", reductions.mean, rules.rule_reduced_extents),
    "ARG_MAX": _form("POOL", "OP_POOL OP_E_SUB OP_C_MIN OP_DEPTH_CONV OP_E32_ADD OP_MAT_MUL", arg_max,
        rules.rule_positions),
    "REDUCE": _form("POOL", "OP_POOL OP_ACT_LUT", reductions.extremum_of_many, rules.rule_extremum,
        rules.rule_reduced_extents),
    "ADD": _form("ELTWISE", f"OP_E_ADD {_SPREADING}", translate.addition, *_TWO_INPUTS, activations=2),
    "SUB": _form("ELTWISE", f"OP_E_SUB {_SPREADING}", translate.subtraction, *_TWO_INPUTS, activations=2),
    "SQUARED_DIFFERENCE": _form("ELTWISE", f"OP_E_SQDIFF {_SPREADING}", translate.squared_difference,
        *_TWO_INPUTS, activations=2),
    "MUL": _form("ELTWISE", f"OP_E_MUL {_SPREADING}", translate.multiplication, *_TWO_INPUTS, activations=2),
    "MUL_LUT": _form("ELTWISE",
        f"OP_ACT_LUT OP_DEPTH_CONV OP_E16_MUL OP_E32_SHIFT OP_E32_ADD OP_REQUANT {_SPREADING}",
        multiply_by_table, *_TWO_INPUTS, activations=2),
    "BINARY": _form("ELTWISE", f"OP_C_MAX OP_C_MIN {_SPREADING}", translate.extremum, *_TWO_INPUTS,
        rules.rule_min_max, activations=2),
    "SELECT": _form("ELTWISE", f"OP_C_MIN OP_C_MAX OP_ACT_LUT {_SPREADING}", select, rules.rule_batch,
        rules.rule_choices, activations=3),
    "PRELU": _form("ACT", "OP_ACT_LUT OP_E_MUL OP_C_MAX OP_E_ADD OP_MAT_MUL", prelu, *_TWO_INPUTS,
        activations=2),
    "LUT": _form("ACT", "OP_ACT_LUT OP_DEPTH_CONV", real_numbers.table),
    "QUANTIZE": _form("ACT", _QUANTIZING, real_numbers.quantize),
    "QUANTIZE_TABLE": _form("ACT", _QUANTIZING, real_numbers.quantize),
    "SOFTMAX": _form("ACT", "OP_SOFTMAX", translate.softmax),
    "TRANSPOSE_CONV": _form("CONV", "OP_CONV OP_CONV_RELU", translate.transpose_convolution, rules.rule_batch,
        rules.rule_constant_weights, rules.rule_extents),
    "CONV_2D_16": _form("CONV", "OP_CONV OP_DEPTH_CONV", int16_forms.convolution, *_PRODUCTS16,
        rules.rule_groups, *_WINDOWS),
    "TRANSPOSE_CONV_16": _form("CONV", "OP_CONV", int16_forms.transpose_convolution, *_PRODUCTS16,
        rules.rule_extents),
    "FULLY_CONNECTED_16": _form("FC", "OP_MAT_MUL", int16_forms.fully_connected, *_PRODUCTS16[1:]),
    "BATCH_MATMUL_16": _form("FC", "OP_MAT_MUL", int16_forms.batch_matmul, int16_forms.rule_depth,
        activations=2),
    "SOFTMAX_16": _form("ACT", "OP_E16_SOFTMAX", int16_forms.softmax),
    "LUT_16": _form("ACT", "OP_E16_LUT", int16_forms.lookup),
    "ARITHMETIC_16": _form("ELTWISE", f"OP_E_ADD OP_E_SUB OP_E_MUL OP_E_SQDIFF {_SPREADING}",
        int16_forms.arithmetic, *_TWO_INPUTS, int16_forms.rule_arithmetic, int16_forms.rule_limits,
        activations=2),
    "POOL_16": _form("POOL", "OP_POOL", int16_forms.pool, rules.rule_batch, *_WINDOWS,
        int16_forms.rule_limits),
    "MEAN_16": _form("POOL", "OP_POOL", int16_forms.mean, rules.rule_reduced_extents),
    "LEAKY_16": _form("ACT", "OP_ACT_LRELU", int16_forms.leaky, int16_forms.rule_limits),
    "SIGMOID_16": _form("ACT", "OP_E16_SIGMOID", int16_forms.sigmoid),
    "STRIDED_COPY": _form("OTHER", "OP_POOL", copies.strided_copy),
    "GATHER": _form("OTHER", _SPREADING, copies.gather, rules.rule_constant_indices),
    "GATHER_ND": _form("OTHER", _SPREADING, copies.gather_nd, rules.rule_constant_indices),
    "CONCATENATION": _form("OTHER", "OP_POOL", copies.concatenation, activations=1 << 16),
    "PAD": _form("OTHER", "OP_POOL", copies.pad),
    "UPDATE_SLICE": _form("OTHER", "OP_POOL", copies.update_slice, rules.rule_in_place, activations=2),
    "RESIZE_BILINEAR": _form("DEPTH", "OP_DEPTH_CONV OP_POOL OP_E32_SHIFT OP_REQUANT", resize_bilinear,
        rules.rule_batch),
    "RESIZE_NEAREST": _form("OTHER", "OP_POOL", copies.resize_nearest),
}  # fmt: skip
assert DLA_FORMS.keys() <= host_ops.BY_NAME.keys(), "a form of no host operator"

_FIRST_RULES: tuple[Rule, ...] = (rules.rule_no_floats, rules.rule_known, rules.rule_int8)
_LAST_RULE: Rule = rules.rule_activation_first
RULES: tuple[Rule, ...] = tuple(
    dict.fromkeys((*_FIRST_RULES, *(rule for form in DLA_FORMS.values() for rule in form.rules), _LAST_RULE))
)
"""Every rule once, in the order in which an operator meets them."""


def layer_kind(call: KernelCall) -> LayerKind:
    """The kind of layer that a call is where the DLA runs it."""
    form = DLA_FORMS.get(call.name)
    return LayerKind.HOST if form is None else form.kind


def dla_form(
    call: KernelCall, host: HostCall, values: list[Value], layer: int
) -> tuple[tuple[DlaNode, ...], str]:
    """The DLA nodes of a call (`host` has values for its tensors), or none and why the DLA cannot run it.

    Parts of tensors become new values.
    """

    def add(value: Value) -> int:
        values.append(value)
        return len(values) - 1

    form = DLA_FORMS.get(call.name)
    candidate = Candidate(
        call.name,
        call.attributes,
        tuple(values[number] for number in host.inputs),
        tuple(values[number] for number in host.outputs),
        host.inputs,
        host.outputs[0],
        layer,
        1 if form is None else form.activation_count,
        form is not None,
        add,
        host.outputs[1:],
    )
    for rule in (*_FIRST_RULES, *(form.rules if form else ()), _LAST_RULE):
        reason = rule(candidate)
        if reason is not None:
            return (), reason
    assert form is not None, "a rule refuses what has no form"
    count = len(values)
    nodes = [with_layouts(node, values) for node in form.translate(candidate) or ()]
    if nodes and None not in nodes:
        return tuple(node for node in nodes if node is not None), ""
    del values[count:]
    return (), f"more than {rules.MAX_PARTS} operations, or strides or weights that do not fit"
