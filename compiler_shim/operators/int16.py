"""Operators of int16 activations, all without zero points, and int8 weights."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators.activations import quantized_range
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall
from dlasim.compiler_shim.operators.windows import transposed_attributes, window_attributes
from dlasim.isa.host_attributes import float_word
from dlasim.isa.host_op_rows import (
    INT16_ADD_LEFT_SHIFT,
    BinaryFunction,
    PoolFunction,
    SigmoidFunction,
    UnaryFunction,
    WideFunction,
)
from dlasim.sim.arithmetic.interpolation import (
    EXPONENTIALS,
    INT16_MAX,
    INT16_MIN,
    RECIPROCALS,
    SIGMOID_TABLE,
    sigmoid_scale,
    table513,
)
from dlasim.sim.arithmetic.numerics import mean_multiplier

MAX_INT64_SHIFT = 7  # of TensorFlow's 64-bit requantization
_OUTPUT_SCALE = 1 / 32768  # of SOFTMAX, LOGISTIC and TANH
_TOLERANCE = 0.001  # of the scale, as TensorFlow checks it


def is_int16(op: BoundOperator, position: int = 0) -> bool:
    """Whether an input is int16, and so everything else but weights and biases."""
    if op.input(position).dtype != "int16":
        return False
    op.types(op.output(), "int16")
    for tensor in (op.input(position), op.output()):
        op.require(op.zero_point(tensor) == 0, f"{tensor.name} is int16 with a zero point other than 0")
    return True


def convolution(op: BoundOperator, depthwise: bool) -> list[KernelCall]:
    """CONV_2D, and DEPTHWISE_CONV_2D as a convolution in groups of one channel."""
    weights = op.input(1)
    operand: int | Tensor = op.input_numbers[1]
    if depthwise:
        operand = op.new_constant("weights", np.ascontiguousarray(op.constant(1).transpose(3, 1, 2, 0)))
    channels = weights.shape[3 if depthwise else 0]
    records, wide_sums = _records(op, op.input(0), 1, 2, channels, depthwise)
    return [
        op.call(
            "CONV_2D_16",
            (op.input_numbers[0], operand, records),
            **window_attributes(op, weights.shape[1], weights.shape[2]),
            dilation_height=op.option("dilation_h_factor"),
            dilation_width=op.option("dilation_w_factor"),
            wide_sums=wide_sums,
            **op.clamp(),
        )
    ]


def fully_connected(op: BoundOperator) -> list[KernelCall]:
    """FULLY_CONNECTED."""
    records, wide_sums = _records(op, op.input(0), 1, 2, op.input(1).shape[0])
    return [
        op.call("FULLY_CONNECTED_16", (*op.input_numbers[:2], records), wide_sums=wide_sums, **op.clamp())
    ]


def transpose_convolution(op: BoundOperator) -> list[KernelCall]:
    """TRANSPOSE_CONV."""
    records, wide_sums = _records(op, op.input(2), 1, 3, op.input(1).shape[0], always_wide=True)
    return [
        op.call(
            "TRANSPOSE_CONV_16",
            (op.input_numbers[2], op.input_numbers[1], records),
            **transposed_attributes(op),
            wide_sums=wide_sums,
            **op.clamp(),
        )
    ]


def _records(
    op: BoundOperator,
    values: Tensor,
    weights_position: int,
    bias_position: int,
    channels: int,
    always_wide: bool = False,
) -> tuple[Tensor, int]:
    """Bias, multiplier and shift of each output channel; 1 for 64-bit sums, 0 where the bias has 32 bits."""
    weights = op.input(weights_position)
    op.types(weights, "int8")
    quantization = op.quantization(weights)
    op.require(set(quantization.zero_points) == {0}, f"weights {weights.name} have zero points other than 0")
    scales = np.array(quantization.scales, np.float64)
    op.require(
        len(scales) in (1, channels), f"{weights.name} has {len(scales)} scales for {channels} channels"
    )
    bias = np.zeros(channels, np.int64)
    wide_sums = always_wide or not op.has(bias_position) or op.input(bias_position).dtype == "int64"
    if op.has(bias_position):
        op.types(op.input(bias_position), "int64", *(() if always_wide else ("int32",)))
        bias = op.constant(bias_position).ravel().astype(np.int64)
    pairs = [
        op.multiplier(float(scale))
        for scale in op.scale(values) * np.broadcast_to(scales, channels) / op.scale(op.output())
    ]
    if wide_sums:
        fits = all(shift <= MAX_INT64_SHIFT for _, shift in pairs)
        op.require(fits, f"its scales give a factor of 2^{MAX_INT64_SHIFT} or more")
    records = np.zeros((channels, 4), np.int32)
    records[:, 0] = bias.astype(np.int32)
    records[:, 1] = (bias >> 32).astype(np.int32)
    records[:, 2:] = pairs
    return op.new_constant("records", records), int(wide_sums)


def arithmetic(op: BoundOperator) -> list[KernelCall]:
    """ADD, SUB, MUL, DIV and SQUARED_DIFFERENCE."""
    is_int16(op, 1)
    scales, output = [op.scale(op.input(position)) for position in (0, 1)], op.scale(op.output())
    if op.kind == "MUL":
        reals = {"input1_": 0.0, "input2_": 0.0, "output_": op.ratio(scales, [output])}
    elif op.kind == "DIV":  # of int16 LiteRT alone has it
        reals = {"input1_": 0.0, "input2_": 0.0, "output_": op.ratio(scales[:1], [scales[1], output], True)}
    elif op.kind == "SQUARED_DIFFERENCE":
        common = 2 * max(scales)
        result = common * common / output
        reals = {"input1_": scales[0] / common, "input2_": scales[1] / common, "output_": result}
    else:
        common = 2 * max(scales)
        result = common / ((1 << INT16_ADD_LEFT_SHIFT) * output)
        # Of what LiteRT makes of a larger one, only the sign is left, and TFLite Micro stops.
        op.require(op.kind == "ADD" or result < 1, f"its scales give a factor of {result:.3g}, not below 1")
        reals = {"input1_": scales[0] / common, "input2_": scales[1] / common, "output_": result}
    return [
        op.call(
            "ARITHMETIC_16",
            op.input_numbers,
            function=WideFunction[op.kind],
            **_pairs(op, reals),
            **op.clamp(),
        )
    ]


def _pairs(op: BoundOperator, reals: dict[str, float]) -> dict[str, int]:
    attributes = {}
    for name, real in reals.items():
        attributes[f"{name}multiplier"], attributes[f"{name}shift"] = op.multiplier(real)
    return attributes


def pool(op: BoundOperator) -> list[KernelCall]:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    height, width = op.option("filter_height"), op.option("filter_width")
    function = PoolFunction.MAX if op.kind == "MAX_POOL_2D" else PoolFunction.AVERAGE
    return [
        op.call(
            "POOL_16",
            op.input_numbers,
            function=function,
            **window_attributes(op, height, width),
            filter_height=height,
            filter_width=width,
            **op.clamp(),
        )
    ]


def mean(op: BoundOperator, axes: set[int]) -> list[KernelCall]:
    """MEAN over these axes."""
    values = op.input()
    ratio = op.scale(values) / op.scale(op.output())
    op.multiplier(ratio)  # refuses what is too large
    multiplier, shift = mean_multiplier(ratio, math.prod(values.shape[axis] for axis in axes))
    mask = sum(1 << axis for axis in axes)
    return [
        op.call(
            "MEAN_16", op.input_numbers[:1], axis_mask=mask, output_multiplier=multiplier, output_shift=shift
        )
    ]


def softmax(op: BoundOperator) -> list[KernelCall]:
    """SOFTMAX: exponentials down to exp(-10)."""
    _require_output_scale(op)
    beta = float(np.float32(op.option("beta")))
    multiplier, shift = op.multiplier(op.scale(op.input()) * beta / (10.0 / 65535.0))
    tables = op.new_constant("exponentials", EXPONENTIALS), op.new_constant("reciprocals", RECIPROCALS)
    return [
        op.call("SOFTMAX_16", (op.input_numbers[0], *tables), input_multiplier=multiplier, input_shift=shift)
    ]


def sigmoid(op: BoundOperator) -> list[KernelCall]:
    """LOGISTIC and TANH."""
    _require_output_scale(op)
    function = SigmoidFunction[op.kind]
    factor, shift = _sigmoid_scale(op.scale(op.input()), function)
    op.require(factor < 1 << 15, "its input scale is too large")
    op.require(factor > 0, "its input scale is too small")
    table = op.new_constant("sigmoid", SIGMOID_TABLE)
    return [
        op.call("SIGMOID_16", (op.input_numbers[0], table), function=function, factor=factor, shift=shift)
    ]


def _sigmoid_scale(scale: float, function: SigmoidFunction) -> tuple[int, int]:
    """Exact where the scale is 2^-12, for TANH 2^-11 too; else with 14 or 15 bits."""
    for power in (-12, -11)[: 1 + (function == SigmoidFunction.TANH)]:
        if scale == 2.0**power:
            return sigmoid_scale(power)
    factor, shift = scale * 4096.0 * 3.0, 0
    while factor <= 32767.0 / 2.0 and shift <= 30:
        factor, shift = factor * 2.0, shift + 1
    return int(factor), shift


def _require_output_scale(op: BoundOperator) -> None:
    scale = op.scale(op.output())
    op.require(
        abs(scale / _OUTPUT_SCALE - 1) <= _TOLERANCE, f"the output's scale must be 1/32768 (got {scale:g})"
    )


def leaky_relu(op: BoundOperator) -> list[KernelCall]:
    """LEAKY_RELU."""
    alpha = float(np.float32(op.option("alpha")))
    return [_leaky(op, alpha, INT16_MIN, INT16_MAX)]


def relu(op: BoundOperator) -> list[KernelCall]:
    """RELU, RELU6 and RELU_N1_TO_1."""
    ends = quantized_range(op.kind, op.scale(op.output()), 0, (INT16_MIN, INT16_MAX))
    # LiteRT alone rescales the two that limit from above.
    return [_leaky(op, 1.0, *ends, in_float32=None if op.kind == "RELU" else True)]


def _leaky(
    op: BoundOperator, alpha: float, least: int, greatest: int, in_float32: bool | None = None
) -> KernelCall:
    op.require(alpha >= 0, f"alpha of int16 must be at least 0 (got {alpha:g})")
    scale_in, scale_out = op.scale(op.input()), op.scale(op.output())
    positive = op.ratio([scale_in], [scale_out], in_float32)
    negative = op.ratio([scale_in, alpha], [scale_out], in_float32)
    pairs = _pairs(op, {"positive_": positive, "negative_": negative})
    return op.call("LEAKY_16", op.input_numbers, **pairs, clamp_min=least, clamp_max=greatest)


def square_root(op: BoundOperator) -> list[KernelCall]:
    """SQRT, through float32: cut off instead of rounded."""
    shape = op.input().shape
    real, root, steps = (
        Tensor(f"{op.output().name}/{name}", shape, "float32") for name in ("real", "root", "steps")
    )
    scale = op.new_constant("scale", np.full(1, op.scale(op.output()), np.float32))
    unlimited = {"clamp_min": float_word(-math.inf), "clamp_max": float_word(math.inf)}
    return [
        op.call("DEQUANTIZE", op.input_numbers, (real,), scale=op.scale(op.input()), zero_point=0),
        op.call("UNARY", (real,), (root,), function=UnaryFunction.SQRT),
        op.call("BINARY", (root, scale), (steps,), function=BinaryFunction.DIV, **unlimited),
        op.call("CAST", (steps,)),
    ]


def inverse_square_root(op: BoundOperator) -> list[KernelCall]:
    """RSQRT: linear between 513 places, as LiteRT; from 0 down the greatest value."""
    greatest = np.float32(op.scale(op.output())) * np.float32(INT16_MAX)

    def function(x: NDArray[np.float32]) -> NDArray[np.float32]:
        with np.errstate(all="ignore"):
            return np.where(x <= 0, greatest, np.float32(1) / np.sqrt(x))

    table = table513(op.scale(op.input()), op.scale(op.output()), function)
    return [op.call("LUT_16", (op.input_numbers[0], op.new_constant("table", table)))]
