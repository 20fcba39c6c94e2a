"""Convolutions and matrix products of int8: exact sums by floating-point BLAS, then requantization."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, limit, requant, scaled_once, wrap32
from dlasim.sim.host.call import Array, Call
from dlasim.sim.host.windows import Axis, TapSpan, pairs

# float32 holds every integer up to here, so sums below it are exact in any order.
_EXACT_FLOAT32 = 1 << 24
_MAX_ELEMENTS = 1 << 24  # of windows laid out at once
_CALL_ELEMENTS = 1 << 15  # as many elements take as long as a call of NumPy or three
# Requantization in pieces that stay in the processor's cache.
_BLOCK_ELEMENTS = 1 << 16


Spans: TypeAlias = list[TapSpan]


def conv_2d(call: Call) -> list[Array]:
    """CONV_2D: what windows see is laid out as rows (im2col), and multiplied by the weights of those taps."""
    image, _, records = call.inputs
    centred = (image.astype(np.int16) - np.int16(call.attributes.input_zero_point)).astype(np.float32)
    return [_finished(call, convolved(call, centred, _centred_weights(call)), records)]


def convolved(call: Call, image: Array, weights: Array) -> Array:
    """The sums of a convolution, of what has no zero points any more."""
    channels, height, width, _ = weights.shape
    rows, columns = (axis.spans() for axis in _axes(call, height, width))
    sums = np.zeros((image.shape[0], *call.shape[1:3], channels), np.int64)
    for some_rows, some_columns in _blocks(rows, columns, len(image) * image.shape[3]):
        _add_taps(sums, image, weights, some_rows, some_columns)
    return sums


def _axes(call: Call, height: int, width: int) -> tuple[Axis, Axis]:
    """Windows of so many taps along height and width."""
    at, size, grid = call.attributes, call.inputs[0].shape[1:3], call.shape[1:3]
    rows = Axis(size[0], grid[0], at.stride_height, at.pad_top, height, at.dilation_height)
    columns = Axis(size[1], grid[1], at.stride_width, at.pad_left, width, at.dilation_width)
    for axis in (rows, columns):
        axis.require_pixels()
    return rows, columns


def _blocks(rows: Spans, columns: Spans, depth: int) -> list[tuple[Spans, Spans]]:
    """The taps in blocks that are laid out at once: all, those of a row or a column, or single ones.

    One block is quickest where most windows see most taps. Where few do, as with kernels larger than the
    image, it would be nearly empty.
    """
    ways = [
        (row_blocks, column_blocks)
        for row_blocks in ([rows], [[row] for row in rows])
        for column_blocks in ([columns], [[column] for column in columns])
    ]

    def cost(way: tuple[list[Spans], list[Spans]]) -> float:
        row_blocks, column_blocks = way
        sizes = [[_hull(block)[1] * len(block) for block in blocks] for blocks in way]
        widest = max((_hull(block)[1] * len(block) for block in column_blocks), default=0)
        if widest * max(map(len, row_blocks), default=0) * depth > _MAX_ELEMENTS:
            return math.inf
        return sum(sizes[0]) * sum(sizes[1]) * depth + _CALL_ELEMENTS * len(row_blocks) * len(column_blocks)

    if not rows or not columns:
        return []
    return list(itertools.product(*min(ways, key=cost)))


def _hull(spans: Spans) -> tuple[int, int]:
    """The first window that one of these taps meets, and the number of windows to the last."""
    first = min(span.first for span in spans)
    return first, max(span.end for span in spans) - first


def _add_taps(sums: Array, image: Array, weights: Array, rows: Spans, columns: Spans) -> None:
    """Add what windows see through these taps, so many output rows at a time that memory stays small."""
    (top, height), (left, width) = _hull(rows), _hull(columns)
    row_elements = len(image) * width * len(rows) * len(columns) * image.shape[3]
    step = max(1, _MAX_ELEMENTS // max(1, row_elements))
    chosen = weights[:, [row.tap for row in rows]][:, :, [column.tap for column in columns]]
    inside = [column.within(left, left + width) for column in columns]
    for first in range(top, top + height, step):
        end = min(first + step, top + height)
        field = _laid_out(image, [row.within(first, end) for row in rows], inside, end - first, width)
        _add_product(sums[:, first:end, left : left + width], field, chosen)


def _laid_out(
    image: Array, rows: list[TapSpan | None], columns: list[TapSpan | None], height: int, width: int
) -> Array:
    """[N, rows, columns, taps, taps, C]: what each window sees, 0 outside the image."""
    if len(rows) == len(columns) == 1 and rows[0] and columns[0]:
        return image[:, rows[0].pixels, columns[0].pixels, None, None]
    field = np.zeros((len(image), height, width, len(rows), len(columns), image.shape[3]), np.float32)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            if row and column:
                field[:, row.windows, column.windows, i, j] = image[:, row.pixels, column.pixels]
    return field


def _add_product(sums: Array, values: Array, weights: Array) -> None:
    """sums[..., o] += values[...] * weights[o], in as many groups of channels as the shapes say."""
    channels, depth = len(weights), weights.shape[-1]
    groups = values.shape[-1] // depth
    if values.shape[-1] % depth or channels % groups:
        raise ValueError(f"{values.shape[-1]} channels do not divide into groups of {depth}")
    per_group = channels // groups
    for group in range(groups):
        chosen = slice(group * per_group, (group + 1) * per_group)
        factors = weights[chosen].reshape(per_group, -1)
        rows = values[..., group * depth : (group + 1) * depth].reshape(-1, factors.shape[1])
        sums[..., chosen] += exact_product(rows, factors).reshape(*sums.shape[:-1], per_group)


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
    rows, columns = (axis.spans() for axis in _axes(call, height, width))
    centred = image.astype(np.int32) - np.int32(call.attributes.input_zero_point)
    factors = _centred_weights(call)[0].astype(np.int32)
    sums = np.zeros((image.shape[0], *call.shape[1:3], channels), np.int32)
    for row, column in pairs(rows, columns):
        seen = centred[:, row.pixels, column.pixels]
        if channels != image.shape[3]:
            seen = np.repeat(seen, channels // image.shape[3], axis=3)
        sums[:, row.windows, column.windows] += seen * factors[row.tap, column.tap]
    return [_finished(call, sums, records)]


def fully_connected(call: Call) -> list[Array]:
    """FULLY_CONNECTED."""
    values, weights, records = call.inputs
    rows = values.reshape(-1, weights.shape[1]).astype(np.int16) - np.int16(call.attributes.input_zero_point)
    return [_finished(call, exact_product(rows, _centred_weights(call)), records)]


def matrix_sums(call: Call) -> list[Array]:
    """MATRIX_SUMS."""
    values, weights, records = call.inputs
    rows = values.reshape(-1, weights.shape[1]).astype(np.int16) - np.int16(call.attributes.input_zero_point)
    sums = exact_product(rows, weights) + records[:, 0].astype(np.int64)
    return [wrap32(sums).astype(np.int32).reshape(call.shape)]


def _centred_weights(call: Call) -> Array:
    """The weights with their zero point taken off."""
    zero_point = call.attributes.weight_zero_point
    return call.inputs[1].astype(np.int16) - np.int16(zero_point) if zero_point else call.inputs[1]


def transpose_conv(call: Call) -> list[Array]:
    """TRANSPOSE_CONV: a window of the output for each input pixel, which each tap adds to, weighted."""
    image, _, records = call.inputs
    centred = (image.astype(np.int16) - np.int16(call.attributes.input_zero_point)).astype(np.float32)
    return [_finished(call, transposed_sums(call, centred, _centred_weights(call)), records)]


def transposed_sums(call: Call, image: Array, weights: Array) -> Array:
    """The sums of a transposed convolution, of what has no zero points any more."""
    attributes, grid = call.attributes, call.shape[1:3]
    channels, height, width, _ = weights.shape
    rows = Axis(grid[0], image.shape[1], attributes.stride_height, attributes.pad_top, height)
    columns = Axis(grid[1], image.shape[2], attributes.stride_width, attributes.pad_left, width)
    sums = np.zeros((image.shape[0], *grid, channels), np.int64)
    for row, column in pairs(rows.spans(), columns.spans()):
        target, source = sums[:, row.pixels, column.pixels], image[:, row.windows, column.windows]
        _add_product(target, source, weights[:, row.tap, column.tap])
    return sums


def batch_matmul(call: Call) -> list[Array]:
    """BATCH_MATMUL."""
    attributes = call.attributes
    first, second = call.inputs
    sums = wrap32(
        batch_sums(
            call,
            first.astype(np.int64) - attributes.input1_zero_point,
            second.astype(np.int64) - attributes.input2_zero_point,
        )
    )
    scaled = requant(sums, attributes.output_multiplier, attributes.output_shift)
    return [limit(scaled, attributes.output_zero_point, INT8_MIN, INT8_MAX)]


def batch_sums(call: Call, first: Array, second: Array) -> Array:
    """The products of the matrices, transposed where the call says so."""
    if call.attributes.transposed1:
        first = np.swapaxes(first, -1, -2)
    if call.attributes.transposed2:
        second = np.swapaxes(second, -1, -2)
    # A double holds every integer below 2^53.
    sums: Array = (first.astype(np.float64) @ second.astype(np.float64)).astype(np.int64)
    return sums


def requant_channels(call: Call) -> list[Array]:
    """REQUANT: sums that have their bias already."""
    sums, records = call.inputs
    rescale = scaled_once if call.attributes.rounds_once else requant
    return [_requantized(call, sums, records, rescale=rescale).reshape(call.shape)]


def _finished(call: Call, sums: Array, records: Array) -> Array:
    """Bias, requantization, zero point and clamp, channel by channel."""
    return _requantized(call, sums, records, records[:, 0].astype(np.int64))


def _requantized(
    call: Call,
    sums: Array,
    records: Array,
    bias: Array | int = 0,
    rescale: Callable[[Array, Array, Array], Array] = requant,
) -> Array:
    """Sums in the last dimension's channels to int8."""
    _, multiplier, shift = records.astype(np.int64).T
    attributes = call.attributes
    flat = sums.reshape(-1, len(multiplier))
    result = np.empty(flat.shape, np.int8)
    block = max(1, _BLOCK_ELEMENTS // len(multiplier))
    for start in range(0, len(flat), block):
        part = rescale(wrap32(flat[start : start + block] + bias), multiplier, shift)
        result[start : start + block] = limit(
            part, attributes.output_zero_point, attributes.clamp_min, attributes.clamp_max
        )
    return result.reshape(sums.shape)


KERNELS = {
    "conv_2d": conv_2d,
    "depthwise_conv_2d": depthwise_conv_2d,
    "fully_connected": fully_connected,
    "matrix_sums": matrix_sums,
    "transpose_conv": transpose_conv,
    "batch_matmul": batch_matmul,
    "requant": requant_channels,
}
