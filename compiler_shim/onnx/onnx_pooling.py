"""Pooling, and reductions over whole dimensions."""

from __future__ import annotations

from math import prod

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_pieces import axes_of
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_values import Known, NoIntegerFormError, OnnxActivation, RefusedError
from dlasim.compiler_shim.onnx.onnx_windows import Windows, finished, square, windows, written_padding

_LOWEST = -128


def kernel_of(node: OnnxNode) -> tuple[int, ...]:
    """The window of a pool."""
    kernel = node.attributes.get("kernel_shape", ())
    if not kernel:
        raise RefusedError("it has no kernel_shape")
    return tuple(kernel)


def maximum_pool(converter: Converter, node: OnnxNode) -> Known:
    """MaxPool; padding never wins."""
    value, name = converter.exact(node), node.outputs[0]
    if len(node.outputs) > 1 or max(node.attributes.get("dilations", ()), default=1) > 1:
        raise NoIntegerFormError("indices and dilation are not supported")
    found = windows(node, kernel_of(node), value.shape[2:])
    image, is_line = square(converter, value, name)
    number = image.number
    if found.is_padded and not found.is_same:
        number = written_padding(converter, image, found, name, _LOWEST)
    result = converter.emit("MAX_POOL_2D", [number], value.quantization, name, **_pool_options(found))
    return finished(converter, node, result, value.quantization, is_line)


def _pool_options(found: Windows) -> dict[str, object]:
    return {
        "padding": "SAME" if found.is_same and found.is_padded else "VALID",
        "filter_height": found.kernel[0], "filter_width": found.kernel[1],
        "stride_h": found.stride[0], "stride_w": found.stride[1],
    }  # fmt: skip


def average_pool(converter: Converter, node: OnnxNode) -> Known:
    """AveragePool: a pool where the scale stays, else a depthwise convolution, which rounds once."""
    value, name = converter.exact(node), node.outputs[0]
    if max(node.attributes.get("dilations", ()), default=1) > 1:
        raise NoIntegerFormError("dilation is not supported")
    found = windows(node, kernel_of(node), value.shape[2:])
    target = converter.optional_target(node)
    if target is None:
        raise NoIntegerFormError("no QuantizeLinear reads its result, which has more steps than its input")
    counts_padding = bool(node.attributes.get("count_include_pad", 0))
    image, is_line = square(converter, value, name)
    is_same_scale = target == value.quantization
    if is_same_scale and not found.is_padded and prod(found.kernel) % 2 == 0:
        number = _to_even(converter, node, image.number, value, found)
    elif is_same_scale and (not found.is_padded or (found.is_same and not counts_padding)):
        number = converter.emit("AVERAGE_POOL_2D", [image.number], target, name, **_pool_options(found))
    elif found.is_padded and not counts_padding:
        raise NoIntegerFormError("it averages over parts of windows at the edge, and changes the scale")
    else:
        padded = image.number if not found.is_padded else written_padding(converter, image, found, name, None)
        number = _weighed(converter, node, padded, value, target, found)
    return finished(converter, node, number, target, is_line)


def _to_even(converter: Converter, node: OnnxNode, number: int, value: OnnxActivation, found: Windows) -> int:
    """An average whose halves go to even: the smaller of halves up and of halves down, this made even."""
    name, quantization = node.outputs[0], value.quantization
    twos = np.full((1, *found.kernel, value.shape[1]), 2, np.int8)
    scale = Quantization((float(np.float32(0.5 / prod(found.kernel))),), (0,))
    weights = converter.eight_bits(f"{name}/twos", twos, scale)
    averages = []
    for way, step in (("up", 1), ("down", -1)):  # half of what one element counts
        bias = converter.builder.constant(
            f"{name[:60]}/{way}/bias",
            np.full(value.shape[1], step, np.int32),
            scale=quantization.scale * scale.scale,
        )
        averages.append(
            converter.emit(
                "DEPTHWISE_CONV_2D", [number, weights, bias], quantization, f"{name}/{way}", padding="VALID",
                depth_multiplier=1, stride_h=found.stride[0], stride_w=found.stride[1],
            )
        )  # fmt: skip
    numbers = np.arange(-128, 128)
    even = np.minimum(numbers + (numbers - quantization.zero_point) % 2, 127).astype(np.int8)
    table = converter.eight_bits(f"{name}/even/table", even, quantization)
    down = converter.emit("TABLE", [averages[1], table], quantization, f"{name}/even")
    return converter.emit("MINIMUM", [averages[0], down], quantization, name)


def _weighed(
    converter: Converter,
    node: OnnxNode,
    number: int,
    value: OnnxActivation,
    target: Quantization,
    found: Windows,
) -> int:
    """An average as a product with ones."""
    name = node.outputs[0]
    ones = np.ones((1, *found.kernel, value.shape[1]), np.int8)
    scale = Quantization((float(np.float32(1 / (found.kernel[0] * found.kernel[1]))),), (0,))
    weights = converter.eight_bits(f"{name}/ones", ones, scale)
    return converter.emit(
        "DEPTHWISE_CONV_2D", [number, weights, None], target, name, padding="VALID", depth_multiplier=1,
        stride_h=found.stride[0], stride_w=found.stride[1],
    )  # fmt: skip


def global_pool(converter: Converter, node: OnnxNode) -> Known:
    """GlobalAveragePool and GlobalMaxPool."""
    value = converter.exact(node)
    axes = list(range(2, len(value.shape)))
    return reduce_axes(converter, node, value, axes, keeps=True)


def reduction(converter: Converter, node: OnnxNode) -> Known:
    """ReduceMean, ReduceMax, ReduceMin and ReduceSum."""
    value = converter.exact(node)
    axes = axes_of(converter, node, len(value.shape))
    return reduce_axes(converter, node, value, axes, bool(node.attributes.get("keepdims", 1)))


_REDUCTIONS = {"GlobalAveragePool": "MEAN", "ReduceMean": "MEAN", "GlobalMaxPool": "REDUCE_MAX",
               "ReduceMax": "REDUCE_MAX", "ReduceMin": "REDUCE_MIN", "ReduceSum": "SUM"}  # fmt: skip


def reduce_axes(
    converter: Converter, node: OnnxNode, value: OnnxActivation, axes: list[int], keeps: bool
) -> Known:
    """One of these operators over dimensions of the file."""
    name, kind = node.outputs[0], _REDUCTIONS[node.kind]
    value = converter.with_reshape(value, name)
    stored = sorted(value.order.index(axis) for axis in axes)
    numbers = converter.numbers(name, stored)
    shape = tuple(
        1 if axis in axes else size for axis, size in enumerate(value.shape) if keeps or axis not in axes
    )
    left = [axis for axis in range(len(value.shape)) if keeps or axis not in axes]
    order = tuple(left.index(axis) for axis in value.order if axis in left)
    inputs = [value.number, numbers]
    if kind in ("MEAN", "SUM"):
        target = converter.target(node)
        number = converter.finish(node, kind, inputs, target, False, keep_dims=keeps)
        return converter.store(node, OnnxActivation(number, shape, order, target.quantization))
    number = converter.emit(kind, inputs, value.quantization, name, keep_dims=keeps)
    return OnnxActivation(number, shape, order, value.quantization)


POOLS = {
    "MaxPool": maximum_pool,
    "AveragePool": average_pool,
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), global_pool),
    **dict.fromkeys(("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum"), reduction),
}
