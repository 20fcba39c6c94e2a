"""QUANTIZE_TABLE: what a QUANTIZE of many floats becomes, at every float where the result changes."""

import numpy as np
import pytest

from dlasim.isa import host_ops
from dlasim.sim.arithmetic.float_steps import float_steps
from tests.host.models import GraphBuilder, check, lower_operator, run_on_host

SIGN = np.uint32(1 << 31)
NEIGHBOURS = np.arange(-3, 4)
LARGEST = np.finfo(np.float32).max


def quantization(count, scale, zero_point, dtype):
    builder = GraphBuilder()
    given = builder.add((count,), "float32", is_input=True)
    return builder.graph("QUANTIZE", [given], [builder.add((count,), dtype, scale, zero_point)])


def operators(graph):
    return [host_ops.BY_CODE[call.code].name for op in graph.operators for call in lower_operator(op, graph)]


def ends_of_cells(scale, zero_point, dtype):
    """The first and last float of each cell: in between, a result only changes where `starts` says."""
    steps = float_steps(scale, zero_point, dtype)
    firsts = [
        steps.first + (np.arange(len(side), dtype=np.int64) << steps.bits)
        for side in (steps.positive, steps.negative)
    ]
    patterns = np.concatenate([*firsts, *(first - 1 for first in firsts)])
    patterns = patterns[patterns <= LARGEST.view(np.int32)].astype(np.uint32)
    return np.concatenate([patterns, patterns | SIGN]).view(np.float32)


def telling_floats(scale):
    """The floats around every half of a step to 300, zeros, and large ones that are in int32."""
    halves = np.minimum((np.arange(300) + 0.5) * scale, LARGEST).astype(np.float32).view(np.int32)
    patterns = (halves[:, None] + NEIGHBOURS).ravel()
    large = np.minimum(scale * np.exp2(np.arange(9.5, 30)), LARGEST).astype(np.float32).view(np.int32)
    patterns = np.concatenate([patterns, large, [0]]).clip(0, LARGEST.view(np.int32)).astype(np.uint32)
    return np.concatenate([patterns, patterns | SIGN]).view(np.float32)


@pytest.mark.parametrize(
    ("dtype", "zero_point"),
    [
        ("int8", -128),
        ("int8", 127),
        ("int8", 0),
        ("int8", -100),
        ("uint8", 0),
        ("uint8", 255),
        ("uint8", 131),
    ],
)
def test_every_step_is_where_tensorflow_takes_it(dtype, zero_point):
    rng = np.random.default_rng(zero_point + 128)
    for scale in (1 / 255, 0.75, *np.exp2(rng.uniform(-20, 20, 6)), 1e-37, 3e-39, 1e-44):
        scale = float(np.float32(scale))
        values = np.concatenate([telling_floats(scale), ends_of_cells(scale, zero_point, dtype)])
        graph = quantization(len(values), scale, zero_point, dtype)
        assert operators(graph) == ["QUANTIZE_TABLE"]
        check(graph, [values], litert=dtype == "uint8")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_infinities_are_limited(dtype):
    values = np.array([np.inf, -np.inf, LARGEST, -LARGEST] * 200, np.float32)
    limits = np.iinfo(dtype)
    found = run_on_host(quantization(len(values), 0.1, 17, dtype), [values])[1]
    assert found.tolist() == [limits.max, limits.min] * 400


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_what_is_no_number_counts_as_an_infinity(dtype):
    """TensorFlow's result depends on the machine that it was compiled for."""
    patterns = np.array([0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF] * 200, np.uint32)
    graph = quantization(len(patterns), 0.1, 17, dtype)
    assert operators(graph) == ["QUANTIZE_TABLE"]
    limits = np.iinfo(dtype)
    found = run_on_host(graph, [patterns.view(np.float32)])[1]
    assert found.tolist() == [*[limits.max] * 3, *[limits.min] * 2] * 200


def test_few_elements_or_no_float_at_the_last_step_are_divided():
    """1 KiB to 13 KiB of tables are for 512 elements and more; 255 steps of 1e37 are beyond float32."""
    assert operators(quantization(511, 0.1, 0, "int8")) == ["QUANTIZE"]
    assert operators(quantization(512, 0.1, 0, "int8")) == ["QUANTIZE_TABLE"]
    assert operators(quantization(5000, 0.1, 0, "int16")) == ["QUANTIZE"]
    values = telling_floats(1e37)
    graph = quantization(len(values), 1e37, -128, "int8")
    assert operators(graph) == ["QUANTIZE"]
    check(graph, [values])
