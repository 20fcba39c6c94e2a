"""EXP, LOGISTIC, ELU and SOFTMAX of float32: how far they are from TensorFlow, as docs/numerics.md states.

RESIZE_BILINEAR of float32 and uint8 is LiteRT's to the last bit.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlasim
from dlasim.checking.inexact import MOST_ULPS
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.isa.host_op_rows import UnaryFunction
from dlasim.sim.host import elementwise
from tests.host.models import GraphBuilder, run_on_host
from tests.oracle import run_litert_reference, run_tflite_micro

Array = np.ndarray
PAGE = Path(__file__).parents[2] / "docs" / "numerics.md"
COUNT = 100_000


def places(values: Array) -> Array:
    """Floats as integers that count them in their order."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFF_FFFF), bits)


def distance(ours: Array, theirs: Array) -> int:
    """The most units in the last place between two arrays of float32."""
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    kept = ~np.isnan(ours)
    return int(np.abs(places(ours[kept]) - places(theirs[kept])).max())


def numbers(rng: np.random.Generator) -> Array:
    """Where e^x is finite, what networks compute with, near 0, and what is no usual number."""
    special = [0, -0.0, np.inf, -np.inf, np.nan, 88.72284, 88.73, -103.9, -104, 16.6190471, -9, 1e-40, -1e-40]
    parts = (
        rng.uniform(-104, 89, COUNT),
        rng.normal(0, 3, COUNT),
        np.ldexp(rng.uniform(-1, 1, COUNT), rng.integers(-60, 5, COUNT)),
        special,
    )
    return np.concatenate(parts).astype(np.float32)


def one_operator(kind: str, shape: tuple[int, ...], **options: Any) -> Graph:
    made = GraphBuilder()
    source, result = made.add(shape, "float32", is_input=True), made.add(shape, "float32")
    return made.graph(kind, [source], [result], **options)


def stated(kind: str) -> list[int]:
    """The bounds that the page states for an operator: from LiteRT, and from TFLite Micro."""
    (row,) = re.findall(rf"^\| {kind} \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [int(cell) for cell in row.split("|") if cell.strip().isdigit()]


def test_the_page_and_verify_state_the_same() -> None:
    assert {kind: max(stated(kind)) for kind in MOST_ULPS} == MOST_ULPS


@pytest.mark.parametrize("kind", ["EXP", "LOGISTIC", "ELU", "SOFTMAX"])
def test_the_greatest_distance_is_the_one_that_is_stated(kind: str) -> None:
    values, options = numbers(np.random.default_rng(1)), {}
    if kind == "SOFTMAX":
        values = np.random.default_rng(2).normal(0, 4, (6000, 50)).astype(np.float32)
        options = {"beta": 1.0}
    graph = one_operator(kind, values.shape, **options)
    model, (ours,) = write_tflite(graph), (run_on_host(graph, [values])[1],)
    found = []
    for run in (run_litert_reference, run_tflite_micro):
        try:
            theirs = run(model, [values])[1]
        except (RuntimeError, ValueError):
            continue  # it has no such operator
        found.append(distance(ours, np.asarray(theirs)))
    assert found
    assert found == stated(kind)


def tail(kind: str) -> Graph:
    """int8 to float32, the function, and a product behind it, which is exact again."""
    shape, options = (1, 6, 40), {"beta": 1.0} if kind == "SOFTMAX" else {}
    scale = Quantization((float(np.float32(0.07)),), (12,))
    tensors = [Tensor("x", shape, "int8", scale)]
    tensors += [Tensor(name, shape, "float32") for name in ("real", "curve", "square")]
    operators = (
        Operator("DEQUANTIZE", (0,), (1,), {}, "operator 0"),
        Operator(kind, (1,), (2,), options, "operator 1"),
        Operator("MUL", (2, 2), (3,), {"fused_activation_function": "NONE"}, "operator 2"),
    )
    return Graph("tail", tuple(tensors), operators, (0,), (3,))


@pytest.mark.parametrize("kind", ["EXP", "LOGISTIC", "ELU", "SOFTMAX"])
def test_behind_an_integer_part_on_both_hosts(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tail.tflite"
    path.write_bytes(write_tflite(tail(kind)))
    values = np.arange(240, dtype=np.int64).astype(np.int8).reshape(1, 6, 40)
    one, other = (dlasim.run(path, inputs=[values], host=host).outputs[0] for host in ("none", "riscv"))
    np.testing.assert_array_equal(one.view(np.int32), other.view(np.int32))
    verification = dlasim.verify(path, runs=2)
    assert verification.passed
    assert f"may be apart in {kind} by {MOST_ULPS[kind]} ulp" in verification.reference


def test_only_functions_of_float32_are_named_as_inexact(tmp_path: Path) -> None:
    """A LOGISTIC of int8 in the same network is exact."""
    graph, path = tail("EXP"), tmp_path / "tail.tflite"
    curve = Tensor("logistic", (1, 6, 40), "int8", Quantization((1 / 256,), (-128,)))
    operators = (*graph.operators, Operator("LOGISTIC", (0,), (4,), {}, "operator 3"))
    path.write_bytes(
        write_tflite(replace(graph, tensors=(*graph.tensors, curve), operators=operators, outputs=(3, 4)))
    )
    reference = dlasim.verify(path).reference
    assert reference.endswith(f"apart in EXP by {MOST_ULPS['EXP']} ulp")


def test_verify_sees_what_is_further_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tail.tflite"
    path.write_bytes(write_tflite(tail("EXP")))
    kernel = elementwise._UNARY[UnaryFunction.EXP]
    wrong = {**elementwise._UNARY, UnaryFunction.EXP: lambda x: np.nextafter(np.nextafter(kernel(x), 9), 9)}
    monkeypatch.setattr(elementwise, "_UNARY", wrong)
    mismatch = dlasim.verify(path).mismatch
    assert mismatch is not None
    assert mismatch.tensor == "curve"


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("options", [{}, {"half_pixel_centers": True}, {"align_corners": True}])
def test_resizing_is_litert_s(dtype: str, options: dict[str, bool], tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for _ in range(12):
        height, width, depth = (int(size) for size in rng.integers(1, 9, 3))
        size = rng.integers(1, 14, 2).astype(np.int32)
        scale = Quantization((0.5,), (3,)) if dtype == "uint8" else None
        shape, result = (1, height, width, depth), (1, int(size[0]), int(size[1]), depth)
        tensors = (
            Tensor("x", shape, dtype, scale),
            Tensor("size", (2,), "int32", None, size),
            Tensor("y", result, dtype, scale),
        )
        operator = Operator("RESIZE_BILINEAR", (0, 1), (2,), options, "operator 0")
        graph = Graph("resize", tensors, (operator,), (0,), (2,))
        model = write_tflite(graph)
        if dtype == "uint8":
            values = rng.integers(0, 256, shape).astype(np.uint8)
            path = tmp_path / "resize.tflite"
            path.write_bytes(model)
            (ours,) = dlasim.run(path, inputs=[values]).outputs
        else:
            values = rng.normal(0, 100, shape).astype(np.float32)
            ours = run_on_host(graph, [values])[2]
        np.testing.assert_array_equal(ours, run_litert_reference(model, [values])[2])
    if dtype == "uint8":
        assert dlasim.verify(path).passed
        assert dlasim.verify(path, host="riscv").passed
