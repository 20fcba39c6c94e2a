"""Eight networks that the RTL runs in seconds on any machine, most of them built-in ones made smaller; and
one of int16."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies.builder import Activation, NetworkBuilder
from dlasim.compiler_shim.topologies.calibration import calibration_inputs
from dlasim.compiler_shim.topologies.networks import TOPOLOGIES, Layers

KERAS_LSTM = Path(__file__).parents[1] / "host" / "keras_lstm.tflite"
SCALE = 1 / 128  # of inputs


def odd_channels(build: NetworkBuilder, image: Activation, classes: int, alpha: float) -> Activation:
    """Channels that fill no word and no array: convolutions, maxima, squares, averages, a softmax."""
    x = build.max_pool("maxima", build.conv("conv_0", image, 13, 5, 1, "RELU"), 3, 2, "SAME")
    x = build.conv("conv_1", x, 27, 3, 2)
    x = build.multiply("squares", x, x)
    x = build.conv("conv_2", build.depthwise("depthwise", x, 3, 1, "RELU6"), 45, activation="RELU")
    return build.classify(build.flatten("flatten", build.average_pool("averages", x)), classes)


LSTM = "lstm"  # unrolled, quantized by TensorFlow
INT16 = "resnet8 of int16, 8x8"  # where the machine has int16
# By name in tables: layers, shape of the input, width multiplier.
NETWORKS: dict[str, tuple[Layers, tuple[int, ...], float]] = {
    "mnist": (TOPOLOGIES["mnist"].layers, (28, 28, 1), 1.0),
    "autoencoder": (TOPOLOGIES["autoencoder"].layers, (640,), 1.0),
    "ds_cnn, 25x10": (TOPOLOGIES["ds_cnn"].layers, (25, 10, 1), 1.0),
    "mobilenet_v2 0.1, 32x32": (TOPOLOGIES["mobilenet_v2"].layers, (32, 32, 3), 0.1),
    "resnet8, 12x12": (TOPOLOGIES["resnet8"].layers, (12, 12, 3), 1.0),
    "vit, 4 tokens": (TOPOLOGIES["vit"].layers, (8, 8, 3), 1.0),
    "odd channels": (odd_channels, (20, 20, 3), 1.0),
    INT16: (TOPOLOGIES["resnet8"].layers, (8, 8, 3), 1.0),
}
CLASSES = 10


def networks(has_int16: bool) -> Iterator[str]:
    """The names of the networks for a machine."""
    yield LSTM
    yield from (name for name in NETWORKS if has_int16 or name != INT16)


def write_network(name: str, folder: Path) -> Path:
    """The network's file."""
    if name == LSTM:
        return KERAS_LSTM
    layers, shape, alpha = NETWORKS[name]
    graph = graph_of(name, layers, shape, alpha)
    path = folder / f"{name}.tflite"
    path.write_bytes(write_tflite(_of_int16(graph) if name == INT16 else graph))
    return path


def graph_of(name: str, layers: Layers, shape: tuple[int, ...], alpha: float = 1.0) -> Graph:
    """A network of layers for an input of this shape."""
    build = NetworkBuilder(name, 0)
    source = build.input(shape, Quantization((SCALE,), (0,)), calibration_inputs(shape, 0))
    return build.finish(layers(build, source, CLASSES, alpha))


def _of_int16(graph: Graph) -> Graph:
    """The same convolutions and sums on int16, as the converter's 16x8 mode writes them: steps of a 256th, no
    zero points, and sums of int64."""
    tensors = [_wide(tensor) for tensor in graph.tensors]
    for operator in graph.operators:
        if operator.kind == "SOFTMAX":
            (output,) = operator.outputs
            tensors[output] = replace(tensors[output], quantization=Quantization((1 / 32768,), (0,)))
    return replace(graph, tensors=tuple(tensors))


def _wide(tensor: Tensor) -> Tensor:
    scales = tensor.quantization
    if tensor.data is None and tensor.dtype == "int8":
        assert scales is not None
        return replace(tensor, dtype="int16", quantization=Quantization((scales.scale / 256,), (0,)))
    if tensor.data is not None and tensor.dtype == "int32" and scales is not None:  # a bias
        steps = tuple(step / 256 for step in scales.scales)
        wide = Quantization(steps, scales.zero_points, scales.axis)
        return replace(tensor, dtype="int64", quantization=wide, data=256 * tensor.data.astype(np.int64))
    return tensor
