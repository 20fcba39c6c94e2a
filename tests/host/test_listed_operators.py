"""TensorFlow Lite's integer operators beyond those of CNNs, by type: each is a reference's, or none has it.

`micro` and `litert` say whose numbers a cell must have, bit for bit; `none` says that neither has a kernel,
which the test checks, too. PLAIN operators have no scales: they are of bool or int32, or of a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.network.graph import Graph, Quantization, Tensor
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.models import random_values, run_on_host
from tests.oracle import run_litert_reference, run_tflite_micro
from tests.tflite.one_operator import FORMS, random_form, random_graph
from tests.tflite.unsigned_form import unsigned_form

# int8, uint8, int16
LISTED = {
    "BROADCAST_TO": ("micro", "litert", "micro"),
    "CUMSUM": ("micro", "none", "none"),
    "DEPTH_TO_SPACE": ("micro", "none", "none"),
    "DIV": ("micro", "litert", "litert"),
    "ELU": ("micro", "none", "none"),
    "EQUAL": ("micro", "litert", "litert"),
    "GREATER": ("micro", "litert", "litert"),
    "GREATER_EQUAL": ("micro", "litert", "litert"),
    "L2_NORMALIZATION": ("micro", "litert", "none"),
    "LESS": ("micro", "litert", "litert"),
    "LESS_EQUAL": ("micro", "litert", "litert"),
    "MIRROR_PAD": ("micro", "litert", "litert"),
    "NOT_EQUAL": ("micro", "litert", "litert"),
    "REDUCE_MAX": ("micro", "litert", "litert"),
    "REDUCE_MIN": ("micro", "litert", "litert"),
    "REDUCE_PROD": ("litert", "none", "litert"),
    "REVERSE_V2": ("micro", "litert", "micro"),
    "RSQRT": ("micro", "none", "litert"),
    "SELECT": ("litert", "litert", "litert"),
    "SELECT_V2": ("micro", "litert", "micro"),
    "SPACE_TO_DEPTH": ("micro", "litert", "none"),
    "SQRT": ("litert", "none", "litert"),
    "SQUARED_DIFFERENCE": ("micro", "none", "micro"),
    "SUM": ("micro", "litert", "micro"),
    "TILE": ("litert", "litert", "litert"),
    "TOPK_V2": ("litert", "litert", "litert"),
}
# What has no type to choose: bool, int32, or a constant condition.
PLAIN = {
    "LOGICAL_AND": "micro",
    "LOGICAL_NOT": "micro",
    "LOGICAL_OR": "micro",
    "POW": "litert",
    "REDUCE_ALL": "micro",
    "REDUCE_ANY": "litert",
    "WHERE": "litert",
}
TYPES = ("int8", "uint8", "int16")
RUNTIMES = {"micro": run_tflite_micro, "litert": run_litert_reference}
CELLS = [
    (kind, dtype, whose) for kind, row in LISTED.items() for dtype, whose in zip(TYPES, row, strict=True)
]
SEEDS = range(6)


def int8_graph(kind: str, seed: int) -> Graph:
    return random_form(kind, seed) if kind in FORMS else random_graph(kind, seed)


def _widened(tensor: Tensor) -> Tensor:
    if tensor.dtype != "int8" or tensor.quantization is None:
        return tensor
    data = None if tensor.data is None else tensor.data.astype(np.int16)
    quantization = Quantization((tensor.quantization.scales[0] / 64,), (0,))
    return replace(tensor, dtype="int16", quantization=quantization, data=data)


def graph_of(kind: str, dtype: str, seed: int) -> Graph:
    """A network of one operator whose scaled tensors have that type; int16 has zero points of 0."""
    graph = int8_graph(kind, seed)
    if dtype == "uint8":
        return unsigned_form(graph, seed)
    if dtype == "int16":
        return replace(graph, tensors=tuple(_widened(tensor) for tensor in graph.tensors))
    return graph


def values_of(graph: Graph, kind: str, seed: int) -> list[np.ndarray]:
    """Noise; no divisor of uint8 is 0, which LiteRT refuses, and no root of what is below 0."""
    rng = np.random.default_rng(seed)
    values = [random_values(rng, graph.tensors[number]) for number in graph.inputs]
    if kind == "DIV" and graph.tensors[graph.inputs[1]].dtype == "uint8":
        quantization = graph.tensors[graph.inputs[1]].quantization
        assert quantization is not None
        values[1][values[1] == quantization.zero_point] ^= 1
    if kind in ("SQRT", "RSQRT") and values[0].dtype == np.int16:
        values[0] = np.maximum(np.abs(values[0].astype(np.int32)), 1).clip(1, 32767).astype(np.int16)
    return values


def hold_to(run: Callable, graph: Graph, kind: str, seed: int) -> None:
    model, values = write_tflite(graph), values_of(graph, kind, seed)
    expected = run(model, values)
    found = run_on_host(prepare(read_model(model), "model"), values)
    for number in graph.outputs:
        np.testing.assert_array_equal(found[number], expected[number])


@pytest.mark.parametrize(("kind", "dtype", "whose"), CELLS)
def test_a_listed_operator_is_its_reference_s(kind: str, dtype: str, whose: str) -> None:
    for seed in SEEDS:
        graph = graph_of(kind, dtype, seed)
        assert graph.tensors[graph.inputs[0]].dtype in (dtype, "bool")
        if whose == "none":
            assert_no_reference_has_it(graph, kind, seed)
            return
        hold_to(RUNTIMES[whose], graph, kind, seed)


def assert_no_reference_has_it(graph: Graph, kind: str, seed: int) -> None:
    for run in RUNTIMES.values():
        with pytest.raises((RuntimeError, ValueError)):
            run(write_tflite(graph), values_of(graph, kind, seed))


@pytest.mark.parametrize(("kind", "whose"), PLAIN.items())
def test_a_plain_operator_is_its_reference_s(kind: str, whose: str) -> None:
    for seed in SEEDS:
        hold_to(RUNTIMES[whose], random_graph(kind, seed), kind, seed)
