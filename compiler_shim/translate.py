"""Calls of host operators to DLA nodes: the same quantization parameters by the names of their registers.

Each function translates a call that passes the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from dlasim.compiler_shim.nodes import DlaNode, Shape
from dlasim.compiler_shim.rules import Candidate, as_image
from dlasim.isa.host_ops import ADD_LEFT_SHIFT, BinaryFunction
from dlasim.isa.instructions import Init, Out, PoolMode, Quant

_PER_CHANNEL = {"init": Init.BIAS, "out": Out.INT8, "quant": Quant.CHANNEL}


def _clamp(candidate: Candidate) -> dict[str, int]:
    return {"ACT_MIN": candidate.attributes.clamp_min, "ACT_MAX": candidate.attributes.clamp_max}


def convolution(candidate: Candidate) -> DlaNode:
    """CONV_2D."""
    at, fields = candidate.attributes, dict(_PER_CHANNEL)
    if at.clamp_min != at.output_zero_point:
        return _convolution(candidate, "OP_CONV", fields)
    del fields["out"]
    return _convolution(candidate, "OP_CONV_RELU", fields)


def depthwise(candidate: Candidate) -> DlaNode:
    """DEPTHWISE_CONV_2D."""
    return _convolution(candidate, "OP_DEPTH_CONV", _PER_CHANNEL)


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
                   "OUT_ZP": at.output_zero_point, **_clamp(candidate)},
        weights=inputs[1], records=inputs[2],
    )  # fmt: skip


def fully_connected(candidate: Candidate) -> DlaNode:
    """FULLY_CONNECTED."""
    at, inputs = candidate.attributes, candidate.input_numbers
    channels, depth = candidate.inputs[1].shape
    rows = candidate.inputs[0].size_bytes // depth
    return DlaNode(
        "OP_MAT_MUL", candidate.layer, inputs[:1], candidate.output_number,
        (rows, 1, depth), (rows, 1, channels),
        fields=dict(_PER_CHANNEL),
        registers={"IN_ZP": at.input_zero_point, "OUT_ZP": at.output_zero_point, **_clamp(candidate)},
        weights=inputs[1], records=inputs[2],
    )  # fmt: skip


def average_pool(candidate: Candidate) -> DlaNode:
    """AVERAGE_POOL_2D."""
    return _pool(candidate, PoolMode.AVERAGE)


def maximum_pool(candidate: Candidate) -> DlaNode:
    """MAX_POOL_2D."""
    return _pool(candidate, PoolMode.MAX)


def _pool(candidate: Candidate, mode: PoolMode) -> DlaNode:
    at = candidate.attributes
    return DlaNode(
        "OP_POOL", candidate.layer, candidate.input_numbers[:1], candidate.output_number,
        as_image(candidate.inputs[0].shape), as_image(candidate.outputs[0].shape),
        kernel=(at.filter_height, at.filter_width), stride=(at.stride_height, at.stride_width),
        pad=(at.pad_top, at.pad_left), fields={"mode": mode}, registers=_clamp(candidate),
    )  # fmt: skip


def mean(candidate: Candidate) -> DlaNode:
    """MEAN."""
    at = candidate.attributes
    height, width, channels = as_image(candidate.inputs[0].shape)
    return DlaNode(
        "OP_POOL", candidate.layer, candidate.input_numbers[:1], candidate.output_number,
        (height, width, channels), (1, 1, channels),
        kernel=(height, width), fields={"mode": PoolMode.MEAN},
        registers={"IN_ZP": at.input_zero_point, "OUT_ZP": at.output_zero_point,
                   "OUT_MULT": at.output_multiplier, "OUT_SHIFT": at.output_shift,
                   "ACT_MIN": -128, "ACT_MAX": 127},
    )  # fmt: skip


def addition(candidate: Candidate) -> DlaNode:
    """ADD."""
    return _elementwise(candidate, "OP_E_ADD", _rescaled(candidate) | _input_scales(candidate))


def subtraction(candidate: Candidate) -> DlaNode:
    """SUB."""
    return _elementwise(candidate, "OP_E_SUB", _rescaled(candidate) | _input_scales(candidate))


def multiplication(candidate: Candidate) -> DlaNode:
    """MUL."""
    return _elementwise(candidate, "OP_E_MUL", _rescaled(candidate))


def extremum(candidate: Candidate) -> DlaNode:
    """BINARY that is MAXIMUM or MINIMUM."""
    is_maximum = candidate.attributes.function == BinaryFunction.MAXIMUM
    return _elementwise(candidate, "OP_C_MAX" if is_maximum else "OP_C_MIN", {})


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


def _elementwise(candidate: Candidate, mnemonic: str, registers: Mapping[str, int]) -> DlaNode:
    shape = as_image(candidate.outputs[0].shape)
    second = as_image(candidate.inputs[1].shape)
    return DlaNode(
        mnemonic, candidate.layer, candidate.input_numbers[:2], candidate.output_number, shape, shape,
        registers=registers, broadcast=(int(second[0] == shape[0]), int(second[1] == shape[1])),
    )  # fmt: skip


def table(candidate: Candidate) -> DlaNode:
    """LUT."""
    inputs, shape = candidate.input_numbers, _flat_image(candidate.outputs[0].shape)
    return DlaNode(
        "OP_ACT_LUT", candidate.layer, inputs[:1], candidate.output_number, shape, shape, table=inputs[1]
    )


def _flat_image(shape: tuple[int, ...]) -> Shape:
    """Any shape as an image: leading dimensions are rows."""
    width, channels = (1, 1, *shape)[-2:]
    return prod(shape[:-2]), width, channels
