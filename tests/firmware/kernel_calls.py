"""Random calls of every host operator, with numbers that reach the ends of what it takes.

Each function here makes one call, or a few that belong together, of the operators that it names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlasim.isa.host_op_rows import (
    BinaryFunction,
    CompareFunction,
    PoolFunction,
    SigmoidFunction,
    UnaryFunction,
    WideFunction,
)
from dlasim.sim.arithmetic.float_steps import FloatSteps, float_steps
from dlasim.sim.arithmetic.interpolation import EXPONENTIALS, RECIPROCALS, SIGMOID_TABLE, sigmoid_scale
from dlasim.sim.arithmetic.numerics import mean_multiplier, quantize_multiplier, softmax_table
from dlasim.sim.host import TensorSpec

SPECIALS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, -3e38, 1.0, 0.5, -0.5)
TYPES = ("int8", "int16", "int32", "int64", "uint8", "bool", "float32")

Random = np.random.Generator
Array = np.ndarray
Shape = Sequence[int]


@dataclass(frozen=True)
class Call:
    """An operator, its inputs, what its output is like, and its attributes."""

    operator: str
    inputs: Sequence[Array]
    output: TensorSpec
    attributes: dict[str, Any]
    more: Sequence[TensorSpec] = ()  # outputs after the first


def call(
    operator: str, inputs: Sequence[Array], shape: Shape, dtype: str = "int8", **attributes: Any
) -> Call:
    """A call whose output has that shape and type."""
    return Call(operator, inputs, TensorSpec(tuple(int(n) for n in shape), dtype), attributes)


def int8(rng, *shape):
    """Noise, one time in four only the ends of the range."""
    if rng.integers(4) == 0:
        return rng.choice(np.array([-128, 127], np.int8), shape)
    return rng.integers(-128, 128, shape).astype(np.int8)


def elements(rng, dtype, shape):
    if dtype == "float32":
        return rng.normal(0, 10, shape).astype(np.float32)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def zero_point(rng):
    return int(rng.choice([-128, 127, int(rng.integers(-128, 128))]))


def zero_points(rng, *names):
    return {f"{name}_zero_point": zero_point(rng) for name in names}


def clamps(rng):
    least, greatest = sorted(int(n) for n in rng.integers(-128, 128, 2))
    if rng.integers(2):
        least, greatest = -128, 127
    return {"clamp_min": least, "clamp_max": greatest}


def scale(rng, low=-12.0, high=1.5):
    """A multiplier and a shift, now and then exactly a power of two, or above one."""
    real = float(2.0 ** rng.uniform(low, high))
    if rng.integers(4) == 0:
        real = 2.0 ** int(rng.integers(int(low), int(high) + 1))
    return quantize_multiplier(real)


def pairs(rng, *names):
    given = {}
    for name in names:
        given[f"{name}_multiplier"], given[f"{name}_shift"] = scale(rng)
    return given


def records(rng, channels, terms):
    """Bias, multiplier and shift of each channel, so that sums of `terms` products use the int8 range."""
    bias = rng.integers(-(1 << 15), 1 << 15, channels)
    if rng.integers(4) == 0:
        bias = rng.integers(-(1 << 31), 1 << 31, channels)
    pairs = np.array([scale(rng, -13 - np.log2(terms), -4) for _ in range(channels)])
    return np.column_stack([bias, pairs]).astype(np.int32)


def window(rng, size, dilation=True):
    """Attributes of a window, and how large an output it gives; it may lie outside the image entirely."""
    kernel = [int(rng.integers(1, 5)) for _ in range(2)]
    strides = [int(rng.integers(1, 4)) for _ in range(2)]
    factors = [int(rng.integers(1, 3)) if dilation else 1 for _ in range(2)]
    extents = [(taps - 1) * factor + 1 for taps, factor in zip(kernel, factors, strict=True)]
    pads = [int(rng.integers(0, extent)) for extent in extents]
    behind = [int(rng.integers(0, extent)) for extent in extents]
    grid = [
        max(1, (n + pad + rest - extent) // stride + 1)
        for n, pad, rest, extent, stride in zip(size, pads, behind, extents, strides, strict=True)
    ]
    if rng.integers(3) == 0:
        grid = [max(1, n - 1) for n in grid]  # less than would fit
    names = {
        "stride_height": strides[0], "stride_width": strides[1], "pad_top": pads[0], "pad_left": pads[1],
    }  # fmt: skip
    if dilation:
        names |= {"dilation_height": factors[0], "dilation_width": factors[1]}
    return kernel, grid, names


def image_shape(rng, channels):
    return int(rng.integers(1, 3)), int(rng.integers(1, 10)), int(rng.integers(1, 10)), channels


def quantization(rng):
    return {**zero_points(rng, "input", "output"), **clamps(rng)}


def mac_quantization(rng):
    """Half the time weights without a zero point, as those of int8 are."""
    return {**quantization(rng), "weight_zero_point": zero_point(rng) if rng.integers(2) else 0}


def broadcast_shapes(rng):
    """Two shapes that broadcast, and the result's."""
    result = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 6)))]
    shapes = []
    for _ in range(2):
        shape = [1 if rng.integers(3) == 0 else n for n in result]
        shapes.append(shape[int(rng.integers(0, len(shape))) :] if rng.integers(3) == 0 else shape)
    if rng.integers(3) == 0:
        shapes[0] = shapes[1] = result
    return shapes, tuple(np.broadcast_shapes(*shapes))


def quantize_scale(rng):
    """One time in three a power of two."""
    exponent = int(rng.integers(-20, 3)) if rng.integers(3) == 0 else rng.uniform(-20, 3)
    return np.float32(2.0**exponent)


def convolution(rng: Random) -> Iterator[Call]:
    groups = int(rng.choice([1, 1, 1, 2, 3]))
    depth, per_group = int(rng.integers(1, 10)), int(rng.integers(1, 10))
    shape = image_shape(rng, groups * depth)
    kernel, grid, attributes = window(rng, shape[1:3])
    channels = groups * per_group
    weights = int8(rng, channels, *kernel, depth)
    inputs = [int8(rng, *shape), weights, records(rng, channels, kernel[0] * kernel[1] * depth)]
    yield call("CONV_2D", inputs, (shape[0], *grid, channels), **attributes, **mac_quantization(rng))


def transpose_convolution(rng: Random) -> Iterator[Call]:
    depth, channels = (int(n) for n in rng.integers(1, 10, 2))
    kernel, _, attributes = window(rng, (1, 1), dilation=False)
    shape = image_shape(rng, depth)
    sizes = []
    for axis, side, edge in ((0, "height", "top"), (1, "width", "left")):
        pad = attributes[f"pad_{edge}"]
        reach = (shape[1 + axis] - 1) * attributes[f"stride_{side}"] + kernel[axis] - pad
        sizes.append(max(1, reach + int(rng.integers(-2, 3))))
    inputs = [int8(rng, *shape), int8(rng, channels, *kernel, depth), records(rng, channels, 9 * depth)]
    whole = (shape[0], *sizes, channels)
    yield call("TRANSPOSE_CONV", inputs, whole, **attributes, **mac_quantization(rng))


def pointwise_convolution(rng: Random) -> Iterator[Call]:
    depth, channels = int(rng.integers(1, 20)), int(rng.integers(1, 10))
    shape = image_shape(rng, depth)
    attributes = dict.fromkeys(("stride_height", "stride_width", "dilation_height", "dilation_width"), 1)
    attributes |= {"pad_top": 0, "pad_left": 0, **mac_quantization(rng)}
    inputs = [int8(rng, *shape), int8(rng, channels, 1, 1, depth), records(rng, channels, depth)]
    yield call("CONV_2D", inputs, (*shape[:3], channels), **attributes)


def depthwise_convolution(rng: Random) -> Iterator[Call]:
    depth, multiplier = int(rng.integers(1, 14)), int(rng.choice([1, 1, 1, 2, 3]))
    shape = image_shape(rng, depth)
    kernel, grid, attributes = window(rng, shape[1:3])
    channels = depth * multiplier
    inputs = [int8(rng, *shape), int8(rng, 1, *kernel, channels), records(rng, channels, np.prod(kernel))]
    yield call(
        "DEPTHWISE_CONV_2D", inputs, (shape[0], *grid, channels), **attributes, **mac_quantization(rng)
    )


def fully_connected(rng: Random) -> Iterator[Call]:
    depth, channels, rows = (int(n) for n in rng.integers(1, (70, 20, 5)))
    inputs = [int8(rng, rows, depth), int8(rng, channels, depth), records(rng, channels, depth)]
    yield call("FULLY_CONNECTED", inputs, (rows, channels), **mac_quantization(rng))


def requantization(rng: Random) -> Iterator[Call]:
    """Sums of any size, and those that use the int8 range."""
    shape = tuple(int(n) for n in rng.integers(1, 9, int(rng.integers(1, 5))))
    sums = rng.integers(-(1 << 15), 1 << 15, shape) if rng.integers(2) else elements(rng, "int32", shape)
    inputs = [sums.astype(np.int32), records(rng, shape[-1], 1)]
    found = {**zero_points(rng, "output"), **clamps(rng)}
    yield call("REQUANT", inputs, shape, **found, rounds_once=0)
    yield call("REQUANT", inputs, shape, **found, rounds_once=1)


def sum_of_two(rng: Random) -> Iterator[Call]:
    """ADD and SUB; one time in ten rows that are long enough to be looked up."""
    for operator in ("ADD", "SUB"):
        shapes, result = broadcast_shapes(rng)
        if rng.integers(10) == 0:
            shapes, result = [(30, 50), (30, 50) if rng.integers(2) else (1,)], (30, 50)
        inputs = [int8(rng, *shape) for shape in shapes]
        attributes = zero_points(rng, "input1", "input2", "output") | pairs(rng, "input1", "input2", "output")
        yield call(operator, inputs, result, **attributes, **clamps(rng))


def product(rng: Random) -> Iterator[Call]:
    shapes, result = broadcast_shapes(rng)
    attributes = zero_points(rng, "input1", "input2", "output") | pairs(rng, "output")
    yield call("MUL", [int8(rng, *shape) for shape in shapes], result, **attributes, **clamps(rng))


def prelu(rng: Random) -> Iterator[Call]:
    (_, alpha), _ = broadcast_shapes(rng)
    shape = [*(1 for _ in range(5 - len(alpha))), *alpha]
    shape = [n if n > 1 else int(rng.integers(1, 4)) for n in shape]
    attributes = zero_points(rng, "input", "alpha", "output") | pairs(rng, "positive", "negative")
    yield call("PRELU", [int8(rng, *shape), int8(rng, *alpha)], shape, **attributes)


def squared_difference(rng: Random) -> Iterator[Call]:
    shapes, result = broadcast_shapes(rng)
    attributes = zero_points(rng, "input1", "input2", "output") | clamps(rng)
    attributes |= pairs(rng, "input1", "input2", "output")
    yield call("SQUARED_DIFFERENCE", [int8(rng, *shape) for shape in shapes], result, **attributes)


def batch_matmul(rng: Random) -> Iterator[Call]:
    rows, depth, columns = (int(n) for n in rng.integers(1, 9, 3))
    batches = [int(n) for n in rng.integers(1, 4, int(rng.integers(0, 5)))]
    inputs, flags = [], {}
    for side, matrix in ((1, [rows, depth]), (2, [depth, columns])):
        flags[f"transposed{side}"] = int(rng.integers(2))
        shape = [1 if rng.integers(3) == 0 else n for n in batches][int(rng.integers(0, len(batches) + 1)) :]
        inputs.append(int8(rng, *shape, *(matrix[::-1] if flags[f"transposed{side}"] else matrix)))
    whole = np.broadcast_shapes(*(array.shape[:-2] for array in inputs))
    attributes = zero_points(rng, "input1", "input2", "output") | pairs(rng, "output") | flags
    yield call("BATCH_MATMUL", inputs, (*whole, rows, columns), **attributes)


def int16_batch_matmul(rng: Random) -> Iterator[Call]:
    """The same shapes as of int8, and large sums."""
    for one in batch_matmul(rng):
        inputs = [int16(rng, *array.shape) for array in one.inputs]
        flags = {name: one.attributes[name] for name in ("transposed1", "transposed2")}
        yield call("BATCH_MATMUL_16", inputs, one.output.shape, "int16", **pairs(rng, "output"), **flags)


def lookup(rng: Random) -> Iterator[Call]:
    for dtype in ("int8", "uint8"):
        limits = np.iinfo(dtype)
        values = rng.integers(limits.min, limits.max + 1, (3, 100)).astype(dtype)
        for entry in ("int8", "int16", "int32", "int64", "float32"):
            table = rng.integers(-100, 100, 256).astype(entry)
            yield call("LUT", [values, table], (3, 100), entry)


def pool(rng: Random) -> Iterator[Call]:
    for operator in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        shape = image_shape(rng, int(rng.integers(1, 10)))
        (height, width), _, attributes = window(rng, shape[1:3], dilation=False)
        attributes |= {"pad_top": min(attributes["pad_top"], height - 1)}
        starts = [
            range(-attributes["pad_top"], shape[1], attributes["stride_height"]),
            range(-attributes["pad_left"], shape[2], attributes["stride_width"]),
        ]
        grid = [
            sum(start + taps > 0 for start in axis)
            for axis, taps in zip(starts, (height, width), strict=True)
        ]
        attributes |= {"filter_height": height, "filter_width": width, **clamps(rng)}
        if operator == "AVERAGE_POOL_2D":
            attributes["halves_up"] = int(rng.integers(2))
        yield call(operator, [int8(rng, *shape)], (shape[0], *grid, shape[3]), **attributes)


def mean(rng: Random) -> Iterator[Call]:
    shape = tuple(int(n) for n in rng.integers(1, 8, int(rng.integers(1, 6))))
    mask = int(rng.integers(1, 1 << len(shape)))
    count = int(np.prod([n for axis, n in enumerate(shape) if mask >> axis & 1]))
    multiplier, shift = mean_multiplier(float(2.0 ** rng.uniform(-2, 2)), count)
    kept = tuple(1 if mask >> axis & 1 else n for axis, n in enumerate(shape))
    attributes = zero_points(rng, "input", "output")
    attributes |= {"axis_mask": mask, "output_multiplier": multiplier, "output_shift": shift}
    yield call("MEAN", [int8(rng, *shape)], kept, **attributes)


def softmax(rng: Random) -> Iterator[Call]:
    rows, length = int(rng.integers(1, 4)), int(rng.choice([1, 2, 3, 10, 100, 700, 3000]))
    table = softmax_table(float(rng.uniform(0.5, 2)), float(2.0 ** rng.uniform(-8, 0)))
    values = np.full((rows, length), 5, np.int8) if rng.integers(3) == 0 else int8(rng, rows, length)
    yield call("SOFTMAX", [values, table], (rows, length), "int16" if rng.integers(3) == 0 else "int8")


def svdf(rng: Random) -> Iterator[Call]:
    batch, depth, units, rank, memory = (int(n) for n in rng.integers(1, 6, 5))
    state_type = str(rng.choice(["int8", "int16"]))
    filters = units * rank
    inputs = [
        int8(rng, batch, depth),
        int8(rng, filters, depth),
        elements(rng, state_type, (filters, memory)),
        rng.integers(-(1 << 20), 1 << 20, units).astype(np.int32),
        elements(rng, state_type, (batch, filters * memory)),
    ]
    wide = state_type == "int16"
    attributes = {**zero_points(rng, "input", "output"), "rank": rank}
    attributes["state_zero_point"] = 0 if wide else zero_point(rng)
    attributes["feature_multiplier"], attributes["feature_shift"] = scale(rng, -3, 1)
    attributes["output_multiplier"], attributes["output_shift"] = scale(
        rng, *((-26, -20) if wide else (-10, -6))
    )
    output = TensorSpec((batch, units), "int8")
    yield Call("SVDF", inputs, output, attributes, (TensorSpec((batch, filters * memory), state_type),))


def int16_clamps(rng):
    least, greatest = sorted(int(n) for n in rng.integers(-32768, 32768, 2))
    return (
        {"clamp_min": least, "clamp_max": greatest}
        if rng.integers(2)
        else {"clamp_min": -32768, "clamp_max": 32767}
    )


def int16_records(rng, channels, terms, wide_sums):
    """As `records`, with biases of 64 bits; the sums use the int16 range."""
    low = (
        rng.integers(-(1 << 31), 1 << 31, channels)
        if wide_sums
        else rng.integers(-(1 << 20), 1 << 20, channels)
    )
    high = rng.integers(-3, 3, channels) if wide_sums and rng.integers(2) else np.where(low < 0, -1, 0)
    pairs = np.array([scale(rng, -9 - np.log2(terms), -4) for _ in range(channels)])
    return np.column_stack([low, high, pairs]).astype(np.int32)


def int16(rng, *shape):
    if rng.integers(4) == 0:
        return rng.choice(np.array([-32768, 32767], np.int16), shape)
    return elements(rng, "int16", shape)


def int16_convolution(rng: Random) -> Iterator[Call]:
    depth, groups, per_group = (int(n) for n in rng.integers(1, 5, 3))
    depth = 300 if rng.integers(6) == 0 else depth
    batch, height, width, channels = image_shape(rng, depth * groups)
    (rows, columns), grid, names = window(rng, (height, width))
    filters, wide_sums = groups * per_group, int(rng.integers(2))
    weights = int8(rng, filters, rows, columns, depth)
    inputs = [
        int16(rng, batch, height, width, channels), weights,
        int16_records(rng, filters, rows * columns * depth, wide_sums),
    ]  # fmt: skip
    attributes = {**names, **int16_clamps(rng), "wide_sums": wide_sums}
    yield call("CONV_2D_16", inputs, (batch, *grid, filters), "int16", **attributes)


def int16_matrix(rng: Random) -> Iterator[Call]:
    rows, depth, channels = (int(n) for n in rng.integers(1, 12, 3))
    wide_sums = int(rng.integers(2))
    depth = 700 if rng.integers(6) == 0 else depth
    inputs = [
        int16(rng, rows, depth),
        int8(rng, channels, depth),
        int16_records(rng, channels, depth, wide_sums),
    ]
    yield call(
        "FULLY_CONNECTED_16", inputs, (rows, channels), "int16", **int16_clamps(rng), wide_sums=wide_sums
    )


def int16_transposed(rng: Random) -> Iterator[Call]:
    batch, height, width, depth = image_shape(rng, int(rng.integers(1, 6)))
    rows, columns, filters, down, across = (int(n) for n in rng.integers(1, 5, 5))
    grid = (int(rng.integers(1, 12)), int(rng.integers(1, 12)))
    wide_sums = int(rng.integers(2))
    inputs = [
        int16(rng, batch, height, width, depth), int8(rng, filters, rows, columns, depth),
        int16_records(rng, filters, rows * columns * depth, wide_sums),
    ]  # fmt: skip
    yield call(
        "TRANSPOSE_CONV_16", inputs, (batch, *grid, filters), "int16",
        stride_height=down, stride_width=across,
        pad_top=int(rng.integers(0, 3)), pad_left=int(rng.integers(0, 3)),
        **int16_clamps(rng), wide_sums=wide_sums,
    )  # fmt: skip


def int16_arithmetic(rng: Random) -> Iterator[Call]:
    for function in WideFunction:
        shapes, result = broadcast_shapes(rng)
        given = pairs(rng, "input1", "input2")
        low = {WideFunction.DIV: -10, WideFunction.MUL: -16}.get(function, -17)
        high = 30 if function == WideFunction.DIV else low + 3
        given["output_multiplier"], given["output_shift"] = scale(rng, low, high)
        inputs = [int16(rng, *shape) for shape in shapes]
        if function == WideFunction.DIV and rng.integers(2):
            inputs[1] //= 1 << 12  # small divisors, and 0
        yield call("ARITHMETIC_16", inputs, result, "int16", function=function, **given, **int16_clamps(rng))


def int16_pool(rng: Random) -> Iterator[Call]:
    for function in PoolFunction:
        batch, height, width, channels = image_shape(rng, int(rng.integers(1, 6)))
        (rows, columns), grid, names = window(rng, (height, width), dilation=False)
        yield call(
            "POOL_16", [int16(rng, batch, height, width, channels)], (batch, *grid, channels), "int16",
            function=function, **names, filter_height=rows, filter_width=columns, **int16_clamps(rng),
        )  # fmt: skip


def int16_mean(rng: Random) -> Iterator[Call]:
    shape = tuple(int(n) for n in rng.integers(1, 5, 4))
    mask = int(rng.integers(1, 16))
    kept = tuple(size for axis, size in enumerate(shape) if not mask >> axis & 1)
    multiplier, shift = scale(rng, -6, 0)
    yield call(
        "MEAN_16", [int16(rng, *shape)], kept, "int16",
        axis_mask=mask, output_multiplier=multiplier, output_shift=shift,
    )  # fmt: skip


def int16_softmax(rng: Random) -> Iterator[Call]:
    shape = int(rng.integers(1, 4)), int(rng.choice([1, 2, 10, 300]))
    multiplier, shift = scale(rng, -6, 3)
    yield call(
        "SOFTMAX_16", [int16(rng, *shape), EXPONENTIALS, RECIPROCALS], shape, "int16",
        input_multiplier=multiplier, input_shift=shift,
    )  # fmt: skip


def int16_functions(rng: Random) -> Iterator[Call]:
    shape = tuple(int(n) for n in rng.integers(1, 9, 2))
    yield call("LUT_16", [int16(rng, *shape), int16(rng, 513)], shape, "int16")
    for function in SigmoidFunction:
        factor, shift = int(rng.integers(0, 1 << 16)), int(rng.integers(0, 32))
        inputs = [int16(rng, *shape), SIGMOID_TABLE]
        yield call("SIGMOID_16", inputs, shape, "int16", function=function, factor=factor, shift=shift)
    yield call(
        "LEAKY_16",
        [int16(rng, *shape)],
        shape,
        "int16",
        **pairs(rng, "positive", "negative"),
        **int16_clamps(rng),
    )


def dequantize(rng: Random) -> Iterator[Call]:
    values = np.concatenate([np.arange(-32768, 32768, 97), [-32768, 32767, 0, 1, -1]]).astype(np.int16)
    for real in (
        quantize_scale(rng),
        np.float32(2.0 ** rng.uniform(-149, -120)),
        np.float32(2.0 ** rng.uniform(110, 127)),
    ):
        yield call(
            "DEQUANTIZE", [values], values.shape, "float32",
            scale=float(real), zero_point=int(rng.choice([0, -32768, 32767])),
        )  # fmt: skip


def matrix_sums(rng: Random) -> Iterator[Call]:
    rows, depth, channels = (int(n) for n in rng.integers(1, 12, 3))
    inputs = [int8(rng, rows, depth), int8(rng, channels, depth), records(rng, channels, depth)]
    yield call("MATRIX_SUMS", inputs, (rows, channels), "int32", **zero_points(rng, "input"))


def lstm_cell(rng: Random) -> Iterator[Call]:
    batch, units, steps = (int(n) for n in rng.integers(1, 6, 3))
    step = int(rng.integers(0, steps))
    time_major = bool(rng.integers(2))
    rows = (
        {"first_row": step * batch, "row_step": 1} if time_major else {"first_row": step, "row_step": steps}
    )
    gates = {}
    for name in ("input", "recurrent"):
        found = [scale(rng, -6, 3) for _ in range(4)]
        gates |= {f"{name}_multiplier": [m for m, _ in found], f"{name}_shift": [s for _, s in found]}
    factor, shift = sigmoid_scale(int(rng.integers(-31, 1)))
    for name, low in (("forget", -15), ("update", -16), ("output", -24)):
        gates[f"{name}_multiplier"], gates[f"{name}_shift"] = scale(rng, low, low + 2)
    yield Call(
        "LSTM_CELL",
        [
            rng.integers(-(1 << 16), 1 << 16, (batch * steps, 4 * units)).astype(np.int32),
            rng.integers(-(1 << 16), 1 << 16, (batch, 4 * units)).astype(np.int32),
            elements(rng, "int16", (batch, units)).astype(np.int32),
            SIGMOID_TABLE,
        ],
        TensorSpec((batch, units), "int8"),
        {
            **rows, **gates, **zero_points(rng, "output"), "tanh_factor": factor, "tanh_shift": shift,
            "cell_clip": int(rng.choice([0, 1000, 32767, 32768])),
        },
        (TensorSpec((batch, units), "int32"),),
    )  # fmt: skip


def rescale(rng: Random) -> Iterator[Call]:
    source, target = str(rng.choice(["int16", "int32"])), str(rng.choice(["int8", "int16", "int32"]))
    shape = tuple(int(n) for n in rng.integers(1, 7, 2))
    points = {
        name: int(rng.choice([0, *rng.integers(-(1 << 15), 1 << 15, 2)])) for name in ("input", "output")
    }
    yield call(
        "RESCALE", [elements(rng, source, shape)], shape, target,
        **{f"{name}_zero_point": point for name, point in points.items()},
        **pairs(rng, "output"),
    )  # fmt: skip


def softmax_of_large_shares(rng: Random) -> Iterator[Call]:
    """Their rounding shows how exact the reciprocal is."""
    for length in (2, 3):
        table = softmax_table(1.0, float(2.0 ** rng.uniform(-8, -6)))
        values = rng.integers(-128, 128, (4000, length)).astype(np.int8)
        yield call("SOFTMAX", [values, table], (4000, length))


def pad(rng: Random) -> Iterator[Call]:
    for dtype in TYPES:
        shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 7))))
        before = [int(n) for n in rng.integers(0, 3, len(shape))]
        padded = tuple(b + n + int(rng.integers(0, 3)) for b, n in zip(before, shape, strict=True))
        value = int(rng.integers(0, 2)) if dtype == "bool" else int(rng.integers(0, 100))
        if dtype not in ("bool", "uint8"):
            value -= 50
        before += [0] * (6 - len(shape))
        yield call("PAD", [elements(rng, dtype, shape)], padded, dtype, before=before, value=value)


def concatenation(rng: Random) -> Iterator[Call]:
    for dtype in TYPES:
        shape = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5)))]
        axis = int(rng.integers(len(shape)))
        parts = [[*shape[:axis], int(rng.integers(1, 5)), *shape[axis + 1 :]] for _ in range(3)]
        whole = (*shape[:axis], sum(part[axis] for part in parts), *shape[axis + 1 :])
        yield call("CONCATENATION", [elements(rng, dtype, part) for part in parts], whole, dtype, axis=axis)


def strided_copy(rng: Random) -> Iterator[Call]:
    for dtype in TYPES:
        size = [1] * 3 + [int(n) for n in rng.integers(1, 5, 3)]
        stride = [0] * 3 + [int(n) for n in rng.integers(-4, 5, 3)]
        if rng.integers(2):
            stride[-1] = 1
        steps = [(n - 1) * s for n, s in zip(size, stride, strict=True)]
        offset = -sum(min(step, 0) for step in steps)
        source = elements(rng, dtype, offset + sum(max(step, 0) for step in steps) + 3)
        attributes = {"offset": offset, "size": size, "stride": stride}
        yield call("STRIDED_COPY", [source], (np.prod(size),), dtype, **attributes)


def gather(rng: Random) -> Iterator[Call]:
    for dtype, index in itertools.product(TYPES, ("int32", "int64")):
        shape = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5)))]
        axis = int(rng.integers(len(shape)))
        batch_dims = int(rng.integers(axis + 1))
        count = int(rng.integers(1, 4))
        indices = rng.integers(-1, shape[axis] + 1, [*shape[:batch_dims], count]).astype(index)
        whole = (*shape[:axis], count, *shape[axis + 1 :])
        attributes = {"axis": axis, "batch_dims": batch_dims}
        yield call("GATHER", [elements(rng, dtype, shape), indices], whole, dtype, **attributes)


def gather_nd(rng: Random) -> Iterator[Call]:
    for dtype, index in itertools.product(TYPES, ("int32", "int64")):
        shape = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5)))]
        depth = int(rng.integers(1, len(shape) + 1))
        indices = np.stack([rng.integers(-1, n + 1, 4) for n in shape[:depth]], axis=1).astype(index)
        if index == "int64":
            indices[0] = 1 << 32  # whose low half is a valid index
        yield call("GATHER_ND", [elements(rng, dtype, shape), indices], (4, *shape[depth:]), dtype)


def update_slice(rng: Random) -> Iterator[Call]:
    for dtype, index in itertools.product(TYPES, ("int32", "int64")):
        shape = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5)))]
        part = [int(rng.integers(1, n + 1)) for n in shape]
        start = np.array([rng.integers(-2, n + 2) for n in shape]).astype(index)
        if index == "int64":
            start[0] = int(rng.choice([-1, 1])) << 32  # whose low half is a valid index
        inputs = [elements(rng, dtype, shape), elements(rng, dtype, part), start]
        yield call("UPDATE_SLICE", inputs, shape, dtype)


def place_cursor(rng: Random) -> Iterator[Call]:
    for cursor, index in itertools.product((0, 1), ("int32", "int64")):
        rank = int(rng.integers(1, 7))
        room, stride = ([*(int(n) for n in rng.integers(0, 1000, rank)), *[0] * (6 - rank)] for _ in range(2))
        start = np.array([rng.integers(-2, most + 2) for most in room[:rank]]).astype(index)
        if index == "int64":
            start[0] = int(rng.choice([-1, 1])) << 32  # whose low half is a valid index
        reach = int(np.dot(room, stride))
        yield call(
            "PLACE_CURSOR", [start], [1], "int32", cursor=cursor, reach=reach, room=room, stride=stride
        )


def resize(rng: Random) -> Iterator[Call]:
    for dtype in TYPES:
        shape = image_shape(rng, int(rng.integers(1, 5)))
        size = [int(n) for n in rng.integers(1, 9, 2)]
        limits = list(zip(shape[1:3], size, strict=True))
        whole = (shape[0], *size, shape[3])
        places = [rng.integers(0, n, count).astype(np.int32) for n, count in limits]
        yield call("RESIZE_NEAREST", [elements(rng, dtype, shape), *places], whole, dtype)
        tables = [
            np.column_stack([place, np.minimum(place + 1, n - 1), rng.integers(0, 1025, count)])
            for place, (n, count) in zip(places, limits, strict=True)
        ]
        tables = [table.astype(np.int32) for table in tables]
        yield call("RESIZE_BILINEAR", [int8(rng, *shape), *tables], whole)


def quantize(rng: Random) -> Iterator[Call]:
    for dtype in ("int8", "uint8", "int16"):
        limits = np.iinfo(dtype)
        # The halves of the second are subnormal; few steps of the third are infinite.
        for real in (quantize_scale(rng), np.float32(1.2e-38), np.float32(2e37)):
            steps = rng.uniform(-1.2, 1.2, 200) * (int(limits.max) - int(limits.min))
            halves = np.round(steps[:100]) + 0.5
            with np.errstate(over="ignore"):
                values = np.concatenate([steps, halves]).astype(np.float32) * real
                nearby = np.nextafter(values[200:], np.float32(np.inf))
                great = real * np.float32(2) ** np.arange(20, 80, dtype=np.float32)
            values = np.concatenate([values, nearby, great, -great, np.array(SPECIALS, np.float32)])
            zero = int(rng.integers(limits.min, limits.max + 1))
            yield call("QUANTIZE", [values], values.shape, dtype, scale=float(real), zero_point=zero)


def quantize_by_table(rng: Random) -> Iterator[Call]:
    """By tables of a quantization, and of anything; floats at the ends of cells, and of any bits."""
    for dtype in ("int8", "uint8"):
        limits = np.iinfo(dtype)
        point = int(rng.choice([limits.min, limits.max, rng.integers(limits.min, limits.max + 1)]))
        steps = float_steps(float(2.0 ** rng.uniform(-149, 100)), point, dtype)
        assert steps is not None
        if rng.integers(3) == 0:
            steps = any_steps(rng, point)
        sides = steps.positive, steps.negative
        starts = [steps.first + (np.arange(len(side), dtype=np.int64) << steps.bits) for side in sides]
        edges = np.concatenate([*starts, steps.starts, [0, 0x7F800000]])
        patterns = np.concatenate([edges - 1, edges, edges + 1, rng.integers(0, 1 << 31, 300)]) & 0x7FFFFFFF
        values = np.concatenate([patterns, patterns | 1 << 31]).astype(np.uint32).view(np.float32)
        yield call(
            "QUANTIZE_TABLE", [values, np.concatenate(sides), steps.starts.view(np.int32)],
            values.shape, dtype, first=steps.first, zero_point=point, bits=steps.bits,
            positive_cells=len(sides[0]) - 1, negative_cells=len(sides[1]) - 1,
        )  # fmt: skip


def any_steps(rng: Random, point: int) -> FloatSteps:
    """Cells with any results, which no quantization has."""
    first, bits = int(rng.integers(0, 1 << 31)), int(rng.integers(0, 20))
    room = min((1 << 31) - first >> bits, 400)
    sides = [rng.integers(0, 256, int(rng.integers(0, room + 1)) + 1).astype(np.uint8) for _ in range(2)]
    for side in sides:
        side[rng.random(len(side)) < 0.3] = point & 0xFF
    return FloatSteps(first, point, bits, *sides, elements(rng, "int32", 256).view(np.uint32))


def cast(rng: Random) -> Iterator[Call]:
    integers = [dtype for dtype in TYPES if dtype != "float32"]
    for source, target in itertools.product(integers, repeat=2):
        values = elements(rng, source, 50)
        values[0] = 0
        if source in ("int32", "int64"):
            values[1:3] = 256, 1 << (np.iinfo(source).bits - 8)  # whose low byte is 0
        yield call("CAST", [values], (50,), target)


def binary(rng: Random) -> Iterator[Call]:
    extrema = (BinaryFunction.MAXIMUM, BinaryFunction.MINIMUM)
    kinds = [("int32", function) for function in BinaryFunction]
    for dtype, function in (*kinds, *itertools.product(("int8", "bool"), extrema)):
        shapes, result = broadcast_shapes(rng)
        values = [elements(rng, dtype, shape) for shape in shapes]
        if rng.integers(2):
            values[1] = rng.integers(-4, 5, shapes[1]).astype(dtype)
        if dtype != "bool":
            values[0].flat[0] = np.iinfo(dtype).min
        least, greatest = sorted(int(n) for n in rng.integers(-(1 << 31), 1 << 31, 2))
        if rng.integers(2):
            least, greatest = -(1 << 31), (1 << 31) - 1
        attributes = {"function": int(function), "clamp_min": least, "clamp_max": greatest}
        yield call("BINARY", values, result, dtype, **attributes)


def comparison(rng: Random) -> Iterator[Call]:
    """Of equals too; bool is only equal or not."""
    for dtype, function in itertools.product(("int8", "int16", "int32", "int64", "bool"), CompareFunction):
        if dtype == "bool" and function > CompareFunction.NOT_EQUAL:
            continue
        shapes, result = broadcast_shapes(rng)
        values = [elements(rng, dtype, shape) for shape in shapes]
        if rng.integers(2):
            values = [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
        scales = pairs(rng, "input1", "input2")
        for name in ("input1_shift", "input2_shift"):
            scales[name] = min(scales[name], 0)
        points = zero_points(rng, "input1", "input2")
        yield call("COMPARE", values, result, "bool", function=int(function), **points, **scales)


def selection(rng: Random) -> Iterator[Call]:
    for dtype in TYPES:
        shapes, result = broadcast_shapes(rng)
        shape = [1 if rng.integers(3) == 0 else n for n in result]
        values = [elements(rng, dtype, shape) for shape in shapes]
        yield call("SELECT", [elements(rng, "bool", shape), *values], result, dtype)


def reduction(rng: Random) -> Iterator[Call]:
    functions = {
        "int8": (2, 3),
        "int16": (2, 3),
        "int32": (0, 1, 2, 3),
        "int64": (0, 1, 2, 3),
        "bool": (4, 5),
    }
    for dtype, allowed in functions.items():
        for function in allowed:
            shape = [int(n) for n in rng.integers(1, 6, int(rng.integers(1, 6)))]
            mask = int(rng.integers(1 << len(shape)))
            kept = [size for axis, size in enumerate(shape) if not mask >> axis & 1]
            values = elements(rng, dtype, shape)
            yield call("REDUCE", [values], kept, dtype, function=function, axis_mask=mask)


def top_k(rng: Random) -> Iterator[Call]:
    for dtype in ("int8", "int16", "int32", "int64"):
        shape = int(rng.integers(1, 4)), int(rng.integers(1, 12))
        count = int(rng.integers(1, shape[1] + 1))
        values = elements(rng, dtype, shape)
        if rng.integers(2):
            values //= 1 << (np.iinfo(dtype).bits - 2)  # equals
        outputs = TensorSpec((shape[0], count), dtype), TensorSpec((shape[0], count), "int32")
        yield Call("TOP_K", [values], outputs[0], {}, outputs[1:])


def running_sum(rng: Random) -> Iterator[Call]:
    for dtype, exclusive, reverse in itertools.product(("int8", "int32", "int64"), (0, 1), (0, 1)):
        shape = [int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5)))]
        axis = int(rng.integers(len(shape)))
        values = elements(rng, dtype, shape)
        multiplier, shift = scale(rng, -20, -0.1)
        attributes = {
            "axis": axis,
            "exclusive": exclusive,
            "reverse": reverse,
            **zero_points(rng, "input", "output"),
        }
        attributes |= {"output_multiplier": multiplier, "output_shift": shift}
        yield call("CUMULATIVE_SUM", [values], shape, dtype, **attributes)


def quotient(rng: Random) -> Iterator[Call]:
    """Of all values too, among them divisors of 0."""
    shapes, result = broadcast_shapes(rng)
    if rng.integers(8) == 0:
        shapes, result = [(256, 1), (256,)], (256, 256)
    values = [int8(rng, *shape) for shape in shapes]
    if result == (256, 256):
        values = [np.arange(-128, 128).astype(np.int8).reshape(shape) for shape in shapes]
    attributes = zero_points(rng, "input1", "input2", "output")
    attributes["output_multiplier"], attributes["output_shift"] = scale(rng, -12, 30)
    yield call("DIV", values, result, **attributes, **clamps(rng))


def table_product(rng: Random) -> Iterator[Call]:
    """Factors of all sizes, so that products wrap as well."""
    shapes, result = broadcast_shapes(rng)
    values = [int8(rng, *shape) for shape in shapes]
    bits = int(rng.integers(1, 32))
    table = rng.integers(-1 << bits, 1 << bits, 256).astype(np.int32)
    attributes = zero_points(rng, "input1", "output")
    attributes["output_multiplier"], attributes["output_shift"] = scale(rng, -30, 2)
    yield call("MUL_LUT", [*values, table], result, **attributes, **clamps(rng))


def reduced_product(rng: Random) -> Iterator[Call]:
    shape = [int(n) for n in rng.integers(1, 6, int(rng.integers(1, 6)))]
    mask = int(rng.integers(1 << len(shape)))
    kept = [size for axis, size in enumerate(shape) if not mask >> axis & 1]
    attributes = {"axis_mask": mask, **zero_points(rng, "input", "output")}
    attributes["output_multiplier"], attributes["output_shift"] = scale(rng, -9, 2)
    yield call("PRODUCT", [int8(rng, *shape)], kept, **attributes)
    yield call("PRODUCT", [int16(rng, *shape)], kept, "int16", **attributes)


def l2_normalization(rng: Random) -> Iterator[Call]:
    """Rows of zeros, and of so many elements that the sum of squares takes 30 bits."""
    for length in (1, 2, int(rng.integers(3, 40)), 17_000):
        point = zero_point(rng)
        values = int8(rng, 3, length)
        values[0] = point
        yield call(
            "L2_NORMALIZATION", [values], (3, length),
            input_zero_point=point, early_bits=7 * int(rng.integers(2)),
        )  # fmt: skip


def normalize(rng: Random) -> Iterator[Call]:
    """Rows of one number, of noise, and the longest, with records at the ends of their range."""
    for length in (1, 2, int(rng.integers(3, 90)), 16_384):
        values, point = int8(rng, 3, length), zero_point(rng)
        values[0] = -128
        if rng.integers(2):
            values[1, 1:] = 127
        channels = int(rng.choice([1, 3, length]))
        bits = int(rng.integers(1, 32))
        records = rng.integers(-(1 << (bits - 1)), 1 << (bits - 1), (channels, 2)).astype(np.int32)
        yield call(
            "NORMALIZE", [values, records], (3, length),
            input_zero_point=point, output_zero_point=zero_point(rng), is_centred=int(rng.integers(2)),
            epsilon_low=int(rng.integers(-(1 << 31), 1 << 31)) if rng.integers(2) else 0,
            epsilon_high=int(rng.choice([0, 0, 5, 1 << 24])), repeat=int(rng.choice([1, 7, 100_000])),
            shift=int(rng.integers(33, 63)), offset_shift=int(rng.integers(1, 31)),
        )  # fmt: skip


def unary(rng: Random) -> Iterator[Call]:
    for function in (UnaryFunction.ABS, UnaryFunction.NEG, UnaryFunction.SQUARE):
        values = elements(rng, "int32", 50)
        values[0] = -(1 << 31)
        yield call("UNARY", [values], (50,), "int32", function=int(function))


def arg_max(rng: Random) -> Iterator[Call]:
    for dtype, index in itertools.product(("int8", "int32", "int64"), ("int32", "int64")):
        shape = [int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5)))]
        axis = int(rng.integers(len(shape)))
        values = elements(rng, dtype, shape)
        if rng.integers(2):
            values //= 1 << (np.iinfo(dtype).bits - 2)  # equals
        yield call("ARG_MAX", [values], (*shape[:axis], *shape[axis + 1 :]), index, axis=axis)
