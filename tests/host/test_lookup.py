"""Operators that are tables: all 256 inputs, against TensorFlow."""

import numpy as np
import pytest

from tests.host.models import GraphBuilder, check, random_scale, random_zero_point, run_on_host, tied_scale

ALL_INPUTS = np.arange(-128, 128, dtype=np.int8)
FIXED_OUTPUTS = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}


def wide_scale(rng):
    """Scales far beyond those of networks, too."""
    return float(np.float32(np.exp(rng.uniform(np.log(1e-5), np.log(20)))))


def table_graph(rng, kind, same=False, scale=random_scale, **options):
    builder = GraphBuilder()
    source = (scale(rng), random_zero_point(rng))
    target = source if same else (scale(rng), random_zero_point(rng))
    numbers = [builder.add((256,), "int8", *source, is_input=True)]
    numbers.append(builder.add((256,), "int8", *FIXED_OUTPUTS.get(kind, target)))
    return builder.graph(kind, numbers[:1], numbers[1:], **options)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("kind", ["RELU", "ABS", "LOGISTIC", "TANH"])
def test_table(kind, seed):
    scale = wide_scale if seed % 2 else random_scale
    check(table_graph(np.random.default_rng(seed), kind, scale=scale), [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["RELU", "ABS", "HARD_SWISH", "LEAKY_RELU"])
def test_table_with_ties(kind, seed):
    rng = np.random.default_rng(seed)
    scale = random_scale(rng)
    scales = iter([scale, tied_scale(rng, scale)])
    options = {"alpha": 0.75} if kind == "LEAKY_RELU" else {}
    check(table_graph(rng, kind, scale=lambda _: next(scales), **options), [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(60))
def test_hard_swish(seed):
    rng = np.random.default_rng(seed)
    scale = random_scale(rng)
    scales = iter([scale, max(random_scale(rng), scale / 100)])  # TensorFlow refuses less than 1/128
    check(table_graph(rng, "HARD_SWISH", scale=lambda _: next(scales)), [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(60))
def test_hard_swish_where_its_short_multiplier_changes(seed):
    """Half-way between two 16-bit multipliers the precision of the scales' quotient shows."""
    rng = np.random.default_rng(seed)
    scale, multiplier = random_scale(rng), rng.integers(1 << 14, 1 << 15) + 0.5
    scales = iter([scale, float(np.float32(scale / 128 / multiplier * 32768))])
    check(table_graph(rng, "HARD_SWISH", scale=lambda _: next(scales)), [ALL_INPUTS])


@pytest.mark.parametrize("ratio", [2.0**exponent for exponent in range(0, 14, 2)])
def test_hard_swish_to_a_coarse_output(ratio):
    """Beyond 16 bits of shift TFLite's rounding has a quirk."""
    rng = np.random.default_rng(0)
    scales = iter([0.01, 0.0101 * ratio])
    check(table_graph(rng, "HARD_SWISH", scale=lambda _: next(scales)), [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(60))
def test_leaky_relu(seed):
    rng = np.random.default_rng(seed)
    alpha = float(np.float32(rng.uniform(-0.5, 1.5)))
    check(table_graph(rng, "LEAKY_RELU", alpha=alpha), [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(20))
def test_leaky_relu_multiplies_its_scales_in_float64(seed):
    rng = np.random.default_rng(seed)
    alpha, scale = np.float32(rng.uniform(0.1, 0.9)), np.float32(random_scale(rng))
    # An output scale at which every other product is a tie.
    scales = iter([float(scale), float(scale * alpha) * 2])
    graph = table_graph(rng, "LEAKY_RELU", scale=lambda _: next(scales), alpha=float(alpha))
    check(graph, [ALL_INPUTS])


@pytest.mark.parametrize("steps", range(5, 125, 3))
def test_six_is_divided_by_the_scale_in_float32(steps):
    """6 lies half-way between two steps, as nearly as float32 can say it."""
    scale = float(np.float32(6 / (steps + 0.5)))
    graph = table_graph(np.random.default_rng(steps), "RELU6", same=True, scale=lambda _: scale)
    check(graph, [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["RELU6", "RELU_N1_TO_1"])
def test_limited_relu(kind, seed):
    """TFLite Micro lacks the one and ignores the output's scale in the other; LiteRT does both."""
    check(table_graph(np.random.default_rng(seed), kind), [ALL_INPUTS], litert=True)


@pytest.mark.parametrize("seed", range(10))
def test_relu6_on_one_scale(seed):
    check(table_graph(np.random.default_rng(seed), "RELU6", same=True), [ALL_INPUTS])


@pytest.mark.parametrize("seed", range(60))
def test_square_root(seed):
    """Every other time many roots are whole steps, or nearly; LiteRT only, and from 0 up."""
    rng = np.random.default_rng(seed)
    scale, zero_point = random_scale(rng), random_zero_point(rng)
    ratio = 1 / int(rng.integers(1, 20)) if seed % 2 else rng.uniform(0.05, 2)
    builder, values = GraphBuilder(), np.arange(zero_point, 128, dtype=np.int8)
    numbers = [builder.add(values.shape, "int8", scale, zero_point, is_input=True)]
    numbers.append(builder.add(values.shape, "int8", np.sqrt(scale) * ratio, random_zero_point(rng)))
    check(builder.graph("SQRT", numbers[:1], numbers[1:]), [values], litert=True)


def test_the_square_root_of_less_than_nothing_is_nothing():
    """TensorFlow stops the inference there."""
    builder = GraphBuilder()
    numbers = [builder.add((256,), "int8", 0.1, 20, is_input=True), builder.add((256,), "int8", 0.1, -7)]
    graph = builder.graph("SQRT", numbers[:1], numbers[1:])
    assert set(run_on_host(graph, [ALL_INPUTS])[1][: 20 + 128]) == {-7}
