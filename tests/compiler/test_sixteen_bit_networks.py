"""Networks of int16 activations and int8 weights, TensorFlow's 16x8 mode, on both hosts: as TFLite Micro."""

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.oracle import random_inputs, run_tflite_micro
from tests.tflite.sixteen_bit_operators import INT16_BUILDERS, random_int16_graph

SHAPE = (12, 12, 3)


ON_CPU = ("RELU6",)  # of int16; the limit of a random one has no form on the DLA


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("kind", sorted(INT16_BUILDERS))
def test_operator(kind, host, tmp_path):
    compare(kind, 1, tmp_path, host=host)


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("kind", sorted(INT16_BUILDERS))
def test_operator_on_the_dla(kind, host, tmp_path):
    """Of random limits and biases, some have no form on the DLA."""
    units = set()
    for seed in range(20, 24 if host == "riscv" else 36):
        sram = 16384 if seed % 2 else 524288
        result = compare(kind, seed, tmp_path, host=host, int16=1, place="dla", sram_bytes=sram)
        units |= {layer["unit"] for layer in result.report["layers"]}
    assert ("dla" in units) or kind in ON_CPU


def compare(kind, seed, tmp_path, **options):
    """A random operator, as TFLite Micro; gives the run."""
    graph = random_int16_graph(kind, seed)
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    inputs = random_inputs(path, seed)
    expected, result = run_tflite_micro(path, inputs), dlasim.run(path, inputs=inputs, **options)
    for output, number in zip(result.outputs, graph.outputs, strict=True):
        np.testing.assert_array_equal(output, expected[number])
    return result


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
@pytest.mark.parametrize("int16", [0, 1])
@pytest.mark.parametrize("sram_bytes", [2048, 32768, 524288])
@pytest.mark.parametrize("host", ["none", "riscv"])
def test_network_of_keras(model, host, sram_bytes, int16):
    result = dlasim.verify(model, host=host, sram_bytes=sram_bytes, int16=int16)
    assert result.passed, result


def residual_network(tf):
    """ResNet8 of MLPerf Tiny: three blocks of two convolutions, and a classifier."""
    layers = tf.keras.layers

    def convolved(x, channels, size, stride, activation):
        x = layers.Conv2D(channels, size, stride, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        return layers.ReLU()(x) if activation else x

    image = layers.Input((32, 32, 3), batch_size=1)
    x = convolved(image, 16, 3, 1, True)
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        y = convolved(convolved(x, channels, 3, stride, True), channels, 3, 1, False)
        x = layers.Conv2D(channels, 1, stride, padding="same")(x) if stride > 1 else x
        x = layers.ReLU()(layers.Add()([x, y]))
    x = layers.Flatten()(layers.AveragePooling2D(8)(x))
    return tf.keras.Model(image, layers.Dense(10, activation="softmax")(x))


@pytest.fixture(scope="module")
def resnets(tmp_path_factory):
    """The same network with activations of int8 and of int16, each with inputs and outputs of its type."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed, which converts")
    tf.keras.utils.set_random_seed(8)
    network, rng = residual_network(tf), np.random.default_rng(8)
    samples = [[rng.normal(size=(1, 32, 32, 3)).astype(np.float32)] for _ in range(4)]
    sets, paths = tf.lite.OpsSet, {}
    wide = sets.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    for dtype, ops in ((tf.int8, sets.TFLITE_BUILTINS_INT8), (tf.int16, wide)):
        converter = tf.lite.TFLiteConverter.from_keras_model(network)
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: samples
        converter.target_spec.supported_ops = [ops]
        converter.inference_input_type = converter.inference_output_type = dtype
        paths[dtype.name] = tmp_path_factory.mktemp("resnet8") / f"{dtype.name}.tflite"
        paths[dtype.name].write_bytes(converter.convert())
    return paths


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sram", ["32KiB", "128KiB", "512KiB"])
def test_resnet_of_int16_takes_at_most_four_times_the_cycles_of_int8(resnets, sram):
    cycles = {}
    for name, path in resnets.items():
        report = dlasim.run(path, sram=sram, int16=1, timing_only=True).report
        cycles[name] = report["cycles"]["total"]
        assert report["cycles"]["cpu"] <= 0.05 * cycles[name], report["cycles"]
    assert cycles["int16"] <= 4 * cycles["int8"], cycles


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("sram", ["32KiB", "128KiB", "512KiB"])
def test_resnet_of_int16_is_exact(resnets, sram, host):
    assert dlasim.verify(resnets["int16"], sram=sram, int16=1, host=host, runs=2).passed
