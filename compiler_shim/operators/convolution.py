"""Operators with weights."""

from __future__ import annotations

import math

import numpy as np

from dlasim.compiler_shim.network.graph import Numerics, Tensor
from dlasim.compiler_shim.operators import int16, litert_sums
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.windows import (
    dilated,
    transposed_attributes,
    window_attributes,
    window_grid,
)


def convolution(op: BoundOperator) -> list[KernelCall]:
    """CONV_2D."""
    if int16.is_int16(op):
        return int16.convolution(op, depthwise=False)
    return [_windowed(op, "CONV_2D", channel_axis=0)]


def depthwise(op: BoundOperator) -> list[KernelCall]:
    """DEPTHWISE_CONV_2D."""
    if int16.is_int16(op):
        return int16.convolution(op, depthwise=True)
    return [_windowed(op, "DEPTHWISE_CONV_2D", channel_axis=3)]


def _windowed(op: BoundOperator, name: str, channel_axis: int) -> KernelCall:
    _check(op, op.input(0), op.input(1))
    weights = op.input(1)
    return op.call(
        name,
        (*op.input_numbers[:2], _records(op, op.input(0), weights, 2, weights.shape[channel_axis])),
        **window_attributes(op, weights.shape[1], weights.shape[2]),
        dilation_height=op.option("dilation_h_factor"),
        dilation_width=op.option("dilation_w_factor"),
        input_zero_point=op.zero_point(op.input(0)),
        output_zero_point=op.zero_point(op.output()),
        weight_zero_point=_weight_zero_point(op, weights),
        **op.clamp(),
    )


def fully_connected(op: BoundOperator) -> list[KernelCall]:
    """FULLY_CONNECTED."""
    weights_format = op.option("weights_format")
    op.require(weights_format == "DEFAULT", f"weights_format {weights_format} is not supported")
    if int16.is_int16(op):
        return int16.fully_connected(op)
    values, weights = op.input(0), op.input(1)
    _check(op, values, weights)
    records = _records(op, values, weights, 2, weights.shape[0])
    if op.numerics is Numerics.LITERT:
        records, for_requant = litert_sums.rounded(op, records)
        if not for_requant:
            return litert_sums.on_cpu(op, records)
    return [
        op.call(
            "FULLY_CONNECTED",
            (*op.input_numbers[:2], records),
            input_zero_point=op.zero_point(values),
            output_zero_point=op.zero_point(op.output()),
            weight_zero_point=_weight_zero_point(op, weights),
            **op.clamp(),
        )
    ]


def transpose_convolution(op: BoundOperator) -> list[KernelCall]:
    """TRANSPOSE_CONV."""
    if int16.is_int16(op, 2):
        return int16.transpose_convolution(op)
    weights, values, output = op.input(1), op.input(2), op.output()
    _check(op, values, weights)
    return [
        op.call(
            "TRANSPOSE_CONV",
            (op.input_numbers[2], op.input_numbers[1], _records(op, values, weights, 3, weights.shape[0])),
            **transposed_attributes(op),
            input_zero_point=op.zero_point(values),
            output_zero_point=op.zero_point(output),
            weight_zero_point=_weight_zero_point(op, weights),
            **op.clamp(),
        )
    ]


def _check(op: BoundOperator, values: Tensor, weights: Tensor) -> None:
    for tensor in (values, weights, op.output()):
        op.types(tensor, "int8")


def _weight_zero_point(op: BoundOperator, weights: Tensor) -> int:
    """0 for int8, which TensorFlow takes for granted; one for all channels of uint8."""
    zero_points = set(op.quantization(weights, may_be_zero=True).zero_points)
    if weights.is_unsigned:
        op.require(len(zero_points) == 1, f"uint8 weights {weights.name} have several zero points")
        return zero_points.pop()
    op.require(zero_points == {0}, f"weights {weights.name} have zero points other than 0: {zero_points}")
    return 0


def _records(op: BoundOperator, values: Tensor, weights: Tensor, bias_position: int, channels: int) -> Tensor:
    """Bias, multiplier and shift of each output channel."""
    scales = np.array(op.quantization(weights, may_be_zero=True).scales, np.float64)
    op.require(
        len(scales) in (1, channels), f"{weights.name} has {len(scales)} scales for {channels} channels"
    )
    products = op.factor(values) * np.broadcast_to(scales, channels)
    if values.is_unsigned:
        products = products.astype(np.float32).astype(np.float64)
    # For int8 in float64 throughout, FULLY_CONNECTED too: as TFLite Micro does it since it left float32.
    effective_scales = products / op.scale(op.output())
    records = np.zeros((channels, 3), np.int32)
    if op.has(bias_position):
        bias = op.input(bias_position)
        op.types(bias, "int32")
        data = op.constant(bias_position).ravel()
        op.require(
            len(data) == len(records),
            f"it must have {len(records)} biases, one per channel (got {len(data)})",
        )
        records[:, 0] = data
    records[:, 1:] = op.product_multipliers(effective_scales)
    return op.new_constant("records", records)


def svdf(op: BoundOperator) -> list[KernelCall]:
    """SVDF; its state is input and output."""
    values, feature, time, state = (op.input(position) for position in (0, 1, 2, 4))
    op.types(values, "int8")
    op.types(feature, "int8")
    op.types(state, "int8", "int16")
    op.same_types(time, state)
    activation = op.activation
    op.require(
        activation in ("NONE", "RELU"), f"fused activation {activation}: TFLite's int8 SVDF ignores it"
    )
    feature_scale = op.multiplier(op.factor(values) * op.factor(feature) / op.scale(state))
    output_scale = op.multiplier(op.scale(state) * op.factor(time) / op.scale(op.output()))
    units = op.output().shape[-1]
    bias = op.input_numbers[3] if op.has(3) else op.new_constant("bias", np.zeros(units, np.int32))
    return [
        op.call(
            "SVDF",
            (*op.input_numbers[:3], bias, op.input_numbers[4]),
            (op.output_numbers[0], op.input_numbers[4]),
            rank=op.option("rank"),
            input_zero_point=op.zero_point(values),
            output_zero_point=op.zero_point(op.output()),
            state_zero_point=op.zero_point(state),
            feature_multiplier=feature_scale[0],
            feature_shift=feature_scale[1],
            output_multiplier=output_scale[0],
            output_shift=output_scale[1],
        )
    ]


def convolution_shape(op: BoundOperator) -> list[Shape]:
    """CONV_2D, grouped where the weights are less deep than the input."""
    inputs, (channels, rows, columns, depth) = op.shape(0, 4), op.shape(1, 4)
    op.require(
        depth > 0 and inputs[3] % depth == 0 and channels % (inputs[3] // depth) == 0,
        f"weights {list(op.shape(1))} do not fit an input with {inputs[3]} channels",
    )
    _check_bias(op, 2, channels)
    grid = window_grid(op, inputs, dilated(op, rows, "h"), dilated(op, columns, "w"))
    return [(*grid, channels)]


def depthwise_shape(op: BoundOperator) -> list[Shape]:
    """DEPTHWISE_CONV_2D."""
    inputs, (one, rows, columns, channels) = op.shape(0, 4), op.shape(1, 4)
    multiplier = op.option("depth_multiplier")
    op.require(
        one == 1 and channels == inputs[3] * multiplier,
        f"weights {list(op.shape(1))} do not fit {inputs[3]} channels times multiplier {multiplier}",
    )
    _check_bias(op, 2, channels)
    grid = window_grid(op, inputs, dilated(op, rows, "h"), dilated(op, columns, "w"))
    return [(*grid, channels)]


def fully_connected_shape(op: BoundOperator) -> list[Shape]:
    """FULLY_CONNECTED: the input is cut into rows as deep as the weights."""
    inputs, (units, depth) = op.shape(0), op.shape(1, 2)
    elements = math.prod(inputs)
    op.require(
        depth > 0 and elements % depth == 0,
        f"its input must be rows of {depth} elements, as its weights are (got {elements} elements)",
    )
    _check_bias(op, 2, units)
    if not op.option("keep_num_dims"):
        return [(elements // depth, units)]
    op.require(
        inputs[-1:] == (depth,), f"the input's last dimension must be {depth} (got shape {list(inputs)})"
    )
    return [(*inputs[:-1], units)]


def transpose_convolution_shape(op: BoundOperator) -> list[Shape]:
    """TRANSPOSE_CONV: the output asked for must be one whose convolution gives the input."""
    (channels, rows, columns, depth), inputs = op.shape(1, 4), op.shape(2, 4)
    output = tuple(op.integers(0))
    fits = len(output) == 4 and all(size > 0 for size in output) and output[3] == channels
    fits = fits and depth == inputs[3]
    fits = fits and window_grid(op, output, rows, columns) == inputs[:3]
    op.require(
        fits, f"output {list(output)}, weights {list(op.shape(1))} and input {list(inputs)} do not fit"
    )
    _check_bias(op, 3, channels)
    return [output]


def svdf_shape(op: BoundOperator) -> list[Shape]:
    """SVDF with its state."""
    (batch, depth), (filters, weights_depth) = op.shape(0, 2), op.shape(1, 2)
    rank, (time_filters, memory) = op.option("rank"), op.shape(2, 2)
    op.require(
        rank >= 1 and filters % rank == 0, f"rank must divide the number of filters, {filters} (got {rank})"
    )
    fits = depth == weights_depth and time_filters == filters
    fits = fits and op.input(4).elements == batch * filters * memory
    op.require(
        fits,
        f"input {[batch, depth]}, weights {[filters, weights_depth]} and {[time_filters, memory]}, "
        f"state {list(op.shape(4))} do not fit",
    )
    _check_bias(op, 3, filters // rank)
    return [(batch, filters // rank)]


def _check_bias(op: BoundOperator, position: int, channels: int) -> None:
    if op.has(position):
        count = op.input(position).elements
        op.require(count == channels, f"it must have {channels} biases, one per output channel (got {count})")


def dense_macs(op: BoundOperator) -> int:
    """Multiply-accumulates of CONV_2D and FULLY_CONNECTED, padding included as the PEs do it."""
    return op.output().elements * math.prod(op.shape(1)[1:])


def depthwise_macs(op: BoundOperator) -> int:
    """Multiply-accumulates of DEPTHWISE_CONV_2D, padding included."""
    return op.output().elements * math.prod(op.shape(1)[1:3])


def transpose_macs(op: BoundOperator) -> int:
    """Multiply-accumulates of TRANSPOSE_CONV: each input pixel meets all weights."""
    return op.input(2).elements // op.shape(1)[3] * math.prod(op.shape(1))
