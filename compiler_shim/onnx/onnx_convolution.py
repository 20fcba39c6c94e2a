"""Conv, ConvTranspose, BatchNormalization that no convolution took in, and products with constant weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.onnx.onnx_conversions import weights_of
from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_scales import ResultScale
from dlasim.compiler_shim.onnx.onnx_values import (
    Array,
    Known,
    NoIntegerFormError,
    OnnxActivation,
    OnnxConstant,
    RefusedError,
    channels_last,
    plain,
)
from dlasim.compiler_shim.onnx.onnx_windows import Windows, finished, square, windows, written_padding


def convolution(converter: Converter, node: OnnxNode) -> Known:
    """Conv: dense, grouped or depthwise; over two dimensions or one."""
    value, name = converter.exact(node), node.outputs[0]
    data, scales = weights_of(converter.constant(node, 1))
    if data.ndim not in (3, 4) or len(value.shape) != data.ndim:
        raise RefusedError(f"weights {list(data.shape)} do not fit an input of shape {list(value.shape)}")
    group, depth = node.attributes.get("group", 1), value.shape[1]
    if (
        group < 1
        or depth % group
        or data.shape[0] % group
        or data.shape[1] != depth // group
        or not data.size
    ):
        raise RefusedError(f"weights {list(data.shape)} in {group} groups do not fit {depth} channels")
    kernel = tuple(node.attributes.get("kernel_shape", ())) or data.shape[2:]
    if kernel != data.shape[2:]:
        raise RefusedError(f"kernel_shape is {list(kernel)[:8]}, but its weights are {list(data.shape)}")
    if scales.per_channel and scales.axis != 0:
        raise RefusedError("its weights must be quantized per tensor or per output channel")
    found = windows(node, data.shape[2:], value.shape[2:])
    target = converter.target(node)
    image, is_line = square(converter, value, name)
    if data.ndim == 3:
        data = data[:, :, None, :]
    number = (
        image.number
        if found.is_same or not found.is_padded
        else written_padding(converter, image, found, name, None)
    )
    bias = bias_of(converter, node, value.quantization, scales, data.shape[0])
    result = _convolve(
        converter, node, number, data, scales, bias, found, target, group if group == depth else 1
    )
    return converter.store(node, finished(converter, node, result, target.quantization, is_line))


def _convolve(
    converter: Converter,
    node: OnnxNode,
    number: int,
    data: Array,
    scales: Quantization,
    bias: int | None,
    found: Windows,
    target: ResultScale,
    depthwise: int,
) -> int:
    """The operator; `depthwise` is the number of channels where each has weights of its own, else 1."""
    name = node.outputs[0]
    is_depthwise = depthwise > 1
    data = data.transpose(1, 2, 3, 0) if is_depthwise else data.transpose(0, 2, 3, 1)
    axis = 3 if is_depthwise else 0
    weights = converter.eight_bits(
        f"{name}/weights", np.ascontiguousarray(data), replace(scales, axis=axis if scales.per_channel else 0)
    )
    options = {"depth_multiplier": data.shape[3] // depthwise} if is_depthwise else {}
    return converter.finish(
        node, "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D", [number, weights, bias], target, True,
        padding="SAME" if found.is_same and found.is_padded else "VALID",
        stride_h=found.stride[0], stride_w=found.stride[1],
        dilation_h_factor=found.dilation[0], dilation_w_factor=found.dilation[1], **options,
    )  # fmt: skip


def transposed_convolution(converter: Converter, node: OnnxNode) -> Known:
    """ConvTranspose over two dimensions or one: all that windows reach, then without the padding."""
    value, name, at = converter.exact(node), node.outputs[0], node.attributes
    data, scales = weights_of(converter.constant(node, 1))
    if data.ndim == 3:
        data = data[:, :, None, :]
    spread, group = len(value.shape) - 2, at.get("group", 1)
    if data.ndim != 4 or spread not in (1, 2) or data.shape[0] != value.shape[1] or not data.size:
        raise RefusedError(f"weights {list(data.shape)} do not fit an input of shape {list(value.shape)}")
    if group != 1 or max(at.get("dilations", ()), default=1) > 1 or at.get("output_shape"):
        raise NoIntegerFormError("groups, dilation and output_shape are not supported")
    if scales.per_channel and scales.axis != 1:
        raise RefusedError("its weights must be quantized per tensor or per output channel")
    stride, pads, extra = (
        _two(at.get(key, (default,) * count), spread, default)
        for key, default, count in (
            ("strides", 1, spread),
            ("pads", 0, 2 * spread),
            ("output_padding", 0, spread),
        )
    )
    if (
        at.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID", "")
        or min(stride) < 1
        or max(stride) > 1 << 15
    ):
        raise RefusedError("its strides or auto_pad are not supported")
    target = converter.target(node)
    image, is_line = square(converter, value, name)
    batch, rows, columns, _ = image.stored
    kernel, channels = data.shape[2:], data.shape[1]
    whole = [
        (size - 1) * step + span for size, step, span in zip((rows, columns), stride, kernel, strict=True)
    ]
    sizes = [size - pads[place] - pads[place + 2] + extra[place] for place, size in enumerate(whole)]
    if min(pads) < 0 or min(sizes) < 1 or any(size + pads[p] > whole[p] for p, size in enumerate(sizes)):
        raise NoIntegerFormError(f"its pads and output_padding do not fit {whole}")
    quantization = replace(scales, axis=0)
    weights = converter.eight_bits(
        f"{name}/weights", np.ascontiguousarray(data.transpose(1, 2, 3, 0)), quantization
    )
    bias = bias_of(converter, node, value.quantization, scales, channels)
    shape = converter.numbers(f"{name}/shape", [batch, *whole, channels])
    inputs = [shape, weights, image.number] if bias is None else [shape, weights, image.number, bias]
    number = converter.finish(
        node, "TRANSPOSE_CONV", inputs, target, True, padding="VALID", stride_h=stride[0], stride_w=stride[1]
    )
    if sizes != whole:
        begin = converter.numbers(f"{name}/begin", [0, pads[0], pads[1], 0])
        size = converter.numbers(f"{name}/size", [batch, *sizes, channels])
        number = converter.emit("SLICE", [number, begin, size], target.quantization, f"{name}/cut")
    return converter.store(node, finished(converter, node, number, target.quantization, is_line))


def _two(given: Sequence[int], spread: int, default: int) -> list[int]:
    """An attribute of one dimension or two as of two; of pads, those before and then those behind."""
    if len(given) not in (spread, 2 * spread):
        raise RefusedError(f"its attributes do not fit {spread} dimensions")
    if spread == 2:
        return list(given)
    return [number for one in given for number in (default, one)]


def batch_normalization(converter: Converter, node: OnnxNode) -> Known:
    """BatchNormalization that no convolution took in: a factor and an offset for each channel."""
    value = converter.exact(node)
    gamma, beta, mean, variance = (
        converter.constant(node, p).real.astype(np.float64).ravel() for p in (1, 2, 3, 4)
    )
    if len(value.shape) < 2 or any(item.size != value.shape[1] for item in (gamma, beta, mean, variance)):
        raise RefusedError(f"its parameters do not fit {list(value.shape)}")
    factor = gamma / np.sqrt(np.maximum(variance, 0) + node.attributes.get("epsilon", 1e-5))
    if not np.isfinite(factor).all():
        raise NoIntegerFormError("its factors are not finite")
    target = converter.target(node)
    number = scaled_channels(converter, node, value, factor, beta - mean * factor, target)
    return converter.store(node, number)


def scaled_channels(
    converter: Converter,
    node: OnnxNode,
    value: OnnxActivation,
    factor: Array,
    offset: Array,
    target: ResultScale,
) -> OnnxActivation:
    """A factor and an offset for each channel, as a depthwise convolution of single pixels."""
    name = node.outputs[0]
    value = converter.image(value, name)
    channels = value.shape[1]
    stored = value.stored
    pixels = int(np.prod(stored[1:-1]))
    flat = converter.reshape(value, (stored[0], 1, pixels, channels), f"{name}/pixels")
    weights = _weights_for_offsets(factor, offset, value.quantization.scale)
    scales = np.maximum(np.abs(factor) / weights, 1e-30)
    data = np.rint(factor / scales).astype(np.int8).reshape(1, 1, 1, channels)
    quantization = Quantization(tuple(float(np.float32(s)) for s in scales), (0,) * channels, 3)
    if channels == 1:
        quantization = Quantization(quantization.scales, (0,))
    products = converter.eight_bits(f"{name}/weights", data, quantization)
    bias = bias_constant(
        converter, node, OnnxConstant(np.asarray(offset)), value.quantization, quantization, channels
    )
    number = converter.finish(
        node, "DEPTHWISE_CONV_2D", [flat, products, bias], target, True, padding="VALID", depth_multiplier=1
    )
    result = replace(value, number=number, shape=(stored[0], channels, 1, pixels), order=channels_last(4),
                     quantization=target.quantization)  # fmt: skip
    number = converter.reshape(result, stored, f"{name}/image")
    return replace(value, number=number, quantization=target.quantization)


_MIN_WEIGHT, _MAX_WEIGHT = 64, 127


def _weights_for_offsets(factor: Array, offset: Array, scale: float) -> Array:
    """The weight of each channel, a step of which is factor / weight: the one whose steps, times the input's
    scale, come nearest to the offset."""
    weights = np.arange(_MIN_WEIGHT, _MAX_WEIGHT + 1)
    with np.errstate(all="ignore"):
        steps = np.nan_to_num((offset / (np.abs(factor) * scale))[:, None] * weights)
    errors = np.abs(steps - np.rint(steps)) / weights
    chosen: Array = weights[np.argmin(errors, axis=1)]
    return chosen


CONVOLUTIONS = {
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "BatchNormalization": batch_normalization,
}


def fully_connected(converter: Converter, node: OnnxNode) -> Known:
    """Gemm and MatMul with constant weights."""
    value, name = converter.exact(node), node.outputs[0]
    at = node.attributes
    constant = converter.constant(node, 1)
    data, scales = weights_of(constant)
    is_scaled = at.get("alpha", 1.0) != 1.0 or (at.get("beta", 1.0) != 1.0 and converter.has(node, 2))
    if node.kind == "Gemm" and (is_scaled or at.get("transA")):
        raise RefusedError("alpha and beta must be 1, and its first operand not transposed")
    if data.ndim != 2:
        raise RefusedError(f"its weights must have 2 dimensions (got shape {list(data.shape)})")
    is_turned = bool(at.get("transB", 0)) and node.kind == "Gemm"
    if scales.per_channel and scales.axis % 2 != (0 if is_turned else 1):
        raise RefusedError("its weights must be quantized per tensor or per output channel")
    data = data if is_turned else data.T
    units, depth = data.shape
    if not value.shape or value.shape[-1] != depth or len(value.shape) < 2 or not data.size:
        raise RefusedError(f"weights for rows of {depth} do not fit an input of shape {list(value.shape)}")
    target = converter.target(node)
    number, data = _rows(converter, value, data, name)
    weights = converter.eight_bits(f"{name}/weights", np.ascontiguousarray(data), replace(scales, axis=0))
    bias = bias_of(converter, node, value.quantization, scales, units) if node.kind == "Gemm" else None
    keeps = len(value.shape) > 2
    result = converter.finish(
        node, "FULLY_CONNECTED", [number, weights, bias], target, True, keep_num_dims=keeps
    )
    shape = (*value.shape[:-1], units)
    return converter.store(node, OnnxActivation(result, shape, plain(len(shape)), target.quantization))


def _rows(converter: Converter, value: OnnxActivation, data: Array, name: str) -> tuple[int, Array]:
    """The input in rows, and the weights in the order in which it stores what a Flatten flattened."""
    source = value.source
    if source is None or source.order[0] != 0 or source.shape[0] != value.shape[0] or len(value.shape) != 2:
        return converter.ordered(value, plain(len(value.shape)), name).number, data
    places = np.arange(data.shape[1]).reshape(source.shape[1:])
    places = places.transpose([axis - 1 for axis in source.order[1:]]).ravel()
    return converter.reshape(source, value.shape, f"{name}/rows"), data[:, places]


def bias_of(
    converter: Converter, node: OnnxNode, source: Quantization, weights: Quantization, channels: int
) -> int | None:
    """The bias in steps of input scale times weight scale."""
    if not converter.has(node, 2):
        return None
    return bias_constant(converter, node, converter.constant(node, 2), source, weights, channels)


def bias_constant(
    converter: Converter,
    node: OnnxNode,
    bias: OnnxConstant,
    source: Quantization,
    weights: Quantization,
    channels: int,
) -> int:
    """As int32; its own integers where its scale is the product of the two."""
    if bias.data.size not in (1, channels):
        raise RefusedError(f"it must have {channels} biases, one per output channel (got {bias.data.size})")
    scales = np.float64(source.scale) * np.array(weights.scales, np.float64)
    own = np.array(bias.quantization.scales) if bias.quantization is not None else np.zeros(1)
    if bias.data.dtype == np.int32 and np.allclose(own, scales, rtol=1e-5, atol=0):
        data = bias.data.ravel()
    else:
        steps = bias.real.ravel().astype(np.float64) / scales
        data = np.rint(np.nan_to_num(steps).clip(-(2**31), 2**31 - 1)).astype(np.int32)
    data = np.broadcast_to(data, (channels,))
    kept = np.maximum(np.broadcast_to(scales, (channels,)), 1e-38)
    return converter.builder.constant(f"{node.outputs[0][:60]}/bias", data, scale=kept.tolist(), axis=0)
