"""Products of matrices on OP_MAT_MUL: of two activations, and with constants that move or add elements.

The second matrix of OP_MAT_MUL has a row for each output channel. A tensor that has columns instead is
transposed first, by a product with the identity: its rows are the weights, and each result is one of its
elements as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode, Shape, Value
from dlasim.compiler_shim.calls.views import View
from dlasim.compiler_shim.forms.rules import MAX_PARTS, Candidate, is_spread
from dlasim.isa.instruction_rows import Init, Out, Quant

_MIN_BLOCK = 8  # columns that one product transposes: its work grows with them, and there are fewer products
_MAX_TRANSPOSES = MAX_PARTS // 2  # products for one operand
INT8_RANGE = {"ACT_MIN": -128, "ACT_MAX": 127}
# Zero points and a scale that leave an element as it is.
AS_IT_IS = {"IN_ZP": 0, "WEIGHT_ZP": 0, "OUT_ZP": 0, "OUT_MULT": 1 << 30, "OUT_SHIFT": 1, **INT8_RANGE}


def batch_matmul(candidate: Candidate) -> list[DlaNode] | None:
    """BATCH_MATMUL: one product for each batch, or for all where the second matrix serves all."""
    at, (first, second) = candidate.attributes, candidate.inputs
    rows, columns = candidate.outputs[0].shape[-2:]
    depth = first.shape[-2 if at.transposed1 else -1]
    batches = candidate.outputs[0].shape[:-2]
    if prod(second.shape[:-2]) == 1 and prod(first.shape[:-2]) == prod(batches) and not at.transposed1:
        rows, batches = rows * prod(batches), ()
    left, right = _places(first, batches), _places(second, batches)
    if len(left) > MAX_PARTS:
        return None
    nodes: list[DlaNode] = []
    one, other = candidate.input_numbers
    if at.transposed1:
        one = _transpose(candidate, 0, (depth, rows), nodes)
    if not at.transposed2:
        other = _transpose(candidate, 1, (depth, columns), nodes)
    registers = {
        "IN_ZP": at.input1_zero_point, "WEIGHT_ZP": at.input2_zero_point, "OUT_ZP": at.output_zero_point,
        "OUT_MULT": at.output_multiplier, "OUT_SHIFT": at.output_shift, **INT8_RANGE,
    }  # fmt: skip
    for number, (place, other_place) in enumerate(zip(left, right, strict=True)):
        source = _part(candidate, one, place * rows * depth, (rows, depth))
        matrix = _part(candidate, other, other_place * columns * depth, (columns, depth))
        output = _part(candidate, candidate.output_number, number * rows * columns, (rows, columns))
        nodes.append(_product(candidate, source, output, (rows, depth, columns), registers, matrix=matrix))
    return nodes if len(nodes) <= MAX_PARTS else None


def _places(value: Value, batches: tuple[int, ...]) -> list[int]:
    """The matrix of an operand that each batch reads."""
    if not batches:
        return [0]
    own = value.shape[:-2]
    numbers = np.arange(prod(own)).reshape(own)
    return [int(number) for number in np.broadcast_to(numbers, batches).ravel()]


def mean_by_product(candidate: Candidate, rows: int, depth: int) -> DlaNode:
    """MEAN over the last dimensions: ones times each row, which is an output channel."""
    at, (source,) = candidate.attributes, candidate.input_numbers[:1]
    ones = candidate.add(Value("ones", (1, depth), "int8", data=np.ones((1, depth), np.int8)))
    registers = {
        "IN_ZP": 0, "WEIGHT_ZP": at.input_zero_point, "OUT_ZP": at.output_zero_point,
        "OUT_MULT": at.output_multiplier, "OUT_SHIFT": at.output_shift, **INT8_RANGE,
    }  # fmt: skip
    return _product(candidate, ones, candidate.output_number, (1, depth, rows), registers, matrix=source)


def pick_channels(candidate: Candidate, indices: NDArray[np.int64], depth: int) -> DlaNode:
    """Channels of each pixel in another order: a product with a one for each."""
    ones = np.zeros((len(indices), depth), np.int8)
    ones[np.arange(len(indices)), indices] = 1
    weights = candidate.add(Value("ones", ones.shape, "int8", data=ones))
    sizes = candidate.inputs[0].size_bytes // depth, depth, len(indices)
    source = candidate.input_numbers[0]
    return _product(candidate, source, candidate.output_number, sizes, AS_IT_IS, weights=weights)


def spread_channels(candidate: Candidate) -> tuple[Candidate, list[DlaNode]]:
    """The element-wise call with all channels in both inputs: what has one channel is multiplied by ones."""
    nodes: list[DlaNode] = []
    channels = (1, *candidate.outputs[0].shape)[-1]
    inputs, numbers = list(candidate.inputs), list(candidate.input_numbers)
    for position, value in enumerate(candidate.inputs[:2]):
        if not is_spread(value.shape, candidate.outputs[0].shape):
            continue
        shape = (*value.shape[:-1], channels) if value.shape else (channels,)
        if value.data is not None:
            inputs[position] = replace(value, shape=shape, data=np.broadcast_to(value.data, shape).copy())
            numbers[position] = candidate.add(inputs[position])
            continue
        rows = prod(value.shape)
        inputs[position] = replace(value, name=f"{value.name}/spread", shape=shape, alias=None, view=None)
        numbers[position] = candidate.add(inputs[position])
        ones = candidate.add(Value("ones", (channels, 1), "int8", data=np.ones((channels, 1), np.int8)))
        sizes, source = (rows, 1, channels), candidate.input_numbers[position]
        registers = _as_it_is(value.dtype)
        nodes.append(_product(candidate, source, numbers[position], sizes, registers, weights=ones))
    return replace(candidate, inputs=tuple(inputs), input_numbers=tuple(numbers)), nodes


def _as_it_is(dtype: str) -> dict[str, int]:
    """AS_IT_IS for elements of this type: the multiplier of int16 has half the bits."""
    return {**AS_IT_IS, "OUT_MULT": 1 << 14} if dtype == "int16" else AS_IT_IS


def _transpose(candidate: Candidate, position: int, size: tuple[int, int], nodes: list[DlaNode]) -> int:
    """A new value: each matrix of an input with its columns as rows."""
    value, source = candidate.inputs[position], candidate.input_numbers[position]
    height, width = size
    count = prod(value.shape[:-2])
    name = f"{candidate.outputs[0].name}/transposed_{position + 1}"
    result = candidate.add(Value(name, (count, width, height), value.dtype, value.scale, value.zero_point))
    block = min(width, _MIN_BLOCK)
    while count * -(-width // block) > _MAX_TRANSPOSES and block < width:
        block *= 2
    ones = np.eye(block, dtype=value.dtype)
    identity = candidate.add(Value("identity", (block, block), value.dtype, data=ones))
    registers = _as_it_is(value.dtype)
    for matrix in range(count):
        for first in range(0, width, block):
            columns = min(block, width - first)
            chosen = _part(candidate, identity, 0, (columns, columns), block)
            begin = matrix * height * width + first
            weights = _part(candidate, source, begin, (height, columns), width)
            place = matrix * height * width + first * height
            output = _part(candidate, result, place, (columns, height))
            sizes = (columns, columns, height)
            nodes.append(_product(candidate, chosen, output, sizes, registers, matrix=weights))
    return result


def _part(candidate: Candidate, number: int, first: int, shape: tuple[int, int], line: int = 0) -> int:
    """A matrix in a tensor from an element on, `line` elements from a row to the next; 0: without gaps."""
    view = View(first, shape, (line or shape[1], 1))
    part = Value("", shape, candidate.inputs[0].dtype, alias=number, view=view)
    return candidate.add(part)


def _product(
    candidate: Candidate,
    source: int,
    output: int,
    sizes: Shape,
    registers: Mapping[str, int],
    weights: int | None = None,
    matrix: int | None = None,
) -> DlaNode:
    """OP_MAT_MUL of rows by depth with columns by depth."""
    rows, depth, columns = sizes
    return DlaNode(
        "OP_MAT_MUL", candidate.layer, (source,), output, (rows, 1, depth), (rows, 1, columns),
        fields={"init": Init.ZERO, "out": Out.INT8, "quant": Quant.TENSOR}, registers=registers,
        weights=weights, matrix=matrix,
    )  # fmt: skip
