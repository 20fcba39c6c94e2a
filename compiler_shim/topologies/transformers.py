"""The built-in transformers, and what they are made of: normalization, attention, dense layers."""

from __future__ import annotations

import math

import numpy as np

from dlasim.compiler_shim.topologies.arithmetic import FloatArray
from dlasim.compiler_shim.topologies.builder import Activation, NetworkBuilder
from dlasim.compiler_shim.topologies.normalization import ACTIVATED, LINEAR

_MIN_VARIANCE = 1e-3  # the epsilon of Keras' LayerNormalization
_ERF = np.vectorize(math.erf, otypes=[float])


def vision_transformer(build: NetworkBuilder, image: Activation, classes: int, alpha: float) -> Activation:
    """A small ViT: patches of 4 by 4 pixels, four blocks that normalize first (Dosovitskiy et al., 2021)."""
    width, heads, blocks = 64, 4, 4
    x = build.conv("patches", image, width, 4, 4, norm=LINEAR, padding="VALID")
    x = build.reshape("tokens", x, (x.values.shape[1] * x.values.shape[2], width))
    x = _with_positions(build, x)
    for number in range(blocks):
        name = f"block_{number}"
        y = _normalize(build, f"{name}/norm_1", x)
        x = build.add(f"{name}/add_1", x, _attention(build, f"{name}/attention", y, heads))
        y = _normalize(build, f"{name}/norm_2", x)
        x = build.add(f"{name}/add_2", x, _dense(build, f"{name}/mlp", y, 2 * width, "GELU"))
    x = build.reshape("image", _normalize(build, "norm", x), (x.values.shape[1], 1, width))
    return build.classify(build.mean("pool", x), classes)


def keyword_transformer(
    build: NetworkBuilder, spectrogram: Activation, classes: int, alpha: float
) -> Activation:
    """KWT-1: a token for each time step and one for the class, twelve blocks that normalize last (Berg et
    al., 2021)."""
    width, heads, blocks = 64, 1, 12
    x = build.fully_connected("frames", spectrogram, width, norm=LINEAR)
    token = build.constant("class_token", build.noise((1, 1, width), 1.0), x.quantization)
    x = _with_positions(build, build.concatenate("tokens", token, x, 1))
    for number in range(blocks):
        name = f"block_{number}"
        y = build.add(f"{name}/add_1", x, _attention(build, f"{name}/attention", x, heads))
        x = _normalize(build, f"{name}/norm_1", y)
        y = build.add(f"{name}/add_2", x, _dense(build, f"{name}/mlp", x, 4 * width, "GELU"))
        x = _normalize(build, f"{name}/norm_2", y)
    return build.classify(build.flatten("flatten", build.row("class", x, 0)), classes)


def mobile_bert(build: NetworkBuilder, text: int, classes: int, alpha: float) -> Activation:
    """An encoder in the manner of MobileBERT (Sun et al., 2020): bottlenecks, four dense layers in a row, and
    an element-wise scale for normalization; its tokens are bytes."""
    width, narrow, heads, blocks = 128, 64, 4, 4
    x = _with_positions(build, build.embed("embedding", text, width))
    for number in range(blocks):
        name = f"block_{number}"
        y = _scale(
            build, f"{name}/bottleneck", build.fully_connected(f"{name}/narrow", x, narrow, norm=LINEAR)
        )
        z = build.add(f"{name}/add_attention", y, _attention(build, f"{name}/attention", y, heads))
        y = _scale(build, f"{name}/norm", z)
        for layer in range(4):
            z = _dense(build, f"{name}/ffn_{layer}", y, 2 * width, "RELU")
            y = _scale(build, f"{name}/ffn_{layer}/norm", build.add(f"{name}/ffn_{layer}/add", y, z))
        z = build.fully_connected(f"{name}/wide", y, width, norm=LINEAR)
        x = _scale(build, f"{name}/output", build.add(f"{name}/add", x, z))
    return build.classify(build.flatten("flatten", build.row("first", x, 0)), classes)


def _with_positions(build: NetworkBuilder, tokens: Activation) -> Activation:
    positions = build.constant("positions", build.noise((1, *tokens.values.shape[1:]), 0.3))
    return build.add("add_positions", tokens, positions)


def _attention(build: NetworkBuilder, name: str, source: Activation, heads: int) -> Activation:
    """Self-attention of several heads."""
    length, width = source.values.shape[1:]
    size = width // heads
    parts = []
    for part in ("query", "key", "value"):
        x = build.fully_connected(f"{name}/{part}", source, width, norm=LINEAR)
        x = build.reshape(f"{name}/{part}/heads", x, (length, heads, size))
        parts.append(build.transpose(f"{name}/{part}/transposed", x, (0, 2, 1, 3)))
    query, key, value = parts
    scale = build.constant(f"{name}/scale", np.array(1.5 / math.sqrt(size)))
    scores = build.multiply(f"{name}/scaled", build.batch_matmul(f"{name}/scores", query, key, True), scale)
    x = build.batch_matmul(f"{name}/mixed", build.softmax(f"{name}/weights", scores), value)
    x = build.reshape(f"{name}/joined", build.transpose(f"{name}/back", x, (0, 2, 1, 3)), (length, width))
    return build.fully_connected(f"{name}/output", x, width, norm=LINEAR)


def _dense(build: NetworkBuilder, name: str, source: Activation, units: int, activation: str) -> Activation:
    """Two dense layers with an activation between them."""
    if activation == "GELU":
        x = build.fully_connected(f"{name}/expand", source, units, norm=LINEAR)
        x = build.unary("GELU", f"{name}/gelu", x, _gelu)
    else:
        x = build.fully_connected(f"{name}/expand", source, units, activation, ACTIVATED)
    return build.fully_connected(f"{name}/project", x, source.channels, norm=LINEAR)


def _gelu(real: FloatArray) -> FloatArray:
    result: FloatArray = 0.5 * real * (1 + _ERF(real / math.sqrt(2)))
    return result


def _normalize(build: NetworkBuilder, name: str, source: Activation) -> Activation:
    """LayerNormalization as PyTorch's exporters write it: the square of a difference is a product."""
    centred = build.subtract(f"{name}/centred", source, build.mean_channels(f"{name}/mean", source))
    return _scale(build, name, unit_squares(build, name, centred))


def unit_squares(build: NetworkBuilder, name: str, source: Activation) -> Activation:
    """Divided by the root of the mean of the squares, along the channels."""
    squares = build.multiply(f"{name}/squares", source, source)
    variance = build.mean_channels(f"{name}/variance", squares)
    epsilon = build.constant(f"{name}/epsilon", np.array(_MIN_VARIANCE))
    variance = build.add(f"{name}/add_epsilon", variance, epsilon)
    step = variance.quantization.scale  # RSQRT of 0 is the greatest value that there is
    inverse = build.unary(
        "RSQRT", f"{name}/rsqrt", variance, lambda real: 1 / np.sqrt(np.maximum(real, 4 * step))
    )
    return build.multiply(f"{name}/normalized", source, inverse)


def _scale(build: NetworkBuilder, name: str, source: Activation) -> Activation:
    """A factor and an offset for each channel."""
    shape = (source.channels,)
    factor = build.constant(f"{name}/factor", build.noise(shape, 0.1, 1.0))
    offset = build.constant(f"{name}/offset", build.noise(shape, 0.1))
    return build.add(f"{name}/offset_added", build.multiply(f"{name}/scaled", source, factor), offset)
