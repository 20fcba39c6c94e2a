"""Operators that are tables: all 256 inputs, against TensorFlow."""

import numpy as np
import pytest

from tests.host.models import GraphBuilder, check, random_scale, random_zero_point

ALL_INPUTS = np.arange(-128, 128, dtype=np.int8)
FIXED_OUTPUTS = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}


def table_graph(rng, kind, same=False, **options):
    builder = GraphBuilder()
    source = (random_scale(rng), random_zero_point(rng))
    target = source if same else (random_scale(rng), random_zero_point(rng))
    numbers = [builder.add((256,), "int8", *source, is_input=True)]
    numbers.append(builder.add((256,), "int8", *FIXED_OUTPUTS.get(kind, target)))
    return builder.graph(kind, numbers[:1], numbers[1:], **options)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("kind", ["RELU", "ABS", "LOGISTIC", "TANH"])
def test_table(kind, seed):
    check(table_graph(np.random.default_rng(seed), kind), [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(60))
def test_hard_swish(seed):
    rng = np.random.default_rng(seed)
    graph = table_graph(rng, "HARD_SWISH")
    check(graph, [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(60))
def test_leaky_relu(seed):
    rng = np.random.default_rng(seed)
    alpha = float(np.float32(rng.uniform(-0.5, 1.5)))
    check(table_graph(rng, "LEAKY_RELU", alpha=alpha), [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["RELU6", "RELU_N1_TO_1"])
def test_limited_relu(kind, seed):
    """TFLite Micro lacks the one and ignores the output's scale in the other; LiteRT does both."""
    check(table_graph(np.random.default_rng(seed), kind), [ALL_INPUTS], litert=True)


@pytest.mark.parametrize("seed", range(10))
def test_relu6_on_one_scale(seed):
    check(table_graph(np.random.default_rng(seed), "RELU6", same=True), [ALL_INPUTS])
