"""The firmware's C kernels against the simulator's NumPy kernels, which are held to TensorFlow's own: many
random calls of each operator in one program."""

import numpy as np
import pytest

from dlasim.isa.host_ops import BinaryFunction, UnaryFunction
from dlasim.sim.host import TensorSpec
from dlasim.sim.numerics import mean_multiplier, quantize_multiplier, softmax_table
from tests.firmware.host_calls import HostCalls

CALLS = 60


@pytest.fixture
def rng(request):
    return np.random.default_rng(list(request.node.name.encode()))


def int8(rng, *shape):
    """Noise, one time in four only the ends of the range."""
    if rng.integers(4) == 0:
        return rng.choice(np.array([-128, 127], np.int8), shape)
    return rng.integers(-128, 128, shape).astype(np.int8)


def zero_point(rng):
    return int(rng.choice([-128, 127, int(rng.integers(-128, 128))]))


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
    return {"input_zero_point": zero_point(rng), "output_zero_point": zero_point(rng), **clamps(rng)}


def test_convolution(rng):
    calls = HostCalls()
    for _ in range(CALLS):
        groups = int(rng.choice([1, 1, 1, 2, 3]))
        depth, per_group = int(rng.integers(1, 10)), int(rng.integers(1, 10))
        shape = image_shape(rng, groups * depth)
        kernel, grid, attributes = window(rng, shape[1:3])
        channels = groups * per_group
        calls.add(
            "CONV_2D",
            [
                int8(rng, *shape),
                int8(rng, channels, *kernel, depth),
                records(rng, channels, kernel[0] * kernel[1] * depth),
            ],
            [TensorSpec((shape[0], *grid, channels), "int8")],
            **attributes,
            **quantization(rng),
        )
    calls.check()


def test_pointwise_convolution(rng):
    calls = HostCalls()
    for _ in range(CALLS):
        depth, channels = int(rng.integers(1, 20)), int(rng.integers(1, 10))
        shape = image_shape(rng, depth)
        calls.add(
            "CONV_2D",
            [int8(rng, *shape), int8(rng, channels, 1, 1, depth), records(rng, channels, depth)],
            [TensorSpec((*shape[:3], channels), "int8")],
            **dict.fromkeys(("stride_height", "stride_width", "dilation_height", "dilation_width"), 1),
            pad_top=0,
            pad_left=0,
            **quantization(rng),
        )
    calls.check()


def test_depthwise_convolution(rng):
    calls = HostCalls()
    for _ in range(CALLS):
        depth, multiplier = int(rng.integers(1, 14)), int(rng.choice([1, 1, 1, 2, 3]))
        shape = image_shape(rng, depth)
        kernel, grid, attributes = window(rng, shape[1:3])
        channels = depth * multiplier
        calls.add(
            "DEPTHWISE_CONV_2D",
            [int8(rng, *shape), int8(rng, 1, *kernel, channels), records(rng, channels, np.prod(kernel))],
            [TensorSpec((shape[0], *grid, channels), "int8")],
            **attributes,
            **quantization(rng),
        )
    calls.check()


def test_fully_connected(rng):
    calls = HostCalls()
    for _ in range(CALLS):
        depth, channels, rows = (int(n) for n in rng.integers(1, (70, 20, 5)))
        calls.add(
            "FULLY_CONNECTED",
            [int8(rng, rows, depth), int8(rng, channels, depth), records(rng, channels, depth)],
            [TensorSpec((rows, channels), "int8")],
            **quantization(rng),
        )
    calls.check()


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


def pairs(rng, *names):
    given = {}
    for name in names:
        given[f"{name}_multiplier"], given[f"{name}_shift"] = scale(rng)
    return given


@pytest.mark.parametrize("operator", ["ADD", "SUB"])
def test_sum(rng, operator):
    calls = HostCalls()
    for number in range(CALLS):
        shapes, result = broadcast_shapes(rng)
        if number % 10 == 0:  # long rows are looked up
            shapes, result = [(30, 50), (30, 50) if number % 20 else (1,)], (30, 50)
        calls.add(
            operator,
            [int8(rng, *shape) for shape in shapes],
            [TensorSpec(result, "int8")],
            input1_zero_point=zero_point(rng),
            input2_zero_point=zero_point(rng),
            output_zero_point=zero_point(rng),
            **pairs(rng, "input1", "input2", "output"),
            **clamps(rng),
        )
    calls.check()


def test_product(rng):
    calls = HostCalls()
    for _ in range(CALLS):
        shapes, result = broadcast_shapes(rng)
        calls.add(
            "MUL",
            [int8(rng, *shape) for shape in shapes],
            [TensorSpec(result, "int8")],
            input1_zero_point=zero_point(rng),
            input2_zero_point=zero_point(rng),
            output_zero_point=zero_point(rng),
            **pairs(rng, "output"),
            **clamps(rng),
        )
    calls.check()


def test_prelu(rng):
    calls = HostCalls()
    for _ in range(CALLS):
        (_, alpha), _ = broadcast_shapes(rng)
        shape = [*(1 for _ in range(5 - len(alpha))), *alpha]
        shape = [n if n > 1 else int(rng.integers(1, 4)) for n in shape]
        calls.add(
            "PRELU",
            [int8(rng, *shape), int8(rng, *alpha)],
            [TensorSpec(tuple(shape), "int8")],
            input_zero_point=zero_point(rng),
            alpha_zero_point=zero_point(rng),
            output_zero_point=zero_point(rng),
            **pairs(rng, "positive", "negative"),
        )
    calls.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("entry", ["int8", "int16", "int32", "int64", "float32"])
def test_lookup(rng, dtype, entry):
    calls = HostCalls()
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max + 1, (3, 100)).astype(dtype)
    table = rng.integers(-100, 100, 256).astype(entry)
    calls.add("LUT", [values, table], [TensorSpec((3, 100), entry)])
    calls.check()


@pytest.mark.parametrize("operator", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pool(rng, operator):
    calls = HostCalls()
    for _ in range(CALLS):
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
        calls.add(
            operator,
            [int8(rng, *shape)],
            [TensorSpec((shape[0], *grid, shape[3]), "int8")],
            filter_height=height,
            filter_width=width,
            **attributes,
            **clamps(rng),
        )
    calls.check()


def test_mean(rng):
    calls = HostCalls()
    for _ in range(CALLS):
        shape = tuple(int(n) for n in rng.integers(1, 8, int(rng.integers(1, 6))))
        mask = int(rng.integers(1, 1 << len(shape)))
        count = int(np.prod([n for axis, n in enumerate(shape) if mask >> axis & 1]))
        multiplier, shift = mean_multiplier(float(2.0 ** rng.uniform(-2, 2)), count)
        kept = tuple(1 if mask >> axis & 1 else n for axis, n in enumerate(shape))
        calls.add(
            "MEAN",
            [int8(rng, *shape)],
            [TensorSpec(kept, "int8")],
            axis_mask=mask,
            input_zero_point=zero_point(rng),
            output_zero_point=zero_point(rng),
            output_multiplier=multiplier,
            output_shift=shift,
        )
    calls.check()


def test_softmax(rng):
    calls = HostCalls()
    for _ in range(CALLS):
        rows, length = int(rng.integers(1, 4)), int(rng.choice([1, 2, 3, 10, 100, 700, 3000]))
        table = softmax_table(float(rng.uniform(0.5, 2)), float(2.0 ** rng.uniform(-8, 0)))
        values = np.full((rows, length), 5, np.int8) if rng.integers(3) == 0 else int8(rng, rows, length)
        calls.add("SOFTMAX", [values, table], [TensorSpec((rows, length), "int8")])
    for length in (2, 3):  # large shares, whose rounding shows how exact the reciprocal is
        table = softmax_table(1.0, float(2.0 ** rng.uniform(-8, -6)))
        values = rng.integers(-128, 128, (4000, length)).astype(np.int8)
        calls.add("SOFTMAX", [values, table], [TensorSpec((4000, length), "int8")])
    calls.check()


TYPES = ("int8", "int16", "int32", "int64", "uint8", "bool", "float32")


def elements(rng, dtype, shape):
    if dtype == "float32":
        return rng.normal(0, 10, shape).astype(np.float32)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


@pytest.mark.parametrize("dtype", TYPES)
def test_pad(rng, dtype):
    calls = HostCalls()
    for _ in range(10):
        shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 7))))
        before = [int(n) for n in rng.integers(0, 3, len(shape))]
        padded = tuple(b + n + int(rng.integers(0, 3)) for b, n in zip(before, shape, strict=True))
        value = int(rng.integers(0, 2)) if dtype == "bool" else int(rng.integers(0, 100))
        if dtype not in ("bool", "uint8"):
            value -= 50
        calls.add(
            "PAD",
            [elements(rng, dtype, shape)],
            [TensorSpec(padded, dtype)],
            before=before + [0] * (6 - len(shape)),
            value=value,
        )
    calls.check()


@pytest.mark.parametrize("dtype", TYPES)
def test_concatenation(rng, dtype):
    calls = HostCalls()
    for _ in range(10):
        shape = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5)))]
        axis = int(rng.integers(len(shape)))
        parts = [[*shape[:axis], int(rng.integers(1, 5)), *shape[axis + 1 :]] for _ in range(3)]
        whole = (*shape[:axis], sum(part[axis] for part in parts), *shape[axis + 1 :])
        arrays = [elements(rng, dtype, part) for part in parts]
        calls.add("CONCATENATION", arrays, [TensorSpec(whole, dtype)], axis=axis)
    calls.check()


@pytest.mark.parametrize("dtype", TYPES)
def test_strided_copy(rng, dtype):
    calls = HostCalls()
    for _ in range(10):
        size = [1] * 3 + [int(n) for n in rng.integers(1, 5, 3)]
        stride = [0] * 3 + [int(n) for n in rng.integers(-4, 5, 3)]
        if rng.integers(2):
            stride[-1] = 1
        steps = [(n - 1) * s for n, s in zip(size, stride, strict=True)]
        offset = -sum(min(step, 0) for step in steps)
        source = elements(rng, dtype, offset + sum(max(step, 0) for step in steps) + 3)
        calls.add(
            "STRIDED_COPY",
            [source],
            [TensorSpec((int(np.prod(size)),), dtype)],
            offset=offset,
            size=size,
            stride=stride,
        )
    calls.check()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_gather(rng, dtype, index):
    calls = HostCalls()
    for _ in range(5):
        shape = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5)))]
        axis = int(rng.integers(len(shape)))
        batch_dims = int(rng.integers(axis + 1))
        counts = [int(rng.integers(1, 4))]
        indices = rng.integers(-1, shape[axis] + 1, shape[:batch_dims] + counts).astype(index)
        whole = (*shape[:axis], *counts, *shape[axis + 1 :])
        calls.add(
            "GATHER",
            [elements(rng, dtype, shape), indices],
            [TensorSpec(whole, dtype)],
            axis=axis,
            batch_dims=batch_dims,
        )
        depth = int(rng.integers(1, len(shape) + 1))
        indices = np.stack([rng.integers(-1, n + 1, 4) for n in shape[:depth]], axis=1).astype(index)
        if index == "int64":
            indices[0] = 1 << 32  # whose low half is a valid index
        calls.add(
            "GATHER_ND",
            [elements(rng, dtype, shape), indices],
            [TensorSpec((4, *shape[depth:]), dtype)],
        )
    calls.check()


def test_resize(rng):
    calls = HostCalls()
    for dtype in TYPES * 4:
        shape = image_shape(rng, int(rng.integers(1, 5)))
        size = [int(n) for n in rng.integers(1, 9, 2)]
        places = [
            rng.integers(0, n, count).astype(np.int32) for n, count in zip(shape[1:3], size, strict=True)
        ]
        whole = (shape[0], *size, shape[3])
        calls.add("RESIZE_NEAREST", [elements(rng, dtype, shape), *places], [TensorSpec(whole, dtype)])
        upper = [
            np.minimum(place + 1, n - 1).astype(np.int32) for place, n in zip(places, shape[1:3], strict=True)
        ]
        fractions = [rng.integers(0, 1025, count).astype(np.int32) for count in size]
        tables = [np.column_stack(columns) for columns in zip(places, upper, fractions, strict=True)]
        calls.add("RESIZE_BILINEAR", [int8(rng, *shape), *tables], [TensorSpec(whole, "int8")])
    calls.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_quantize(rng, dtype):
    calls = HostCalls()
    limits = np.iinfo(dtype)
    specials = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, -3e38, 1.0, 0.5, -0.5]
    for number in range(40):
        real = np.float32(2.0 ** rng.uniform(-20, 3))
        if number == 0:
            real = np.float32(1.2e-38)  # its halves are subnormal
        elif rng.integers(3) == 0:
            real = np.float32(2.0 ** int(rng.integers(-20, 3)))
        steps = rng.uniform(-1.2, 1.2, 200) * (int(limits.max) - int(limits.min))
        halves = np.round(steps[:100]) + 0.5
        values = np.concatenate([steps, halves]).astype(np.float32) * real
        nearby = np.nextafter(values[200:], np.float32(np.inf))
        great = real * np.float32(2) ** np.arange(20, 80, dtype=np.float32)
        values = np.concatenate([values, nearby, great, -great, np.array(specials, np.float32)])
        calls.add(
            "QUANTIZE",
            [values],
            [TensorSpec(values.shape, dtype)],
            scale=float(real),
            zero_point=int(rng.integers(limits.min, limits.max + 1)),
        )
    calls.check()


def test_cast(rng):
    calls = HostCalls()
    integers = [dtype for dtype in TYPES if dtype != "float32"]
    for source in integers:
        for target in integers:
            values = elements(rng, source, 50)
            values[0] = 0
            if source in ("int32", "int64"):
                values[1:3] = 256, 1 << (np.iinfo(source).bits - 8)  # whose low byte is 0
            calls.add("CAST", [values], [TensorSpec((50,), target)])
    calls.check()


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_binary(rng, dtype):
    calls = HostCalls()
    functions = list(BinaryFunction)
    if dtype == "int8":
        functions = [BinaryFunction.MAXIMUM, BinaryFunction.MINIMUM]
    for function in functions * 6:
        shapes, result = broadcast_shapes(rng)
        values = [elements(rng, dtype, shape) for shape in shapes]
        if rng.integers(2):
            values[1] = rng.integers(-2, 3, shapes[1]).astype(dtype)
        least, greatest = sorted(int(n) for n in rng.integers(-(1 << 31), 1 << 31, 2))
        if rng.integers(2):
            least, greatest = -(1 << 31), (1 << 31) - 1
        calls.add(
            "BINARY",
            values,
            [TensorSpec(result, dtype)],
            function=int(function),
            clamp_min=least,
            clamp_max=greatest,
        )
    calls.check()


def test_unary(rng):
    calls = HostCalls()
    for function in (UnaryFunction.ABS, UnaryFunction.NEG):
        values = elements(rng, "int32", 50)
        values[0] = -(1 << 31)
        calls.add("UNARY", [values], [TensorSpec((50,), "int32")], function=int(function))
    calls.check()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_arg_max(rng, dtype, index):
    calls = HostCalls()
    for _ in range(20):
        shape = [int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5)))]
        axis = int(rng.integers(len(shape)))
        values = elements(rng, dtype, shape)
        if rng.integers(2):
            values //= 1 << (np.iinfo(dtype).bits - 2)  # equals
        kept = (*shape[:axis], *shape[axis + 1 :])
        calls.add("ARG_MAX", [values], [TensorSpec(kept, index)], axis=axis)
    calls.check()
