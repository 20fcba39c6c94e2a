"""Graph to file to graph, and what TensorFlow makes of the file in between."""

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.tflite.reader import read_tflite
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.oracle import random_inputs, run_litert_reference, run_tflite_micro
from tests.tflite.comparison import assert_same_graph
from tests.tflite.one_operator import BUILDERS, NOT_IN_LITERT, NOT_IN_TFLITE_MICRO, random_graph
from tests.zoo import int8_models

SEEDS = range(4)
# TFLite Micro knows these only for float, or not at all.


@pytest.mark.parametrize("kind", BUILDERS)
def test_reading_gives_back_what_was_written(kind):
    for seed in range(10):
        graph = random_graph(kind, seed)
        assert_same_graph(read_tflite(write_tflite(graph)), graph)


@pytest.mark.parametrize("kind", BUILDERS)
def test_tensorflows_runtimes_take_the_file_and_agree_on_shape_and_value(kind):
    for seed in SEEDS:
        graph = random_graph(kind, seed)
        model = write_tflite(graph)
        inputs = random_inputs(model, seed)
        runs = [run_litert_reference(model, inputs)] if kind not in NOT_IN_LITERT else []
        if kind not in NOT_IN_TFLITE_MICRO:
            runs.append(run_tflite_micro(model, inputs))
        for index in graph.outputs:
            for run in runs:
                assert run[index].shape == graph.tensors[index].shape
                assert run[index].dtype == graph.tensors[index].dtype
                np.testing.assert_array_equal(run[index], runs[0][index])


@pytest.mark.parametrize("kind", BUILDERS)
def test_import_accepts_what_tensorflow_accepts(kind, tmp_path):
    path = tmp_path / "model.tflite"
    for seed in SEEDS:
        graph = random_graph(kind, seed)
        path.write_bytes(write_tflite(graph))
        imported = load_graph(path)
        if kind == "SHAPE":
            assert imported.operators == ()
            np.testing.assert_array_equal(
                imported.tensors[imported.outputs[0]].data, graph.tensors[graph.inputs[0]].shape
            )
        elif kind == "WHERE":
            condition, places = graph.tensors[0].data, imported.tensors[2].data
            np.testing.assert_array_equal(places, np.stack(np.nonzero(condition), axis=1))
        else:
            assert_same_graph(imported, graph)


def test_a_large_operator_code_and_scalars_survive():
    graph = random_graph("EXPAND_DIMS", 0)
    assert graph.tensors[1].shape == () or graph.tensors[0].shape == ()
    assert_same_graph(read_tflite(write_tflite(graph)), graph)


def test_real_models_read_as_tensorflow_sees_them(model_zoo):
    from dlasim.checking.interpreters import litert_interpreter

    paths = int8_models(model_zoo)
    assert paths
    for path in paths:
        graph = load_graph(path)
        interpreter = litert_interpreter(path.read_bytes())
        for detail in interpreter.get_tensor_details():
            if detail["index"] >= len(graph.tensors):
                continue
            tensor = graph.tensors[detail["index"]]
            assert tensor.shape == tuple(detail["shape"])
            assert tensor.dtype == np.dtype(detail["dtype"]).name
            scales = tensor.quantization.scales if tensor.quantization else ()
            assert list(scales) == detail["quantization_parameters"]["scales"].tolist()
        assert graph.inputs == tuple(detail["index"] for detail in interpreter.get_input_details())
        assert graph.outputs == tuple(detail["index"] for detail in interpreter.get_output_details())


def test_real_models_keep_their_results_when_written_again(model_zoo):
    for path in sorted(model_zoo.glob("mlperf_tiny/*.tflite")):
        rewritten = write_tflite(read_tflite(path))
        inputs = random_inputs(path)
        ours, theirs = run_tflite_micro(rewritten, inputs), run_tflite_micro(path, inputs)
        for index, value in theirs.items():
            np.testing.assert_array_equal(ours[index], value)
