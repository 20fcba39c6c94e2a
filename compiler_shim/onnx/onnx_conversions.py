"""QuantizeLinear and DequantizeLinear, between which everything else stands."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.network.graph import UNSIGNED_OFFSET, Quantization
from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_scales import OFFSETS, OFFSETS_OF_EIGHT_BITS
from dlasim.compiler_shim.onnx.onnx_values import (
    Array,
    Known,
    NoIntegerFormError,
    OnnxConstant,
    RealInput,
    RefusedError,
)


def quantize(converter: Converter, node: OnnxNode) -> Known:
    """QuantizeLinear: of an input, of a constant, or of what an operator computed."""
    value = converter.value(node)
    name = node.outputs[0]
    if isinstance(value, OnnxConstant):
        return _quantized_constant(converter, node, value)
    quantization, dtype = converter.wide_parameters(node)
    if isinstance(value, RealInput) and value.dtype not in ("float32", "float16"):
        raise RefusedError(f"the network's input is {value.dtype}, not float32")
    given = converter.activation(node)
    is_narrow = dtype in OFFSETS_OF_EIGHT_BITS
    rounded = converter.in_eight_bits if is_narrow else converter.in_sixteen_bits
    done = rounded(given, quantization, name)
    converter.trace(name, done, OFFSETS[dtype])
    return done


def _quantized_constant(converter: Converter, node: OnnxNode, value: OnnxConstant) -> OnnxConstant:
    """Weights that the file quantizes at run time."""
    found, dtype = converter.raw_parameters(node)
    if dtype not in OFFSETS:
        raise RefusedError(f"a constant of {dtype} is not supported")
    shape = [1] * value.real.ndim
    axis = found.axis % max(value.real.ndim, 1)
    if found.per_channel:
        if value.real.ndim == 0 or value.real.shape[axis] != len(found.scales):
            raise RefusedError(
                f"it has {len(found.scales)} scales along axis {axis} of shape {list(value.real.shape)}"
            )
        shape[axis] = len(found.scales)
    steps = value.real.astype(np.float32) / np.array(found.scales, np.float32).reshape(shape)
    numbers = np.rint(np.nan_to_num(steps).clip(-1e6, 1e6)) + np.array(found.zero_points).reshape(shape)
    limits = np.iinfo(dtype)
    data = np.clip(numbers, limits.min, limits.max).astype(dtype)
    return OnnxConstant(data, Quantization(found.scales, found.zero_points, axis))


def dequantize(converter: Converter, node: OnnxNode) -> Known:
    """DequantizeLinear: from here on the same numbers stand for real ones."""
    value = converter.value(node)
    name = node.outputs[0]
    if isinstance(value, OnnxConstant):
        return _dequantized_constant(converter, node, value)
    quantization, dtype = converter.wide_parameters(node)
    if isinstance(value, RealInput) and value.dtype not in OFFSETS_OF_EIGHT_BITS:
        raise RefusedError(f"the network's input is {value.dtype}, not 8 bits")
    value = converter.activation(node)
    if dtype not in OFFSETS_OF_EIGHT_BITS and value.quantization == quantization:
        return converter.settle(node, converter.in_float32(value, name))
    if value.dtype != "int8" or value.curve is not None or value.quantization != quantization:
        raise RefusedError("its scale or zero point differs from that of the tensor it reads")
    return value


def _in_blocks(converter: Converter, node: OnnxNode, value: OnnxConstant, block: int) -> OnnxConstant:
    """A constant with a scale for each so many numbers along a dimension, as real numbers."""
    data, scales = value.data, converter.constant(node, 1).data
    points = converter.constant(node, 2).data if converter.has(node, 2) else np.zeros_like(scales, np.int8)
    axis = node.attributes.get("axis", 1)
    fits = data.ndim == scales.ndim == points.ndim and -data.ndim <= axis < data.ndim and block > 0
    fits = fits and points.shape == scales.shape and data.dtype.name in OFFSETS_OF_EIGHT_BITS
    if not fits or any(
        -(-size // (block if place == axis % data.ndim else 1)) != count
        for place, (size, count) in enumerate(zip(data.shape, scales.shape, strict=True))
    ):
        raise RefusedError(f"blocks of {block}, scales {list(scales.shape)} do not fit {list(data.shape)}")
    places = np.arange(data.shape[axis]) // block
    real = data.astype(np.float32) - np.take(points, places, axis).astype(np.float32)
    return OnnxConstant(real * np.take(scales, places, axis).astype(np.float32))


def _dequantized_constant(converter: Converter, node: OnnxNode, value: OnnxConstant) -> OnnxConstant:
    if block := node.attributes.get("block_size", 0):
        return _in_blocks(converter, node, value, block)
    found, _ = converter.raw_parameters(node)
    if value.quantization is not None:
        value = OnnxConstant(value.data)  # a constant that the file quantized itself: the same scales
    if value.data.dtype.name not in (*OFFSETS, "int32"):
        raise RefusedError(f"a constant of {value.data.dtype.name} is not supported")
    rank = value.data.ndim
    axis = found.axis % max(rank, 1) if found.per_channel else 0
    if found.per_channel and (rank == 0 or value.data.shape[axis] != len(found.scales)):
        raise RefusedError(
            f"it has {len(found.scales)} scales along axis {axis} of shape {list(value.data.shape)}"
        )
    limits = np.iinfo(value.data.dtype)
    if not all(limits.min <= point <= limits.max for point in found.zero_points):
        raise RefusedError("its zero points are out of range")
    return OnnxConstant(value.data, Quantization(found.scales, found.zero_points, axis))


def scale_bias(converter: Converter, node: OnnxNode) -> Known:
    """The bias of an operator on integers: its scale is that of the input times those of the weights."""
    bias, source, weights = (converter.constant(node, position).data for position in range(3))
    if bias.dtype != np.int32 or source.size != 1 or weights.size not in (1, bias.size):
        raise RefusedError("its bias must be int32, with a scale for each channel or one for all")
    scales = (source.astype(np.float64).ravel()[0] * weights.astype(np.float64).ravel()).tolist()
    if not all(0 < scale < 3e38 for scale in scales):
        raise RefusedError("the scale of its bias must be finite and above 0")
    return OnnxConstant(bias.ravel(), Quantization(tuple(scales), (0,) * len(scales)))


def weights_of(constant: OnnxConstant) -> tuple[Array, Quantization]:
    """Weights as TensorFlow has them: int8 with zero points of 0, or else uint8 with one zero point."""
    found = constant.quantization
    if found is None or constant.data.dtype.name not in ("int8", "uint8"):
        raise NoIntegerFormError("its weights are not quantized to 8 bits")
    data, points = constant.data, set(found.zero_points)
    if data.dtype == np.uint8 and points == {UNSIGNED_OFFSET}:
        data, points = (data.astype(np.int16) - UNSIGNED_OFFSET).astype(np.int8), {0}
    if data.dtype == np.int8 and points == {0}:
        return data, Quantization(found.scales, (0,) * len(found.scales), found.axis)
    if data.dtype == np.int8:
        data = (data.astype(np.int16) + UNSIGNED_OFFSET).astype(np.uint8)
        points = {point + UNSIGNED_OFFSET for point in points}
    if len(points) > 1:
        raise RefusedError("its weights have several zero points: quantize them symmetrically, as int8")
    return data, Quantization(found.scales, tuple(points) * len(found.scales), found.axis)


CONVERSIONS = {"QuantizeLinear": quantize, "DequantizeLinear": dequantize, "BiasScale": scale_bias}
