"""Convolutions and matrix products of int8: exact sums by floating-point BLAS, then requantization."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlasim.sim.host.call import Array, Call
from dlasim.sim.host.windows import padded, tap_offsets, tap_views
from dlasim.sim.numerics import limit, requant, wrap32

# float32 holds every integer up to here, so sums below it are exact in any order.
_EXACT_FLOAT32 = 1 << 24
# Requantization in pieces that stay in the processor's cache.
_BLOCK_ELEMENTS = 1 << 16


def conv_2d(call: Call) -> list[Array]:
    """CONV_2D: every window as a row (im2col), one matrix product per group."""
    image, weights, records = call.inputs
    channels, height, width, depth = weights.shape
    windows = _windows(call, image, height, width)
    pixels = windows.shape[:3]
    groups = image.shape[3] // depth
    per_group = channels // groups
    sums = np.empty((*pixels, channels), np.int64)
    for group in range(groups):
        rows = windows[..., group * depth : (group + 1) * depth].reshape(-1, height * width * depth)
        chosen = slice(group * per_group, (group + 1) * per_group)
        sums[..., chosen] = exact_product(rows, weights[chosen].reshape(per_group, -1)).reshape(*pixels, -1)
    return [_finished(call, sums, records)]


def _windows(call: Call, image: Array, height: int, width: int) -> Array:
    """[N, rows, columns, KH, KW, C]: what each window sees, less the zero point; 1x1 needs no copy."""
    attributes, grid = call.attributes, call.shape[1:3]
    dilation = attributes.dilation_height, attributes.dilation_width
    extent = ((height - 1) * dilation[0] + 1, (width - 1) * dilation[1] + 1)
    centred = (image.astype(np.int16) - np.int16(attributes.input_zero_point)).astype(np.float32)
    field = padded(centred, attributes, (grid[0], grid[1]), extent, 0)
    taps = list(tap_views(field, attributes, (grid[0], grid[1]), tap_offsets(height, width, *dilation)))
    if len(taps) == 1:
        return taps[0][:, :, :, None, None]
    return np.stack(taps, axis=3).reshape(*taps[0].shape[:3], height, width, image.shape[3])


def exact_product(rows: Array, weights: Array) -> Array:
    """rows @ weights.T for integers, in float32 where that is exact, else in float64."""
    if not rows.size or not weights.size:
        return np.zeros((len(rows), len(weights)), np.int64)
    largest = int(np.abs(rows).max()) * int(np.abs(weights.astype(np.int64)).sum(axis=1).max())
    exact: type[Any] = np.float32 if largest < _EXACT_FLOAT32 else np.float64
    product: Array = rows.astype(exact, copy=False) @ weights.astype(exact).T
    return product.astype(np.int64)


def depthwise_conv_2d(call: Call) -> list[Array]:
    """DEPTHWISE_CONV_2D: tap by tap in int32, which wraps as TensorFlow's does."""
    image, weights, records = call.inputs
    _, height, width, channels = weights.shape
    attributes, grid = call.attributes, (call.shape[1], call.shape[2])
    dilation = attributes.dilation_height, attributes.dilation_width
    extent = ((height - 1) * dilation[0] + 1, (width - 1) * dilation[1] + 1)
    centred = image.astype(np.int32) - np.int32(attributes.input_zero_point)
    centred = np.repeat(centred, channels // image.shape[3], axis=3)
    field = padded(centred, attributes, grid, extent, 0)
    sums = np.zeros((image.shape[0], *grid, channels), np.int32)
    taps = tap_views(field, attributes, grid, tap_offsets(height, width, *dilation))
    for tap, factors in zip(taps, weights.reshape(-1, channels).astype(np.int32), strict=True):
        sums += tap * factors
    return [_finished(call, sums, records)]


def fully_connected(call: Call) -> list[Array]:
    """FULLY_CONNECTED."""
    values, weights, records = call.inputs
    rows = values.reshape(-1, weights.shape[1]).astype(np.int16) - np.int16(call.attributes.input_zero_point)
    return [_finished(call, exact_product(rows, weights), records)]


def transpose_conv(call: Call) -> list[Array]:
    """TRANSPOSE_CONV: each tap adds the input, weighted, to its place in a field, which is then cropped."""
    image, weights, records = call.inputs
    attributes = call.attributes
    channels, height, width, depth = weights.shape
    batch, rows, columns, _ = image.shape
    strides = attributes.stride_height, attributes.stride_width
    top, left = attributes.pad_top, attributes.pad_left
    field = np.zeros(
        (
            batch,
            max((rows - 1) * strides[0] + height, top + call.shape[1]),
            max((columns - 1) * strides[1] + width, left + call.shape[2]),
            channels,
        ),
        np.int64,
    )
    pixels = image.reshape(-1, depth).astype(np.int16) - np.int16(attributes.input_zero_point)
    for row, column in tap_offsets(height, width):
        product = exact_product(pixels, weights[:, row, column]).reshape(batch, rows, columns, channels)
        field[
            :, row : row + rows * strides[0] : strides[0], column : column + columns * strides[1] : strides[1]
        ][:, :rows, :columns] += product
    return [_finished(call, field[:, top : top + call.shape[1], left : left + call.shape[2]], records)]


def _finished(call: Call, sums: Array, records: Array) -> Array:
    """Bias, requantization, zero point and clamp, channel by channel."""
    bias, multiplier, shift = records.astype(np.int64).T
    attributes = call.attributes
    flat = sums.reshape(-1, len(bias))
    result = np.empty(flat.shape, np.int8)
    block = max(1, _BLOCK_ELEMENTS // len(bias))
    for start in range(0, len(flat), block):
        part = requant(wrap32(flat[start : start + block] + bias), multiplier, shift)
        result[start : start + block] = limit(
            part, attributes.output_zero_point, attributes.clamp_min, attributes.clamp_max
        )
    return result.reshape(sums.shape)


KERNELS = {
    "conv_2d": conv_2d,
    "depthwise_conv_2d": depthwise_conv_2d,
    "fully_connected": fully_connected,
    "transpose_conv": transpose_conv,
}
