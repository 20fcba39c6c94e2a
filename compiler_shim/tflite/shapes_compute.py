"""Output shapes of the operators that compute: convolutions, pooling, element-wise, reductions."""

from __future__ import annotations

import math

import numpy as np

from dlasim.compiler_shim.tflite.shape_step import Shape, Step
from dlasim.errors import InputError


def same(step: Step) -> list[Shape]:
    """An output like the input."""
    return [step.shape(0)]


def broadcast(step: Step) -> list[Shape]:
    """NumPy's broadcasting of two inputs."""
    shapes = [step.shape(0), step.shape(1)]
    try:
        return [np.broadcast_shapes(*shapes)]
    except ValueError:
        raise InputError(
            f"{step.where}: shapes {list(shapes[0])} and {list(shapes[1])} do not match"
        ) from None


def prelu(step: Step) -> list[Shape]:
    """Alpha is spread over the input."""
    outputs = broadcast(step)
    step.require(outputs == [step.shape(0)], f"alpha {list(step.shape(1))} is larger than the input")
    return outputs


def _windows(step: Step, size: int, window: int, stride: int) -> int:
    step.require(stride >= 1, f"stride {stride}, at least 1 is needed")
    if step.option("padding") == "SAME":
        return -(-size // stride)
    return -(-(size - window + 1) // stride)


def _dilated(step: Step, window: int, axis: str) -> int:
    factor = step.option(f"dilation_{axis}_factor")
    step.require(factor >= 1, f"dilation {factor}, at least 1 is needed")
    return int((window - 1) * factor + 1)


def _window_grid(step: Step, shape: Shape, height: int, width: int) -> Shape:
    rows = _windows(step, shape[1], height, step.option("stride_h"))
    columns = _windows(step, shape[2], width, step.option("stride_w"))
    return (shape[0], rows, columns)


def convolution(step: Step) -> list[Shape]:
    """CONV_2D, grouped where the weights are less deep than the input."""
    inputs, (channels, rows, columns, depth) = step.shape(0, 4), step.shape(1, 4)
    step.require(
        depth > 0 and inputs[3] % depth == 0 and channels % (inputs[3] // depth) == 0,
        f"weights {list(step.shape(1))} do not fit an input with {inputs[3]} channels",
    )
    _check_bias(step, 2, channels)
    grid = _window_grid(step, inputs, _dilated(step, rows, "h"), _dilated(step, columns, "w"))
    return [(*grid, channels)]


def depthwise(step: Step) -> list[Shape]:
    """DEPTHWISE_CONV_2D."""
    inputs, (one, rows, columns, channels) = step.shape(0, 4), step.shape(1, 4)
    multiplier = step.option("depth_multiplier")
    step.require(
        one == 1 and channels == inputs[3] * multiplier,
        f"weights {list(step.shape(1))} do not fit {inputs[3]} channels times multiplier {multiplier}",
    )
    _check_bias(step, 2, channels)
    grid = _window_grid(step, inputs, _dilated(step, rows, "h"), _dilated(step, columns, "w"))
    return [(*grid, channels)]


def transpose_convolution(step: Step) -> list[Shape]:
    """TRANSPOSE_CONV: the output asked for must be one whose convolution gives the input."""
    (channels, rows, columns, depth), inputs = step.shape(1, 4), step.shape(2, 4)
    output = tuple(step.integers(0))
    fits = len(output) == 4 and all(size > 0 for size in output) and output[3] == channels
    fits = fits and depth == inputs[3]
    fits = fits and _window_grid(step, output, rows, columns) == inputs[:3]
    step.require(
        fits, f"output {list(output)}, weights {list(step.shape(1))} and input {list(inputs)} do not fit"
    )
    _check_bias(step, 3, channels)
    return [output]


def _check_bias(step: Step, position: int, channels: int) -> None:
    if step.has(position):
        count = step.tensor(position).elements
        step.require(count == channels, f"{count} biases for {channels} output channels")


def fully_connected(step: Step) -> list[Shape]:
    """FULLY_CONNECTED: the input is cut into rows as deep as the weights."""
    inputs, (units, depth) = step.shape(0), step.shape(1, 2)
    elements = math.prod(inputs)
    step.require(
        depth > 0 and elements % depth == 0, f"{elements} input elements for rows of {depth} weights"
    )
    _check_bias(step, 2, units)
    if not step.option("keep_num_dims"):
        return [(elements // depth, units)]
    step.require(inputs[-1:] == (depth,), f"input {list(inputs)} does not end in {depth} elements")
    return [(*inputs[:-1], units)]


def pool(step: Step) -> list[Shape]:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    shape = step.shape(0, 4)
    height, width = step.option("filter_height"), step.option("filter_width")
    step.require(height >= 1 and width >= 1, f"filter {height}x{width}, at least 1x1 is needed")
    return [(*_window_grid(step, shape, height, width), shape[3])]


def mean(step: Step) -> list[Shape]:
    """MEAN over constant axes."""
    shape = step.shape(0)
    axes = {step.axis(axis, len(shape)) for axis in step.integers(1)}
    keep = step.option("keep_dims")
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes]
    return [tuple(sizes)]


def arg_max(step: Step) -> list[Shape]:
    """ARG_MAX: the axis goes."""
    shape = step.shape(0)
    axis = step.axis(step.scalar(1), len(shape))
    return [shape[:axis] + shape[axis + 1 :]]


def svdf(step: Step) -> list[Shape]:
    """SVDF with its state."""
    (batch, depth), (filters, weights_depth) = step.shape(0, 2), step.shape(1, 2)
    rank, (time_filters, memory) = step.option("rank"), step.shape(2, 2)
    step.require(rank >= 1 and filters % rank == 0, f"{filters} filters of rank {rank}")
    fits = depth == weights_depth and time_filters == filters
    fits = fits and step.tensor(4).elements == batch * filters * memory
    step.require(
        fits,
        f"input {[batch, depth]}, weights {[filters, weights_depth]} and {[time_filters, memory]}, "
        f"state {list(step.shape(4))} do not fit",
    )
    _check_bias(step, 3, filters // rank)
    return [(batch, filters // rank)]
