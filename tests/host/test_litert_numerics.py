"""With `numerics=litert`, each operator that LiteRT's reference kernels have is theirs, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.network.graph import Graph, Numerics
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import variable_tensors, write_tflite
from dlasim.errors import InputError
from tests.compiler.networks import random_network
from tests.host.models import Array, GraphBuilder, random_scale, random_values, random_zero_point, run_on_host
from tests.host.test_elementwise import binary_graph
from tests.host.test_every_operator import FLOATS_ONLY
from tests.host.test_lookup import ALL_INPUTS, table_graph, tied_scale, wide_scale
from tests.oracle import run_litert_reference, run_tflite_micro
from tests.tflite.one_operator import BUILDERS, random_graph
from tests.tflite.unsigned_form import has_unsigned_form, unsigned_form

FAULTY = ("SUM", "SVDF")  # of int8 in LiteRT
ELSEWHERE = ("UNIDIRECTIONAL_SEQUENCE_LSTM",)  # is refused


def by_litert(graph: Graph) -> Graph:
    source = read_model(write_tflite(graph))
    return prepare(replace(source, graph=replace(source.graph, numerics=Numerics.LITERT)), "model")


def computed(graph: Graph, values: list[Array]) -> dict[int, Array]:
    return run_on_host(by_litert(graph), values)


def differing(graph: Graph, values: list[Array]) -> int:
    """Elements of the outputs in which TFLite Micro differs from LiteRT, which dlasim must equal."""
    model, actual = write_tflite(graph), computed(graph, values)
    expected = run_litert_reference(model, values)
    for number in graph.outputs:
        np.testing.assert_array_equal(actual[number], expected[number], err_msg=str(graph.operators[0]))
    micro = run_tflite_micro(model, values)
    return sum(int((micro[number] != expected[number]).sum()) for number in graph.outputs)


def noise(graph: Graph, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [random_values(rng, graph.tensors[number]) for number in graph.inputs]


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_sigmoids_are_computed_in_float32(kind: str) -> None:
    found = [
        differing(table_graph(np.random.default_rng(seed), kind, scale=wide_scale), [ALL_INPUTS])
        for seed in range(60)
    ]
    assert sum(found) > 0


def test_leaky_relu_multiplies_its_scales_in_float32() -> None:
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        alpha, scale = np.float32(rng.uniform(0.1, 0.9)), np.float32(random_scale(rng))
        scales = iter([float(scale), float(scale * alpha) * 2])
        graph = table_graph(rng, "LEAKY_RELU", scale=lambda _, s=scales: next(s), alpha=float(alpha))
        found += differing(graph, [ALL_INPUTS])
    assert found > 0


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_ties_of_two_operands(kind: str) -> None:
    found = [
        differing(graph, noise(graph, seed))
        for seed in range(60)
        for graph in [binary_graph(np.random.default_rng(seed), kind, tied=True)]
    ]
    assert (sum(found) > 0) == (kind == "MUL")


def product(seed: int, depth: int, units: int, per_channel: bool) -> Graph:
    """FULLY_CONNECTED with an output scale that makes ties, or that the sums reach from end to end."""
    rng = np.random.default_rng(seed)
    builder, scale = GraphBuilder(), float(np.float32(random_scale(rng)))
    weight = np.float32(random_scale(rng)) * rng.uniform(0.5, 1, units if per_channel else 1)
    target = tied_scale(rng, scale * float(weight[0]) * float(rng.choice([1, 16, 256, 2048])))
    values = builder.add((30, depth), scale=scale, zero_point=random_zero_point(rng), is_input=True)
    weights = builder.add((units, depth), scale=weight, data=rng.integers(-127, 128, (units, depth)))
    bias = builder.add((units,), "int32", scale=scale * weight, data=rng.integers(-3000, 3000, units))
    output = builder.add((30, units), scale=target, zero_point=random_zero_point(rng))
    options: dict[str, Any] = {"fused_activation_function": str(rng.choice(["NONE", "RELU", "RELU6"]))}
    return builder.graph("FULLY_CONNECTED", [values, weights, bias], [output], **options)


@pytest.mark.parametrize("per_channel", [False, True])
def test_fully_connected_rounds_once(per_channel: bool) -> None:
    graphs = [product(seed, 1 + seed * 5 % 200, 20, per_channel) for seed in range(60)]
    assert sum(differing(graph, noise(graph, 0)) for graph in graphs) > 0
    hosts = {len(by_litert_calls(graph)) for graph in graphs}
    assert hosts == {1, 2}, "some on the DLA as a whole, of others the CPU rounds the sums"


def by_litert_calls(graph: Graph) -> list[str]:
    from tests.host.models import lower_operator

    made = by_litert(graph)
    return [call.name for call in lower_operator(made.operators[0], made)]


def test_a_factor_that_float64_rounds_to_a_tie() -> None:
    """0.1 is less than a tenth as a multiplier of 31 bits, and as a float64 times 5 exactly a half."""
    builder = GraphBuilder()
    values = builder.add((256, 1), scale=1.0, zero_point=0, is_input=True)
    weights = builder.add((200, 1), scale=1.0, data=np.arange(200) - 100)
    output = builder.add((256, 200), scale=10.0, zero_point=0)
    graph = builder.graph("FULLY_CONNECTED", [values, weights], [output])
    differing(graph, [ALL_INPUTS.reshape(256, 1)])


@pytest.mark.parametrize("kind", sorted(set(BUILDERS) - set(FAULTY) - set(ELSEWHERE) - set(FLOATS_ONLY)))
def test_every_operator_that_litert_has(kind: str) -> None:
    if OPERATORS[kind].lower is None:
        return
    for seed in range(4):
        graph = random_graph(kind, seed)
        forms = [graph, *([unsigned_form(graph, seed)] if has_unsigned_form(graph) else [])]
        for form in forms:
            values = noise(form, seed)
            if variable_tensors(form):
                continue
            try:
                expected = run_litert_reference(write_tflite(form), values)
            except (RuntimeError, ValueError):
                continue  # LiteRT lacks it
            try:
                actual = computed(form, values)
            except InputError:
                if kind == "FULLY_CONNECTED" and form is not graph:
                    continue  # with a zero point of its weights
                raise
            for number in form.outputs:
                np.testing.assert_array_equal(actual[number], expected[number])


def write(graph: Graph, folder: Path) -> Path:
    path = folder / "network.tflite"
    path.write_bytes(write_tflite(graph))
    return path


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_verify_compares_with_litert(host: str, tmp_path: Path) -> None:
    path = write(product(3, 120, 20, True), tmp_path)
    found = dlasim.verify(path, numerics="litert", host=host)
    assert found.passed, found.mismatch
    assert found.reference == "LiteRT"


@pytest.mark.parametrize("sram", ["4KiB", "1MiB"])
def test_random_networks_are_litert_s(sram: str, tmp_path: Path) -> None:
    for seed in range(12):
        path = write(random_network(seed, 8, 400), tmp_path)
        try:
            found = dlasim.verify(path, numerics="litert", sram=sram, place="dla")
        except InputError:
            continue
        assert found.passed, (seed, found.mismatch)


def test_what_cannot_be_had_is_refused(tmp_path: Path) -> None:
    path = write(random_graph("UNIDIRECTIONAL_SEQUENCE_LSTM", 0), tmp_path)
    with pytest.raises(InputError, match="LiteRT's LSTM"):
        dlasim.compile(path, numerics="litert")
    with pytest.raises(InputError, match="numerics must be tflm or litert"):
        dlasim.compile(path, numerics="float")


def test_a_sweep_has_it_as_an_axis(tmp_path: Path) -> None:
    graphs = (product(seed, 150, 20, True) for seed in range(60))
    path = write(next(graph for graph in graphs if len(by_litert_calls(graph)) == 2), tmp_path)
    found = dlasim.sweep(path, numerics=["tflm", "litert"], jobs=1)
    rows = {row["numerics"]: row for row in found}
    assert rows["tflm"]["cycles_cpu"] < rows["litert"]["cycles_cpu"]
