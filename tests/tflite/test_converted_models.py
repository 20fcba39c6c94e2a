"""Models straight from TensorFlow's converter: what is accepted computes the same, the rest is refused."""

import os

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_graph, load_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from tests.oracle import random_inputs, run_litert_reference

SHAPE = (8, 8, 3)


@pytest.fixture(scope="module")
def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow", reason="TensorFlow is not installed, which converts")


@pytest.fixture(scope="module")
def keras_model(tensorflow):
    """Layers whose shapes the converter computes at run time, because the batch is open."""
    layers = tensorflow.keras.layers
    tensorflow.keras.utils.set_random_seed(1)
    image = layers.Input(SHAPE)
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(image)
    x = layers.Reshape((4, 4, 16))(x)
    x = layers.Conv2DTranspose(3, 3, strides=2, padding="same")(x)
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return tensorflow.keras.Model(image, layers.Dense(5, activation="softmax")(x))


def converted(tf, model, quantization, interface=None):
    """The model converted: "float", "dynamic", "float16", "int8" or "int16"."""
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    rng = np.random.default_rng(0)
    samples = [[rng.normal(size=(1, *SHAPE)).astype(np.float32)] for _ in range(3)]
    if quantization != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantization == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if quantization in ("int8", "int16"):
        wide = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        narrow = tf.lite.OpsSet.TFLITE_BUILTINS_INT8
        converter.representative_dataset = lambda: samples
        converter.target_spec.supported_ops = [wide if quantization == "int16" else narrow]
    if interface is not None:
        converter.inference_input_type = converter.inference_output_type = interface
    return converter.convert()


@pytest.mark.filterwarnings("ignore")
def test_an_int8_model_with_an_open_batch_computes_the_same_after_import(tensorflow, keras_model, tmp_path):
    model = converted(tensorflow, keras_model, "int8", tensorflow.int8)
    path = tmp_path / "model.tflite"
    path.write_bytes(model)
    graph = load_graph(path)
    kinds = {operator.kind for operator in graph.operators}
    assert kinds.isdisjoint({"SHAPE", "STRIDED_SLICE", "PACK", "CONCATENATION"})
    rewritten = write_tflite(graph)
    inputs = random_inputs(model)
    expected = run_litert_reference(model, inputs)
    found = run_litert_reference(rewritten, inputs)
    for operator in graph.operators:
        index = operator.outputs[0]
        assert graph.tensors[index].shape == expected[index].shape
        np.testing.assert_array_equal(found[index], expected[index])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("quantization", "interface", "expected"),
    [
        ("float", None, r"operator 0 \(CONV_2D\): computes in float32"),
        ("float16", None, r"\(CONV_2D\): computes in float32"),
        ("int16", "int16", r"\(RESIZE_BILINEAR\): .* must be int8 or float32 \(got int16\)"),
    ],
)
def test_other_quantizations_are_refused(
    tensorflow, keras_model, tmp_path, quantization, interface, expected
):
    type_ = None if interface is None else getattr(tensorflow, interface)
    path = tmp_path / "model.tflite"
    path.write_bytes(converted(tensorflow, keras_model, quantization, type_))
    with pytest.raises(InputError, match=expected):
        load_model(path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("interface", [None, "uint8"])
def test_conversions_at_the_interface_are_part_of_the_model(tensorflow, keras_model, tmp_path, interface):
    type_ = None if interface is None else getattr(tensorflow, interface)
    path = tmp_path / "model.tflite"
    path.write_bytes(converted(tensorflow, keras_model, "int8", type_))
    graph = load_graph(path)
    assert graph.operators[0].kind == "QUANTIZE"
    assert graph.tensors[graph.inputs[0]].dtype == (interface or "float32")


@pytest.mark.filterwarnings("ignore")
def test_dynamic_range_quantization_is_refused(tensorflow, tmp_path):
    layers = tensorflow.keras.layers
    image = layers.Input(SHAPE)
    model = tensorflow.keras.Model(image, layers.Dense(64)(layers.Flatten()(image)))
    path = tmp_path / "model.tflite"
    path.write_bytes(converted(tensorflow, model, "dynamic"))
    with pytest.raises(InputError, match="only its weights are quantized"):
        load_graph(path)
