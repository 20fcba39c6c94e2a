"""Keras models as TensorFlow's converter quantizes them, floats at the edges or not: bit-exact everywhere."""

import os

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.compile import load_graph
from tests.oracle import output_indices, random_inputs, run_litert_reference

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # TensorFlow's own
]


@pytest.fixture(scope="module")
def tf():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip(
        "tensorflow", reason="TensorFlow is not installed: nothing to convert with"
    )
    tensorflow.keras.utils.set_random_seed(1)
    return tensorflow


def classifier(tf):
    """Convolutions with folded normalization, pooling, a dense softmax."""
    layers = tf.keras.layers
    x = image = layers.Input((16, 16, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same", use_bias=False)(x)))
    x = layers.MaxPooling2D()(x)
    x = layers.ReLU(6.0)(layers.Conv2D(12, 3, strides=2)(x))
    return tf.keras.Model(image, layers.Dense(10, activation="softmax")(layers.Flatten()(x)))


def residual(tf):
    """Shortcuts, and a gate over channels as squeeze-and-excitation has it."""
    layers = tf.keras.layers
    x = image = layers.Input((12, 12, 4))
    for channels in (8, 16):
        shortcut = layers.Conv2D(channels, 1, strides=2, padding="same")(x)
        y = layers.Conv2D(channels, 3, strides=2, padding="same", activation="relu")(x)
        x = layers.ReLU()(layers.Add()([shortcut, layers.Conv2D(channels, 3, padding="same")(y)]))
    gate = layers.Conv2D(16, 1, activation="sigmoid")(layers.GlobalAveragePooling2D(keepdims=True)(x))
    x = layers.GlobalAveragePooling2D()(layers.Multiply()([x, gate]))
    return tf.keras.Model(image, layers.Dense(5)(x))


def depthwise(tf):
    """Depth multipliers, padding of its own, and activations of every kind."""
    layers = tf.keras.layers
    x = image = layers.Input((15, 13, 3))
    x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
    x = layers.LeakyReLU(negative_slope=0.1)(layers.DepthwiseConv2D(3, strides=2, depth_multiplier=4)(x))
    x = layers.PReLU(shared_axes=[1, 2])(layers.SeparableConv2D(9, 3, padding="same")(x))
    x = layers.Activation("hard_swish")(layers.DepthwiseConv2D(3, padding="same")(x))
    x = layers.Activation("tanh")(layers.AveragePooling2D(3, strides=2, padding="same")(x))
    return tf.keras.Model(image, layers.Conv2D(7, 1)(x))


def beside_its_input(tf):
    """A convolution of a tensor, concatenated with that: parts of one tensor, read around the pixel."""
    layers = tf.keras.layers
    image = layers.Input((16, 16, 8))
    x = layers.Conv2D(8, 3, padding="same")(image)
    x = layers.Multiply()([x, layers.Activation("sigmoid")(x)])
    for convolution in (layers.DepthwiseConv2D(3, padding="same"), layers.Conv2D(8, 3, padding="same")):
        x = layers.Concatenate()([convolution(x), x])
    return tf.keras.Model(image, layers.Conv2D(4, 1)(x))


def decoder(tf):
    """Transposed convolution, both ways to enlarge, concatenation, two outputs."""
    layers = tf.keras.layers
    image = layers.Input((16, 16, 2))
    fine = layers.Conv2D(6, 3, padding="same", activation="relu")(image)
    coarse = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(fine)
    up = [
        layers.Conv2DTranspose(6, 3, strides=2, padding="same")(coarse),
        layers.UpSampling2D(2, interpolation="bilinear")(coarse),
        layers.UpSampling2D(2, interpolation="nearest")(coarse),
    ]
    x = layers.Conv2D(4, 3, padding="same")(layers.Concatenate()([fine, *up]))
    return tf.keras.Model(
        image, [layers.Activation("tanh")(x), layers.Conv2D(2, 1, activation="sigmoid")(fine)]
    )


def mobilenet(tf):
    """Without the softmax: of an untrained network's flat logits it makes TensorFlow's kernels stop."""
    return tf.keras.applications.MobileNet(
        input_shape=(224, 224, 3), weights=None, classifier_activation=None
    )


def converted(tf, model, interface=None):
    """The model in int8; `interface` is the type of its inputs and outputs, by default float32."""
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    rng = np.random.default_rng(0)
    shape = (1, *model.inputs[0].shape[1:])
    samples = [[rng.normal(size=shape).astype(np.float32)] for _ in range(4)]
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: samples
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    if interface is not None:
        converter.inference_input_type = converter.inference_output_type = getattr(tf, interface)
    return converter.convert()


MACHINES = (
    {},
    {"sram_bytes": 6_000, "place": "dla", "parallel": "4x8"},
    {"sram_bytes": 64 << 10, "fusion": "none", "tiling": "output-channel", "depthwise": "emulated"},
    {"place": "cpu"},
)


def check(path, reference="TFLite Micro", machines=MACHINES):
    for choices in machines:
        result = api.verify(path, **choices)
        assert result.passed, (choices, str(result.mismatch), result.uncompared)
        assert result.reference.startswith(reference)


@pytest.mark.parametrize("build", [classifier, residual, depthwise, beside_its_input])
@pytest.mark.parametrize("interface", [None, "int8", "uint8"])
def test_keras_models(tf, build, interface, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(converted(tf, build(tf), interface))
    # Another interface changes the first and the last operator: it is enough to run these on DLA and CPU.
    check(path, machines=MACHINES[:1] + MACHINES[-1:] if interface else MACHINES)


def test_a_model_with_an_operator_that_tflite_micro_lacks(tf, tmp_path):
    """Then each operator is compared on its own, and only the one it lacks comes from LiteRT."""
    path = tmp_path / "model.tflite"
    path.write_bytes(converted(tf, decoder(tf)))
    check(path, "TFLite Micro, operator by operator, and LiteRT for TILE")


def dilated(tf):
    """What Keras makes of dilation: pixels sorted into a batch of images, and back."""
    layers = tf.keras.layers
    x = image = layers.Input((15, 17, 3))
    x = layers.Conv2D(6, 3, dilation_rate=2, padding="same", activation="relu")(x)
    x = layers.DepthwiseConv2D((3, 2), dilation_rate=3, padding="same")(x)
    x = layers.Conv2D(4, 3, dilation_rate=(2, 2), padding="valid")(x)
    return tf.keras.Model(image, layers.Conv2D(5, 1)(x))


def test_dilated_convolutions(tf, tmp_path):
    """Put back together, they compute what the file says in three operators each."""
    path = tmp_path / "model.tflite"
    model = converted(tf, dilated(tf), "int8")
    path.write_bytes(model)
    kinds = [operator.kind for operator in load_graph(path).operators]
    assert kinds == ["PAD", "CONV_2D", "RELU", "PAD", "DEPTHWISE_CONV_2D", "PAD", "CONV_2D", "CONV_2D"]
    check(path)
    inputs = random_inputs(model)
    expected = run_litert_reference(model, inputs)[output_indices(model)[0]]
    for choices in MACHINES:
        np.testing.assert_array_equal(api.run(path, inputs=inputs, **choices).outputs[0], expected)


@pytest.mark.slow
@pytest.mark.parametrize("interface", [None, "int8"])
def test_mobilenet_v1_from_keras(tf, interface, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(converted(tf, mobilenet(tf), interface))
    for choices in ({}, {"sram_bytes": 64 << 10, "parallel": "8x8"}):
        result = api.verify(path, **choices)
        assert result.passed, (choices, str(result.mismatch), result.uncompared)
