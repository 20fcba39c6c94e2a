"""Scales at the ends of float32: each operator computes, or is refused in one line, without a warning."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.network.graph import Graph, Quantization
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from tests.fuzz.targets import TARGETS
from tests.tflite.one_operator import BUILDERS, random_graph

EXTREMES = tuple(float(np.float32(scale)) for scale in (1e-45, 1e-38, 1e37, 3e38))


def rescaled(graph: Graph, numbers: tuple[int, ...], scale: float) -> Graph:
    """The graph with another scale of these tensors, where they have one."""
    tensors = list(graph.tensors)
    for number in numbers:
        old = tensors[number].quantization
        if number >= 0 and old is not None and not tensors[number].is_constant:
            tensors[number] = replace(tensors[number], quantization=Quantization((scale,), (old.zero_point,)))
    return replace(graph, tensors=tuple(tensors))


@pytest.mark.parametrize("kind", BUILDERS)
def test_every_operator(kind: str) -> None:
    graph = random_graph(kind, 1)
    for scale, with_inputs, with_outputs in itertools.product(EXTREMES, (True, False), (True, False)):
        changed = rescaled(graph, graph.inputs if with_inputs else (), scale)
        changed = rescaled(changed, graph.outputs if with_outputs else (), scale)
        with contextlib.suppress(InputError):
            TARGETS["evil"].check(write_tflite(changed))


@pytest.mark.parametrize(
    ("kind", "of_input", "message"),
    [
        ("GELU", True, "with an input scale of 3e+38, some inputs are infinite"),
        ("ELU", True, "with an input scale of 3e+38, some inputs are infinite"),
        ("ADD", False, "e+37, but it must be below 2^31"),
        ("EXP", False, "an output scale of 1.4013e-45 is too small for float32"),
    ],
)
def test_what_cannot_be_computed_is_refused(kind: str, of_input: bool, message: str) -> None:
    graph = random_graph(kind, 1)
    changed = rescaled(graph, graph.inputs if of_input else graph.outputs, EXTREMES[-1 if of_input else 0])
    with pytest.raises(InputError) as caught:
        TARGETS["evil"].check(write_tflite(changed))
    assert message in str(caught.value)


def test_what_exceeds_float32_is_infinite(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """DEQUANTIZE multiplies in double precision and then converts."""
    graph = random_graph("DEQUANTIZE", 1)
    (number,) = graph.inputs
    changed = rescaled(graph, (number,), EXTREMES[-1])
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(changed))
    given = np.resize(np.array([-128, -1, 0, 1, 127], np.int8), graph.tensors[number].shape)
    zero_point = changed.tensors[number].quantization.zero_point  # type: ignore[union-attr]
    exact = [int(value - zero_point) * EXTREMES[-1] for value in given.ravel().astype(int)]
    most = float(np.finfo(np.float32).max)
    expected = [np.inf if x > most else -np.inf if x < -most else np.float32(x) for x in exact]
    np.testing.assert_array_equal(api.run(path, inputs=given).outputs[0].ravel(), expected)
