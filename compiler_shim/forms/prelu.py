"""PRELU of tables, products and an extremum or a sum: its two branches apart, then together.

Where no element of alpha makes a branch greater than the one that counts, the greater of both is the result.
Otherwise each branch is the zero point where the other counts, and they are added.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.calls.nodes import DlaNode, Value
from dlasim.compiler_shim.forms.products import INT8_RANGE
from dlasim.compiler_shim.forms.rules import Candidate
from dlasim.compiler_shim.forms.translate import elementwise, flat_image
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, Integers, limit, requant

_ONE = {"MULT": 1 << 30, "SHIFT": 1}  # multiplier and shift that leave a number as it is
_NUMBERS = np.arange(INT8_MIN, INT8_MAX + 1, dtype=np.int64)


def prelu(candidate: Candidate) -> list[DlaNode]:
    """PRELU."""
    at, nodes = candidate.attributes, list[DlaNode]()
    steps = _NUMBERS - at.input_zero_point
    scaled = requant(np.maximum(steps, 0), at.positive_multiplier, at.positive_shift)
    positive = limit(scaled, at.output_zero_point, INT8_MIN, INT8_MAX).astype(np.int64)
    if _is_greater_branch(candidate, positive):
        least = np.where(steps < 0, INT8_MIN, positive)
        first = _looked_up(candidate, "positive", least, nodes)
        second = _times_alpha(candidate, candidate.input_numbers[0], nodes)
        return [*nodes, _together(candidate, "OP_C_MAX", first, second, {})]
    first = _looked_up(candidate, "positive", positive, nodes)
    low = np.minimum(_NUMBERS, at.input_zero_point)
    second = _times_alpha(candidate, _looked_up(candidate, "below", low, nodes), nodes)
    zero_points = dict.fromkeys(("IN_ZP", "IN2_ZP", "OUT_ZP"), at.output_zero_point)
    scales = {f"{view}_{part}": value for view in ("IN", "IN2", "OUT") for part, value in _ONE.items()}
    registers = {"LEFT_SHIFT": 0, **zero_points, **scales, **INT8_RANGE}
    return [*nodes, _together(candidate, "OP_E_ADD", first, second, registers)]


def _is_greater_branch(candidate: Candidate, positive: Integers) -> bool:
    """Whether alpha times a number that is not negative is never greater than that number rescaled."""
    at, data = candidate.attributes, candidate.inputs[1].data
    if data is None:
        return False
    steps, alpha = _NUMBERS - at.input_zero_point, np.unique(data).astype(np.int64) - at.alpha_zero_point
    scaled = requant(steps[:, None] * alpha, at.negative_multiplier, at.negative_shift)
    negative = limit(scaled, at.output_zero_point, INT8_MIN, INT8_MAX)
    return bool((negative <= positive[:, None])[steps >= 0].all())


def _new(candidate: Candidate, name: str) -> Value:
    """A tensor like the output."""
    result = candidate.outputs[0]
    return replace(result, name=f"{result.name}/{name}", data=None, alias=None, view=None)


def _looked_up(candidate: Candidate, name: str, table: Integers, nodes: list[DlaNode]) -> int:
    shape = flat_image(candidate.outputs[0].shape)
    output = candidate.add(_new(candidate, name))
    entries = candidate.add(Value(f"{name}/table", (256,), "int8", data=table.astype(np.int8)))
    source = candidate.input_numbers[:1]
    nodes.append(DlaNode("OP_ACT_LUT", candidate.layer, source, output, shape, shape, table=entries))
    return output


def _times_alpha(candidate: Candidate, source: int, nodes: list[DlaNode]) -> int:
    at, product = candidate.attributes, _new(candidate, "negative")
    output = candidate.add(product)
    registers = {
        "IN_ZP": at.input_zero_point, "IN2_ZP": at.alpha_zero_point, "OUT_ZP": at.output_zero_point,
        "OUT_MULT": at.negative_multiplier, "OUT_SHIFT": at.negative_shift, **INT8_RANGE,
    }  # fmt: skip
    numbers = source, candidate.input_numbers[1]
    scaled = replace(candidate, input_numbers=numbers, outputs=(product,), output_number=output)
    nodes += elementwise(scaled, "OP_E_MUL", registers)
    return output


def _together(
    candidate: Candidate, mnemonic: str, first: int, second: int, registers: dict[str, int]
) -> DlaNode:
    shape = flat_image(candidate.outputs[0].shape)
    inputs = first, second
    return DlaNode(
        mnemonic, candidate.layer, inputs, candidate.output_number, shape, shape, registers=registers
    )
