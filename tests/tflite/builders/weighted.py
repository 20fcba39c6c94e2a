"""Random networks of one operator with weights or a window: convolutions, products of matrices, pools."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Quantization
from tests.tflite.maker import Maker, one_scale


def _windows(size: int, window: int, stride: int, padding: str) -> int:
    return -(-size // stride) if padding == "SAME" else (size - window) // stride + 1


def _window_options(make: Maker) -> dict[str, Any]:
    return {
        "padding": make.choice("SAME", "VALID"),
        "stride_h": make.number(1, 3),
        "stride_w": make.number(1, 3),
        **make.activation(),
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
    options = make.activation()
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
