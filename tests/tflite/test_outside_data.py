"""Constants and custom options behind the flatbuffer, against LiteRT, which reads them there."""

from __future__ import annotations

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.reader import read_tflite
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.detection_networks import FAST, head, head_inputs
from tests.oracle import random_inputs, run_litert_reference
from tests.tflite.comparison import assert_same_graph
from tests.tflite.one_operator import random_graph
from tests.tflite.outside_form import moved_outside
from tests.tflite.test_damaged_files import raw_model, refusal

BEYOND = (1 << 64) - 16


@pytest.mark.parametrize("kind", ["CONV_2D", "FULLY_CONNECTED", "PAD", "GATHER"])
def test_a_file_says_the_same_with_its_data_outside(kind: str) -> None:
    for seed in range(4):
        graph = random_graph(kind, seed)
        inside = write_tflite(graph)
        outside = moved_outside(inside)
        inputs = random_inputs(inside, seed)
        theirs = (run_litert_reference(model, inputs) for model in (inside, outside))
        for one, other in zip(*(run.values() for run in theirs), strict=True):
            np.testing.assert_array_equal(one, other)
        assert_same_graph(read_tflite(outside), graph)


def test_custom_options_may_be_outside_too() -> None:
    made = head(3, "uint8", FAST)
    outside = moved_outside(write_tflite(made.graph))
    expected = made.counted(run_litert_reference(write_tflite(made.graph), head_inputs(made, 5, False)))
    found = made.counted(run_litert_reference(outside, head_inputs(made, 5, False)))
    np.testing.assert_array_equal(found[3], expected[3])
    assert_same_graph(read_tflite(outside), made.graph)


def test_such_a_file_is_verified_as_a_whole(tmp_path) -> None:
    """TFLite Micro does not look behind the flatbuffer."""
    path = tmp_path / "outside.tflite"
    path.write_bytes(moved_outside(write_tflite(random_graph("CONV_2D", 1))))
    verification = dlasim.verify(path)
    assert verification.passed
    assert verification.reference == "TFLite Micro"


def test_a_single_byte_counts_and_no_byte_is_no_data() -> None:
    graph = random_graph("PADV2", 0)
    assert_same_graph(read_tflite(moved_outside(write_tflite(graph), least_bytes=1)), graph)
    unused = encode("Model", raw_model(buffers=[{"offset": 1 << 40, "size": 0}]), 256)
    assert read_tflite(unused).tensors[0].data is None


@pytest.mark.parametrize(
    ("buffer", "expected"),
    [
        ({"offset": 1 << 20, "size": 4}, "buffer 1: 4 bytes at 1048576 are beyond the file's"),
        ({"offset": BEYOND, "size": BEYOND}, f"buffer 1: {BEYOND} bytes at {BEYOND} are beyond"),
        ({"offset": 2, "size": 1 << 40}, "bytes at 2 are beyond the file's"),
        ({"offset": 16, "size": 4}, "buffer 1: its data at 16 overlaps the tables up to"),
        (
            {"data": np.zeros(4, np.uint8), "offset": 256, "size": 4},
            "buffer 1: its data is both in its table and behind the flatbuffer, at 256",
        ),
    ],
)
def test_wrong_extents_are_named(buffer, expected) -> None:
    model = encode("Model", raw_model(buffers=[{}, buffer]), 256) + bytes(64)
    message = refusal(model)
    assert message.startswith("model: damaged TFLite file: ")
    assert expected in message


def test_wrong_custom_options_are_named() -> None:
    model = raw_model()
    model["subgraphs"][0]["operators"][0] |= {
        "large_custom_options_offset": 9999,
        "large_custom_options_size": 2,
    }
    assert "operator 0: custom options: 2 bytes at 9999 are beyond" in refusal(encode("Model", model, 256))
