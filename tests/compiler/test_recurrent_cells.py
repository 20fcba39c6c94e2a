"""LSTM and SVDF on the DLA over several inferences, against TFLite Micro: no cycle is left to the CPU."""

from pathlib import Path

import numpy as np
import pytest
from tflite_micro.python.tflite_micro import runtime

import dlasim
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.models import random_values
from tests.host.test_recurrent import svdf_graph
from tests.tflite.one_operator import random_lstm

SRAM_BYTES = (2048, 16384, 524288)
INFERENCES = 3


def graph_of(kind, rng, seed):
    return random_lstm(seed, time_major=bool(seed % 2)) if kind == "lstm" else svdf_graph(rng, kind)


def compare(kind, seed, path, **options):
    """The last of several inferences; the states of those before it are in its output."""
    rng = np.random.default_rng(seed)
    graph = graph_of(kind, rng, seed)
    model = write_tflite(graph)
    path.write_bytes(model)
    value = random_values(rng, graph.tensors[graph.inputs[0]])
    micro = runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
    for _ in range(INFERENCES):
        micro.set_input(value, 0)
        micro.invoke()
    result = dlasim.run(path, inputs=[value], repeat=INFERENCES, place="dla", **options)
    np.testing.assert_array_equal(result.outputs[0], micro.get_output(0), f"seed {seed}, {options}")
    return result.report


@pytest.mark.parametrize("kind", ["lstm", "int8", "int16"])
@pytest.mark.parametrize("sram_bytes", SRAM_BYTES)
def test_random_cells(kind, sram_bytes, tmp_path):
    for seed in range(12):
        report = compare(kind, seed, tmp_path / "cell.tflite", sram_bytes=sram_bytes)
        assert report["cycles"]["cpu"] == 0, f"seed {seed}"


@pytest.mark.parametrize("kind", ["lstm", "int8", "int16"])
@pytest.mark.parametrize("options", [{"host": "riscv"}, {"engine": "reference"}], ids=str)
def test_other_hosts_and_engines(kind, options, tmp_path):
    for seed in range(12, 15):
        compare(kind, seed, tmp_path / "cell.tflite", sram_bytes=4096, **options)


def test_a_network_that_tensorflow_quantized():
    """Its LSTM took 89 % of its cycles on the CPU."""
    report = dlasim.run(Path(__file__).parents[1] / "host" / "keras_lstm.tflite").report
    assert report["cycles"]["cpu"] == 0
    assert report["cycles"]["total"] < 12_000
