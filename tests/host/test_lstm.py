"""UNIDIRECTIONAL_SEQUENCE_LSTM over several inferences, against TFLite Micro."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from dlasim.sim.arithmetic.interpolation import SIGMOID_TABLE
from tests.host.models import HostRun, random_values
from tests.oracle import run_tflite_micro
from tests.tflite.one_operator import random_lstm

INFERENCES = 3


def micro_outputs(model, values):
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
    for value in values:
        interpreter.set_input(value, 0)
        interpreter.invoke()
        yield np.array(interpreter.get_output(0))


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_lstm(seed, time_major):
    graph = random_lstm(seed, time_major)
    rng = np.random.default_rng(seed)
    values = [random_values(rng, graph.tensors[graph.inputs[0]]) for _ in range(INFERENCES)]
    ours = HostRun(graph)
    for value, expected in zip(values, micro_outputs(write_tflite(graph), values), strict=True):
        np.testing.assert_array_equal(ours.infer([value])[graph.outputs[0]], expected)


@pytest.mark.parametrize("seed", range(20, 50))
def test_states(seed):
    """The cell shows more than the output: it has 16 bits."""
    graph = random_lstm(seed, time_major=seed % 2 == 0)
    value = random_values(np.random.default_rng(seed), graph.tensors[graph.inputs[0]])
    ours, theirs = HostRun(graph).infer([value]), run_tflite_micro(write_tflite(graph), [value])
    for position in (18, 19):
        number = graph.operators[0].inputs[position]
        np.testing.assert_array_equal(ours[number], theirs[number])


def test_activations_of_sixteen_bits_are_refused(tmp_path):
    """TFLite Micro has such a kernel, but no converter makes a network for it."""
    graph = random_lstm(1, time_major=False)
    wide = {
        number: replace(
            tensor, dtype="int16", quantization=Quantization((tensor.quantization.scale / 256,), (0,))
        )
        for number, tensor in enumerate(graph.tensors)
        if tensor.dtype == "int8" and tensor.data is None
    }
    tensors = tuple(wide.get(number, tensor) for number, tensor in enumerate(graph.tensors))
    (tmp_path / "wide.tflite").write_bytes(write_tflite(replace(graph, tensors=tensors)))
    with pytest.raises(
        InputError, match="int16, which UNIDIRECTIONAL_SEQUENCE_LSTM does not support: quantize it as int8"
    ):
        dlasim.compile(tmp_path / "wide.tflite")


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize(
    "options",
    [{"place": "cpu"}, {"place": "dla"}, {"sram_bytes": 2048}, {"sram_bytes": 16384, "fusion": "none"},
     {"requant": "cpu"}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("seed", [0, 1])
def test_lstm_on_both_hosts(seed, options, host, tmp_path):
    graph = random_lstm(seed, time_major=seed == 1)
    path = tmp_path / "lstm.tflite"
    path.write_bytes(write_tflite(graph))
    value = random_values(np.random.default_rng(seed), graph.tensors[graph.inputs[0]])
    expected = list(micro_outputs(path.read_bytes(), [value] * INFERENCES))
    outputs = dlasim.run(path, inputs=[value], repeat=INFERENCES, host=host, **options).outputs
    np.testing.assert_array_equal(outputs[0], expected[-1])


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_verify_compares_state_and_output(host, tmp_path):
    path = tmp_path / "lstm.tflite"
    path.write_bytes(write_tflite(random_lstm(3, time_major=False)))
    result = dlasim.verify(path, host=host)
    assert result.passed, result


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("sram", ["2KiB", "16KiB", "512KiB"])
def test_an_lstm_that_tensorflow_quantized(sram, host):
    """An LSTM of 16 units over 8 steps, then a Dense layer, by TensorFlow and tf-keras 2.21.0."""
    model = Path(__file__).parent / "keras_lstm.tflite"
    kinds = [row["operator"] for row in dlasim.inspect(model)["operators"]]
    assert kinds == ["UNIDIRECTIONAL_SEQUENCE_LSTM", "FULLY_CONNECTED", "RESHAPE"]
    result = dlasim.verify(model, host=host, sram=sram, runs=2)
    assert result.passed, result
    assert result.reference == "TFLite Micro"


def test_the_table_is_a_sigmoid():
    """TensorFlow's own table is at most 1.2 steps off."""
    exact = 65536 / (1 + np.exp(-np.arange(256) / 24))
    values, differences = SIGMOID_TABLE & 0xFFFF, SIGMOID_TABLE >> 16
    assert differences.max() < 1 << 10
    assert np.abs(values - exact).max() < 1.2
    assert np.all(differences >= 0)
    assert values.max() == 65535
    assert np.array_equal(values[:-1] + differences[:-1], values[1:])


@pytest.mark.parametrize("name", ["mnist_lstm_int8", "keyword_svdf_int16_state"])
@pytest.mark.parametrize("host", ["none", "riscv"])
def test_real_networks(name, host, model_zoo):
    result = dlasim.verify(model_zoo / "more" / f"{name}.tflite", host=host)
    assert result.passed, result
