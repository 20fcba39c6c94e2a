"""Gemm, MatMul with weights, and biases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.onnx.onnx_conversions import weights_of
from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_values import Array, OnnxActivation, OnnxConstant, RefusedError, plain


def fully_connected(converter: Converter, node: OnnxNode) -> None:
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
    converter.store(node, OnnxActivation(result, shape, plain(len(shape)), target.quantization))


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
