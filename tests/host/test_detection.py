"""DETECTION_POSTPROCESS against LiteRT and TFLite Micro, on both hosts, and what is said of bad ones."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.tflite.flexible import FlexibleError, read_numbers, write_numbers
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from dlasim.sim.host.detection import exponential
from tests.host.detection_networks import FAST, REGULAR, SEVERAL, Head, head, head_inputs
from tests.host.models import run_on_host
from tests.oracle import run_litert_reference, run_tflite_micro


@pytest.mark.parametrize("mode", [FAST, SEVERAL, REGULAR])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_detections_are_litert_s(dtype: str, mode: str) -> None:
    for seed in range(12):
        made = head(seed, dtype, mode)
        model, values = write_tflite(made.graph), head_inputs(made, seed, distinct=mode == SEVERAL)
        expected = made.counted(run_litert_reference(model, values))
        found = made.counted(run_on_host(prepare(read_model(model), "model"), values))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("mode", [FAST, REGULAR])
def test_detections_are_tflite_micro_s_too(mode: str) -> None:
    """Which says what comes first of equal scores."""
    for seed in range(12):
        made = head(seed, "int8", mode)
        model, values = write_tflite(made.graph), head_inputs(made, seed, distinct=False)
        values[1] = values[1] // 32 * 32
        expected = made.counted(run_tflite_micro(model, values))
        found = made.counted(run_on_host(prepare(read_model(model), "model"), values))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("mode", [FAST, SEVERAL, REGULAR])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_both_hosts_give_the_same(dtype: str, mode: str, tmp_path) -> None:
    made = head(3, dtype, mode)
    path = tmp_path / "head.tflite"
    path.write_bytes(write_tflite(made.graph))
    values = head_inputs(made, 5, distinct=False)
    ours, board = (api.run(path, inputs=values, host=host).outputs for host in ("none", "riscv"))
    expected = made.counted(run_litert_reference(path, values))
    assert np.array_equal(ours[3], expected[3])
    for one, other in zip(ours, board, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_verify_leaves_out_what_tensorflow_does_not_write(dtype: str, tmp_path) -> None:
    path = tmp_path / "head.tflite"
    path.write_bytes(write_tflite(head(4, dtype, FAST).graph))
    result = api.verify(path, runs=3)
    assert result.passed, result.mismatch or result.uncompared


def test_the_exponential_is_within_its_bound() -> None:
    with localcontext() as context:
        context.prec = 40
        for value in [*np.random.default_rng(0).uniform(-16, 16, 500).tolist(), 0.0, 1.0, -15.999, 1e-300]:
            exact = Decimal(value).exp()
            assert abs(Decimal(exponential(value)) / exact - 1) <= Decimal(2) ** -53 + Decimal(2) ** -58
    assert exponential(1000.0) == exponential(16.0)
    assert exponential(-1000.0) == exponential(-16.0)


def changed(made: Head, **options: Any) -> Head:
    graph = made.graph
    last = replace(graph.operators[-1], options={**graph.operators[-1].options, **options})
    return Head(replace(graph, operators=(*graph.operators[:-1], last)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_detections": 0}, r"max_detections must be from 1 to 65536 \(got 0\)"),
        ({"max_detections": 1 << 20}, r"max_detections must be from 1 to 65536"),
        ({"num_classes": 500}, r"num_classes must be 9, or one less with a background \(got 500\)"),
        ({"y_scale": 0.0}, r"y_scale must be above 0 \(got 0.0\)"),
        ({"nms_iou_threshold": 1.5}, r"nms_iou_threshold must be above 0 and at most 1 \(got 1.5\)"),
        ({"h_scale": float("inf")}, r"h_scale must be from -\S+ to \S+ \(got inf\)"),
    ],
)
def test_bad_options_are_one_line(options: dict[str, Any], message: str, tmp_path) -> None:
    path = tmp_path / "head.tflite"
    path.write_bytes(write_tflite(changed(head(0, "int8", FAST), **options).graph))
    with pytest.raises(InputError, match=rf"\(DETECTION_POSTPROCESS\): {message}") as caught:
        api.run(path)
    assert "\n" not in str(caught.value)


def test_damaged_options_are_one_line(tmp_path) -> None:
    """Whatever a byte of them becomes: a result, or one line."""
    model = write_tflite(head(0, "int8", FAST).graph)
    start = model.index(b"max_detections\0")
    path = tmp_path / "head.tflite"
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(400):
        data = bytearray(model)
        data[start + int(rng.integers(400))] = int(rng.integers(256))
        path.write_bytes(data)
        try:
            load_graph(path)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert not [line for line in refused if "\n" in line]


def test_numbers_of_a_flexbuffer_come_back() -> None:
    values = {"max_detections": 10, "least": -3, "use": True, "y_scale": 10.5, "wide": 1 << 40}
    assert read_numbers(write_numbers(values)) == values
    for data in (b"", b"abc", b"\0\x24\x03", b"\xff\x24\x01", write_numbers(values)[5:]):
        with pytest.raises(FlexibleError):
            read_numbers(data)
