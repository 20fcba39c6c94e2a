"""TensorFlow as a reference: whole or operator by operator it says the same, and its crashes are not ours."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from dlasim.checking import interpreters as reference_kernels
from dlasim.checking import tensorflow_reference as reference_module
from dlasim.checking.interpreters import LITERT, MICRO
from dlasim.checking.tensorflow_reference import ReferenceModel, reference_model
from dlasim.cli import main
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import RunError
from tests.compiler.cases import mixed_case
from tests.compiler.networks import random_network
from tests.oracle import run_litert_reference, run_tflite_micro
from tests.tflite.one_operator import random_graph


def noise(graph: Graph) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(-128, 128, graph.tensors[index].shape).astype(np.int8) for index in graph.inputs]


def flat_softmax(classes: int = 1000) -> Graph:
    """A row of equal values: beyond 512 of them, TensorFlow's own check ends the process."""
    tensors = (
        Tensor("logits", (1, classes), "int8", Quantization((1e-4,), (0,))),
        Tensor("doubled", (1, classes), "int8", Quantization((2e-4,), (0,))),
        Tensor("probabilities", (1, classes), "int8", Quantization((1 / 256,), (-128,))),
    )
    add = Operator("ADD", (0, 0), (1,), {}, "operator 0")
    softmax = Operator("SOFTMAX", (1,), (2,), {"beta": 1.0}, "operator 1")
    return Graph("flat", tensors, (add, softmax), (0,), (2,))


@pytest.mark.parametrize("seed", range(6))
def test_whole_and_operator_by_operator_are_the_same(seed, monkeypatch):
    graph = random_network(seed, 8)
    model, inputs = write_tflite(graph), noise(graph)
    expected = run_tflite_micro(model, inputs)
    whole = ReferenceModel(model, len(graph.tensors), isolated=False)
    pieces = ReferenceModel(model, len(graph.tensors), isolated=False)
    monkeypatch.setattr(pieces, "_as_a_whole", False)
    assert whole.run(inputs).name == MICRO
    assert pieces.run(inputs).name == f"{MICRO}, operator by operator"
    for operator in graph.operators:
        for index in operator.outputs:
            np.testing.assert_array_equal(whole.run(inputs).tensors[index], expected[index])
            np.testing.assert_array_equal(pieces.run(inputs).tensors[index], expected[index])


def test_what_tflite_micro_lacks_comes_from_litert():
    graph = random_graph("TILE", 3)
    model, inputs = write_tflite(graph), noise(graph)
    with reference_model(model, len(graph.tensors)) as reference:
        found = reference.run(inputs)
    assert found.name == f"{MICRO}, operator by operator, and {LITERT} for TILE"
    index = graph.outputs[0]
    np.testing.assert_array_equal(found.tensors[index], run_litert_reference(model, inputs)[index])


def test_state_starts_anew_each_time():
    graph = random_graph("SVDF", 1)
    with reference_model(write_tflite(graph), len(graph.tensors)) as reference:
        first, second = (reference.run(noise(graph)).tensors[graph.outputs[0]] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_an_lstm_among_what_tflite_micro_lacks():
    """By itself it needs its inputs that are left out, and its state is compared, too."""
    case = mixed_case(2159)
    graph = random_network(case.seed, case.operators, case.most_elements, is_mixed=True)
    lstm = next(op for op in graph.operators if op.kind == "UNIDIRECTIONAL_SEQUENCE_LSTM")
    inputs = noise(graph)
    with reference_model(write_tflite(graph), len(graph.tensors)) as reference:
        pieces = reference.run(inputs)
    before = replace(
        graph, operators=graph.operators[: graph.operators.index(lstm) + 1], outputs=lstm.outputs
    )
    expected = run_tflite_micro(write_tflite(before), inputs)
    assert f"and {LITERT} for" in pieces.name
    for index in (*lstm.outputs, *lstm.inputs[18:20]):
        np.testing.assert_array_equal(pieces.tensors[index], expected[index])
        assert pieces.tensors[index].any()


def test_a_crash_costs_one_tensor():
    """The process of the kernels ends; ours goes on, with what comes before the operator, and after it."""
    graph = flat_softmax()
    inputs = [np.zeros((1, 1000), np.int8)]
    with reference_model(write_tflite(graph), len(graph.tensors)) as reference:
        found = reference.run(inputs)
        assert set(found.tensors) == {0, 1}
        steep = [np.arange(1000).reshape(1, -1).astype(np.int8)]
        assert set(reference.run(steep).tensors) == {0, 1}
    graph = flat_softmax(300)
    with reference_model(write_tflite(graph), len(graph.tensors)) as reference:
        assert set(reference.run([np.zeros((1, 300), np.int8)]).tensors) == {0, 1, 2}


def test_the_command_does_not_pass_what_was_not_compared(tmp_path):
    path = tmp_path / "flat.tflite"
    path.write_bytes(write_tflite(flat_softmax()))
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert done.exit_code == 1
    assert "did not compute probabilities" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_bias_left_out_of_a_depthwise_convolution(tmp_path):
    """As -1, which TFLite Micro does not survive."""
    graph = random_graph("DEPTHWISE_CONV_2D", 3)
    (operator,) = graph.operators
    graph = replace(graph, operators=(replace(operator, inputs=(*operator.inputs[:2], -1)),))
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert done.exit_code == 0, done.stderr
    assert f"{MICRO}, operator by operator:" in done.stdout


def test_without_tensorflow_the_advice_is_how_to_get_it(monkeypatch):
    monkeypatch.setattr(reference_module, "available", lambda _: [])
    with pytest.raises(RunError, match="pip install"):
        ReferenceModel(b"", 0)


def test_the_golden_interpreter_comes_first():
    assert reference_kernels.available() == [MICRO, LITERT]
    assert reference_kernels.available("litert") == [LITERT, MICRO]
