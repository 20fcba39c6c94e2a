"""Calls of host operators to DLA nodes: the same quantization parameters by the names of their registers.

Each function translates a call that passes the rules, to a node for each image of a batch and each group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from types import SimpleNamespace

import numpy as np

from dlasim.compiler_shim.calls.copies import copy_into
from dlasim.compiler_shim.calls.nodes import DlaNode, Pair, Shape
from dlasim.compiler_shim.calls.views import View, dense
from dlasim.compiler_shim.forms.parts import groups, images, with_constant, with_output
from dlasim.compiler_shim.forms.products import spread_channels
from dlasim.compiler_shim.forms.rules import Candidate, as_image, element_order, padded
from dlasim.dataclass import dataclass
from dlasim.isa.host_op_rows import ADD_LEFT_SHIFT, DIFFERENCE_LEFT_SHIFT, BinaryFunction
from dlasim.isa.instruction_rows import Init, Out, PoolMode, Quant

_PER_CHANNEL = {"init": Init.BIAS, "out": Out.INT8, "quant": Quant.CHANNEL}


def _clamp(candidate: Candidate) -> dict[str, int]:
    return {"ACT_MIN": candidate.attributes.clamp_min, "ACT_MAX": candidate.attributes.clamp_max}


def convolution(candidate: Candidate) -> list[DlaNode]:
    """CONV_2D."""
    return [_dense_convolution(part) for group in groups(candidate) for part in images(group)]


def _dense_convolution(candidate: Candidate) -> DlaNode:
    at, fields = candidate.attributes, dict(_PER_CHANNEL)
    if at.clamp_min != at.output_zero_point:
        return _convolution(candidate, "OP_CONV", fields)
    del fields["out"]
    return _convolution(candidate, "OP_CONV_RELU", fields)


def depthwise(candidate: Candidate) -> list[DlaNode]:
    """DEPTHWISE_CONV_2D."""
    return [_convolution(part, "OP_DEPTH_CONV", _PER_CHANNEL) for part in images(candidate)]


def transpose_convolution(candidate: Candidate) -> list[DlaNode] | None:
    """TRANSPOSE_CONV: for each position in a stride the output pixels there, which are a convolution without
    stride by the taps that reach them, the last first."""
    at, kernel = candidate.attributes, candidate.inputs[1].shape[1:3]
    sizes = zip(candidate.inputs[0].shape[1:3], candidate.outputs[0].shape[1:3], strict=True)
    steps = ((at.stride_height, at.pad_top), (at.stride_width, at.pad_left))
    by_axis = [
        [_phase(phase, *step, taps, *size) for phase in range(min(step[0], size[1]))]
        for taps, step, size in zip(kernel, steps, sizes, strict=True)
    ]
    nodes = []
    for rows, columns in product(*by_axis):
        if rows is None or columns is None:
            return None
        for part in images(candidate):
            nodes.append(_dense_convolution(_phase_convolution(part, rows, columns)))
    return nodes


@dataclass(frozen=True, slots=True)
class _Phase:
    """Along one axis: the first output pixel and how many there are, how far apart; their taps in the order
    in which they meet the input; and the padding."""

    first: int
    count: int
    step: int
    taps: tuple[int, ...]
    pad: int


def _phase(first: int, step: int, pad: int, taps: int, in_size: int, out_size: int) -> _Phase | None:
    """One phase; None where a window would lie outside of the input as a whole."""
    whole, rest = divmod(first + pad, step)
    chosen = tuple(range(rest, taps, step))[::-1]
    count = -(-(out_size - first) // step)
    before = len(chosen) - 1 - whole
    fits = chosen and before < len(chosen) and count - 1 - before < in_size
    return _Phase(first, count, step, chosen, before) if fits else None


def _phase_convolution(candidate: Candidate, rows: _Phase, columns: _Phase) -> Candidate:
    """The convolution that computes the output pixels of two phases."""
    whole, weights = candidate.outputs[0].shape, candidate.inputs[1].data
    assert weights is not None
    _, line, pixel, _ = dense(whole).stride
    size = (1, rows.count, columns.count, whole[3])
    stride = (0, rows.step * line, columns.step * pixel, 1)
    part = with_output(candidate, View(rows.first * line + columns.first * pixel, size, stride), size)
    part = with_constant(part, 1, np.ascontiguousarray(weights[:, rows.taps][:, :, columns.taps]))
    steps = {f"{name}_{side}": 1 for name in ("stride", "dilation") for side in ("height", "width")}
    attributes = {**vars(candidate.attributes), **steps, "pad_top": rows.pad, "pad_left": columns.pad}
    return replace(part, attributes=SimpleNamespace(**attributes))


def _convolution(candidate: Candidate, mnemonic: str, fields: Mapping[str, int]) -> DlaNode:
    at, inputs = candidate.attributes, candidate.input_numbers
    kernel = candidate.inputs[1].shape[1:3]
    return DlaNode(
        mnemonic, candidate.layer, inputs[:1], candidate.output_number,
        as_image(candidate.inputs[0].shape), as_image(candidate.outputs[0].shape),
        kernel=(kernel[0], kernel[1]),
        stride=(at.stride_height, at.stride_width),
        dilation=(at.dilation_height, at.dilation_width),
        pad=(at.pad_top, at.pad_left),
        fields=fields,
        registers={"IN_ZP": at.input_zero_point, "PAD_VALUE": at.input_zero_point,
                   "WEIGHT_ZP": at.weight_zero_point, "OUT_ZP": at.output_zero_point, **_clamp(candidate)},
        weights=inputs[1], records=inputs[2],
    )  # fmt: skip


def fully_connected(candidate: Candidate) -> list[DlaNode]:
    """FULLY_CONNECTED."""
    at, inputs = candidate.attributes, candidate.input_numbers
    channels, depth = candidate.inputs[1].shape
    rows = prod(candidate.inputs[0].shape) // depth
    return [DlaNode(
        "OP_MAT_MUL", candidate.layer, inputs[:1], candidate.output_number,
        (rows, 1, depth), (rows, 1, channels),
        fields=dict(_PER_CHANNEL),
        registers={"IN_ZP": at.input_zero_point, "WEIGHT_ZP": at.weight_zero_point,
                   "OUT_ZP": at.output_zero_point, **_clamp(candidate)},
        weights=inputs[1], records=inputs[2],
    )]  # fmt: skip


def matrix_sums(candidate: Candidate) -> list[DlaNode]:
    """MATRIX_SUMS."""
    inputs = candidate.input_numbers
    channels, depth = candidate.inputs[1].shape
    rows = candidate.inputs[0].size_bytes // depth
    return [DlaNode(
        "OP_MAT_MUL", candidate.layer, inputs[:1], candidate.output_number,
        (rows, 1, depth), (rows, 1, channels),
        fields={"init": Init.BIAS, "out": Out.INT32, "quant": Quant.TENSOR}, out_element_bytes=4,
        registers={"IN_ZP": candidate.attributes.input_zero_point, "WEIGHT_ZP": 0},
        weights=inputs[1], records=inputs[2],
    )]  # fmt: skip


def average_pool(candidate: Candidate) -> list[DlaNode]:
    """AVERAGE_POOL_2D."""
    mode = PoolMode.AVERAGE_UP if candidate.attributes.halves_up else PoolMode.AVERAGE
    return [_pool(part, mode) for part in images(candidate)]


def maximum_pool(candidate: Candidate) -> list[DlaNode]:
    """MAX_POOL_2D."""
    return [_pool(part, PoolMode.MAX) for part in images(candidate)]


def _pool(candidate: Candidate, mode: PoolMode) -> DlaNode:
    at = candidate.attributes
    return DlaNode(
        "OP_POOL", candidate.layer, candidate.input_numbers[:1], candidate.output_number,
        as_image(candidate.inputs[0].shape), as_image(candidate.outputs[0].shape),
        kernel=(at.filter_height, at.filter_width), stride=(at.stride_height, at.stride_width),
        pad=(at.pad_top, at.pad_left), fields={"mode": mode}, registers=_clamp(candidate),
    )  # fmt: skip


def addition(candidate: Candidate) -> list[DlaNode]:
    """ADD."""
    return elementwise(candidate, "OP_E_ADD", _rescaled(candidate) | _input_scales(candidate))


def subtraction(candidate: Candidate) -> list[DlaNode]:
    """SUB."""
    return elementwise(candidate, "OP_E_SUB", _rescaled(candidate) | _input_scales(candidate))


def squared_difference(candidate: Candidate) -> list[DlaNode]:
    """SQUARED_DIFFERENCE."""
    shifted = {**_input_scales(candidate), "LEFT_SHIFT": DIFFERENCE_LEFT_SHIFT}
    return elementwise(candidate, "OP_E_SQDIFF", _rescaled(candidate) | shifted)


def multiplication(candidate: Candidate) -> list[DlaNode]:
    """MUL."""
    return elementwise(candidate, "OP_E_MUL", _rescaled(candidate))


def extremum(candidate: Candidate) -> list[DlaNode]:
    """BINARY that is MAXIMUM or MINIMUM."""
    is_maximum = candidate.attributes.function == BinaryFunction.MAXIMUM
    return elementwise(candidate, "OP_C_MAX" if is_maximum else "OP_C_MIN", {})


def _rescaled(candidate: Candidate) -> dict[str, int]:
    at = candidate.attributes
    return {
        "IN_ZP": at.input1_zero_point, "IN2_ZP": at.input2_zero_point, "OUT_ZP": at.output_zero_point,
        "OUT_MULT": at.output_multiplier, "OUT_SHIFT": at.output_shift, **_clamp(candidate),
    }  # fmt: skip


def _input_scales(candidate: Candidate) -> dict[str, int]:
    at = candidate.attributes
    return {
        "LEFT_SHIFT": ADD_LEFT_SHIFT,
        "IN_MULT": at.input1_multiplier, "IN_SHIFT": at.input1_shift,
        "IN2_MULT": at.input2_multiplier, "IN2_SHIFT": at.input2_shift,
    }  # fmt: skip


def elementwise(candidate: Candidate, mnemonic: str, registers: Mapping[str, int]) -> list[DlaNode]:
    """An element-wise instruction of two inputs, one of which may be broadcast."""
    candidate, nodes = with_one_whole(candidate)
    order = element_order(candidate)
    assert order is not None, "a rule refuses other shapes"
    first, second = order
    inputs, numbers = candidate.inputs, candidate.input_numbers
    ordered = replace(
        candidate, inputs=(inputs[first], inputs[second]), input_numbers=(numbers[first], numbers[second])
    )
    spread = _spread_over_images(ordered, mnemonic, registers)
    return [*nodes, *(replace(node, swaps_inputs=first == 1) for node in spread)]


def with_one_whole(candidate: Candidate) -> tuple[Candidate, list[DlaNode]]:
    """The element-wise call with all channels in both inputs. If it would still spread both, the first, or
    the one that is constant, is repeated until it has the output's shape."""
    candidate, nodes = spread_channels(candidate)
    if element_order(candidate) is not None:
        return candidate, nodes
    inputs, numbers = list(candidate.inputs), list(candidate.input_numbers)
    position, whole = int(inputs[1].data is not None), candidate.outputs[0].shape
    value = replace(
        inputs[position], name=f"{inputs[position].name}/whole", shape=whole, alias=None, view=None
    )
    if value.data is not None:
        value = replace(value, data=np.broadcast_to(value.data, whole).copy())
    number = candidate.add(value)
    if value.data is None:
        shape = padded(inputs[position].shape, len(whole))
        strides = zip(shape, dense(shape).stride, strict=True)
        repeated = View(0, whole, tuple(0 if size == 1 else stride for size, stride in strides))
        copy = replace(candidate, outputs=(value,), output_number=number)
        nodes += copy_into(copy, position, repeated, dense(whole)) or ()
    inputs[position], numbers[position] = value, number
    return replace(candidate, inputs=tuple(inputs), input_numbers=tuple(numbers)), nodes


def _spread_over_images(
    candidate: Candidate, mnemonic: str, registers: Mapping[str, int]
) -> Iterator[DlaNode]:
    """An instruction for each image of the first input, or for all; the second may be one row or column."""
    output = candidate.outputs[0].shape
    second = padded(candidate.inputs[1].shape, len(output))
    if prod(output[:-3]) > 1 and (second == output or prod(second[:-1]) == 1):
        flat = flat_image(output)
        broadcast = int(second == output)
        yield _binary(candidate, mnemonic, registers, flat, (broadcast, broadcast))
        return
    for part in images(candidate):
        shape, other = as_image(part.outputs[0].shape), as_image(part.inputs[1].shape)
        broadcast_axes = int(other[0] == shape[0]), int(other[1] == shape[1])
        yield _binary(part, mnemonic, registers, shape, broadcast_axes)


def _binary(
    candidate: Candidate, mnemonic: str, registers: Mapping[str, int], shape: Shape, broadcast: Pair
) -> DlaNode:
    inputs, output = candidate.input_numbers[:2], candidate.output_number
    return DlaNode(
        mnemonic, candidate.layer, inputs, output, shape, shape, registers=registers, broadcast=broadcast
    )


def table(candidate: Candidate) -> list[DlaNode]:
    """LUT."""
    inputs, shape = candidate.input_numbers, flat_image(candidate.outputs[0].shape)
    return [DlaNode(
        "OP_ACT_LUT", candidate.layer, inputs[:1], candidate.output_number, shape, shape, table=inputs[1]
    )]  # fmt: skip


def softmax(candidate: Candidate) -> list[DlaNode]:
    """SOFTMAX."""
    inputs, shape = candidate.input_numbers, flat_image(candidate.outputs[0].shape)
    return [DlaNode(
        "OP_SOFTMAX", candidate.layer, inputs[:1], candidate.output_number, shape, shape, table=inputs[1]
    )]  # fmt: skip


def flat_image(shape: tuple[int, ...]) -> Shape:
    """Any shape as an image: leading dimensions are rows."""
    width, channels = (1, 1, *shape)[-2:]
    return prod(shape[:-2]), width, channels
