"""Operators with weights, against TFLite Micro."""

import numpy as np
import pytest

from dlasim.sim.host.convolution import exact_product
from tests.host.models import GraphBuilder, check_random, random_scale, random_zero_point

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def window_options(rng, size, kernel, dilation=True):
    """Padding, strides and dilation under which the window fits the image."""
    options = {"padding": str(rng.choice(["SAME", "VALID"])), "stride_h": 1, "stride_w": 1}
    options["stride_h"], options["stride_w"] = (int(rng.integers(1, 4)) for _ in range(2))
    factors = [int(rng.integers(1, 4)) if dilation else 1 for _ in range(2)]
    if options["padding"] == "VALID":
        factors = [
            factor if (window - 1) * factor < length else 1
            for factor, window, length in zip(factors, kernel, size, strict=True)
        ]
    if dilation:
        options["dilation_h_factor"], options["dilation_w_factor"] = factors
    return options, factors


def grid(options, size, kernel, factors):
    """Rows and columns of the output."""
    strides = (options["stride_h"], options["stride_w"])
    if options["padding"] == "SAME":
        return [-(-length // stride) for length, stride in zip(size, strides, strict=True)]
    extents = [(window - 1) * factor + 1 for window, factor in zip(kernel, factors, strict=True)]
    return [(n - extent) // stride + 1 for n, extent, stride in zip(size, extents, strides, strict=True)]


def image(rng):
    """A shape with an image at least as large as its kernel, and the kernel."""
    kernel = [int(rng.integers(1, 5)) for _ in range(2)]
    size = [window + int(rng.integers(0, 8)) for window in kernel]
    return int(rng.integers(1, 3)), size, kernel


def add_weights(rng, builder, shape, axis, input_scale, output_steps):
    """Weights per tensor or channel, an output scale that uses the int8 range, and a bias or none."""
    channels = shape[axis]
    count = channels if rng.integers(2) else 1
    scales = np.float32(random_scale(rng)) * rng.uniform(0.2, 1.0, count).astype(np.float32)
    data = rng.integers(-127, 128, shape)
    weights = builder.add(shape, scale=scales, axis=axis, data=data)
    terms = np.prod(shape) / channels
    output_scale = float(input_scale * scales.max() * np.sqrt(terms) * output_steps)
    if count == 1 and rng.integers(2):
        # Sums then lie on ties, which show in which precision the scales are multiplied.
        output_scale = float(np.float32(input_scale) * scales[0]) * 2.0 ** int(rng.integers(6, 12))
    bias = -1
    if rng.integers(4):
        values = rng.integers(-(1 << 14), 1 << 14, channels)
        bias = builder.add((channels,), "int32", scale=np.float32(input_scale) * scales, data=values)
    return weights, bias, output_scale


def make(rng, kind, seed_shape):
    builder = GraphBuilder()
    batch, size, kernel = seed_shape
    input_scale = random_scale(rng)
    depth = int(rng.integers(1, 9))
    options, factors = window_options(rng, size, kernel)
    if kind == "CONV_2D":
        groups = int(rng.choice([group for group in (1, 1, 2, 3) if depth % group == 0]))
        channels = groups * int(rng.integers(1, 6))
        shape, axis = (channels, *kernel, depth // groups), 0
    else:
        options["depth_multiplier"] = int(rng.integers(1, 4))
        channels = depth * options["depth_multiplier"]
        shape, axis = (1, *kernel, channels), 3
    values = builder.add(
        (batch, *size, depth), scale=input_scale, zero_point=random_zero_point(rng), is_input=True
    )
    weights, bias, scale = add_weights(rng, builder, shape, axis, input_scale, rng.choice([0.1, 10.0, 100.0]))
    output_shape = (batch, *grid(options, size, kernel, factors), channels)
    output = builder.add(output_shape, scale=scale, zero_point=random_zero_point(rng))
    options["fused_activation_function"] = str(rng.choice(ACTIVATIONS))
    inputs = [values, weights] + [bias] * (bias >= 0)
    return builder.graph(kind, inputs, [output], **options)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_convolution(kind, seed):
    rng = np.random.default_rng(seed)
    check_random(rng, make(rng, kind, image(rng)))


@pytest.mark.parametrize("seed", range(40))
def test_fully_connected(seed):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    input_scale, rows = random_scale(rng), int(rng.integers(1, 4))
    units, depth = (int(n) for n in rng.integers(1, 40, 2))
    keep = bool(rng.integers(2))
    shape = (2, rows, depth) if keep else (rows, depth)
    values = builder.add(shape, scale=input_scale, zero_point=random_zero_point(rng), is_input=True)
    weights, bias, scale = add_weights(rng, builder, (units, depth), 0, input_scale, rng.choice([0.1, 10.0]))
    output = builder.add((*shape[:-1], units), scale=scale, zero_point=random_zero_point(rng))
    inputs = [values, weights] + [bias] * (bias >= 0)
    activation = str(rng.choice(ACTIVATIONS))
    graph = builder.graph(
        "FULLY_CONNECTED", inputs, [output], fused_activation_function=activation, keep_num_dims=keep
    )
    check_random(rng, graph)


@pytest.mark.parametrize("seed", range(20))
def test_fully_connected_on_ties(seed):
    """Each second sum is a tie, but for the float32 rounding of the output scale."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    scales = np.float32(random_scale(rng)), np.float32(random_scale(rng))
    values = builder.add((200, 2), scale=scales[0], zero_point=0, is_input=True)
    weights = builder.add((16, 2), scale=scales[1], data=rng.integers(-3, 4, (16, 2)))
    output = builder.add((200, 16), scale=float(scales[0] * scales[1]) * [2, 4, 8, 6][seed % 4])
    check_random(rng, builder.graph("FULLY_CONNECTED", [values, weights], [output]))


def test_sums_beyond_the_integers_of_float32():
    rng = np.random.default_rng(0)
    rows, weights = rng.integers(100, 256, (3, 5001)), rng.integers(100, 128, (4, 5001), np.int8)
    expected = [[sum(int(a) * int(b) for a, b in zip(row, w, strict=True)) for w in weights] for row in rows]
    assert exact_product(rows, weights).tolist() == expected


@pytest.mark.parametrize("seed", range(40))
def test_transpose_convolution(seed):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    batch, size, kernel = image(rng)
    options, _ = window_options(rng, size, kernel, dilation=False)
    output_size = [
        length + int(rng.integers(0, stride)) if options["padding"] == "SAME" else length
        for length, stride in zip(size, (1, 1), strict=True)
    ]
    strides = (options["stride_h"], options["stride_w"])
    if options["padding"] == "SAME":
        output_size = [
            n * stride - int(rng.integers(0, stride)) for n, stride in zip(size, strides, strict=True)
        ]
    else:
        output_size = [
            (n - 1) * stride + window for n, stride, window in zip(size, strides, kernel, strict=True)
        ]
    depth, channels = (int(n) for n in rng.integers(1, 7, 2))
    input_scale = random_scale(rng)
    shape = builder.add((4,), "int32", data=[batch, *output_size, channels])
    values = builder.add(
        (batch, *size, depth), scale=input_scale, zero_point=random_zero_point(rng), is_input=True
    )
    weights, bias, scale = add_weights(rng, builder, (channels, *kernel, depth), 0, input_scale, 10.0)
    output = builder.add((batch, *output_size, channels), scale=scale, zero_point=random_zero_point(rng))
    inputs = [shape, weights, values] + [bias] * (bias >= 0)
    check_random(rng, builder.graph("TRANSPOSE_CONV", inputs, [output], **options))
