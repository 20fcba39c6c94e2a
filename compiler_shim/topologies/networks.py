"""The built-in networks: the shapes of well-known ones, written down layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dlasim.compiler_shim.topologies import NAMES
from dlasim.compiler_shim.topologies.builder import Activation, NetworkBuilder
from dlasim.compiler_shim.topologies.decoder import language_model
from dlasim.compiler_shim.topologies.normalization import ACTIVATED, LINEAR, RESIDUAL
from dlasim.compiler_shim.topologies.transformers import (
    keyword_transformer,
    mobile_bert,
    vision_transformer,
)
from dlasim.dataclass import dataclass

Layers = Callable[..., Activation]


@dataclass(frozen=True, slots=True)
class Topology:
    """A network: what it is, the shape of its input, its usual number of classes and its layers.

    `scalable` networks take a width multiplier (alpha), `resizable` ones an input resolution. Where
    `takes_bytes` the input is plain uint8, and the layers take its number. One that `speaks` is a language
    model: it has no image, and takes numbers of layers and of tokens that it remembers.
    """

    summary: str
    input_shape: tuple[int, ...]
    classes: int
    layers: Layers
    scalable: bool = False
    resizable: bool = False
    takes_bytes: bool = False
    speaks: bool = False


def mobilenet_v1(build: NetworkBuilder, image: Activation, classes: int, alpha: float) -> Activation:
    """MobileNetV1: a stem and 13 pairs of depthwise and pointwise convolution (Howard et al., 2017)."""
    blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    blocks += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    x = build.conv("conv_0", image, int(32 * alpha), 3, 2, "RELU6")
    for number, (channels, stride) in enumerate(blocks, start=1):
        x = build.depthwise(f"depthwise_{number}", x, 3, stride, "RELU6")
        x = build.conv(f"pointwise_{number}", x, int(channels * alpha), activation="RELU6")
    return build.classify(build.flatten("flatten", build.average_pool("pool", x)), classes)


def mobilenet_v2(build: NetworkBuilder, image: Activation, classes: int, alpha: float) -> Activation:
    """MobileNetV2: inverted residuals with linear bottlenecks (Sandler et al., 2018)."""
    # Expansion, channels, repeats, stride of the first: table 2 of the paper.
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)]
    stages += [(6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    x = build.conv("conv_0", image, _rounded(32 * alpha), 3, 2, "RELU6")
    number = 0
    for expansion, channels, repeats, first_stride in stages:
        for repeat in range(repeats):
            stride = first_stride if repeat == 0 else 1
            x = _inverted_residual(build, f"block_{number}", x, expansion, _rounded(channels * alpha), stride)
            number += 1
    # The last convolution never becomes narrower than the paper's.
    x = build.conv("conv_last", x, _rounded(1280 * max(alpha, 1.0)), activation="RELU6")
    return build.classify(build.mean("pool", x), classes)


def _inverted_residual(
    build: NetworkBuilder, name: str, source: Activation, expansion: int, channels: int, stride: int
) -> Activation:
    x = source
    if expansion > 1:
        x = build.conv(f"{name}/expand", x, expansion * source.channels, activation="RELU6")
    x = build.depthwise(f"{name}/depthwise", x, 3, stride, "RELU6")
    x = build.conv(f"{name}/project", x, channels, norm=LINEAR)
    if stride == 1 and channels == source.channels:
        x = build.add(f"{name}/add", source, x)
    return x


def _rounded(channels: float) -> int:
    """The nearest multiple of 8 that is not more than a tenth below, as MobileNetV2 defines it."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def resnet8(build: NetworkBuilder, image: Activation, classes: int, alpha: float) -> Activation:
    """The CIFAR-10 ResNet of MLPerf Tiny: three stages of one block."""
    x = build.conv("conv_0", image, 16, 3, 1, "RELU")
    for number, channels in enumerate((16, 32, 64), start=1):
        stride = 1 if number == 1 else 2
        y = build.conv(f"stage_{number}/conv_1", x, channels, 3, stride, "RELU")
        y = build.conv(f"stage_{number}/conv_2", y, channels, 3, norm=RESIDUAL)
        if stride > 1:
            x = build.conv(f"stage_{number}/shortcut", x, channels, 1, stride)
        x = build.add(f"stage_{number}/add", x, y, "RELU")
    return build.classify(build.flatten("flatten", build.average_pool("pool", x)), classes)


def resnet50(build: NetworkBuilder, image: Activation, classes: int, alpha: float) -> Activation:
    """ResNet-50 with the stride in a block's first convolution, as first published (He et al., 2015)."""
    x = build.conv("conv_0", image, 64, 7, 2, "RELU")
    x = build.max_pool("pool_0", x, 3, 2, "SAME")
    for stage, (channels, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
        for block in range(blocks):
            stride = 2 if stage > 1 and block == 0 else 1
            x = _bottleneck(build, f"stage_{stage}/block_{block}", x, channels, stride)
    return build.classify(build.mean("pool", x), classes)


def _bottleneck(
    build: NetworkBuilder, name: str, source: Activation, channels: int, stride: int
) -> Activation:
    y = build.conv(f"{name}/conv_1", source, channels, 1, stride, "RELU")
    y = build.conv(f"{name}/conv_2", y, channels, 3, 1, "RELU")
    y = build.conv(f"{name}/conv_3", y, 4 * channels, norm=RESIDUAL)
    if source.channels != 4 * channels:
        source = build.conv(f"{name}/shortcut", source, 4 * channels, 1, stride)
    return build.add(f"{name}/add", source, y, "RELU")


def ds_cnn(build: NetworkBuilder, spectrogram: Activation, classes: int, alpha: float) -> Activation:
    """The keyword spotter of MLPerf Tiny: four depthwise separable convolutions (Zhang et al., 2017)."""
    x = build.conv("conv_0", spectrogram, 64, (10, 4), 2, "RELU")
    for number in range(1, 5):
        x = build.depthwise(f"depthwise_{number}", x, 3, 1, "RELU")
        x = build.conv(f"pointwise_{number}", x, 64, activation="RELU")
    return build.classify(build.flatten("flatten", build.average_pool("pool", x)), classes)


def autoencoder(build: NetworkBuilder, features: Activation, classes: int, alpha: float) -> Activation:
    """The anomaly detector of MLPerf Tiny: fully connected, through a bottleneck of 8."""
    x = features
    for number, units in enumerate((128, 128, 128, 128, 8, 128, 128, 128, 128)):
        x = build.fully_connected(f"dense_{number}", x, units, "RELU", ACTIVATED)
    return build.fully_connected("reconstruction", x, features.channels, norm=LINEAR)


def mnist(build: NetworkBuilder, image: Activation, classes: int, alpha: float) -> Activation:
    """A small digit classifier: two convolutions with pooling, two dense layers."""
    x = build.conv("conv_0", image, 8, 3, 1, "RELU", padding="VALID")
    x = build.max_pool("pool_0", x, 2, 2, "VALID")
    x = build.conv("conv_1", x, 16, 3, 1, "RELU", padding="VALID")
    x = build.flatten("flatten", build.max_pool("pool_1", x, 2, 2, "VALID"))
    x = build.fully_connected("dense_0", x, 32, "RELU", ACTIVATED)
    return build.classify(x, classes)


TOPOLOGIES: Mapping[str, Topology] = {
    "autoencoder": Topology("MLPerf Tiny anomaly detection, fully connected", (640,), 0, autoencoder),
    "ds_cnn": Topology("MLPerf Tiny keyword spotting, depthwise separable", (49, 10, 1), 12, ds_cnn),
    "kwt": Topology("keyword transformer KWT-1", (98, 40), 12, keyword_transformer),
    "mnist": Topology("small digit classifier", (28, 28, 1), 10, mnist),
    "mobile_bert": Topology(
        "text encoder in the manner of MobileBERT, on bytes", (64,), 2, mobile_bert, takes_bytes=True
    ),
    "mobilenet_v1": Topology("MobileNetV1", (224, 224, 3), 1000, mobilenet_v1, True, True),
    "mobilenet_v2": Topology("MobileNetV2", (224, 224, 3), 1000, mobilenet_v2, True, True),
    "resnet50": Topology("ResNet-50", (224, 224, 3), 1000, resnet50, resizable=True),
    "resnet8": Topology("MLPerf Tiny image classification, ResNet-8", (32, 32, 3), 10, resnet8),
    "smollm2": Topology(
        "language model of SmolLM2-135M's shape, token by token", (1,), 49_152, language_model, speaks=True
    ),
    "vit": Topology("small vision transformer", (32, 32, 3), 10, vision_transformer),
}
assert tuple(sorted(TOPOLOGIES)) == NAMES
