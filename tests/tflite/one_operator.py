"""Random networks of one operator each, with every operator that the writer knows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dlasim.compiler_shim.graph import Graph, Operator, Quantization
from tests.tflite.maker import Maker, one_scale

# TensorFlow prescribes the output scales of these.
SOFTMAX_OUTPUT = Quantization((1 / 256,), (-128,))
TANH_OUTPUT = Quantization((1 / 128,), (0,))


ACTIVATIONS = ("NONE", "RELU", "RELU6")


def _windows(size: int, window: int, stride: int, padding: str) -> int:
    return -(-size // stride) if padding == "SAME" else (size - window) // stride + 1


def _window_options(make: Maker) -> dict[str, Any]:
    return {
        "padding": make.choice("SAME", "VALID"),
        "stride_h": make.number(1, 3),
        "stride_w": make.number(1, 3),
        "fused_activation_function": make.choice(*ACTIVATIONS),
    }


def conv_2d(make: Maker) -> Graph:
    height, width, depth, channels = (make.number(5, 12), make.number(5, 12), *make.shape(3)[1:])
    rows, columns = make.number(1, 3), make.number(1, 3)
    source = make.input((1, height, width, depth))
    weights, bias = make.weights((channels, rows, columns, depth), 0, source)
    options = _window_options(make)
    options |= {"dilation_h_factor": make.number(1, 2), "dilation_w_factor": 1}
    tall = (rows - 1) * options["dilation_h_factor"] + 1
    grid = (
        _windows(height, tall, options["stride_h"], options["padding"]),
        _windows(width, columns, options["stride_w"], options["padding"]),
    )
    result = make.tensor("output", (1, *grid, channels), make.quantization())
    return make.graph("CONV_2D", [source, weights, bias], [result], options)


def depthwise_conv_2d(make: Maker) -> Graph:
    height, width, depth = make.number(5, 12), make.number(5, 12), make.number(1, 9)
    multiplier = make.number(1, 2)
    source = make.input((1, height, width, depth))
    weights, bias = make.weights((1, 3, 2, depth * multiplier), 3, source)
    options = _window_options(make)
    options["stride_w"] = options["stride_h"]
    grid = (
        _windows(height, 3, options["stride_h"], options["padding"]),
        _windows(width, 2, options["stride_w"], options["padding"]),
    )
    result = make.tensor("output", (1, *grid, depth * multiplier), make.quantization())
    options["depth_multiplier"] = multiplier
    return make.graph("DEPTHWISE_CONV_2D", [source, weights, bias], [result], options)


def transpose_conv(make: Maker) -> Graph:
    height, width, depth, channels = (
        make.number(2, 6),
        make.number(2, 6),
        make.number(1, 5),
        make.number(1, 5),
    )
    stride, padding = make.number(1, 2), make.choice("SAME", "VALID")
    source = make.input((1, height, width, depth))
    weights, bias = make.weights((channels, 3, 3, depth), 0, source)
    if padding == "SAME":
        output = (1, height * stride, width * stride, channels)
    else:
        output = (1, (height - 1) * stride + 3, (width - 1) * stride + 3, channels)
    shape = make.constant("shape", output)
    result = make.tensor("output", output, make.quantization())
    options = {"padding": padding, "stride_h": stride, "stride_w": stride}
    return make.graph("TRANSPOSE_CONV", [shape, weights, source, bias], [result], options)


def fully_connected(make: Maker) -> Graph:
    depth, units = make.number(1, 40), make.number(1, 20)
    source = make.input((1, depth))
    weights, bias = make.weights((units, depth), None, source)
    result = make.tensor("output", (1, units), make.quantization())
    options = {"fused_activation_function": make.choice(*ACTIVATIONS)}
    return make.graph("FULLY_CONNECTED", [source, weights, bias], [result], options)


def svdf(make: Maker) -> Graph:
    depth, units, rank, memory = make.number(2, 8), make.number(1, 6), make.number(1, 2), make.number(2, 5)
    filters = units * rank
    source = make.input((1, depth))
    features = make.constant(
        "features", make.rng.integers(-127, 128, (filters, depth), dtype=np.int8), one_scale(0.01)
    )
    times = make.constant(
        "times",
        make.rng.integers(-3000, 3000, (filters, memory)).astype(np.int16),
        one_scale(1e-4),
    )
    bias = make.constant("bias", np.zeros(units, dtype=np.int32), one_scale(1e-5))
    state = make.tensor("state", (1, memory * filters), one_scale(0.05), "int16")
    result = make.tensor("output", (1, units), make.quantization())
    options = {"rank": rank, "fused_activation_function": "RELU"}
    return make.graph("SVDF", [source, features, times, bias, state], [result], options)


def lstm(make: Maker, time_major: bool | None = None) -> Graph:
    """With or without a limit of the cell, whose scale is a power of two."""
    steps, batch, depth, units = (make.number(1, 5), make.number(1, 3), make.number(1, 9), make.number(1, 7))
    in_steps = bool(make.number(0, 1)) if time_major is None else time_major
    extents = (steps, batch) if in_steps else (batch, steps)
    source = make.input((*extents, depth), one_scale_and_zero(make, make.rng.uniform(0.005, 0.05)))
    hidden = one_scale_and_zero(make, make.rng.uniform(0.004, 0.012))
    source_scale = make.quantization_of(source).scale
    weights = [
        make.constant(
            f"weights_{number}",
            make.rng.integers(-127, 128, (units, depth if number < 4 else units)).astype(np.int8),
            # Half of them make sums lie on ties, which show in which precision the scales are multiplied.
            one_scale(
                make.choice(0.75, 1.5, 0.5) * 2.0**-16 / (source_scale if number < 4 else hidden.scale) * 8
                if make.number(0, 1)
                else make.rng.uniform(0.001, 0.02)
            ),
        )
        for number in range(8)
    ]
    biases = [
        make.constant(
            f"bias_{number}", make.rng.integers(-9000, 9000, units).astype(np.int32), one_scale(1e-4)
        )
        for number in range(4)
    ]
    state = make.tensor("output_state", (batch, units), hidden)
    cell = make.tensor("cell_state", (batch, units), one_scale(2.0 ** -make.number(9, 15)), "int16")
    result = make.tensor("output", (*extents, units), hidden)
    inputs = [source, *weights, -1, -1, -1, *biases, -1, -1, state, cell, -1, -1, -1, -1]
    options = {
        "fused_activation_function": "TANH",
        "time_major": in_steps,
        "cell_clip": make.choice(0.0, 0.5),
    }
    return make.graph("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [result], options)


def one_scale_and_zero(make: Maker, scale: float) -> Quantization:
    return Quantization((float(np.float32(scale)),), (make.number(-128, 127),))


def random_lstm(seed: int, time_major: bool) -> Graph:
    return lstm(Maker(seed), time_major)


def binary(kind: str, options: Callable[[Maker], dict[str, Any]], same_scale: bool = False) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(4)
        quantization = make.quantization() if same_scale else None
        first = make.input(shape, quantization)
        second = make.input(make.choice(shape, (1, 1, 1, shape[3])), quantization)
        result = make.tensor("output", shape, quantization or make.quantization())
        return make.graph(kind, [first, second], [result], options(make))

    return build


def division(kind: str) -> Callable:
    """Divides by a constant that is never zero, raw or real."""

    def build(make: Maker) -> Graph:
        shape, quantization = make.shape(4), make.quantization()
        allowed = np.setdiff1d(np.arange(-128, 128), [0, quantization.zero_point])
        size = make.choice(shape, (1,))
        divisor = make.constant("divisor", make.rng.choice(allowed, size).astype(np.int8), quantization)
        source = make.input(shape, quantization)
        result = make.tensor("output", shape, quantization if kind == "FLOOR_DIV" else make.quantization())
        return make.graph(kind, [source, divisor], [result], {})

    return build


def relu6(make: Maker) -> Graph:
    """With one scale: TFLite Micro's kernel ignores a difference."""
    source = make.input(make.shape(4))
    return make.moved("RELU6", source, [], make.tensors[source].shape, {})


def sqrt(make: Maker) -> Graph:
    """Of values that are never negative."""
    shape = make.shape(3)
    source = make.input(shape, Quantization((0.0625,), (-128,)))
    result = make.tensor("output", shape, make.quantization())
    return make.graph("SQRT", [source], [result], {})


def neg(make: Maker) -> Graph:
    """Of int32, which all runtimes but TFLite Micro have."""
    source = make.tensor("input_0", make.shape(3), None, "int32")
    make.inputs.append(source)
    result = make.tensor("output", make.tensors[source].shape, None, "int32")
    return make.graph("NEG", [source], [result], {})


def _fused(make: Maker) -> dict[str, Any]:
    return {"fused_activation_function": make.choice(*ACTIVATIONS)}


def pool(kind: str) -> Callable:
    def build(make: Maker) -> Graph:
        shape = (1, make.number(5, 12), make.number(5, 12), make.number(1, 9))
        options = _window_options(make) | {
            "filter_height": make.number(1, 4),
            "filter_width": make.number(1, 4),
        }
        rows = _windows(shape[1], options["filter_height"], options["stride_h"], options["padding"])
        columns = _windows(shape[2], options["filter_width"], options["stride_w"], options["padding"])
        return make.moved(kind, make.input(shape), [], (1, rows, columns, shape[3]), options)

    return build


def mean(make: Maker) -> Graph:
    shape, keep = make.shape(4), make.choice(True, False)
    source = make.input(shape)
    axes = make.constant("axes", [1, 2])
    result = make.tensor("output", (1, 1, 1, shape[3]) if keep else (1, shape[3]), make.quantization())
    return make.graph("MEAN", [source, axes], [result], {"keep_dims": keep})


def leaky_relu(make: Maker) -> Graph:
    return make.unary("LEAKY_RELU", {"alpha": float(np.float32(make.rng.uniform(0.05, 0.5)))})


def prelu(make: Maker) -> Graph:
    shape = make.shape(4)
    source = make.input(shape)
    alpha = make.constant(
        "alpha", make.rng.integers(-128, 128, (1, 1, shape[3]), dtype=np.int8), make.quantization()
    )
    result = make.tensor("output", shape, make.quantization())
    return make.graph("PRELU", [source, alpha], [result], {})


def pad(make: Maker) -> Graph:
    shape = make.shape(4)
    paddings = np.array([(0, 0), *((make.number(0, 3), make.number(0, 3)) for _ in range(3))])
    output = tuple(int(size + amount.sum()) for size, amount in zip(shape, paddings, strict=True))
    source = make.input(shape)
    return make.moved("PAD", source, [make.constant("paddings", paddings)], output, {})


def padv2(make: Maker) -> Graph:
    source = make.input(make.shape(4))
    shape = make.tensors[source].shape
    paddings = make.constant("paddings", [(0, 0), (1, 2), (2, 1), (0, 0)])
    value = make.constant("value", np.array([-7], dtype=np.int8), make.quantization_of(source))
    return make.moved("PADV2", source, [paddings, value], (1, shape[1] + 3, shape[2] + 3, shape[3]), {})


def reshape(make: Maker) -> Graph:
    shape = make.shape(4)
    output = (shape[1], shape[2] * shape[3])
    source = make.input(shape)
    return make.moved("RESHAPE", source, [make.constant("shape", output)], output, {"new_shape": output})


def squeeze(make: Maker) -> Graph:
    size = make.number(2, 9)
    source = make.input((1, 1, size, 1))
    return make.moved("SQUEEZE", source, [], (1, size), {"squeeze_dims": (1, 3)})


def expand_dims(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.input(shape)
    return make.moved(
        "EXPAND_DIMS", source, [make.constant("axis", np.int32(-2))], (*shape[:2], 1, shape[2]), {}
    )


def concatenation(make: Maker) -> Graph:
    shape, quantization = make.shape(4), make.quantization()
    axis = make.number(1, 3)
    other = tuple(make.number(1, 5) if dimension == axis else size for dimension, size in enumerate(shape))
    sources = [make.input(shape, quantization), make.input(other, quantization)]
    output = tuple(
        size + other[dimension] if dimension == axis else size for dimension, size in enumerate(shape)
    )
    result = make.tensor("output", output, quantization)
    return make.graph("CONCATENATION", sources, [result], {"axis": make.choice(axis, axis - 4)})


def split(make: Maker) -> Graph:
    parts, shape = make.number(2, 3), make.shape(3)
    axis = make.constant("axis", np.int32(2))
    source = make.input((*shape[:2], shape[2] * parts))
    outputs = [make.tensor(f"output_{part}", shape, make.quantization_of(source)) for part in range(parts)]
    return make.graph("SPLIT", [axis, source], outputs, {"num_splits": parts})


def split_v(make: Maker) -> Graph:
    sizes, shape = (make.number(1, 4), make.number(1, 4)), make.shape(3)
    source = make.input((*shape[:2], sum(sizes)))
    lengths, axis = make.constant("sizes", sizes), make.constant("axis", np.int32(2))
    quantization = make.quantization_of(source)
    outputs = [
        make.tensor(f"output_{size}_{part}", (*shape[:2], size), quantization)
        for part, size in enumerate(sizes)
    ]
    return make.graph("SPLIT_V", [source, lengths, axis], outputs, {"num_splits": 2})


def pack(make: Maker) -> Graph:
    shape, quantization = make.shape(3), make.quantization()
    sources = [make.input(shape, quantization) for _ in range(make.number(1, 3))]
    axis = make.number(0, 3)
    result = make.tensor("output", (*shape[:axis], len(sources), *shape[axis:]), quantization)
    return make.graph("PACK", sources, [result], {"values_count": len(sources), "axis": axis})


def unpack(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.input(shape)
    quantization = make.quantization_of(source)
    outputs = [make.tensor(f"output_{part}", shape[:2], quantization) for part in range(shape[2])]
    return make.graph("UNPACK", [source], outputs, {"num": shape[2], "axis": 2})


def strided_slice(make: Maker) -> Graph:
    height, width, depth = make.number(6, 9), make.number(6, 9), make.number(3, 5)
    source = make.input((1, height, width, depth))
    begin, end, strides = [0, 1, -1, 1], [1, height - 1, -width - 1, 9], [1, 2, -1, 1]
    bounds = [make.constant(name, value) for name, value in (("b", begin), ("e", end), ("s", strides))]
    options = {"begin_mask": 1, "end_mask": 8, "shrink_axis_mask": make.choice(0, 1)}
    output = ((height - 1) // 2, width, depth - 1)
    return make.moved(
        "STRIDED_SLICE", source, bounds, output if options["shrink_axis_mask"] else (1, *output), options
    )


def slice_(make: Maker) -> Graph:
    shape = make.shape(4)
    source = make.input(shape)
    bounds = [make.constant("begin", [0, 1, 0, 1]), make.constant("size", [1, -1, 2, shape[3] - 1])]
    return make.moved("SLICE", source, bounds, (1, shape[1] - 1, 2, shape[3] - 1), {})


def tile(make: Maker) -> Graph:
    shape = make.shape(4)
    repeats = (1, make.number(1, 3), make.number(1, 3), make.number(1, 2))
    output = tuple(size * repeat for size, repeat in zip(shape, repeats, strict=True))
    source = make.input(shape)
    return make.moved("TILE", source, [make.constant("repeats", repeats)], output, {})


def transpose(make: Maker) -> Graph:
    shape = make.shape(4)
    order = [int(axis) for axis in make.rng.permutation(4)]
    source = make.input(shape)
    return make.moved(
        "TRANSPOSE", source, [make.constant("order", order)], tuple(shape[a] for a in order), {}
    )


def resize(kind: str) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(4)
        size = (make.number(1, 12), make.number(1, 12))
        if make.choice(False, True):
            size = (shape[1] * make.number(1, 3), shape[2] * make.number(1, 3))
        options = make.choice({}, {"half_pixel_centers": True}, {"align_corners": True})
        source = make.input(shape)
        return make.moved(kind, source, [make.constant("size", size)], (1, *size, shape[3]), options)

    return build


def dequantize(make: Maker) -> Graph:
    source = make.input(make.shape(3))
    result = make.tensor("output", make.tensors[source].shape, None, "float32")
    return make.graph("DEQUANTIZE", [source], [result], {})


def arg_max(make: Maker) -> Graph:
    shape = make.shape(2)
    source = make.input(shape)
    axis = make.constant("axis", np.int32(-1))
    result = make.tensor("output", shape[:1], None, "int32")
    return make.graph("ARG_MAX", [source, axis], [result], {"output_type": "int32"})


def gather(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.input(shape)
    indices = make.constant("indices", make.rng.integers(0, shape[1], 4))
    return make.moved("GATHER", source, [indices], (1, 4, shape[2]), {"axis": 1})


def gather_nd(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.input(shape)
    indices = make.constant("indices", [(0, make.number(0, shape[1] - 1)) for _ in range(3)])
    return make.moved("GATHER_ND", source, [indices], (3, shape[2]), {})


def embedding_lookup(make: Maker) -> Graph:
    table = make.input(make.shape(3)[1:])
    rows, size = make.tensors[table].shape
    indices = make.constant("indices", make.rng.integers(0, rows, 5).astype(np.int32))
    result = make.tensor("output", (5, size), make.quantization_of(table))
    return make.graph("EMBEDDING_LOOKUP", [indices, table], [result], {})


def cast(make: Maker) -> Graph:
    source = make.input(make.shape(3))
    result = make.tensor("output", make.tensors[source].shape, None, "int32")
    return make.graph("CAST", [source], [result], {"in_data_type": "int8", "out_data_type": "int32"})


def shape_of(make: Maker) -> Graph:
    source = make.input(make.shape(4))
    result = make.tensor("output", (4,), None, "int32")
    return make.graph("SHAPE", [source], [result], {"out_type": "int32"})


def gelu(make: Maker) -> Graph:
    return make.unary("GELU", {"approximate": bool(make.number(0, 1))})


def rsqrt(make: Maker) -> Graph:
    """Of values that are never negative, as TensorFlow demands."""
    shape = make.shape(make.number(2, 4))
    source = make.input(shape, replace(make.quantization(), zero_points=(-128,)))
    result = make.tensor("output", shape, make.quantization())
    return make.graph("RSQRT", [source], [result], {})


def batch_matmul(make: Maker) -> Graph:
    """Either matrix transposed or not; batches of 1 or missing are used again."""
    rows, depth, columns = (make.number(1, 9) for _ in range(3))
    options = {"adj_x": bool(make.number(0, 1)), "adj_y": bool(make.number(0, 1))}
    batches = tuple(make.number(1, 3) for _ in range(make.number(0, 2)))
    fewer = [tuple(make.choice(1, size) for size in batches), batches]
    first, second = fewer if make.number(0, 1) else fewer[::-1]
    shapes = (*first, rows, depth), (*second, depth, columns)
    sides = [
        make.input((*shape[:-2], *(shape[:-3:-1] if options[name] else shape[-2:])))
        for shape, name in zip(shapes, ("adj_x", "adj_y"), strict=True)
    ]
    scales = [make.quantization_of(side).scale for side in sides]
    output = replace(make.quantization(), scales=(float(np.float32(scales[0] * scales[1] * 150)),))
    result = make.tensor("output", (*batches, rows, columns), output)
    return make.graph("BATCH_MATMUL", sides, [result], options)


def reduction(kind: str, dtype: str = "int8") -> Callable:
    def build(make: Maker) -> Graph:
        shape, keep = make.shape(make.number(2, 4)), make.choice(True, False)
        rank = len(shape)
        chosen = sorted({make.number(0, rank - 1) for _ in range(make.number(1, rank - 1))})
        source = make.input(shape) if dtype == "int8" else make.plain("input_0", shape, dtype)
        axes = make.constant("axes", [axis - make.choice(0, rank) for axis in chosen])
        sizes = [
            1 if axis in chosen else size for axis, size in enumerate(shape) if keep or axis not in chosen
        ]
        quantization = None
        if dtype == "int8":
            same = make.quantization_of(source)
            quantization = make.quantization() if kind == "SUM" else same
        result = make.tensor("output", tuple(sizes), quantization, dtype)
        return make.graph(kind, [source, axes], [result], {"keep_dims": keep})

    return build


def cumsum(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.plain("input_0", shape, "int32")
    axis = make.constant("axis", np.int32(make.number(-3, 2)))
    result = make.tensor("output", shape, None, "int32")
    options = {"exclusive": bool(make.number(0, 1)), "reverse": bool(make.number(0, 1))}
    return make.graph("CUMSUM", [source, axis], [result], options)


def cumsum_int8(make: Maker) -> Graph:
    """Which TFLite Micro alone computes."""
    shape = make.shape(3)
    source, axis = make.input(shape), make.constant("axis", np.int32(make.number(-3, 2)))
    options = {"exclusive": bool(make.number(0, 1)), "reverse": bool(make.number(0, 1))}
    result = make.tensor("output", shape, make.quantization())
    return make.graph("CUMSUM", [source, axis], [result], options)


def product_int8(make: Maker) -> Graph:
    """Of few factors, whose product needs a large scale; LiteRT alone computes it."""
    shape = (make.number(1, 4), make.number(2, 4), make.number(1, 5))
    source, axis = make.input(shape), make.number(0, 2)
    scale = make.quantization_of(source).scale ** shape[axis] * 40.0 ** (shape[axis] - 1)
    output = replace(make.quantization(), scales=(float(np.float32(scale)),))
    result = make.tensor("output", shape[:axis] + shape[axis + 1 :], output)
    return make.graph("REDUCE_PROD", [source, make.constant("axes", [axis])], [result], {"keep_dims": False})


def quotient(make: Maker) -> Graph:
    """Of two that the network computes; there may be divisors of 0."""
    shape = make.shape(3)
    first, second = make.input(shape), make.input(make.choice(shape, (1, 1, shape[2])))
    scales = [make.quantization_of(number).scale for number in (first, second)]
    scale = scales[0] / scales[1] * make.choice(0.01, 0.05, 0.2)
    result = make.tensor("output", shape, replace(make.quantization(), scales=(float(np.float32(scale)),)))
    return make.graph("DIV", [first, second], [result], _fused(make))


def power(make: Maker) -> Graph:
    shape = make.shape(3)
    second = make.constant("second", make.rng.choice((0, 1, 2, 3, 5, 31), shape).astype(np.int32))
    source = make.plain("input_0", shape, "int32")
    return make.graph("POW", [source, second], [make.tensor("output", shape, None, "int32")], {})


def where(make: Maker) -> Graph:
    """Of a constant; what it finds picks elements of the input."""
    shape = make.shape(3)
    chosen = make.rng.integers(0, 2, shape).astype(bool)
    chosen[0, 0, 0] = True
    condition, count = make.constant("condition", chosen), int(chosen.sum())
    source, places = make.input(shape), make.tensor("places", (count, 3), None, "int64")
    result = make.tensor("output", (count,), make.quantization_of(source))
    graph = make.graph("GATHER_ND", [source, places], [result], {})
    first = Operator("WHERE", (condition,), (places,), {}, "operator 0")
    return replace(graph, operators=(first, replace(graph.operators[0], location="operator 1")))


def top_k(make: Maker) -> Graph:
    shape = (2, make.number(4, 12))
    source = make.input(shape)
    count = make.number(1, shape[1])
    values = make.tensor("values", (2, count), make.quantization_of(source))
    indices = make.tensor("indices", (2, count), None, "int32")
    k = make.constant("k", np.array(count, np.int32))
    return make.graph("TOPK_V2", [source, k], [values, indices], {})


def l2_normalization(make: Maker) -> Graph:
    return make.unary("L2_NORMALIZATION", {"fused_activation_function": "NONE"}, TANH_OUTPUT)


def comparison(kind: str) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(3)
        first = make.input(shape)
        second = make.input(
            make.choice(shape, (1, 1, shape[2])), make.choice(None, make.quantization_of(first))
        )
        result = make.tensor("output", shape, None, "bool")
        return make.graph(kind, [first, second], [result], {})

    return build


def logical(kind: str) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(3)
        sources = [make.plain("input_0", shape, "bool")]
        if kind != "LOGICAL_NOT":
            sources.append(make.plain("input_1", make.choice(shape, (1, 1, shape[2])), "bool"))
        return make.graph(kind, sources, [make.tensor("output", shape, None, "bool")], {})

    return build


def select(kind: str) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(3)
        others = (shape,) if kind == "SELECT" else (shape, (1, 1, shape[2]), (1, shape[1], 1))
        condition = make.plain("condition", make.choice(*others), "bool")
        first = make.input(make.choice(*others))
        second = make.input(shape, make.quantization_of(first))
        return make.graph(
            kind, [condition, first, second], [make.tensor("output", shape, make.quantization_of(first))], {}
        )

    return build


def depth_to_space(make: Maker) -> Graph:
    block, (height, width, depth) = make.number(1, 3), make.shape(4)[1:]
    source = make.input((1, height, width, depth * block**2))
    output = (1, height * block, width * block, depth)
    return make.moved("DEPTH_TO_SPACE", source, [], output, {"block_size": block})


def space_to_depth(make: Maker) -> Graph:
    block, (height, width, depth) = make.number(1, 3), make.shape(4)[1:]
    source = make.input((1, height * block, width * block, depth))
    output = (1, height, width, depth * block**2)
    return make.moved("SPACE_TO_DEPTH", source, [], output, {"block_size": block})


def mirror_pad(make: Maker) -> Graph:
    shape, mode = make.shape(4), make.choice("REFLECT", "SYMMETRIC")
    paddings = np.array([(0, 0), *((make.number(0, 1), make.number(0, 1)) for _ in range(3))])
    output = tuple(int(size + amount.sum()) for size, amount in zip(shape, paddings, strict=True))
    source = make.input(shape)
    return make.moved("MIRROR_PAD", source, [make.constant("paddings", paddings)], output, {"mode": mode})


def broadcast_to(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.input(make.choice((1, 1, shape[2]), (shape[1], 1), (1, shape[1], shape[2])))
    output = (make.number(1, 3), *shape[1:])
    return make.moved("BROADCAST_TO", source, [make.constant("shape", output)], output, {})


def reverse(make: Maker) -> Graph:
    shape = make.shape(4)
    source = make.input(shape)
    return make.moved("REVERSE_V2", source, [make.constant("axes", [make.number(0, 3)])], shape, {})


def plain_pair(kind: str) -> Callable:
    """Two int32 tensors, the second a constant that is never 0."""

    def build(make: Maker) -> Graph:
        shape = make.shape(3)
        second = make.constant("second", make.rng.choice((-7, -1, 1, 3, 5), shape).astype(np.int32))
        source = make.plain("input_0", shape, "int32")
        return make.graph(kind, [source, second], [make.tensor("output", shape, None, "int32")], {})

    return build


def float_unary(kind: str) -> Callable:
    """Between two conversions."""

    def build(make: Maker) -> Graph:
        source = make.input(make.shape(3))
        shape = make.tensors[source].shape
        real = make.tensor("real", shape, None, "float32")
        result = make.tensor("output", shape, None, "float32")
        first = Operator("DEQUANTIZE", (source,), (real,), {}, "operator 0")
        graph = make.graph(kind, [real], [result], {})
        return replace(graph, operators=(first, replace(graph.operators[0], location="operator 1")))

    return build


def unary(kind: str, output: Quantization | None = None, **options: Any) -> Callable:
    return lambda make: make.unary(kind, options, output)


BUILDERS: dict[str, Callable[[Maker], Graph]] = {
    "ABS": unary("ABS"),
    "ADD": binary("ADD", _fused),
    "ARG_MAX": arg_max,
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "BATCH_MATMUL": batch_matmul,
    "BROADCAST_TO": broadcast_to,
    "CAST": cast,
    "CEIL": float_unary("CEIL"),
    "CONCATENATION": concatenation,
    "CONV_2D": conv_2d,
    "CUMSUM": cumsum,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "DEPTH_TO_SPACE": depth_to_space,
    "DEQUANTIZE": dequantize,
    "DIV": division("DIV"),
    "ELU": unary("ELU"),
    "EMBEDDING_LOOKUP": embedding_lookup,
    "EQUAL": comparison("EQUAL"),
    "EXP": unary("EXP"),
    "EXPAND_DIMS": expand_dims,
    "FLOOR": float_unary("FLOOR"),
    "FLOOR_DIV": division("FLOOR_DIV"),
    "FLOOR_MOD": plain_pair("FLOOR_MOD"),
    "FULLY_CONNECTED": fully_connected,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "GELU": gelu,
    "GREATER": comparison("GREATER"),
    "GREATER_EQUAL": comparison("GREATER_EQUAL"),
    "HARD_SWISH": unary("HARD_SWISH"),
    "L2_NORMALIZATION": l2_normalization,
    "LEAKY_RELU": leaky_relu,
    "LESS": comparison("LESS"),
    "LESS_EQUAL": comparison("LESS_EQUAL"),
    "LOGICAL_AND": logical("LOGICAL_AND"),
    "LOGICAL_NOT": logical("LOGICAL_NOT"),
    "LOGICAL_OR": logical("LOGICAL_OR"),
    "LOGISTIC": unary("LOGISTIC", SOFTMAX_OUTPUT),
    "MAXIMUM": binary("MAXIMUM", lambda make: {}, same_scale=True),
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "MEAN": mean,
    "MINIMUM": binary("MINIMUM", lambda make: {}, same_scale=True),
    "MIRROR_PAD": mirror_pad,
    "MUL": binary("MUL", _fused),
    "NEG": neg,
    "NOT_EQUAL": comparison("NOT_EQUAL"),
    "PACK": pack,
    "PAD": pad,
    "PADV2": padv2,
    "POW": power,
    "PRELU": prelu,
    "QUANTIZE": unary("QUANTIZE"),
    "REDUCE_ALL": reduction("REDUCE_ALL", "bool"),
    "REDUCE_ANY": reduction("REDUCE_ANY", "bool"),
    "REDUCE_MAX": reduction("REDUCE_MAX"),
    "REDUCE_MIN": reduction("REDUCE_MIN"),
    "REDUCE_PROD": reduction("REDUCE_PROD", "int32"),
    "RELU": unary("RELU"),
    "RELU6": relu6,
    "RELU_N1_TO_1": unary("RELU_N1_TO_1"),
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR"),
    "REVERSE_V2": reverse,
    "ROUND": float_unary("ROUND"),
    "RSQRT": rsqrt,
    "SELECT": select("SELECT"),
    "SELECT_V2": select("SELECT_V2"),
    "SHAPE": shape_of,
    "SLICE": slice_,
    "SOFTMAX": unary("SOFTMAX", SOFTMAX_OUTPUT, beta=1.0),
    "SPACE_TO_DEPTH": space_to_depth,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQRT": sqrt,
    "SQUARE": float_unary("SQUARE"),
    "SQUARED_DIFFERENCE": binary("SQUARED_DIFFERENCE", lambda make: {}),
    "SQUEEZE": squeeze,
    "STRIDED_SLICE": strided_slice,
    "SUB": binary("SUB", _fused),
    "SUM": reduction("SUM"),
    "SVDF": svdf,
    "TANH": unary("TANH", TANH_OUTPUT),
    "TILE": tile,
    "TOPK_V2": top_k,
    "TRANSPOSE": transpose,
    "TRANSPOSE_CONV": transpose_conv,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
    "UNPACK": unpack,
    "WHERE": where,
}
# Further forms of some, which another reference has.
FORMS: dict[str, Callable[[Maker], Graph]] = {
    "CUMSUM": cumsum_int8,
    "DIV": quotient,
    "REDUCE_PROD": product_int8,
}

# Whose kernels LiteRT alone has.
NOT_IN_TFLITE_MICRO = {
    "CUMSUM",
    "EXP",
    "FLOOR_DIV",
    "FLOOR_MOD",
    "GELU",
    "NEG",
    "POW",
    "REDUCE_ANY",
    "REDUCE_PROD",
    "RELU_N1_TO_1",
    "SELECT",
    "SQRT",
    "TILE",
    "TOPK_V2",
    "WHERE",
}

# Whose kernels TFLite Micro alone has: LiteRT's set of reference kernels lacks them, or in int8 (SUM) gives
# the same number everywhere. Its LSTM needs a scale of an intermediate tensor, which Micro does not read.
NOT_IN_LITERT = {"CEIL", "DEPTH_TO_SPACE", "ELU", "ROUND", "SUM", "UNIDIRECTIONAL_SEQUENCE_LSTM"}


def random_graph(kind: str, seed: int) -> Graph:
    """A network of one operator of this kind with random shapes, options, quantization and constants."""
    return BUILDERS[kind](Maker(seed))


def random_form(kind: str, seed: int) -> Graph:
    """The same in the operator's further form."""
    return FORMS[kind](Maker(seed))
