"""Random float networks, quantized by onnxruntime in a random form, and how far dlasim is from it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dlasim.checking.onnx_comparison import TensorDifference
from dlasim.errors import InputError
from tests.onnx.float_networks import FloatNetwork, quantize
from tests.onnx.single_operators import compared

FUNCTIONS = (
    "Relu",
    "Sigmoid",
    "Tanh",
    "LeakyRelu",
    "Elu",
    "HardSwish",
    "Abs",
    "Neg",
    "Exp",
    "Erf",
    "Softplus",
)
OPSETS = (11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)
FORMATS = ("qdq", "qdq", "qlinear")
# A layer of a random network is often on the same scale as its input, or twice it: then half of the results
# may be exact halves, which go to even in onnxruntime only. numerics.md says what real networks have.
MOST_STEPS, MOST_SHARE, LEAST_ELEMENTS = 1, 0.1, 200
# What no integers stand for: an operator left in float32 alone, and Exp beyond float32.
UNQUANTIZED = ("computes in float32", "its scales must be finite")


class RandomOnnxNetwork(FloatNetwork):
    """Operators on an image, then on rows; `shapes` has that of each tensor by name."""

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng([seed, 7])
        shape = (1, self.number(1, 8), self.number(4, 12), self.number(4, 12))
        super().__init__(shape, seed)
        self.opset = self.choice(*OPSETS)
        self.images = ["input"]
        self.shapes: dict[str, tuple[int, ...]] = {"input": shape}

    def number(self, low: int, high: int) -> int:
        return int(self.draw.integers(low, high + 1))

    def choice(self, *values: Any) -> Any:
        return values[int(self.draw.integers(len(values)))]

    def add(self, name: str, shape: tuple[int, ...]) -> str:
        self.shapes[name], self.channels[name] = shape, shape[1] if len(shape) > 1 else 1
        self.images.append(name)
        return name

    def axes(self, *axes: int) -> tuple[list[str], dict[str, Any]]:
        """Axes of a reduction: an attribute before opset 18."""
        if self.opset < 18:
            return [], {"axes": list(axes)}
        return [self.constant(np.array(axes, np.int64))], {}


def _pixels(size: int, kernel: int, stride: int, pad: int) -> int:
    return (size + 2 * pad - kernel) // stride + 1


def convolution(n: RandomOnnxNetwork, x: str) -> None:
    _, channels, height, width = n.shapes[x]
    kernel, stride = n.choice(1, 3, 3, 5), n.choice(1, 1, 2)
    pad, group = n.number(0, kernel // 2), n.choice(1, 1, channels)
    if min(height, width) + 2 * pad < kernel:
        return
    out = channels if group > 1 else n.number(1, 16)
    relu = n.choice("", "", "Relu", "Clip")
    size = (1, out, *(_pixels(each, kernel, stride, pad) for each in (height, width)))
    n.add(n.conv(x, out, kernel, stride, pad, group, relu=relu), size)


def deconvolution(n: RandomOnnxNetwork, x: str) -> None:
    _, channels, height, width = n.shapes[x]
    if max(height, width) > 12:
        return
    out = n.number(1, 6)
    y = n.node("ConvTranspose", x, n.weights(channels, out, 2, 2), strides=[2, 2])
    n.add(y, (1, out, 2 * height, 2 * width))


def pool(n: RandomOnnxNetwork, x: str) -> None:
    _, channels, height, width = n.shapes[x]
    stride = n.choice(1, 2)
    if min(height, width) < 2:
        return
    y = n.node(n.choice("MaxPool", "AveragePool"), x, kernel_shape=[2, 2], strides=[stride, stride])
    n.add(y, (1, channels, *(_pixels(each, 2, stride, 0) for each in (height, width))))


def function(n: RandomOnnxNetwork, x: str) -> None:
    kind = n.choice(*FUNCTIONS)
    if kind != "HardSwish" or n.opset >= 14:
        n.add(n.node(kind, x), n.shapes[x])


def pair(n: RandomOnnxNetwork, x: str) -> None:
    same = [other for other in n.images if n.shapes[other] == n.shapes[x]]
    other, kind = n.choice(*same), n.choice("Add", "Add", "Mul", "Sub", "Max", "Div")
    shape = n.choice(n.shapes[x], (1, n.shapes[x][1], 1, 1), (1,))
    if kind == "Div" or n.draw.random() < 0.4:
        other = n.constant(n.rng.uniform(0.5, 2, shape).astype(np.float32))
    n.add(n.node(kind, x, other), n.shapes[x])


def joined(n: RandomOnnxNetwork, x: str) -> None:
    _, _, *size = n.shapes[x]
    other = n.choice(*(name for name in n.images if list(n.shapes[name][2:]) == size))
    channels = n.shapes[x][1] + n.shapes[other][1]
    if channels <= 40:
        n.add(n.node("Concat", x, other, axis=1), (1, channels, *size))


def normalized(n: RandomOnnxNetwork, x: str) -> None:
    channels = n.shapes[x][1]
    factors = [n.constant(n.rng.normal(1, 0.3, channels).astype(np.float32)) for _ in range(2)]
    if n.draw.random() < 0.5:
        n.add(n.node("InstanceNormalization", x, *factors), n.shapes[x])
        return
    mean = n.constant(n.rng.normal(0, 0.3, channels).astype(np.float32))
    variance = n.constant(n.rng.uniform(0.5, 2, channels).astype(np.float32))
    n.add(n.node("BatchNormalization", x, *factors, mean, variance), n.shapes[x])


def moved(n: RandomOnnxNetwork, x: str) -> None:
    _, channels, height, width = n.shapes[x]
    match n.choice("Transpose", "Pad", "Slice", "Resize", "Reshape"):
        case "Transpose":
            n.add(n.node("Transpose", x, perm=[0, 1, 3, 2]), (1, channels, width, height))
        case "Pad":
            pads = n.constant(np.array([0, 0, 1, 0, 0, 0, 0, 2], np.int64))
            n.add(n.node("Pad", x, pads), (1, channels, height + 1, width + 2))
        case "Slice":
            ends = (n.constant(np.array([value], np.int64)) for value in (1, height, 2))
            if height > 2:
                n.add(n.node("Slice", x, *ends), (1, channels, height - 1, width))
        case "Resize" if max(height, width) <= 12:
            scales = n.constant(np.array([1, 1, 2, 2], np.float32))
            y = n.node("Resize", x, "", scales, mode=n.choice("nearest", "linear"))
            n.add(y, (1, channels, 2 * height, 2 * width))
        case "Reshape":
            shape = (1, channels * height, width, 1)
            n.add(n.node("Reshape", x, n.constant(np.array(shape, np.int64))), shape)


def head(n: RandomOnnxNetwork, x: str) -> str:
    """Rows of the image, through what transformers have, to a few numbers."""
    _, channels, height, width = n.shapes[x]
    rows = n.node("Reshape", x, n.constant(np.array([1, channels, height * width], np.int64)))
    count = height * width
    for _ in range(n.number(0, 3)):
        match n.choice("norm", "product", "attention", "mean"):
            case "norm" if n.opset >= 17:
                factors = [n.constant(n.rng.normal(1, 0.3, count).astype(np.float32)) for _ in range(2)]
                rows = n.node("LayerNormalization", rows, *factors)
            case "product":
                rows, count = n.node("MatMul", rows, n.constant(_matrix(n, count, 12))), 12
            case "attention":
                turned = n.node("Transpose", rows, perm=[0, 2, 1])
                shares = n.node("Softmax", n.node("MatMul", rows, turned), axis=2)
                rows = n.node("MatMul", shares, rows)
            case "mean":
                more, attributes = n.axes(2)
                rows, count = n.node("ReduceMean", rows, *more, keepdims=1, **attributes), 1
    flat = n.node("Flatten", rows)
    return n.linear(flat, channels * count, n.number(1, 9))


def _matrix(n: RandomOnnxNetwork, rows: int, columns: int) -> Any:
    return n.rng.normal(0, 1.4 / np.sqrt(rows), (rows, columns)).astype(np.float32)


PARTS: tuple[Callable[[RandomOnnxNetwork, str], None], ...] = (
    convolution, convolution, deconvolution, pool, function, function, pair, pair, joined, normalized, moved,
)  # fmt: skip


def quantized_network(seed: int, path: Path) -> Path:
    """The network of a seed, in a form of its own."""
    n = RandomOnnxNetwork(seed)
    for _ in range(n.number(1, 8)):
        n.choice(*PARTS)(n, n.choice(*n.images[-3:]))
    outputs = [head(n, n.images[-1])] if n.draw.random() < 0.7 else [n.images[-1]]
    if outputs == ["input"]:
        outputs = [n.node("Relu", "input")]
    model = n.model(*outputs)
    options: dict[str, Any] = {}
    if n.draw.random() < 0.5:
        options["op_types_to_quantize"] = sorted({node.op_type for node in model.graph.node})
    return quantize(
        model,
        path,
        n.choice(*FORMATS),
        n.choice("int8", "uint8"),
        bool(n.number(0, 1) and n.opset > 12),
        samples=4,
        **options,
    )


def sample(count: int) -> list[bytes]:
    """Files of the first so many seeds, but for those in which onnxruntime quantizes nothing."""
    found = []
    with TemporaryDirectory() as folder:
        for seed in range(count):
            with suppress(Exception):
                found.append(quantized_network(seed, Path(folder) / "m.onnx").read_bytes())
    return [data for data in found if b"QuantizeLinear" in data]


def try_network(seed: int, path: Path) -> tuple[str, int, int]:
    """What is wrong with a network's results, how many elements of its layers differ, and of how many."""
    try:
        quantized_network(seed, path)
    except Exception:  # onnxruntime does not take each network that one can write
        return "", 0, 0
    try:
        found, _ = compared(path, runs=1)
    except InputError as error:
        return ("" if any(reason in str(error) for reason in UNQUANTIZED) else str(error)), 0, 0
    fine = [layer for layer in found.layers if not layer.is_coarse]
    differing, elements = (sum(getattr(layer, name) for layer in fine) for name in ("differing", "elements"))
    suspects = [layer.name for layer in found.layers if _excess(layer)]
    if suspects:
        found, _ = compared(path, runs=1, halves=suspects)
    return "; ".join(filter(None, map(_excess, found.layers))), differing, elements


def _excess(layer: TensorDifference) -> str:
    is_much = layer.differing > MOST_SHARE * layer.elements and layer.elements >= LEAST_ELEMENTS
    if layer.steps <= MOST_STEPS and (layer.is_coarse or not is_much):
        return ""
    return f"{layer.name}: {layer.differing} of {layer.elements} elements, by {layer.steps} steps"
