"""Pooling, reductions and operators along one dimension, against TFLite Micro."""

import numpy as np
import pytest

from tests.host.models import GraphBuilder, check, check_random, random_scale, random_zero_point, tied_scale
from tests.host.test_convolution import ACTIVATIONS, grid, image, window_options


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pool(kind, seed):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    batch, size, kernel = image(rng)
    options, _ = window_options(rng, size, kernel, dilation=False)
    depth = int(rng.integers(1, 9))
    common = {"scale": random_scale(rng), "zero_point": random_zero_point(rng)}
    values = builder.add((batch, *size, depth), is_input=True, **common)
    output = builder.add((batch, *grid(options, size, kernel, (1, 1)), depth), **common)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1]}
    options["fused_activation_function"] = str(rng.choice(ACTIVATIONS))
    check_random(rng, builder.graph(kind, [values], [output], **options))


AXES = [(1, 2), (1,), (2,), (3,), (-1,), (1, 2, 3), (2, 1), (0,), (0, 1), (1, 3), (-3, -2)]


@pytest.mark.parametrize("seed", range(66))
def test_mean(seed):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    shape = (int(rng.integers(1, 3)), *(int(n) for n in rng.integers(1, 20, 3)))
    axes, keep = AXES[seed % len(AXES)], bool(rng.integers(2))
    values = builder.add(shape, scale=random_scale(rng), zero_point=random_zero_point(rng), is_input=True)
    numbers = builder.add((len(axes),), "int32", data=axes)
    reduced = {axis % 4 for axis in axes}
    output_shape = [
        1 if axis in reduced else n for axis, n in enumerate(shape) if keep or axis not in reduced
    ]
    scale = tied_scale(rng, builder.tensors[values].quantization.scale) if seed % 2 else random_scale(rng)
    output = builder.add(output_shape, scale=scale, zero_point=random_zero_point(rng))
    check_random(rng, builder.graph("MEAN", [values, numbers], [output], keep_dims=keep))


@pytest.mark.parametrize("seed", range(40))
def test_softmax(seed):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    shape = (*(int(n) for n in rng.integers(1, 5, int(rng.integers(0, 4)))), int(rng.integers(1, 200)))
    values = builder.add(shape, scale=random_scale(rng), zero_point=random_zero_point(rng), is_input=True)
    output = builder.add(shape, scale=1 / 256, zero_point=-128)
    graph = builder.graph("SOFTMAX", [values], [output], beta=float(rng.choice([1.0, 0.5, 1.3])))
    # Narrow rows, too: there, many elements share the sum.
    noise = rng.integers(-128, 128, shape) // int(rng.choice([1, 4, 16]))
    check(graph, [noise.astype(np.int8)])


@pytest.mark.parametrize("scale", [0.004, 0.017, 0.06, 0.21])
def test_softmax_of_every_three_values(scale):
    """All rows of three: only differences to the greatest count."""
    builder = GraphBuilder()
    first, second = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    rows = np.stack([np.full(first.shape, 127), first, second], axis=-1).reshape(-1, 3).astype(np.int8)
    values = builder.add(rows.shape, scale=scale, is_input=True)
    output = builder.add(rows.shape, scale=1 / 256, zero_point=-128)
    check(builder.graph("SOFTMAX", [values], [output], beta=1.0), [rows])


@pytest.mark.parametrize("target", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("seed", range(10))
def test_arg_max(seed, dtype, target):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    shape = tuple(int(n) for n in rng.integers(1, 7, 4))
    axis = int(rng.integers(-4, 4))
    quantization = (random_scale(rng), 3) if dtype == "int8" else ()
    values = builder.add(shape, dtype, *quantization, is_input=True)
    number = builder.add((1,), "int32", data=axis)
    output = builder.add(np.delete(shape, axis), target)
    graph = builder.graph("ARG_MAX", [values, number], [output], output_type=target)
    # Few values, so that there are equals.
    check(graph, [rng.integers(-3, 3, shape).astype(dtype)], litert=target == "int64")


def test_arg_max_takes_no_nan_for_the_greatest():
    """Except in first place, which nothing after it exceeds."""
    builder = GraphBuilder()
    some = np.array([np.nan, 1, 2, -np.inf], np.float32)
    rows = np.stack(np.meshgrid(some, some, some, some), axis=-1).reshape(-1, 4)
    values, number = builder.add(rows.shape, "float32", is_input=True), builder.add((1,), "int32", data=1)
    output = builder.add((len(rows),), "int32")
    graph = builder.graph("ARG_MAX", [values, number], [output], output_type="int32")
    check(graph, [rows])
