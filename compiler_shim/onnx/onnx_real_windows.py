"""Convolutions and pools in float32: what lies under each tap of the window, as a tensor of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

import numpy as np

from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_float import real_of, settle
from dlasim.compiler_shim.onnx.onnx_pooling import kernel_of
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_real import Real
from dlasim.compiler_shim.onnx.onnx_values import Array, Known, RefusedError, channels_last
from dlasim.compiler_shim.onnx.onnx_windows import Windows, windows

_MAX_TAPS = 256
_LOWEST = float(np.finfo(np.float32).min)


def convolution(converter: Converter, node: OnnxNode) -> Known:
    """Conv."""
    image, is_line = _image(converter, node)
    weights, group = _weights(converter, node, is_line), node.attributes.get("group", 1)
    channels, depth = weights.shape[0], image.shape[3]
    if group < 1 or channels % group or depth != weights.shape[1] * group or not prod(weights.shape):
        raise RefusedError(f"weights {list(weights.shape)} in {group} groups do not fit {depth} channels")
    found = windows(node, weights.shape[2:][is_line:], image.shape[1:3][is_line:])
    return _finish(converter, node, _products(_taps(image, found, 0.0), weights, group), is_line)


def transposed_convolution(converter: Converter, node: OnnxNode) -> Known:
    """ConvTranspose: a convolution of the image with zeros between its pixels, by weights turned around."""
    image, is_line = _image(converter, node)
    weights, at = _weights(converter, node, is_line), node.attributes
    spread = 1 if is_line else 2
    if weights.shape[0] != image.shape[3] or at.get("group", 1) != 1 or at.get("output_shape"):
        raise RefusedError("groups and output_shape are not supported")
    if at.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        raise RefusedError("its auto_pad is not supported")
    steps, dilations, extra = (
        (*(default,) * (2 - spread), *at.get(name, (default,) * spread))
        for name, default in (("strides", 1), ("dilations", 1), ("output_padding", 0))
    )
    pads = at.get("pads", (0,) * 2 * spread)
    if not len(steps) == len(dilations) == len(extra) == 2 or len(pads) != 2 * spread:
        raise RefusedError("its attributes do not fit its input")
    before, after = (0,) * (2 - spread) + tuple(pads[:spread]), (0,) * (2 - spread) + tuple(pads[spread:])
    kernel = weights.shape[2], weights.shape[3]
    reach = [(span - 1) * dilation for span, dilation in zip(kernel, dilations, strict=True)]
    edges = [(r - b, r - a + e) for r, b, a, e in zip(reach, before, after, extra, strict=True)]
    if min(*steps, *dilations) < 1 or min(min(pair) for pair in edges) < 0 or max(steps) > 1 << 10:
        raise RefusedError("its strides, dilations or pads are not supported")
    batch, rows, columns, depth = image.shape
    spaced = image.reshaped((batch, rows, 1, columns, 1, depth))
    spaced = spaced.padded([(0, 0), (0, 0), (0, steps[0] - 1), (0, 0), (0, steps[1] - 1), (0, 0)], 0.0)
    spaced = spaced.reshaped((batch, rows * steps[0], columns * steps[1], depth))
    # The zeros behind the last pixel are part of what the padding adds.
    edges = [(first, last - (step - 1)) for (first, last), step in zip(edges, steps, strict=True)]
    spaced = spaced.cropped_or_padded(edges)
    ones = (1, 1)
    found = Windows(kernel, ones, (dilations[0], dilations[1]), (0, 0), (0, 0), False)
    data = np.asarray(converter.constant(node, 1).real, np.float32).reshape(weights.shape)
    turned = image.constant(np.flip(data.transpose(1, 0, 2, 3), (2, 3)))
    return _finish(converter, node, _products(_taps(spaced, found, 0.0), turned, 1), is_line)


def pool(converter: Converter, node: OnnxNode) -> Known:
    """MaxPool and AveragePool."""
    image, is_line = _image(converter, node)
    if len(node.outputs) > 1 and any(node.outputs[1:]):
        raise RefusedError("indices are not supported")
    found = windows(node, kernel_of(node), image.shape[1:3][is_line:])
    is_maximum = node.kind == "MaxPool"
    taps = _taps(image, found, _LOWEST if is_maximum else 0.0)
    join: Callable[[Real, Real], Real] = Real.at_least if is_maximum else Real.__add__
    result = reduce(join, taps)
    if not is_maximum:
        counts = image.constant(
            _counts(found, image.shape, bool(node.attributes.get("count_include_pad", 0)))
        )
        result = result / counts
    return _store(converter, node, result, is_line)


def _counts(found: Windows, shape: Sequence[int], counts_padding: bool) -> Array:
    """How many pixels each window averages."""
    if counts_padding:
        return np.full((1, 1, 1, 1), prod(found.kernel), np.float32)
    sides = []
    for axis, size in enumerate(shape[1:3]):
        count = (
            found.before[axis]
            + size
            + found.after[axis]
            - (found.kernel[axis] - 1) * found.dilation[axis]
            - 1
        )
        places = np.arange(count // found.stride[axis] + 1)[:, None] * found.stride[axis] - found.before[axis]
        places = places + np.arange(found.kernel[axis]) * found.dilation[axis]
        sides.append(((places >= 0) & (places < size)).sum(axis=1))
    return np.asarray(np.outer(*sides)[None, :, :, None], np.float32)


def _image(converter: Converter, node: OnnxNode) -> tuple[Real, bool]:
    """The first input with its channels last, and whether it had columns only."""
    given = real_of(converter, node)
    if len(given.shape) not in (3, 4):
        raise RefusedError(f"its input has {len(given.shape)} dimensions; images have 3 or 4")
    is_line = len(given.shape) == 3
    if is_line:
        given = given.reshaped((*given.shape[:2], 1, given.shape[2]))
    return given.transposed(channels_last(4)), is_line


def _weights(converter: Converter, node: OnnxNode, is_line: bool) -> Real:
    weights = real_of(converter, node, 1)
    if len(weights.shape) != (3 if is_line else 4):
        raise RefusedError(f"weights {list(weights.shape)} do not fit its input")
    return weights.reshaped((*weights.shape[:2], 1, weights.shape[2])) if is_line else weights


def _taps(image: Real, found: Windows, filler: float) -> list[Real]:
    """For each tap of the window, the pixels that it meets."""
    if prod(found.kernel) > _MAX_TAPS:
        raise RefusedError(f"in float32, its window may have {_MAX_TAPS} pixels (got {prod(found.kernel)})")
    sides = list(zip(found.before, found.after, strict=True))
    image = image.padded([(0, 0), *sides, (0, 0)], filler)
    counts = [
        (size - (span - 1) * dilation - 1) // stride + 1
        for size, span, dilation, stride in zip(
            image.shape[1:3], found.kernel, found.dilation, found.stride, strict=True
        )
    ]
    return [
        image.every((row * found.dilation[0], column * found.dilation[1]), found.stride, counts)
        for row in range(found.kernel[0])
        for column in range(found.kernel[1])
    ]


def _products(taps: Sequence[Real], weights: Real, group: int) -> Real:
    """Sums of products with weights of [output channels, input channels of a group, rows, columns]."""
    channels, depth, rows, columns = weights.shape
    flat = weights.transposed((0, 2, 3, 1)).reshaped((channels, rows * columns, depth))
    if depth == 1 and channels == group:
        parts = [tap * flat.part(1, place, 1).reshaped((channels,)) for place, tap in enumerate(taps)]
        return reduce(Real.__add__, parts)
    size, results = channels // group, []
    for number in range(group):
        mine = [tap.part(3, number * depth, depth) for tap in taps]
        rows_of = flat.part(0, number * size, size).reshaped((size, rows * columns * depth))
        results.append(mine[0].joined(mine[1:], 3).times_rows(rows_of))
    return results[0].joined(results[1:], 3)


def _finish(converter: Converter, node: OnnxNode, result: Real, is_line: bool) -> Known:
    if converter.has(node, 2):
        result = result + real_of(converter, node, 2)
    return _store(converter, node, result, is_line)


def _store(converter: Converter, node: OnnxNode, result: Real, is_line: bool) -> Known:
    if is_line:
        batch, _, columns, channels = result.shape
        result = result.reshaped((batch, columns, channels))
    return settle(converter, node, result, channels_last(len(result.shape)))


REAL_WINDOWS = {
    "AveragePool": pool,
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "MaxPool": pool,
}
