"""Weights of 4 bits, against TensorFlow's references, which unpack them."""

from __future__ import annotations

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.operators.fields import enum_numbers
from dlasim.compiler_shim.tflite.decoding import Decoder
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.reader import read_tflite
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa import container
from tests.oracle import random_inputs, run_litert_reference
from tests.tflite.comparison import assert_same_graph
from tests.tflite.int4_form import WEIGHTED, packed, weights_of, with_small_weights
from tests.tflite.one_operator import random_graph
from tests.tflite.test_damaged_files import raw_model, refusal

INT4 = enum_numbers("TensorType")["int4"]


@pytest.mark.parametrize("kind", WEIGHTED)
def test_the_reader_unpacks_them(kind: str) -> None:
    for seed in range(8):
        graph = with_small_weights(random_graph(kind, seed))
        assert_same_graph(read_tflite(packed(graph)), graph)


@pytest.mark.parametrize("kind", WEIGHTED)
def test_the_unpacked_weights_mean_the_same(kind: str) -> None:
    for seed in range(8):
        graph = with_small_weights(random_graph(kind, seed))
        one, other = packed(graph), write_tflite(graph)
        inputs = random_inputs(other, seed)
        theirs, ours = (run_litert_reference(model, inputs) for model in (one, other))
        for index in graph.outputs:
            np.testing.assert_array_equal(theirs[index], ours[index])


@pytest.mark.parametrize("name", ["resnet8", "ds_cnn"])
def test_whole_networks_are_exact(name: str, tmp_path) -> None:
    path = tmp_path / "int4.tflite"
    path.write_bytes(packed(with_small_weights(build_topology(name))))
    assert dlasim.verify(path).passed


@pytest.mark.parametrize("sram", ["16KiB", "512KiB"])
def test_packed_weights_are_half_the_bytes(sram: str, tmp_path) -> None:
    """On a machine that unpacks them, whatever the size of its SRAM; results stay exact."""
    graph = with_small_weights(build_topology("ds_cnn"))
    path = tmp_path / "int4.tflite"
    path.write_bytes(packed(graph))
    assert dlasim.verify(path, sram_bytes=sram, dma_unpacking=8).passed
    if sram == "512KiB":  # each weight is loaded once
        weights = sum(graph.tensors[index].data.size for index in weights_of(graph))
        plain, unpacking = (
            dlasim.run(path, timing_only=True, dma_unpacking=rate).report["dma_bytes"]["read"]
            for rate in (0, 8)
        )
        assert weights / 2 <= plain - unpacking <= 1.02 * weights / 2


def test_a_machine_that_unpacks_nothing_refuses_packed_weights(tmp_path) -> None:
    path, program = tmp_path / "int4.tflite", tmp_path / "program.bin"
    path.write_bytes(packed(with_small_weights(build_topology("ds_cnn"))))
    program.write_bytes(container.write(dlasim.compile(path, dma_unpacking=8).program))
    with pytest.raises(dlasim.InputError, match="has packed weights, which a machine with dma_unpacking 0"):
        dlasim.run(program)
    assert dlasim.run(program, dma_unpacking=8).report["cycles"]["total"]


def test_int4_of_what_is_computed_is_refused() -> None:
    model = raw_model()
    model["subgraphs"][0]["tensors"][0]["type"] = INT4
    assert "tensors of type int4 are supported as constants only" in refusal(encode("Model", model, 256))


def test_a_buffer_of_another_size_is_refused() -> None:
    graph = with_small_weights(random_graph("FULLY_CONNECTED", 0))
    model = Decoder(packed(graph), "model").root("Model")
    table = model["subgraphs"][0]["tensors"][weights_of(graph)[0]]
    buffer = model["buffers"][table["buffer"]]
    buffer["data"] = np.append(buffer["data"], np.zeros(1, np.uint8))
    shape, size = graph.tensors[weights_of(graph)[0]].shape, len(buffer["data"])
    expected = f"int4{list(shape)} takes {size - 1} bytes, but its buffer has {size}"
    assert expected in refusal(encode("Model", model, 1 << 16))
