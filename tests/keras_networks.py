"""Networks as Keras users write them, quantized by TensorFlow's converter.

    python -m tests.keras_networks [FOLDER] [NAME …]

writes them as FOLDER/NAME.tflite (default `out/keras`); a file that exists is kept. The built-in networks
lack what these have: gates, concatenations, groups, batches, unrolled recurrence, transposed layouts, and
float32 outside.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests import keras_exports
from tests.keras_exports import WORDS, encoder_block

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "out" / "keras"
SAMPLES = 4  # of noise, from which the converter takes the ranges


def mobilenet_v3(tf: Any) -> Any:
    """Gates, and HARD_SWISH as additions and multiplications with constants."""
    shape = (96, 96, 3)
    return tf.keras.applications.MobileNetV3Small(
        shape, weights=None, classes=10, minimalistic=False, include_preprocessing=False
    )


def densenet(tf: Any) -> Any:
    """DenseNet121: each layer's channels join those of all before."""
    return tf.keras.applications.DenseNet121(input_shape=(64, 64, 3), weights=None, classes=10)


def efficientnet(tf: Any) -> Any:
    """EfficientNetB0: normalization of the image, padding of its own, gates."""
    return tf.keras.applications.EfficientNetB0(input_shape=(64, 64, 3), weights=None, classes=10)


def unet(tf: Any) -> Any:
    """Transposed convolutions, and shortcuts that concatenate."""
    layers = tf.keras.layers
    x = image = layers.Input((64, 64, 3))
    skips = []
    for channels in (8, 16, 32):
        x = layers.Conv2D(channels, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    for channels, skip in zip((32, 16, 8), reversed(skips), strict=True):
        x = layers.Conv2DTranspose(channels, 2 if channels > 8 else 3, strides=2, padding="same")(x)
        x = layers.Conv2D(channels, 3, padding="same", activation="relu")(layers.Concatenate()([x, skip]))
    return tf.keras.Model(image, layers.Conv2D(2, 1)(x))


def upsampling_unet(tf: Any) -> Any:
    """The same by nearest neighbours."""
    layers = tf.keras.layers
    x = image = layers.Input((48, 48, 3))
    y = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(y)
    x = layers.Concatenate()([layers.UpSampling2D(2)(x), y])
    return tf.keras.Model(image, layers.Conv2D(2, 3, padding="same")(x))


def lstm(tf: Any) -> Any:
    """An unrolled LSTM."""
    layers = tf.keras.layers
    x = series = layers.Input((8, 12))
    return tf.keras.Model(series, layers.Dense(5)(layers.LSTM(16, unroll=True)(x)))


def gru(tf: Any) -> Any:
    """An unrolled GRU."""
    layers = tf.keras.layers
    x = series = layers.Input((8, 12))
    return tf.keras.Model(series, layers.Dense(5)(layers.GRU(16, unroll=True)(x)))


def conv1d(tf: Any) -> Any:
    """One-dimensional convolutions and pooling."""
    layers = tf.keras.layers
    x = series = layers.Input((128, 9))
    x = layers.Conv1D(32, 5, padding="same", activation="relu")(x)
    x = layers.MaxPooling1D()(x)
    x = layers.Conv1D(48, 3, dilation_rate=2, activation="relu")(x)
    x = layers.SeparableConv1D(64, 3, padding="same", activation="relu")(x)
    return tf.keras.Model(series, layers.Dense(6)(layers.GlobalAveragePooling1D()(x)))


def grouped(tf: Any) -> Any:
    """Grouped convolutions, as in ResNeXt."""
    layers = tf.keras.layers
    x = image = layers.Input((32, 32, 3))
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    for stride in (1, 2, 1):
        y = layers.Conv2D(32, 3, strides=stride, padding="same", groups=4, activation="relu")(x)
        y = layers.Conv2D(32, 1)(y)
        shortcut = x if stride == 1 else layers.AveragePooling2D(2)(x)
        x = layers.ReLU()(layers.Add()([shortcut, y]))
    return tf.keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def _small_cnn(tf: Any, batch: int | None) -> Any:
    layers = tf.keras.layers
    x = image = layers.Input((28, 28, 1), batch_size=batch)
    for channels in (8, 16):
        x = layers.Conv2D(channels, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(layers.Add()([x, x]))
    return tf.keras.Model(image, layers.Dense(10)(layers.Flatten()(x)))


def batched(tf: Any) -> Any:
    """A batch of four images."""
    return _small_cnn(tf, 4)


def small_cnn(tf: Any) -> Any:
    """The same for one image."""
    return _small_cnn(tf, None)


def channels_first(tf: Any) -> Any:
    """A global average over the last axes of a transposed tensor, as exporters of PyTorch write it."""
    layers = tf.keras.layers
    x = image = layers.Input((32, 32, 3))
    for channels in (16, 32):
        x = layers.Conv2D(channels, 3, strides=2, padding="same", activation="relu")(x)
    x = tf.keras.layers.Permute((3, 1, 2))(x)
    x = layers.Lambda(lambda y: tf.reduce_mean(y, axis=[2, 3]), output_shape=(32,))(x)
    return tf.keras.Model(image, layers.Dense(10)(x))


def vision_transformer(tf: Any) -> Any:
    """A ViT of two blocks: Keras' attention and normalization."""
    layers = tf.keras.layers
    image = layers.Input((24, 24, 3))
    x = layers.Reshape((36, 48))(layers.Conv2D(48, 4, strides=4)(image))
    for _ in range(2):
        x = encoder_block(tf, x, 3, "gelu")
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return tf.keras.Model(image, layers.Dense(10)(x))


def keyword_transformer(tf: Any) -> Any:
    """A token for each step of a spectrogram, normalization last, one head."""
    layers = tf.keras.layers
    spectrogram = layers.Input((50, 20))
    x = layers.Dense(32)(spectrogram)
    for _ in range(2):
        x = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(1, 32)(x, x)]))
        y = layers.Dense(32)(layers.Dense(64, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    return tf.keras.Model(spectrogram, layers.Dense(12, activation="softmax")(x[:, 0]))


def bottleneck_encoder(tf: Any) -> Any:
    """In the manner of MobileBERT: narrow attention between wide layers, four heads, ReLU."""
    layers = tf.keras.layers
    embedded = layers.Input((32, 64))
    x = embedded
    for _ in range(2):
        y = encoder_block(tf, layers.Dense(32)(x), 4, "relu")
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dense(64)(y)]))
    return tf.keras.Model(embedded, layers.Dense(2)(x[:, 0]))


BUILDERS: dict[str, Callable[[Any], Any]] = {
    "mobilenet_v3": mobilenet_v3,
    "densenet": densenet,
    "efficientnet": efficientnet,
    "unet": unet,
    "upsampling_unet": upsampling_unet,
    "lstm": lstm,
    "gru": gru,
    "conv1d": conv1d,
    "grouped": grouped,
    "batched": batched,
    "small_cnn": small_cnn,
    "channels_first": channels_first,
    "vision_transformer": vision_transformer,
    "keyword_transformer": keyword_transformer,
    "bottleneck_encoder": bottleneck_encoder,
    "mlp_mixer": keras_exports.mlp_mixer,
    "swin_block": keras_exports.swin_block,
    "conformer": keras_exports.conformer,
    "prelu_detector": keras_exports.prelu_detector,
    "bilinear_segmenter": keras_exports.bilinear_segmenter,
    "channel_shuffle": keras_exports.channel_shuffle,
    "channel_gather": keras_exports.channel_gather,
    "keypoint_head": keras_exports.keypoint_head,
    "bidirectional_lstm": keras_exports.bidirectional_lstm,
    "token_encoder": keras_exports.token_encoder,
}


def keras_network(name: str, folder: Path = FOLDER, has_float_edges: bool = False) -> Path:
    """The file of a network, built on first use; its inputs and outputs are int8, or float32 as TensorFlow's
    converter leaves them unless it is told otherwise."""
    path = folder / f"{name}{'_float' * has_float_edges}.tflite"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(_convert(name, has_float_edges))
        part.replace(path)
    return path


def random_ids(rng: np.random.Generator, size: Sequence[int]) -> NDArray[Any]:
    """Ids of tokens, and zeros behind a random number of them."""
    ids = rng.integers(1, WORDS, size, dtype=np.int32)
    ids[..., rng.integers(1, size[-1] + 1) :] = 0
    return ids


def _convert(name: str, has_float_edges: bool) -> bytes:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    tf.keras.utils.set_random_seed(1)
    model = BUILDERS[name](tf)
    rng = np.random.default_rng(0)
    shape = [size or 1 for size in model.input_shape]
    dtype = model.inputs[0].dtype
    draw = rng.normal if dtype == "float32" else partial(random_ids, rng)
    samples = [[draw(size=shape).astype(dtype)] for _ in range(SAMPLES)]
    _learn_statistics(tf, model, samples)
    # With an open batch the converter would compute shapes at run time.
    function = tf.function(lambda x: model(x, training=False))
    frozen = convert_variables_to_constants_v2(function.get_concrete_function(tf.TensorSpec(shape, dtype)))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: samples
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    if not has_float_edges:
        converter.inference_input_type = converter.inference_output_type = tf.int8
    return bytes(converter.convert())


def _learn_statistics(tf: Any, model: Any, samples: Sequence[Sequence[NDArray[Any]]]) -> None:
    """Normalization by the samples' own averages; else activations fade from layer to layer, until a SOFTMAX
    has a scale that TensorFlow's kernels refuse."""
    normalizations = [each for each in model.layers if isinstance(each, tf.keras.layers.BatchNormalization)]
    for each in normalizations:
        each.momentum = 0.0
    if normalizations:
        model(np.concatenate([sample for (sample,) in samples]), training=True)


def main(arguments: list[str]) -> None:
    """Write the networks named, or all."""
    folder = Path(arguments[0]) if arguments else FOLDER
    for name in arguments[1:] or BUILDERS:
        print(keras_network(name, folder))


if __name__ == "__main__":
    main(sys.argv[1:])
