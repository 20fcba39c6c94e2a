"""Operators of int16 on the DLA: the forms of int8, with elements of int16 in their instructions.

int16 has no zero points, so a call of it becomes one of int8 whose zero points are 0. Its limits are those of
int8 with eight bits more, all alike, which is what the instructions can express.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode, Value
from dlasim.compiler_shim.forms import products, reductions, translate
from dlasim.compiler_shim.forms.parts import with_constant
from dlasim.compiler_shim.forms.rules import Candidate
from dlasim.isa.host_op_rows import INT16_ADD_LEFT_SHIFT, PoolFunction, SigmoidFunction, WideFunction
from dlasim.isa.instruction_rows import INT16_BYTES, Elements, Out, SigmoidMode, Weights
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.registers import MAX_EXTENT
from dlasim.sim.arithmetic.interpolation import curve_words
from dlasim.sim.arithmetic.numerics import narrow_multiplier

Nodes = list[DlaNode]
_BYTE_BITS, _BYTE_ONES = 8, 0xFF
_SUM_BITS = 47  # of a sum's magnitude
_PRODUCT_BITS = 22  # of the greatest product's magnitude
_ZERO_POINTS = dict.fromkeys(
    [f"{name}_zero_point" for name in ("input", "input1", "input2", "weight", "output")], 0
)


def rule_limits(candidate: Candidate) -> str | None:
    """The limits of an activation of int16 are multiples of 256 below, and one less than that above."""
    low, high = candidate.attributes.clamp_min, candidate.attributes.clamp_max
    if low & _BYTE_ONES == 0 and high & _BYTE_ONES == _BYTE_ONES:
        return None
    return f"limits {low} to {high} of int16"


def rule_sums(candidate: Candidate) -> str | None:
    """Products of int16 with weights have biases of int64 or none, and sums of at most 48 bits."""
    weights, records = (value.data for value in candidate.inputs[1:3])
    assert weights is not None, "an earlier rule asks for constants"
    assert records is not None, "likewise"
    if not candidate.attributes.wide_sums:
        return "a bias of int32 with int16"
    depth = weights.size // len(records)
    greatest = (depth << _PRODUCT_BITS) + int(np.abs(_biases(records)).max(initial=0))
    return None if greatest < 1 << _SUM_BITS else "its sums may need more than 48 bits"


def rule_depth(candidate: Candidate) -> str | None:
    """The matrices of a BATCH_MATMUL of int16 are at most 65,535 deep."""
    depth = candidate.inputs[0].shape[-2 if candidate.attributes.transposed1 else -1]
    return None if depth <= MAX_EXTENT else f"a size is larger than {MAX_EXTENT}"


def rule_arithmetic(candidate: Candidate) -> str | None:
    """Element-wise operators of int16 are sums, differences and products."""
    return "plain integer arithmetic" if candidate.attributes.function == WideFunction.DIV else None


def convolution(candidate: Candidate) -> Nodes:
    """CONV_2D_16. In groups of one channel it is a depthwise one."""
    part = _with_records(candidate)
    weights, channels = part.inputs[1].data, candidate.inputs[0].shape[3]
    assert weights is not None
    if weights.shape[3] > 1 or channels == 1:
        return _as_int16(translate.convolution(part))
    depthwise = with_constant(part, 1, np.ascontiguousarray(weights.transpose(3, 1, 2, 0)))
    return _as_int16(translate.depthwise(depthwise))


def transpose_convolution(candidate: Candidate) -> Nodes | None:
    """TRANSPOSE_CONV_16."""
    nodes = translate.transpose_convolution(_with_records(candidate))
    return None if nodes is None else _as_int16(nodes)


def fully_connected(candidate: Candidate) -> Nodes:
    """FULLY_CONNECTED_16."""
    return _as_int16(translate.fully_connected(_with_records(candidate)))


def batch_matmul(candidate: Candidate) -> Nodes | None:
    """BATCH_MATMUL_16."""
    factor = int(narrow_multiplier(candidate.attributes.output_multiplier))
    nodes = products.batch_matmul(_narrow(candidate, output_multiplier=factor))
    return None if nodes is None else _as_int16(nodes)


def softmax(candidate: Candidate) -> Nodes:
    """SOFTMAX_16."""
    at, (_, exponentials, reciprocals) = candidate.attributes, (value.data for value in candidate.inputs)
    assert exponentials is not None, "made by the compiler"
    assert reciprocals is not None, "likewise"
    registers = {"IN_MULT": at.input_multiplier, "IN_SHIFT": at.input_shift}
    return _looked_up(candidate, "OP_E16_SOFTMAX", (exponentials, reciprocals), registers)


def lookup(candidate: Candidate) -> Nodes:
    """LUT_16."""
    table = candidate.inputs[1].data
    assert table is not None, "made by the compiler"
    return _looked_up(candidate, "OP_E16_LUT", (table,), {})


def _looked_up(
    candidate: Candidate, mnemonic: str, tables: Sequence[NDArray[Any]], registers: Mapping[str, int]
) -> Nodes:
    """An instruction with tables of 16 bits that are interpolated."""
    words = np.concatenate([curve_words(table) for table in tables])
    (node,) = translate.table(candidate)
    return [replace(
        node, mnemonic=mnemonic, registers=registers, in_element_bytes=INT16_BYTES,
        table=candidate.add(Value("curves", words.shape, "int32", data=words)), out_element_bytes=INT16_BYTES,
    )]  # fmt: skip


def arithmetic(candidate: Candidate) -> Nodes:
    """ARITHMETIC_16: one instruction, with what an input of a sum is shifted by."""
    made = {
        WideFunction.ADD: (translate.addition, INT16_ADD_LEFT_SHIFT),
        WideFunction.SUB: (translate.subtraction, INT16_ADD_LEFT_SHIFT),
        WideFunction.SQUARED_DIFFERENCE: (translate.squared_difference, 0),
        WideFunction.MUL: (translate.multiplication, None),
    }
    form, left_shift = made[WideFunction(candidate.attributes.function)]
    shifted = {} if left_shift is None else {"LEFT_SHIFT": left_shift}
    return _as_int16(form(_narrow(candidate)), **shifted)


def pool(candidate: Candidate) -> Nodes:
    """POOL_16."""
    is_average = candidate.attributes.function == PoolFunction.AVERAGE
    part = _narrow(candidate, halves_up=False)
    return _as_int16(translate.average_pool(part) if is_average else translate.maximum_pool(part))


def mean(candidate: Candidate) -> Nodes | None:
    """MEAN_16."""
    nodes = reductions.mean(_narrow(candidate))
    return None if nodes is None else _as_int16(nodes)


def leaky(candidate: Candidate) -> Nodes:
    """LEAKY_16: RELU too, whose limits do the rest."""
    at, shape = candidate.attributes, translate.flat_image(candidate.outputs[0].shape)
    registers = {
        "OUT_MULT": at.positive_multiplier, "OUT_SHIFT": at.positive_shift, "IN_MULT": at.negative_multiplier,
        "IN_SHIFT": at.negative_shift, "IN_ZP": 0, "OUT_ZP": 0,
        "ACT_MIN": at.clamp_min >> _BYTE_BITS, "ACT_MAX": at.clamp_max >> _BYTE_BITS,
    }  # fmt: skip
    node = DlaNode(
        "OP_ACT_LRELU", candidate.layer, candidate.input_numbers[:1], candidate.output_number, shape, shape,
        registers=registers,
    )  # fmt: skip
    return _as_int16([node])


def sigmoid(candidate: Candidate) -> Nodes:
    """SIGMOID_16: a table whose entries are interpolated."""
    at, (node,) = candidate.attributes, translate.table(candidate)
    mode = SigmoidMode.TANH if at.function == SigmoidFunction.TANH else SigmoidMode.LOGISTIC
    node = replace(node, mnemonic="OP_E16_SIGMOID", fields={"mode": mode})
    return _as_int16([node], IN_MULT=at.factor, SHIFT_AMOUNT=at.shift)


def _narrow(candidate: Candidate, **more: object) -> Candidate:
    """The call as one of int8: zero points of 0, and limits without their lowest eight bits."""
    given = vars(candidate.attributes)
    limits = {name: value >> _BYTE_BITS for name, value in given.items() if name.startswith("clamp")}
    return replace(candidate, attributes=SimpleNamespace(**{**_ZERO_POINTS, **given, **limits, **more}))


def _with_records(candidate: Candidate) -> Candidate:
    """The same for products, with records as the DLA reads them: a bias of 48 bits, a multiplier of 16."""
    records = candidate.inputs[2].data
    assert records is not None
    made = np.zeros((len(records), 3), np.int32)
    made[:, 0] = records[:, 0]
    made[:, 1] = records[:, 1] << 16 | narrow_multiplier(records[:, 2]).astype(np.int32)
    made[:, 2] = records[:, 3]
    return with_constant(_narrow(candidate), 2, made)


def _biases(records: NDArray[Any]) -> NDArray[np.int64]:
    low, high = records[:, :2].astype(np.int64).T
    biases: NDArray[np.int64] = (high << 32) + (low & 0xFFFF_FFFF)
    return biases


def _as_int16(nodes: Nodes, **registers: int) -> Nodes:
    """The instructions with elements of int16. Copies have them already."""
    return [_wide_node(node, registers) for node in nodes]


def _wide_node(node: DlaNode, registers: dict[str, int]) -> DlaNode:
    fields = {**node.fields, "elements": Elements.INT16}
    mnemonic = node.mnemonic
    if mnemonic == "OP_CONV_RELU":  # which has nothing of its own without zero points
        mnemonic, fields["out"] = "OP_CONV", Out.INT8
    if node.matrix is not None:
        fields["weights"] = Weights.INT16
    own = {name: value for name, value in registers.items() if name in BY_MNEMONIC[mnemonic].registers}
    return replace(
        node, mnemonic=mnemonic, fields=fields, registers={**node.registers, **own},
        in_element_bytes=INT16_BYTES, out_element_bytes=INT16_BYTES,
    )  # fmt: skip
