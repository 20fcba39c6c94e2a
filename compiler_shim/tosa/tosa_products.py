"""Convolutions, products of matrices, sums and averages, whose int32 results a RESCALE makes 8 bits of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.operators.step_search import sum_bounds
from dlasim.compiler_shim.operators.windows import padding_before
from dlasim.compiler_shim.tosa.tosa_converter import TosaConverter
from dlasim.compiler_shim.tosa.tosa_elementwise import rescaled_on_cpu
from dlasim.compiler_shim.tosa.tosa_reader import TosaOperator
from dlasim.compiler_shim.tosa.tosa_values import (
    Array,
    Delayed,
    Rescaling,
    TosaActivation,
    Totals,
    UnplacedError,
    Value,
    nearest_factors,
)
from dlasim.dataclass import dataclass
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, Integers

_WEIGHT = 64
_MOST_TAPS = 64


def _with_zero_point(zero_point: int) -> Quantization:
    return Quantization((1.0,), (zero_point,))


def eight_bits(
    converter: TosaConverter, operator: TosaOperator, position: int, zero_point: int, rank: int
) -> int:
    """The number of an input's tensor, which must be int8 and computed, with this zero point."""
    value = converter.value(operator, position)
    if value.dtype != "int8" or len(value.shape) != rank:
        raise UnplacedError(
            f"input {position} must be int8 with {rank} dimensions (got {value.dtype}{list(value.shape)})"
        )
    name = operator.inputs[position]
    return converter.seen(converter.tensor(value, name), _with_zero_point(zero_point), name)


@dataclass(frozen=True, slots=True)
class WeightedSums:
    """A convolution before it is rescaled: the graph's operator, its tensors but for the weights' scales,
    and the least and greatest sum of each channel."""

    kind: str
    source: int
    weights: Array
    axis: int
    bias: Array
    low: Integers
    high: Integers
    options: dict[str, Any]
    unit: int = 1  # of which all sums are multiples


def _place_sums(converter: TosaConverter, sums: WeightedSums, rescaling: Rescaling, name: str) -> int:
    if rescaling.multipliers.size not in (1, sums.low.size):
        raise UnplacedError(f"it has {sums.low.size} channels, but {rescaling.multipliers.size} multipliers")
    factors, is_exact = nearest_factors(rescaling, sums.low, sums.high, converter.rounds_once, sums.unit)
    if not is_exact:
        converter.nearest.append(name)
    scale = Quantization(tuple(factors), (0,) * len(factors), sums.axis if len(factors) > 1 else 0)
    weights = converter.stored(f"{name}/weights", sums.weights, scale)
    bias = converter.stored(f"{name}/bias", sums.bias)
    inputs = [sums.source, weights, bias]
    if sums.kind == "TRANSPOSE_CONV":
        inputs = [sums.options["shape"], weights, sums.source, bias]
    options = {key: option for key, option in sums.options.items() if key != "shape"}
    fused = converter.fused_limit(name, rescaling.zero_point)
    return converter.emit(
        sums.kind, inputs, _with_zero_point(rescaling.zero_point), name,
        fused_activation_function=fused, **options,
    )  # fmt: skip


def convolution(converter: TosaConverter, operator: TosaOperator) -> Value:
    """CONV2D and DEPTHWISE_CONV2D."""
    is_depthwise = operator.kind == "DEPTHWISE_CONV2D"
    data, zero_point = _weights(converter, operator)
    source = eight_bits(converter, operator, 0, zero_point, 4)
    channels = converter.builder.shape(source)[3]
    if is_depthwise:
        rows, columns, depth, multiplier = data.shape
        data, axis = data.reshape(1, rows, columns, depth * multiplier), 3
    else:
        (_, rows, columns, depth), multiplier, axis = data.shape, 1, 0
    if depth != channels:
        raise UnplacedError(f"weights {list(data.shape)} do not fit an input with {channels} channels")
    source, options = _windows(converter, operator, source, (rows, columns))
    stride, dilation = (converter.numbers(operator, key, 2, 1) for key in ("stride", "dilation"))
    options |= {"stride_h": stride[0], "stride_w": stride[1]}
    options |= {"dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1]}
    if is_depthwise:
        options["depth_multiplier"] = multiplier
    bias = _bias(converter, operator, data.shape[axis])
    kind = "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
    sums = _sums(kind, source, data, axis, bias, zero_point, options)
    return Delayed(converter.declared(operator), partial(_place_sums, converter, sums))


def _sums(
    kind: str, source: int, data: Array, axis: int, bias: Array, zero_point: int, options: dict[str, Any]
) -> WeightedSums:
    low, high = sum_bounds(np.moveaxis(data, axis, 0), bias, zero_point)
    return WeightedSums(kind, source, data, axis, bias, low, high, options)


def _weights(converter: TosaConverter, operator: TosaOperator) -> tuple[Array, int]:
    """Weights as int8 with a zero point of 0, and the zero point of the input."""
    data = converter.constant(operator, 1)
    zero_point, own = converter.single(operator, 3), converter.single(operator, 4)
    wide = data.astype(np.int16) - own
    if data.dtype != np.int8 or data.ndim != 4 or wide.min() < INT8_MIN or wide.max() > INT8_MAX:
        raise UnplacedError(
            f"weights {data.dtype.name}{list(data.shape)} less {own} must be int8 in 4 dimensions"
        )
    return wide.astype(np.int8), zero_point


def _bias(converter: TosaConverter, operator: TosaOperator, channels: int) -> Array:
    data = converter.constant(operator, 2)
    if data.dtype != np.int32 or data.size not in (1, channels):
        raise UnplacedError(f"it must have {channels} int32 biases (got {data.dtype.name}{list(data.shape)})")
    return np.ascontiguousarray(np.broadcast_to(data.ravel(), (channels,)))


def _windows(
    converter: TosaConverter, operator: TosaOperator, source: int, kernel: tuple[int, int]
) -> tuple[int, dict[str, Any]]:
    """The image, padded where SAME does not pad so, and the padding that is left."""
    pad = converter.numbers(operator, "pad", 4)
    filler = INT8_MIN if operator.kind == "MAX_POOL2D" else None
    if not any(pad):
        return source, {"padding": "VALID"}
    stride = converter.numbers(operator, "stride", 2, 1)
    dilation = converter.numbers(operator, "dilation", 2, 1) if "dilation" in operator.attributes else (1, 1)
    sizes = converter.builder.shape(source)[1:3]
    if all(
        _is_same(*each) for each in zip(sizes, kernel, stride, dilation, pad[::2], pad[1::2], strict=True)
    ):
        return source, {"padding": "SAME"}
    amounts = converter.list_of(operator.outputs[0], [[0, 0], pad[:2], pad[2:], [0, 0]])
    scale = converter.scale_of(source)
    name = f"{operator.outputs[0]}/padded"
    if filler is None:
        return converter.emit("PAD", [source, amounts], scale, name), {"padding": "VALID"}
    least = converter.stored(f"{name}/filler", np.full(1, filler, np.int8), scale)
    return converter.emit("PADV2", [source, amounts, least], scale, name), {"padding": "VALID"}


def _is_same(size: int, span: int, stride: int, dilation: int, before: int, after: int) -> bool:
    window = (span - 1) * dilation + 1
    count = (size + before + after - window) // stride + 1
    return count == -(-size // stride) and before == padding_before("SAME", size, window, stride)


def transposed_convolution(converter: TosaConverter, operator: TosaOperator) -> Value:
    """TRANSPOSE_CONV2D. What a negative out_pad cuts off is SAME's padding, or is cut off behind."""
    data, zero_point = _weights(converter, operator)
    source, declared = eight_bits(converter, operator, 0, zero_point, 4), converter.declared(operator)
    pads = [int(number) for number in operator.attributes.get("out_pad", ())]
    if len(pads) != 4 or len(declared) != 4 or max(pads[::2]) > 0:
        raise UnplacedError(
            f"its out_pad must be 4 numbers, at most 0 above and to the left (got {pads[:8]})"
        )
    stride = converter.numbers(operator, "stride", 2, 1)
    cut = [-pad for pad in pads]
    is_same = any(pads) and all(
        _is_same(*each)
        for each in zip(declared[1:3], data.shape[1:3], stride, (1, 1), cut[::2], cut[1::2], strict=True)
    )
    begin = [0, 0, 0, 0] if is_same else [0, cut[0], cut[2], 0]
    whole = [size + first for size, first in zip(declared, begin, strict=True)]
    options = {"padding": "SAME" if is_same else "VALID", "stride_h": stride[0], "stride_w": stride[1]}
    options["shape"] = converter.list_of(operator.outputs[0], whole)
    sums = _sums(
        "TRANSPOSE_CONV", source, data, 0, _bias(converter, operator, data.shape[0]), zero_point, options
    )

    def place(rescaling: Rescaling, name: str) -> int:
        number = _place_sums(converter, sums, rescaling, name)
        if not any(begin):
            return number
        numbers = [converter.list_of(name, row) for row in (begin, declared)]
        return converter.emit("SLICE", [number, *numbers], _with_zero_point(rescaling.zero_point), name)

    return Delayed(declared, place)


def matrix_product(converter: TosaConverter, operator: TosaOperator) -> Value:
    """MATMUL."""
    points = [converter.single(operator, position) for position in (2, 3)]
    numbers = [eight_bits(converter, operator, place, points[place], 3) for place in (0, 1)]
    (batch, rows, depth), other = (converter.builder.shape(number) for number in numbers)
    if other[:2] != (batch, depth):
        raise UnplacedError(f"{[batch, rows, depth]} and {list(other)} do not fit")
    most = [max(INT8_MAX - point, point - INT8_MIN) for point in points]
    bound = np.array([depth * most[0] * most[1]])

    def place(rescaling: Rescaling, name: str) -> int | None:
        if not rescaling.is_single_factor:
            raise UnplacedError("its RESCALE must have one factor")
        factors, is_exact = nearest_factors(rescaling, -bound, bound, converter.rounds_once)
        if not is_exact:
            converter.nearest.append(name)
        scale = Quantization((1 / factors[0],), (rescaling.zero_point,))
        return converter.emit("BATCH_MATMUL", numbers, scale, name, adj_x=False, adj_y=False)

    return Delayed((batch, rows, other[2]), place)


def total(converter: TosaConverter, operator: TosaOperator) -> Value:
    """REDUCE_SUM, of which a RESCALE makes an average."""
    value, name = converter.value(operator), operator.inputs[0]
    axis = converter.axis(operator, len(value.shape))
    before = converter.totals.get(name)
    if before is None and isinstance(value, TosaActivation) and value.line is not None:
        before = Totals(TosaActivation(value.number, value.shape, "int8"), value.line, ())
    shape = (*value.shape[:axis], 1, *value.shape[axis + 1 :])
    whole = partial(_whole_total, converter, value, axis, operator.outputs[0])
    if before is None:
        if value.dtype != "int32":
            raise UnplacedError(f"its input must be int32 (got {value.dtype})")
        return TosaActivation(whole(), shape, "int32")
    found = Totals(before.source, before.line, (*before.axes, axis))
    converter.totals[operator.outputs[0]] = found
    return Delayed(shape, partial(_place_average, converter, found), whole)


def _whole_total(converter: TosaConverter, value: Any, axis: int, name: str) -> int:
    numbers = [converter.tensor(value, name), converter.list_of(name, [axis])]
    return converter.compute("SUM", numbers, "int32", name, keep_dims=True)


def _place_average(converter: TosaConverter, found: Totals, rescaling: Rescaling, name: str) -> int | None:
    """As MEAN where that is exact, else as products with ones, of an image."""
    shape, line = found.source.shape, found.line
    count = prod(shape[axis] for axis in found.axes)
    ends = np.array([INT8_MIN, INT8_MAX]) - line.zero_point
    if line.factor != 1 or not rescaling.is_single_factor or rescaling.input_zero_point:
        return None
    source = converter.seen(found.source.number, _with_zero_point(line.zero_point), name)
    factors, is_exact = nearest_factors(rescaling, ends[:1] * count, ends[1:] * count, converter.rounds_once)
    if is_exact and converter.rounds_once:
        scale = Quantization((1 / (factors[0] * count),), (rescaling.zero_point,))
        axes = converter.list_of(name, found.axes)
        return converter.emit("MEAN", [source, axes], scale, name, keep_dims=True)
    if len(shape) == 4 and sorted(found.axes) == [1, 2]:
        return _ones(converter, source, shape[1:3], {}, rescaling, name)
    return None


def average_pool(converter: TosaConverter, operator: TosaOperator) -> Value:
    """AVG_POOL2D: halves of what is above the zero point go away from it."""
    points = [converter.single(operator, position) for position in (1, 2)]
    kernel = converter.numbers(operator, "kernel", 2, 1)
    stride = converter.numbers(operator, "stride", 2, 1)
    source = eight_bits(converter, operator, 0, points[0], 4)
    number, options = _windows(converter, operator, source, (kernel[0], kernel[1]))
    steps = {"stride_h": stride[0], "stride_w": stride[1]}
    count, name = kernel[0] * kernel[1], operator.outputs[0]
    if points[0] == points[1] and (points[0] == 0 or count % 2) and number == source:
        number = converter.emit(
            "AVERAGE_POOL_2D", [source], _with_zero_point(points[1]), name,
            filter_height=kernel[0], filter_width=kernel[1], **steps, **options,
        )  # fmt: skip
    elif options["padding"] == "VALID" and number == source:
        number = _ones(converter, source, kernel, steps, _share(count, points[1]), name)
    else:
        pad = converter.numbers(operator, "pad", 4)
        number = _pooled_on_cpu(converter, source, (kernel, stride, pad), points[1], name)
    return converter.result(number, "int8")


def _share(counts: Array | int, zero_point: int) -> Rescaling:
    """What AVG_POOL2D makes of the sum of so many pixels."""
    many = np.atleast_1d(np.asarray(counts, np.int64))
    bits = np.ceil(np.log2(many)).astype(np.int64)  # exact: counts are small
    return Rescaling((((1 << 30) + 1) << bits) // many, 30 + bits, False, 0, zero_point, "int8")


def _pooled_on_cpu(
    converter: TosaConverter, source: int, windows: tuple[list[int], ...], zero_point: int, name: str
) -> int:
    """Averages of windows that hang over the edge, each of as many pixels as it has: in int32, tap by tap."""
    kernel, stride, pad = windows
    if prod(kernel) > _MOST_TAPS:
        raise UnplacedError(f"windows over the edge have at most {_MOST_TAPS} pixels (got {kernel})")
    sizes, scale = converter.builder.shape(source)[1:3], converter.scale_of(source)
    amounts = converter.list_of(name, [[0, 0], pad[:2], pad[2:], [0, 0]])
    padded = converter.emit("PAD", [source, amounts], scale, f"{name}/padded")
    point = converter.stored(f"{name}/point", np.array([scale.zero_point], np.int32))
    whole = converter.compute(
        "SUB", [converter.compute("CAST", [padded], "int32", name), point], "int32", name
    )
    counts, grid = [], []
    for size, span, step, before, after in zip(sizes, kernel, stride, pad[::2], pad[1::2], strict=True):
        first = np.arange((size + before + after - span) // step + 1) * step - before
        counts.append(np.minimum(first + span, size) - np.maximum(first, 0))
        grid.append((len(first) - 1) * step + 1)
    if min(map(min, counts)) < 1:
        raise UnplacedError("a window has no pixel")
    total = None
    for row, column in np.ndindex(*kernel):
        ends = [0, row + grid[0], column + grid[1], 0]
        parts = [converter.list_of(name, each) for each in ([0, row, column, 0], ends, [1, *stride, 1])]
        options = {"begin_mask": 9, "end_mask": 9}
        seen = converter.compute("STRIDED_SLICE", [whole, *parts], "int32", name, **options)
        total = seen if total is None else converter.compute("ADD", [total, seen], "int32", name)
    assert total is not None
    shares = _share(np.multiply.outer(*counts)[None, ..., None], zero_point)
    given = TosaActivation(total, converter.builder.shape(total), "int32")
    return rescaled_on_cpu(converter, given, shares, name)


def _ones(
    converter: TosaConverter,
    source: int,
    kernel: Sequence[int],
    steps: dict[str, int],
    rescaling: Rescaling,
    name: str,
) -> int:
    """Sums over windows, as products with ones; or with 64 where the graph rounds twice and the file once, so
    that the first rounding has six bits less to cut off."""
    channels = converter.builder.shape(source)[3]
    weight = 1 if converter.rounds_once or rescaling.is_double else _WEIGHT
    ones, bias = np.full((1, *kernel, channels), weight, np.int8), np.zeros(channels, np.int32)
    rescaling = replace(rescaling, shifts=rescaling.shifts + weight.bit_length() - 1)
    low, high = sum_bounds(np.moveaxis(ones, 3, 0), bias, converter.scale_of(source).zero_point)
    options = {"padding": "VALID", "depth_multiplier": 1, **steps}
    sums = WeightedSums("DEPTHWISE_CONV_2D", source, ones, 3, bias, low, high, options, weight)
    return _place_sums(converter, sums, rescaling, name)


def maximum_pool(converter: TosaConverter, operator: TosaOperator) -> Value:
    """MAX_POOL2D; padding never wins."""
    kernel = converter.numbers(operator, "kernel", 2, 1)
    stride = converter.numbers(operator, "stride", 2, 1)
    value = converter.value(operator)
    if value.dtype != "int8" or len(value.shape) != 4:
        raise UnplacedError(f"its input must be an int8 image (got {value.dtype}{list(value.shape)})")
    source = converter.tensor(value, operator.inputs[0])
    number, options = _windows(converter, operator, source, (kernel[0], kernel[1]))
    number = converter.emit(
        "MAX_POOL_2D", [number], converter.scale_of(source), operator.outputs[0], filter_height=kernel[0],
        filter_width=kernel[1], stride_h=stride[0], stride_w=stride[1], **options,
    )  # fmt: skip
    return converter.result(number, "int8")


PRODUCTS = {
    "CONV2D": convolution,
    "DEPTHWISE_CONV2D": convolution,
    "TRANSPOSE_CONV2D": transposed_convolution,
    "MATMUL": matrix_product,
    "REDUCE_SUM": total,
    "AVG_POOL2D": average_pool,
    "MAX_POOL2D": maximum_pool,
}
