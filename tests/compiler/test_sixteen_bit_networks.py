"""Networks of int16 activations and int8 weights, TensorFlow's 16x8 mode, on both hosts: as TFLite Micro."""

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.oracle import random_inputs, run_tflite_micro
from tests.tflite.sixteen_bit_operators import INT16_BUILDERS, random_int16_graph

SHAPE = (12, 12, 3)


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("kind", sorted(INT16_BUILDERS))
def test_operator(kind, host, tmp_path):
    graph = random_int16_graph(kind, 1)
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    inputs = random_inputs(path)
    expected = run_tflite_micro(path, inputs)
    for output, number in zip(dlasim.run(path, inputs=inputs, host=host).outputs, graph.outputs, strict=True):
        np.testing.assert_array_equal(output, expected[number])


def image_network(tf):
    """Convolutions, a residual sum, pools, gates and a classifier."""
    layers = tf.keras.layers
    image = layers.Input(SHAPE, batch_size=1)
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
    y = layers.DepthwiseConv2D(3, padding="same")(x)
    y = layers.LeakyReLU(negative_slope=0.25)(y)
    x = layers.Add()([x, y])
    x = layers.ZeroPadding2D(1)(x)
    x = layers.Conv2D(10, 3, strides=2, dilation_rate=1)(x)
    gate = layers.Activation("sigmoid")(layers.Conv2D(10, 1)(x))
    x = layers.Multiply()([x, gate])
    x = layers.Concatenate()([layers.MaxPooling2D(2)(x), layers.AveragePooling2D(2)(x)])
    x = layers.Conv2DTranspose(6, 3, strides=2, padding="same")(x)
    x = layers.Activation("tanh")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(image, layers.Dense(5, activation="softmax")(x))


@pytest.fixture(scope="module", params=["int16", None], ids=["int16", "float"])
def model(request, tmp_path_factory):
    """The network in a file, with inputs and outputs of this type."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed, which converts")
    tf.keras.utils.set_random_seed(2)
    converter = tf.lite.TFLiteConverter.from_keras_model(image_network(tf))
    rng = np.random.default_rng(0)
    samples = [[rng.normal(size=(1, *SHAPE)).astype(np.float32)] for _ in range(4)]
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: samples
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    ]
    if request.param:
        converter.inference_input_type = converter.inference_output_type = tf.int16
    path = tmp_path_factory.mktemp("wide") / "model.tflite"
    path.write_bytes(converter.convert())
    return path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sram_bytes", [2048, 32768, 524288])
@pytest.mark.parametrize("host", ["none", "riscv"])
def test_network_of_keras(model, host, sram_bytes):
    result = dlasim.verify(model, host=host, sram_bytes=sram_bytes)
    assert result.passed, result
