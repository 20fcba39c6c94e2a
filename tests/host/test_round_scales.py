"""Operators between round scales: the references multiply and divide scales in float32 or in float64, and on
ties the difference shows. Every value, or every pair of values, against the reference that `verify` takes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dlasim import api
from dlasim.checking.tensorflow_reference import ReferenceModel
from dlasim.compiler_shim.compile import load_graph, lower_for
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from tests.compiler.cases import Outcome
from tests.compiler.hosts import hosts_differ
from tests.host.models import Array, GraphBuilder, run_on_host
from tests.oracle import run_litert_reference
from tests.round_scales import round_scale

pytest.importorskip("tflite_micro", reason="TFLite Micro is not installed")

SCALES = (0.1, 0.05, 0.02, 0.28, 0.7, 1 / 3, 6 / 255, 2 / 255, 1 / 255, 1 / 127, 1 / 128, 1 / 16)
TIED = [(one, other) for one, other in itertools.permutations(SCALES, 2) if 1 / 8 < one / other < 8]
TABLES = (
    "ELU", "EXP", "GELU", "HARD_SWISH", "LEAKY_RELU", "LOG", "ABS", "QUANTIZE", "RELU", "RELU6",
    "RELU_N1_TO_1", "RSQRT", "SQRT",
)  # fmt: skip
NOT_IN_UINT8 = ("ABS", "ELU", "EXP", "LOG", "RSQRT", "SQRT")
WIDE = ("LEAKY_RELU", "QUANTIZE", "RELU", "RELU6", "RSQRT", "SQRT")
PAIRS = ("ADD", "SUB", "MUL", "DIV", "PRELU", "SQUARED_DIFFERENCE")
COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
OPTIONS: dict[str, dict[str, Any]] = {
    "LEAKY_RELU": {"alpha": float(np.float32(0.3))},
    "GELU": {"approximate": False},
    "ADD": {"pot_scale_int16": False},
    "SUB": {"pot_scale_int16": False},
}
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def every_value(dtype: str) -> Array:
    limits = np.iinfo(dtype)
    return np.arange(limits.min, limits.max + 1).astype(dtype).reshape(1, -1)


def every_pair() -> tuple[Array, Array]:
    """Of bytes, as int8."""
    numbers = np.arange(1 << 16).reshape(1, 256, 256)
    return (numbers % 256 - 128).astype(np.int8), (numbers // 256 - 128).astype(np.int8)


def zero_point(rng: np.random.Generator, dtype: str) -> int:
    limits = np.iinfo(dtype)
    middle = 128 if dtype == "uint8" else 0
    numbers = (middle, limits.min, limits.max, rng.integers(limits.min, limits.max + 1))
    return 0 if dtype == "int16" else int(rng.choice(numbers))


def assert_the_reference_s(graph: Graph, values: list[Array], stops_micro: bool = False) -> None:
    model = write_tflite(graph)
    prepared = prepare(read_model(model), "model")
    found = run_on_host(prepared, values)
    reference = ReferenceModel(model, len(prepared.tensors), isolated=False)
    expected = run_litert_reference(model, values) if stops_micro else reference.run(values).tensors
    for number in graph.outputs:
        scales = [tensor.quantization for tensor in graph.tensors]
        np.testing.assert_array_equal(found[number], expected[number], err_msg=str(scales))


def table_graph(kind: str, dtype: str, scales: tuple[float, float], points: tuple[int, int]) -> Graph:
    build, shape = GraphBuilder(), every_value(dtype).shape
    source = build.add(shape, dtype, scales[0], points[0], is_input=True)
    result = build.add(shape, dtype, scales[1], points[1])
    return build.graph(kind, [source], [result], **OPTIONS.get(kind, {}))


TYPED = [
    *((kind, "int8") for kind in TABLES),
    *((kind, "uint8") for kind in TABLES if kind not in NOT_IN_UINT8),
    *((kind, "int16") for kind in WIDE),
]


@pytest.mark.parametrize(("kind", "dtype"), TYPED)
def test_every_value_between_round_scales(kind: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    random = [tuple(np.exp(rng.uniform(np.log(0.01), np.log(0.5), 2)).tolist()) for _ in range(12)]
    is_slow = dtype == "int16" or kind == "RSQRT"
    for scales in (*TIED[:: 6 if is_slow else 1], *random):
        points = zero_point(rng, dtype), zero_point(rng, dtype)
        values = every_value(dtype)
        if kind in ("RSQRT", "SQRT"):
            values = np.maximum(values, np.array(points[0], dtype))
        finer = 1 / 64 if dtype == "int16" else 1
        graph = table_graph(kind, dtype, (scales[0] * finer, scales[1] * finer), points)
        assert_the_reference_s(graph, [values])


def pair_graph(kind: str, dtype: str, scales: list[float], rng: np.random.Generator) -> Graph:
    build, shape = GraphBuilder(), (1, 256, 256)
    points = [zero_point(rng, dtype) for _ in range(3)]
    numbers = [build.add(shape, dtype, scales[0], points[0], is_input=True)]
    data = rng.integers(-128, 128, shape) + 128 * (dtype == "uint8") if kind == "PRELU" else None
    numbers.append(build.add(shape, dtype, scales[1], points[1], data=data, is_input=data is None))
    if kind in COMPARISONS:
        return build.graph(kind, numbers, [build.add(shape, "bool")])
    options = OPTIONS.get(kind, {})
    if kind in ("ADD", "SUB", "MUL", "DIV"):
        options = {**options, "fused_activation_function": str(rng.choice(ACTIVATIONS))}
    return build.graph(kind, numbers, [build.add(shape, dtype, scales[2], points[2])], **options)


def pair_values(graph: Graph, kind: str, rng: np.random.Generator) -> list[Array]:
    """All pairs of bytes; of int16 noise, and equals of the scales among it."""
    first, second = (graph.tensors[number] for number in graph.operators[0].inputs)
    values = list(every_pair())
    if first.dtype == "int16":
        ratio = first.quantization.scale / second.quantization.scale
        one = rng.integers(-(1 << 15), 1 << 15, first.shape)
        near = np.rint(one * ratio) + rng.integers(-1, 2, one.shape)
        values = [one.astype(np.int16), np.clip(near, -(1 << 15), (1 << 15) - 1).astype(np.int16)]
    elif first.dtype == "uint8":
        values = [(value.astype(np.int16) + 128).astype(np.uint8) for value in values]
    if kind == "DIV" and first.dtype != "int8":  # LiteRT refuses divisors of 0
        point = second.quantization.zero_point
        values[1][values[1] == point] ^= 1
    return values[: len(graph.inputs)]


PAIR_CASES = [
    *((kind, "int8") for kind in (*PAIRS, *COMPARISONS)),
    *((kind, "uint8") for kind in (*PAIRS[:-1], *COMPARISONS)),
    *((kind, "int16") for kind in ("ADD", "SUB", "MUL", "DIV", "SQUARED_DIFFERENCE", *COMPARISONS)),
]


@pytest.mark.parametrize(("kind", "dtype"), PAIR_CASES)
def test_every_pair_between_round_scales(kind: str, dtype: str) -> None:
    for seed in range(16):
        rng = np.random.default_rng(seed)
        first, second = (float(np.float32(scale)) for scale in rng.choice(SCALES, 2))
        product = {
            "MUL": first * second * 128, "DIV": first / second / 20, "PRELU": first,
            "SQUARED_DIFFERENCE": max(first, second) ** 2 * 128,
        }.get(kind, max(first, second))  # fmt: skip
        output = round_scale(rng, product, [product])
        if dtype == "int16":
            output = output if kind in ("DIV", "SQUARED_DIFFERENCE", "MUL") else output / 64
            first, second = first / 64, second / 64
        graph = pair_graph(kind, dtype, [first, second, output], rng)
        assert_the_reference_s(graph, pair_values(graph, kind, rng))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_quotients_whose_factor_is_huge(dtype: str) -> None:
    """TensorFlow's kernels then shift right by a negative number."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        graph = pair_graph("DIV", dtype, [6 / 255, 2.0**-21, 2.0 ** -int(rng.integers(4, 13))], rng)
        assert_the_reference_s(graph, pair_values(graph, "DIV", rng))


@pytest.mark.parametrize("exponent", range(-26, 0, 5))
def test_elu_of_tiny_scales(exponent: int) -> None:
    """TFLite Micro subtracts 1 from exp in float32, which cancels."""
    for factor in (1.0, 0.7, 1.5):
        for ratio in (0.5, 3.0, 24.0, 96.0):
            scale = factor * 2.0**exponent
            assert_the_reference_s(
                table_graph("ELU", "int8", (scale, scale * ratio), (0, 5)), [every_value("int8")]
            )


def test_inverse_roots_whose_factor_is_tiny() -> None:
    """TensorFlow's kernels then shift by more than a word."""
    for point, exponent in itertools.product((-128, 67), (10, 15, 20)):
        values = np.maximum(every_value("int8"), np.int8(point))
        assert_the_reference_s(table_graph("RSQRT", "int8", (16.126, 2.0**exponent), (point, 0)), [values])


@pytest.mark.parametrize("point", [-128, -7, 0, 126, 127])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_difference_that_a_step_of_the_output_is_below(activation: str, point: int) -> None:
    """The converter writes such scales for tensors that were always 0. LiteRT keeps the sign alone."""
    for scales, dtype in itertools.product(
        ((0.00782, 0.00782, 7.84e-9), (0.05, 0.02, 6e-8), (0.1, 0.1, 2.0**-23)), ("int8", "uint8")
    ):
        build, shape, offset = GraphBuilder(), (1, 256, 256), 128 * (dtype == "uint8")
        numbers = [
            build.add(shape, dtype, scale, zero + offset, is_input=True)
            for scale, zero in zip(scales[:2], (3, -128), strict=True)
        ]
        result = build.add(shape, dtype, scales[2], point + offset)
        graph = build.graph("SUB", numbers, [result], fused_activation_function=activation)
        values = [(value.astype(np.int16) + offset).astype(dtype) for value in every_pair()]
        assert_the_reference_s(graph, values, stops_micro=True)


def test_a_difference_of_int16_with_such_a_scale_is_refused() -> None:
    build, shape = GraphBuilder(), (1, 8)
    numbers = [build.add(shape, "int16", 0.001, is_input=True) for _ in range(2)]
    graph = build.graph("SUB", numbers, [build.add(shape, "int16", 3e-11)])
    with pytest.raises(InputError, match=r"its scales give a factor of 2.03e\+03, not below 1"):
        run_on_host(graph, [np.zeros(shape, np.int16)] * 2)


@pytest.mark.parametrize("kind", ["RELU6", "RELU_N1_TO_1", "SUB"])
def test_both_hosts_and_the_dla(kind: str, tmp_path: Any) -> None:
    """On the DLA, whose tables and registers the compiler makes, and on the CPU of the board."""
    graph = table_graph(kind, "int8", (0.7, 0.28), (-111, 22))
    if kind == "SUB":
        build, shape = GraphBuilder(), (1, 256)
        numbers = [build.add(shape, "int8", 0.00782, zero, is_input=True) for zero in (3, -5)]
        graph = build.graph("SUB", numbers, [build.add(shape, "int8", 7.84e-9, 20)])
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    for place in ("dla", "cpu"):
        assert api.verify(path, place=place).passed
        lowered = lower_for(partition(load_graph(path)), DlaConfig(), CompileOptions(place=place))
        assert not hosts_differ(Outcome("", lowered, DlaConfig()), 0)
