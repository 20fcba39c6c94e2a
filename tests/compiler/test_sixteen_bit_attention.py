"""Attention in TensorFlow's 16x8 mode on a machine with int16: products of matrices, softmax, tables."""

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.models import GraphBuilder
from tests.oracle import run_litert_reference, run_tflite_micro

SEEDS = range(40)
ROWS = COLUMNS = 16  # with 40 seeds 10,240 results


@pytest.fixture
def hold_dla_to(tmp_path):
    """Compares the DLA's output with a reference's."""

    def compare(graph, inputs, reference=run_tflite_micro):
        model = tmp_path / "model.tflite"
        model.write_bytes(write_tflite(graph))
        result = dlasim.run(model, inputs=inputs, int16=1, place="dla")
        assert {layer["unit"] for layer in result.report["layers"]} == {"dla"}
        np.testing.assert_array_equal(result.outputs[0], reference(model, inputs)[graph.outputs[0]])

    return compare


@pytest.mark.parametrize("seed", SEEDS)
def test_products_of_matrices(hold_dla_to, seed):
    """Sums of up to 2^38, some of them far beyond what an int16 holds after their scale."""
    rng = np.random.default_rng(seed)
    depth, turned = int(rng.choice([1, 7, 32, 200])), bool(rng.integers(2))
    most = int(rng.choice([300, 32767]))
    builder = GraphBuilder()
    scales = (10.0 ** rng.uniform(-5, -2, 2)).astype(np.float32)
    first = builder.add((1, ROWS, depth), "int16", scales[0], 0, is_input=True)
    shape = (1, COLUMNS, depth) if turned else (1, depth, COLUMNS)
    second = builder.add(shape, "int16", scales[1], 0, is_input=True)
    spread = most * most * np.sqrt(depth) / 3 * rng.choice([0.3, 1, 4]) / 32768
    result = builder.add((1, ROWS, COLUMNS), "int16", scales.prod(dtype=np.float64) * spread, 0)
    graph = builder.graph("BATCH_MATMUL", [first, second], [result], adj_y=turned)
    inputs = [rng.integers(-most - 1, most + 1, graph.tensors[each].shape).astype(np.int16)
              for each in (first, second)]  # fmt: skip
    hold_dla_to(graph, inputs)


@pytest.mark.parametrize("seed", SEEDS)
def test_softmax(hold_dla_to, seed):
    rng = np.random.default_rng(seed)
    depth = int(rng.choice([1, 2, 5, 16, 100, 700]))
    builder = GraphBuilder()
    scale = float(np.float32(10.0 ** rng.uniform(-5, -2)))
    values = builder.add((256, depth), "int16", scale, 0, is_input=True)
    result = builder.add((256, depth), "int16", 1 / 32768, 0)
    most = int(rng.choice([20, 3000, 32767]))
    rows = rng.integers(-most - 1, most + 1, (256, depth)).astype(np.int16)
    hold_dla_to(builder.graph("SOFTMAX", [values], [result], beta=1.0), [rows])


@pytest.mark.parametrize("scale", [1e-5, 1e-3, 0.5])
def test_inverse_square_root_of_every_positive_number(hold_dla_to, scale):
    builder = GraphBuilder()
    values = builder.add((217, 151), "int16", scale, 0, is_input=True)
    result = builder.add((217, 151), "int16", float(np.float32(4 / np.sqrt(scale) / 32768)), 0)
    every = np.arange(1, 32768).astype(np.int16).reshape(217, 151)
    hold_dla_to(builder.graph("RSQRT", [values], [result]), [every], run_litert_reference)


def encoder(tf):
    """A block of a transformer; normalization in operators that the converter's 16x8 mode has."""
    layers, ops = tf.keras.layers, tf.keras.ops

    def normalized(x):
        centred = x - ops.mean(x, -1, keepdims=True)
        return centred * ops.rsqrt(ops.mean(ops.square(centred), -1, keepdims=True) + 1e-3)

    tokens = x = layers.Input((16, 32), batch_size=1)
    y = normalized(x)
    x = x + layers.MultiHeadAttention(4, 8)(y, y)
    y = layers.Dense(128, activation="relu")(normalized(x))
    x = normalized(x + layers.Dense(32)(y))
    x = layers.GlobalAveragePooling1D()(x)
    return tf.keras.Model(tokens, layers.Dense(5, activation="softmax")(x))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed, which converts")
    tf.keras.utils.set_random_seed(3)
    rng = np.random.default_rng(3)
    converter = tf.lite.TFLiteConverter.from_keras_model(encoder(tf))
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    samples = [[rng.normal(size=(1, 16, 32)).astype(np.float32)] for _ in range(4)]
    converter.representative_dataset = lambda: samples
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    ]
    converter.inference_input_type = converter.inference_output_type = tf.int16
    path = tmp_path_factory.mktemp("attention") / "encoder.tflite"
    path.write_bytes(converter.convert())
    return path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sram", ["16KiB", "64KiB", "512KiB"])
def test_encoder_leaves_the_cpu_idle(model, sram):
    cycles = dlasim.run(model, sram=sram, int16=1, timing_only=True).report["cycles"]
    assert cycles["cpu"] <= 0.05 * cycles["total"], cycles


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("sram", ["16KiB", "64KiB", "512KiB"])
def test_encoder_is_exact(model, sram, host):
    assert dlasim.verify(model, sram=sram, int16=1, host=host).passed
