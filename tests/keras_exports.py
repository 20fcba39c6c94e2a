"""More networks as Keras users write them: the layers whose operators only some exporters use.

`keras_networks.py` converts them: `keras_network("mlp_mixer")`.
"""

from __future__ import annotations

from typing import Any

WORDS = 1000  # that a network of tokens knows


def encoder_block(tf: Any, x: Any, heads: int, activation: str) -> Any:
    """Attention and two dense layers, each behind a normalization and beside a shortcut."""
    layers = tf.keras.layers
    width = x.shape[-1]
    y = layers.LayerNormalization()(x)
    x = layers.Add()([x, layers.MultiHeadAttention(heads, width // heads)(y, y)])
    y = layers.Dense(2 * width, activation=activation)(layers.LayerNormalization()(x))
    return layers.Add()([x, layers.Dense(width)(y)])


def mlp_mixer(tf: Any) -> Any:
    """Dense layers along tokens and along channels in turn, each behind a normalization."""
    layers = tf.keras.layers
    image = layers.Input((32, 32, 3))
    x = layers.Reshape((64, 32))(layers.Conv2D(32, 4, strides=4)(image))
    for _ in range(2):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(64)(layers.Dense(32, activation="gelu")(y))
        x = layers.Add()([x, layers.Permute((2, 1))(y)])
        y = layers.Dense(64, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(32)(y)])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return tf.keras.Model(image, layers.Dense(10)(x))


def _regrouped(tf: Any, x: Any, parts: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Rows and columns of windows, in which the third dimension changes places with the fourth."""

    def regroup(y: Any) -> Any:
        return tf.reshape(tf.transpose(tf.reshape(y, parts), (0, 1, 3, 2, 4, 5)), shape)

    return tf.keras.layers.Lambda(regroup)(x)


def swin_block(tf: Any) -> Any:
    """Attention in windows, of which every other block's are shifted: TensorFlow's roll is slices, joined."""
    layers = tf.keras.layers
    image = layers.Input((32, 32, 3))
    x = layers.Conv2D(24, 4, strides=4)(image)
    for shift in (0, 2):
        rolled = layers.Lambda(lambda y, s=shift: tf.roll(y, (-s, -s), (1, 2)) if s else y)(x)
        windows = _regrouped(tf, rolled, (1, 2, 4, 2, 4, 24), (4, 16, 24))
        mixed = encoder_block(tf, windows, 2, "gelu")
        whole = _regrouped(tf, mixed, (1, 2, 2, 4, 4, 24), (1, 8, 8, 24))
        x = layers.Lambda(lambda y, s=shift: tf.roll(y, (s, s), (1, 2)) if s else y)(whole)
    return tf.keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def conformer(tf: Any) -> Any:
    """A block of speech recognition: half steps, attention, a gated and a depthwise convolution."""
    layers = tf.keras.layers
    frames = layers.Input((40, 32))
    half = layers.Rescaling(0.5)

    def feed_forward(x: Any) -> Any:
        y = layers.Dense(64, activation="swish")(layers.LayerNormalization()(x))
        return layers.Add()([x, half(layers.Dense(32)(y))])

    x = feed_forward(frames)
    y = layers.LayerNormalization()(x)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 16)(y, y)])
    y = layers.LayerNormalization()(x)
    gate = layers.Dense(32, activation="sigmoid")(y)
    y = layers.Multiply()([layers.Dense(32)(y), gate])
    y = layers.DepthwiseConv1D(7, padding="same", activation="swish")(y)
    x = feed_forward(layers.Add()([x, layers.Dense(32)(y)]))
    return tf.keras.Model(frames, layers.Dense(12)(layers.LayerNormalization()(x)))


def prelu_detector(tf: Any) -> Any:
    """In the manner of MediaPipe's palm detection: depthwise blocks, PReLU with a slope for each channel."""
    layers = tf.keras.layers
    slopes = tf.keras.initializers.RandomUniform(-0.2, 0.9, seed=1)

    def prelu(x: Any) -> Any:
        return layers.PReLU(shared_axes=(1, 2), alpha_initializer=slopes)(x)

    image = layers.Input((48, 48, 3))
    x = prelu(layers.Conv2D(16, 3, strides=2, padding="same")(image))
    for channels in (16, 32, 48):
        y = layers.Conv2D(channels, 1)(layers.DepthwiseConv2D(3, padding="same")(x))
        if channels == x.shape[-1]:
            y = layers.Add()([x, y])
        x = layers.MaxPooling2D()(prelu(y))
    boxes = layers.Reshape((9 * 18,))(layers.Conv2D(18, 1)(x))
    return tf.keras.Model(image, boxes)


def bilinear_segmenter(tf: Any) -> Any:
    """In the manner of BiSeNet: a branch of detail and one of context, joined by bilinear resizing by 2, 4
    and 8."""
    layers = tf.keras.layers

    def resized(x: Any, factor: int) -> Any:
        return layers.UpSampling2D(factor, interpolation="bilinear")(x)

    image = layers.Input((64, 64, 3))
    detail = x = image
    for channels in (8, 16):
        detail = layers.Conv2D(channels, 3, strides=2, padding="same", activation="relu")(detail)
    for channels in (8, 16, 24, 32):
        x = layers.Conv2D(channels, 3, strides=2, padding="same", activation="relu")(x)
    gate = layers.Conv2D(16, 1, activation="sigmoid")(resized(x, 4))
    joined = layers.Add()([layers.Multiply()([detail, gate]), layers.Conv2D(16, 1)(resized(x, 4))])
    half = resized(layers.Conv2D(8, 3, padding="same", activation="relu")(joined), 2)
    whole = layers.Conv2D(4, 1)(resized(x, 8))
    return tf.keras.Model(image, layers.Add()([layers.Conv2D(4, 1)(half), whole]))


def _shuffle_unit(tf: Any, x: Any, shuffle: Any) -> Any:
    layers = tf.keras.layers
    half = x.shape[-1] // 2
    kept, y = x[..., :half], x[..., half:]
    y = layers.Conv2D(half, 1, activation="relu")(y)
    y = layers.Conv2D(half, 1, activation="relu")(layers.DepthwiseConv2D(3, padding="same")(y))
    return shuffle(layers.Concatenate()([kept, y]))


def channel_shuffle(tf: Any) -> Any:
    """In the manner of ShuffleNet, channels mixed by a transpose."""

    def shuffle(x: Any) -> Any:
        _, height, width, channels = x.shape
        pairs = tf.reshape(x, (1, height, width, 2, channels // 2))
        return tf.reshape(tf.transpose(pairs, (0, 1, 2, 4, 3)), (1, height, width, channels))

    return _shuffled(tf, shuffle)


def channel_gather(tf: Any) -> Any:
    """The same, mixed by a gather at constant indices."""

    def shuffle(x: Any) -> Any:
        channels = x.shape[-1]
        order = [place // 2 + place % 2 * (channels // 2) for place in range(channels)]
        return tf.gather(x, order, axis=-1)

    return _shuffled(tf, shuffle)


def _shuffled(tf: Any, shuffle: Any) -> Any:
    layers = tf.keras.layers
    mixing = layers.Lambda(shuffle)
    x = image = layers.Input((32, 32, 3))
    for channels in (24, 48):
        x = layers.Conv2D(channels, 3, strides=2, padding="same", activation="relu")(x)
        for _ in range(2):
            x = _shuffle_unit(tf, x, mixing)
    return tf.keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def keypoint_head(tf: Any) -> Any:
    """As MoveNet weighs its heat maps: divided by distances, which are roots."""
    layers = tf.keras.layers
    image = layers.Input((24, 24, 8))
    heat = layers.Conv2D(17, 3, padding="same", activation="sigmoid")(image)
    squares = layers.Conv2D(17, 1, activation="relu")(image)
    weighed = layers.Lambda(lambda pair: pair[0] / (tf.sqrt(pair[1]) + 1.8))([heat, squares])
    return tf.keras.Model(image, layers.Conv2D(4, 1)(weighed))


def bidirectional_lstm(tf: Any) -> Any:
    """An unrolled LSTM in both directions."""
    layers = tf.keras.layers
    series = layers.Input((8, 12))
    both = layers.Bidirectional(layers.LSTM(16, unroll=True))(series)
    return tf.keras.Model(series, layers.Dense(5)(both))


def token_encoder(tf: Any) -> Any:
    """In the manner of BERT, as wide and deep as the smallest that is published: token ids, of which 0 is
    padding that a mask hides, positions, normalization last, a pooled first token."""
    layers = tf.keras.layers
    length, width = 64, 128
    tokens = layers.Input((length,), dtype="int32")
    is_shown = layers.Lambda(lambda ids: tf.not_equal(ids, 0)[:, None, :])(tokens)
    positions = layers.Embedding(length, width)(tf.constant([range(length)], tf.int32))
    x = layers.LayerNormalization()(layers.Add()([layers.Embedding(WORDS, width)(tokens), positions]))
    for _ in range(2):
        y = layers.MultiHeadAttention(2, width // 2)(x, x, attention_mask=is_shown)
        x = layers.LayerNormalization()(layers.Add()([x, y]))
        y = layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    return tf.keras.Model(tokens, layers.Dense(2)(layers.Dense(width, activation="tanh")(x[:, 0])))
