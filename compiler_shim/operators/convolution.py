"""Operators with weights."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.graph import Tensor
from dlasim.compiler_shim.operators.bound import HostCall, Site
from dlasim.compiler_shim.operators.windows import padding_before, window_attributes
from dlasim.sim.numerics import quantize_multiplier


def convolution(site: Site) -> list[HostCall]:
    """CONV_2D."""
    return [_windowed(site, "CONV_2D", channel_axis=0)]


def depthwise(site: Site) -> list[HostCall]:
    """DEPTHWISE_CONV_2D."""
    return [_windowed(site, "DEPTHWISE_CONV_2D", channel_axis=3)]


def _windowed(site: Site, name: str, channel_axis: int) -> HostCall:
    _check(site, site.input(0), site.input(1))
    weights = site.input(1)
    return site.call(
        name,
        (*site.operator.inputs[:2], _records(site, site.input(0), weights, 2, weights.shape[channel_axis])),
        **window_attributes(site, weights.shape[1], weights.shape[2]),
        dilation_height=site.option("dilation_h_factor", 1),
        dilation_width=site.option("dilation_w_factor", 1),
        input_zero_point=site.zero_point(site.input(0)),
        output_zero_point=site.zero_point(site.output()),
        **site.clamp(),
    )


def fully_connected(site: Site) -> list[HostCall]:
    """FULLY_CONNECTED."""
    weights_format = site.option("weights_format", "DEFAULT")
    site.require(weights_format == "DEFAULT", f"weights_format {weights_format} is not supported")
    values, weights = site.input(0), site.input(1)
    _check(site, values, weights)
    return [
        site.call(
            "FULLY_CONNECTED",
            (*site.operator.inputs[:2], _records(site, values, weights, 2, weights.shape[0])),
            input_zero_point=site.zero_point(values),
            output_zero_point=site.zero_point(site.output()),
            **site.clamp(),
        )
    ]


def transpose_convolution(site: Site) -> list[HostCall]:
    """TRANSPOSE_CONV: padded as the convolution from its output to its input would be."""
    weights, values, output = site.input(1), site.input(2), site.output()
    _check(site, values, weights)
    strides = (site.option("stride_h", 1), site.option("stride_w", 1))
    padding = site.option("padding", "SAME")
    before = [
        padding_before(padding, output.shape[axis], weights.shape[axis], stride)
        for axis, stride in zip((1, 2), strides, strict=True)
    ]
    return [
        site.call(
            "TRANSPOSE_CONV",
            (
                site.operator.inputs[2],
                site.operator.inputs[1],
                _records(site, values, weights, 3, weights.shape[0]),
            ),
            stride_height=strides[0],
            stride_width=strides[1],
            pad_top=before[0],
            pad_left=before[1],
            input_zero_point=site.zero_point(values),
            output_zero_point=site.zero_point(output),
            **site.clamp(),
        )
    ]


def _check(site: Site, values: Tensor, weights: Tensor) -> None:
    for tensor in (values, weights, site.output()):
        site.types(tensor, "int8")
    zero_points = set(site.quantization(weights).zero_points)
    site.require(zero_points == {0}, f"weights {weights.name} have zero points other than 0: {zero_points}")


def _records(site: Site, values: Tensor, weights: Tensor, bias_position: int, channels: int) -> Tensor:
    """Bias, multiplier and shift of each output channel."""
    scales = np.array(site.quantization(weights).scales, np.float64)
    site.require(
        len(scales) in (1, channels), f"{weights.name} has {len(scales)} scales for {channels} channels"
    )
    # In float64 throughout, FULLY_CONNECTED too: as TFLite Micro does it since it left float32.
    effective_scales = site.scale(values) * np.broadcast_to(scales, channels) / site.scale(site.output())
    records = np.zeros((channels, 3), np.int32)
    if site.has(bias_position):
        bias = site.input(bias_position)
        site.types(bias, "int32")
        data = site.constant(bias_position).ravel()
        site.require(len(data) == len(records), f"{len(data)} biases for {len(records)} channels")
        records[:, 0] = data
    records[:, 1:] = [quantize_multiplier(float(scale)) for scale in effective_scales]
    return site.new_constant("records", records)


def svdf(site: Site) -> list[HostCall]:
    """SVDF; its state is input and output."""
    values, feature, time, state = (site.input(position) for position in (0, 1, 2, 4))
    site.types(values, "int8")
    site.types(feature, "int8")
    site.types(state, "int8", "int16")
    site.same_types(time, state)
    activation = site.option("fused_activation_function", "NONE")
    site.require(
        activation in ("NONE", "RELU"), f"fused activation {activation}: TFLite's int8 SVDF ignores it"
    )
    feature_scale = quantize_multiplier(site.scale(values) * site.scale(feature) / site.scale(state))
    output_scale = quantize_multiplier(site.scale(state) * site.scale(time) / site.scale(site.output()))
    units = site.output().shape[-1]
    bias = site.operator.inputs[3] if site.has(3) else site.new_constant("bias", np.zeros(units, np.int32))
    return [
        site.call(
            "SVDF",
            (*site.operator.inputs[:3], bias, site.operator.inputs[4]),
            (site.operator.outputs[0], site.operator.inputs[4]),
            rank=site.option("rank", 1),
            input_zero_point=site.zero_point(values),
            output_zero_point=site.zero_point(site.output()),
            state_zero_point=site.zero_point(state),
            feature_multiplier=feature_scale[0],
            feature_shift=feature_scale[1],
            output_multiplier=output_scale[0],
            output_shift=output_scale[1],
        )
    ]
