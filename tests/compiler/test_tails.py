"""Detection and pose models that end in float32 and int32: bit-exact on the CPU of both hosts."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from dlasim import api
from dlasim.checking.inexact import MOST_ULPS, are_near
from dlasim.cli import main
from dlasim.compiler_shim.network.graph import Graph, Operator
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.compiler.tails import TAILS
from tests.oracle import random_inputs, run_litert_reference, run_tflite_micro
from tests.tflite.one_operator import NOT_IN_LITERT, random_graph

FLOAT_KINDS = {row.name for row in OPERATORS.values() if row.lower and row.takes_floats}


@pytest.fixture(params=TAILS)
def path(request, tmp_path):
    file = tmp_path / f"{request.param}.tflite"
    file.write_bytes(write_tflite(TAILS[request.param]()))
    return file


def test_every_tensor_of_a_tail_is_the_references(path):
    result = api.verify(path, runs=5)
    assert result.passed, result.mismatch or result.uncompared
    assert result.tensors > 20


def test_a_tail_runs_from_every_kind_of_file(path, tmp_path):
    """Outputs are those of LiteRT, of their own type, whichever file the run starts from."""
    graph = TAILS[path.stem]()
    image = np.random.default_rng(3).integers(-128, 128, graph.tensors[0].shape, dtype=np.int8)
    np.save(tmp_path / "image.npy", image)
    expected = run_litert_reference(path, [image])
    compiled, saved = tmp_path / "program.bin", tmp_path / "model.dlag"
    for target in (compiled, saved):
        done = CliRunner().invoke(main, ["compile", str(path), "-o", str(target)])
        assert done.exit_code == 0, done.stderr
    for file in (path, saved, compiled):
        given = ["--input", str(tmp_path / "image.npy"), "--output", str(tmp_path / file.suffix)]
        done = CliRunner().invoke(main, ["run", str(file), *given])
        assert done.exit_code == 0, done.stderr
        for number, index in enumerate(graph.outputs):
            found = np.load(tmp_path / file.suffix / f"output_{number}.npy")
            assert found.dtype == graph.tensors[index].dtype
            np.testing.assert_array_equal(found, expected[index])


def in_floats(graph):
    """The network of one operator with its int8 tensors as floats, inputs through a DEQUANTIZE."""
    if any(tensor.dtype == "float32" for tensor in graph.tensors):
        return graph  # of an operator that is made in floats
    tensors, operators, source = [], [], {}
    for tensor in graph.tensors:
        if tensor.dtype != "int8":
            tensors.append(tensor)
            continue
        data = None if tensor.data is None else tensor.data.astype(np.float32) / np.float32(7)
        tensors.append(replace(tensor, dtype="float32", quantization=None, data=data))
    for index in graph.inputs:
        if graph.tensors[index].dtype == "int8":
            source[index] = len(tensors)
            tensors.append(replace(graph.tensors[index], name=f"{graph.tensors[index].name}/int8"))
            operators.append(Operator("DEQUANTIZE", (source[index],), (index,), {}, f"real {index}"))
    inputs = tuple(source.get(index, index) for index in graph.inputs)
    return Graph(graph.name, tuple(tensors), (*operators, *graph.operators), inputs, graph.outputs)


# DEQUANTIZE and QUANTIZE convert anyway; tests/host/test_detection.py has DETECTION_POSTPROCESS.
@pytest.mark.parametrize(
    "kind", sorted(FLOAT_KINDS - {"CAST", "DEQUANTIZE", "QUANTIZE", "DETECTION_POSTPROCESS"})
)
def test_every_operator_of_floats_is_the_references(kind, tmp_path):
    for seed in range(4):
        graph = in_floats(random_graph(kind, seed))
        path = tmp_path / f"{seed}.tflite"
        path.write_bytes(write_tflite(graph))
        image = random_inputs(path, seed)
        if kind in ("SQRT", "RSQRT"):
            least = graph.tensors[graph.inputs[0]].quantization.zero_point + (kind == "RSQRT")
            image = [np.maximum(values, least) for values in image]
        expected = (run_tflite_micro if kind in NOT_IN_LITERT else run_litert_reference)(path, image)
        found = api.run(path, inputs=image, host="riscv" if seed == 0 else "none").outputs
        assert graph.tensors[graph.outputs[0]].dtype in ("float32", "int32", "bool")
        for number, index in enumerate(graph.outputs):
            assert np.isfinite(expected[index]).all()
            if kind in MOST_ULPS:
                assert are_near(found[number], expected[index], MOST_ULPS[kind]).all()
            else:
                np.testing.assert_array_equal(found[number], expected[index])


def test_explain_says_why_a_float_or_int32_operator_stays_on_the_cpu(path):
    rows = api.explain(path)
    whole = next(row for row in rows if row["operator"] == "FLOOR_DIV")
    assert (whole["unit"], whole["why"]) == ("cpu", "int32: runs on the CPU")
    tail = [row for row in rows if row["operator"] in ("DIV", "SQRT", "GATHER_ND")]
    assert tail
    assert {(row["unit"], row["why"]) for row in tail} == {("cpu", "float32: runs on the CPU")}


def test_the_board_computes_the_same(path):
    image = random_inputs(path, 1)
    expected, graph = run_litert_reference(path, image), TAILS[path.stem]()
    found = api.run(path, inputs=image, host="riscv").outputs
    for number, index in enumerate(graph.outputs):
        np.testing.assert_array_equal(found[number], expected[index])


@pytest.mark.filterwarnings("ignore")  # TensorFlow's own
def test_a_tail_as_the_converter_writes_it(tmp_path):
    """Keras operations that have no int8 form stay float; the converter puts a DEQUANTIZE before them."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed, which converts")
    tf.keras.utils.set_random_seed(1)

    class Decode(tf.keras.layers.Layer):
        def call(self, features):
            boxes, scores = tf.reshape(features[..., :4], (1, 64, 4)), features[..., 4:]
            size = tf.sqrt(tf.abs(boxes[..., 2:])) / 3.0
            corners = tf.concat([boxes[..., :2] - size, boxes[..., :2] + size], axis=-1)
            best = tf.argmax(tf.reshape(scores, (1, 64, 4)), axis=-1, output_type=tf.int32)
            cell = tf.cast(best // 2, tf.float32) * 0.1
            return tf.math.floordiv(corners, 0.25), tf.stack([cell, cell * cell], axis=1), best

    image = tf.keras.Input((8, 8, 3), batch_size=1)
    features = tf.keras.layers.Conv2D(8, 3, padding="same", activation="relu6")(image)
    converter = tf.lite.TFLiteConverter.from_keras_model(tf.keras.Model(image, Decode()(features)))
    noise = np.random.default_rng(0).normal(size=(4, 1, 8, 8, 3)).astype(np.float32)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([item] for item in noise)
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.lite.OpsSet.TFLITE_BUILTINS,
    ]  # fmt: skip
    path = tmp_path / "decoded.tflite"
    path.write_bytes(converter.convert())
    kinds = {row["operator"] for row in api.explain(path)}
    assert {"CONV_2D", "DEQUANTIZE", "SQRT", "CAST", "FLOOR_DIV"} <= kinds
    result = api.verify(path, runs=3)
    assert result.passed, result.mismatch or result.uncompared
