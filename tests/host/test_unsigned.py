"""Each operator in uint8, by host operators, against LiteRT's reference kernels; TFLite Micro has few."""

from __future__ import annotations

import numpy as np
import pytest

from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from tests.host.models import GraphBuilder, random_scale, random_values, run_on_host, tied_scale
from tests.oracle import run_litert_reference
from tests.tflite.one_operator import BUILDERS, random_form, random_graph
from tests.tflite.unsigned_form import NOT_IN_UINT8, unsigned_form

SEEDS = range(4)
# It has a test of its own.
IN_DOUBLE = {"FULLY_CONNECTED"}


def check(graph: Graph, seed: int, not_in_second: int | None = None) -> None:
    """Holds the outputs of a network of uint8 to LiteRT's; the second input may lack a number."""
    model = write_tflite(graph)
    rng = np.random.default_rng(seed)
    values = [random_values(rng, graph.tensors[number]) for number in graph.inputs]
    if not_in_second is not None:
        values[1][values[1] == not_in_second] ^= 1
    expected = run_litert_reference(model, values)
    found = run_on_host(prepare(read_model(model), "model"), values)
    for number in graph.outputs:
        assert found[number].dtype == expected[number].dtype
        np.testing.assert_array_equal(found[number], expected[number])


@pytest.mark.parametrize("kind", sorted(BUILDERS.keys() - NOT_IN_UINT8 - IN_DOUBLE))
def test_every_operator_is_litert_s(kind: str) -> None:
    for seed in SEEDS:
        check(unsigned_form(random_graph(kind, seed), seed), seed)


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "LOGISTIC", "MEAN", "SOFTMAX", "TANH"])
def test_more_of_what_might_round_in_its_own_way(kind: str) -> None:
    for seed in range(100, 140):
        check(unsigned_form(random_graph(kind, seed), seed), seed)


def test_quotients_of_two_that_the_network_computes() -> None:
    """LiteRT refuses divisors of 0."""
    for seed in range(40):
        graph = unsigned_form(random_form("DIV", seed), seed)
        quantization = graph.tensors[graph.inputs[1]].quantization
        assert quantization is not None
        check(graph, seed, not_in_second=quantization.zero_point)


def test_concatenation_rescales_every_number() -> None:
    """In float32: some results lie near the middle between two integers, and some saturate."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        builder = GraphBuilder()
        scales = [random_scale(rng) for _ in range(3)] if rng.random() < 0.5 else [0.5, 0.75, 1.0]
        points = [int(point) for point in rng.integers(0, 256, 3)]
        inputs = [
            builder.add((1, 256), "uint8", scale, point, is_input=True)
            for scale, point in zip(scales[:2], points, strict=False)
        ]
        output = builder.add((1, 512), "uint8", scales[2], points[2])
        options = {"axis": 1, "fused_activation_function": "NONE"}
        model = write_tflite(builder.graph("CONCATENATION", inputs, [output], **options))
        values = [np.arange(256, dtype=np.uint8).reshape(1, 256)] * 2
        found = run_on_host(prepare(read_model(model), "model"), values)[output]
        np.testing.assert_array_equal(found, run_litert_reference(model, values)[output])


@pytest.mark.parametrize(("scale", "is_refused"), [(1e12, True), (1e-12, False)])
def test_concatenation_beyond_32_bits_is_refused(scale: float, is_refused: bool) -> None:
    """Such sums, in units of the output, are undefined in TensorFlow's kernel."""
    builder = GraphBuilder()
    source = builder.add((1, 4), "uint8", scale, 3, is_input=True)
    output = builder.add((1, 4), "uint8", 1.0, 5)
    options = {"axis": 1, "fused_activation_function": "NONE"}
    model = write_tflite(builder.graph("CONCATENATION", [source], [output], **options))
    graph, values = prepare(read_model(model), "model"), [np.array([[0, 3, 4, 255]], np.uint8)]
    if is_refused:
        with pytest.raises(InputError, match="must have the scale and zero point of"):
            partition(graph)
        return
    np.testing.assert_array_equal(run_on_host(graph, values)[output], np.full((1, 4), 5))


@pytest.mark.parametrize("exponent", range(-14, 3))
@pytest.mark.parametrize(("kind", "steps"), [("LOGISTIC", 256), ("TANH", 128)])
def test_curves_of_all_inputs_with_scales_that_make_ties(kind: str, steps: int, exponent: int) -> None:
    """LiteRT computes them in float32; the fixed point of int8 rounds some of these differently."""
    values = np.arange(256, dtype=np.uint8).reshape(1, 256)
    for factor, zero_point in ((1, 0), (1, 128), (3, 100), (5, 255)):
        build = GraphBuilder()
        source = build.add((1, 256), "uint8", factor * 2.0**exponent, zero_point, is_input=True)
        result = build.add((1, 256), "uint8", 1 / steps, {256: 0, 128: 128}[steps])
        model = write_tflite(build.graph(kind, [source], [result]))
        found = run_on_host(prepare(read_model(model), "model"), [values])[result]
        np.testing.assert_array_equal(found, run_litert_reference(model, [values])[result])


@pytest.mark.parametrize("seed", range(20))
def test_fully_connected_is_a_convolution_of_single_pixels(seed: int) -> None:
    """LiteRT computes it in double, but CONV_2D in fixed point as all others; many results are ties."""
    rng = np.random.default_rng(seed)
    scales = random_scale(rng), random_scale(rng)
    product = float(np.float32(scales[0]) * np.float32(scales[1]))
    output_scale = tied_scale(rng, 200 * product)
    zero_points = [int(point) for point in rng.integers(0, 256, 3)]
    data, bias = rng.integers(0, 256, (5, 6)), rng.integers(-999, 999, 5)
    values = rng.integers(0, 256, (40, 6)).astype(np.uint8)
    found = []
    for kind, shapes in (
        ("FULLY_CONNECTED", ((40, 6), (5, 6), (40, 5))),
        ("CONV_2D", ((40, 1, 1, 6), (5, 1, 1, 6), (40, 1, 1, 5))),
    ):
        build = GraphBuilder()
        source = build.add(shapes[0], "uint8", scales[0], zero_points[0], is_input=True)
        weights = build.add(shapes[1], "uint8", scales[1], zero_points[1], data=data)
        biases = build.add((5,), "int32", product, data=bias)
        result = build.add(shapes[2], "uint8", output_scale, zero_points[2])
        options = {"padding": "VALID", "stride_h": 1, "stride_w": 1} if kind == "CONV_2D" else {}
        graph = build.graph(kind, [source, weights, biases], [result], **options)
        inputs = [values.reshape(shapes[0])]
        found.append(run_on_host(prepare(read_model(write_tflite(graph)), "model"), inputs)[result])
    expected = run_litert_reference(write_tflite(graph), inputs)[result]
    np.testing.assert_array_equal(found[1], expected)
    np.testing.assert_array_equal(found[0], expected.reshape(40, 5))
