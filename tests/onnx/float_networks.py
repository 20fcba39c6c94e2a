"""Small networks of today's shapes as ONNX graphs with seeded weights, quantized by onnxruntime."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class FloatNetwork:
    """A float32 network under construction; each method adds nodes and gives the name of the result."""

    def __init__(self, shape: Sequence[int], seed: int = 0) -> None:
        self.shape, self.opset = tuple(shape), OPSET
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.rng = np.random.default_rng(seed)
        self.channels: dict[str, int] = {"input": self.shape[1]}

    def constant(self, data: Any) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(data), name))
        return name

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{kind.lower()}_{len(self.nodes)}_{place}" for place in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"node_{len(self.nodes)}", **attributes))
        for name in names:
            self.channels[name] = self.channels.get(inputs[0], 0)
        return names[0] if outputs == 1 else names

    def weights(self, *shape: int) -> str:
        """Such that a result has about the spread of the input."""
        fan = int(np.prod(shape[1:]))
        return self.constant(self.rng.normal(0, 1.4 / np.sqrt(fan), shape).astype(np.float32))

    def conv(self, x: str, out: int, kernel: Any = 3, stride: int = 1, pad: int | None = None, group: int = 1,
             dilation: int = 1, relu: str = "Relu") -> str:  # fmt: skip
        kernel = (kernel, kernel) if isinstance(kernel, int) else tuple(kernel)
        pads = [(size - 1) * dilation // 2 if pad is None else pad for size in kernel] * 2
        w = self.weights(out, self.channels[x] // group, *kernel)
        b = self.constant(self.rng.normal(0, 0.2, out).astype(np.float32))
        spread = len(kernel)
        y = self.node("Conv", x, w, b, kernel_shape=kernel, strides=[stride] * spread, pads=pads, group=group,
                      dilations=[dilation] * spread)  # fmt: skip
        self.channels[y] = out
        if relu == "Clip":
            y = self.node("Clip", y, self.constant(np.float32(0)), self.constant(np.float32(6)))
        elif relu:
            y = self.node(relu, y)
        return y

    def depthwise(self, x: str, stride: int = 1, relu: str = "Clip") -> str:
        return self.conv(x, self.channels[x], stride=stride, group=self.channels[x], relu=relu)

    def linear(self, x: str, features: int, out: int, relu: str = "") -> str:
        w = self.weights(out, features)
        b = self.constant(self.rng.normal(0, 0.2, out).astype(np.float32))
        y = self.node("Gemm", x, w, b, transB=1)
        self.channels[y] = out
        return self.node(relu, y) if relu else y

    def head(self, x: str, classes: int = 10) -> str:
        x = self.node("GlobalAveragePool", x)
        return self.linear(self.node("Flatten", x), self.channels[x], classes)

    def model(self, *outputs: str) -> Any:
        graph = helper.make_graph(
            self.nodes, "network",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self.constants,
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)
        model = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(model)
        return model


def resnet() -> Any:
    """ResNet: residual blocks, a strided stem whose padding TensorFlow has no name for, and its max-pool."""
    n = FloatNetwork((1, 3, 32, 32), 1)
    x = n.conv("input", 16, 7, stride=2, pad=3)
    x = n.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for out, stride in ((16, 1), (32, 2)):
        y = n.conv(n.conv(x, out, stride=stride), out, relu="")
        if stride > 1:
            x = n.conv(x, out, 1, stride=stride, relu="")
        x = n.node("Relu", n.node("Add", y, x))
        n.channels[x] = out
    return n.model(n.head(x))


def mobilenet_v1() -> Any:
    """Depthwise and pointwise convolutions with ReLU6."""
    n = FloatNetwork((1, 3, 32, 32), 2)
    x = n.conv("input", 8, stride=2, relu="Clip")
    for out, stride in ((16, 1), (24, 2), (32, 2)):
        x = n.conv(n.depthwise(x, stride), out, 1, relu="Clip")
    return n.model(n.node("Softmax", n.head(x), axis=1))


def mobilenet_v2() -> Any:
    """Inverted residuals: additions of tensors with different scales."""
    n = FloatNetwork((1, 3, 32, 32), 3)
    x = n.conv("input", 8, stride=2, relu="Clip")
    for out, stride in ((16, 2), (16, 1), (16, 1)):
        y = n.conv(n.depthwise(n.conv(x, 4 * n.channels[x], 1, relu="Clip"), stride), out, 1, relu="")
        x = n.node("Add", x, y) if stride == 1 else y
    return n.model(n.head(n.conv(x, 32, 1, relu="Clip")))


def vgg() -> Any:
    """Convolutions, max-pools, and a Flatten of an image into fully connected layers."""
    n = FloatNetwork((1, 3, 16, 16), 4)
    x = "input"
    for out in (8, 16):
        x = n.conv(n.conv(x, out), out)
        x = n.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.node("Flatten", x)
    return n.model(n.linear(n.linear(x, 16 * 16, 32, "Relu"), 32, 10))


def squeezenet() -> Any:
    """Fire modules: Concat of branches; a convolution as classifier."""
    n = FloatNetwork((1, 3, 32, 32), 5)
    x = n.conv("input", 16, stride=2, pad=0)
    x = n.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    for out in (16, 24):
        y = n.conv(x, 8, 1)
        x = n.node("Concat", n.conv(y, out, 1), n.conv(y, out), axis=1)
        n.channels[x] = 2 * out
    x = n.node("GlobalAveragePool", n.conv(x, 10, 1))
    return n.model(n.node("Flatten", x))


def densenet() -> Any:
    """BatchNormalization before convolutions, Concat of all before, average pooling."""
    n = FloatNetwork((1, 3, 16, 16), 6)
    x = n.conv("input", 8)
    for _ in range(3):
        count = n.channels[x]
        parameters = [n.rng.uniform(0.5, 1.5, count), n.rng.normal(0, 0.3, count),
                      n.rng.normal(0, 0.3, count), n.rng.uniform(0.5, 1.5, count)]  # fmt: skip
        y = n.node("BatchNormalization", x, *(n.constant(p.astype(np.float32)) for p in parameters))
        y = n.conv(n.node("Relu", y), 8, relu="")
        x, count = n.node("Concat", x, y, axis=1), count + 8
        n.channels[x] = count
    x = n.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    return n.model(n.head(x))


def shufflenet() -> Any:
    """Grouped convolutions, a channel shuffle by Reshape and Transpose, Split."""
    n = FloatNetwork((1, 3, 16, 16), 7)
    x = n.conv("input", 16)
    x = n.conv(x, 24, 1, group=4)
    x = n.node("Reshape", x, n.constant(np.array([1, 4, 6, 16, 16], np.int64)))
    x = n.node("Transpose", x, perm=[0, 2, 1, 3, 4])
    x = n.node("Reshape", x, n.constant(np.array([1, 24, 16, 16], np.int64)))
    one, two = n.node("Split", x, outputs=2, axis=1)
    n.channels[one] = n.channels[two] = 12
    x = n.node("Concat", one, n.conv(n.depthwise(two), 12, 1), axis=1)
    n.channels[x] = 24
    return n.model(n.head(x))


def efficientnet() -> Any:
    """Squeeze and excitation, SiLU as x * sigmoid(x), HardSwish, HardSigmoid, PyTorch's padding of 1."""
    n = FloatNetwork((1, 3, 24, 24), 8)
    x = n.conv("input", 8, stride=2, relu="")
    x = n.node("Mul", x, n.node("Sigmoid", x))
    y = n.node("GlobalAveragePool", x)
    y = n.conv(n.conv(y, 4, 1), 8, 1, relu="HardSigmoid")
    x = n.node("Mul", x, y)
    x = n.conv(x, 16, stride=2, relu="HardSwish")
    return n.model(n.head(x))


def keyword() -> Any:
    """One dimension: convolutions over time, dilated, with a strided one."""
    n = FloatNetwork((1, 8, 64), 9)
    x = n.conv("input", 16, (5,), stride=2)
    x = n.conv(x, 16, (3,), dilation=2)
    x = n.node("MaxPool", x, kernel_shape=[2], strides=[2])
    return n.model(n.linear(n.node("Flatten", n.node("GlobalAveragePool", x)), 16, 6))


def mlp() -> Any:
    """Rows only: Gemm, MatMul and Add, LeakyRelu, Tanh."""
    n = FloatNetwork((1, 40), 10)
    x = n.linear("input", 40, 32, "LeakyRelu")
    x = n.node("MatMul", x, n.weights(32, 24))
    x = n.node("Tanh", n.node("Add", x, n.constant(n.rng.normal(0, 0.3, 24).astype(np.float32))))
    return n.model(n.linear(x, 24, 5))


def unet() -> Any:
    """Down and up: Resize to the nearest neighbour, Concat with what was before, an image as output."""
    n = FloatNetwork((1, 3, 16, 16), 11)
    x = n.conv("input", 8)
    y = n.conv(n.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 16)
    y = n.node("Resize", y, "", n.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    x = n.node("Concat", x, y, axis=1)
    n.channels[x] = 24
    x = n.node("Pad", x, n.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)))
    return n.model(n.conv(x, 4, pad=0, relu=""))


def _normalized(n: FloatNetwork, x: str, features: int) -> str:
    """LayerNormalization in parts, as tf2onnx writes it: times the reciprocal of the root."""
    centred = n.node("Sub", x, n.node("ReduceMean", x, axes=[-1], keepdims=1))
    spread = n.node("ReduceMean", n.node("Mul", centred, centred), axes=[-1], keepdims=1)
    root = n.node("Sqrt", n.node("Add", spread, n.constant(np.float32(1e-2))))
    normal = n.node("Mul", centred, n.node("Reciprocal", root))
    scale = n.constant(n.rng.uniform(0.8, 1.2, features).astype(np.float32))
    shift = n.constant(n.rng.normal(0, 0.1, features).astype(np.float32))
    return str(n.node("Add", n.node("Mul", normal, scale), shift))


def _projected(n: FloatNetwork, x: str, rows: int, columns: int) -> str:
    weights = n.constant(n.rng.normal(0, 1 / np.sqrt(rows), (rows, columns)).astype(np.float32))
    bias = n.constant(n.rng.normal(0, 0.1, columns).astype(np.float32))
    return str(n.node("Add", n.node("MatMul", x, weights), bias))


def _shaped(n: FloatNetwork, x: str, *shape: int) -> str:
    return str(n.node("Reshape", x, n.constant(np.array(shape, np.int64))))


def vit() -> Any:
    """A vision transformer: patches, two heads of attention, LayerNormalization in parts, GELU with Erf."""
    patches, features, heads = 16, 24, 2
    n = FloatNetwork((1, 3, 16, 16), 14)
    x = n.conv("input", features, 4, stride=4, pad=0, relu="")
    x = n.node("Transpose", _shaped(n, x, 1, features, patches), perm=[0, 2, 1])
    x = n.node("Add", x, n.constant(n.rng.normal(0, 0.3, (1, patches, features)).astype(np.float32)))
    y = _normalized(n, x, features)
    query, key, value = (
        n.node(
            "Transpose", _shaped(n, _projected(n, y, features, features), 1, patches, heads, -1), perm=order
        )
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    )
    scores = n.node("Mul", n.node("MatMul", query, key), n.constant(np.float32((features // heads) ** -0.5)))
    y = n.node("Transpose", n.node("MatMul", n.node("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
    x = n.node("Add", x, _projected(n, _shaped(n, y, 1, patches, features), features, features))
    y = _projected(n, _normalized(n, x, features), features, 2 * features)
    part = n.node("Erf", n.node("Div", y, n.constant(np.float32(np.sqrt(2)))))
    part = n.node("Mul", y, n.node("Add", part, n.constant(np.float32(1))))
    y = n.node("Mul", part, n.constant(np.float32(0.5)))
    x = n.node("Add", x, _projected(n, y, 2 * features, features))
    x = n.node("ReduceMean", _normalized(n, x, features), axes=[1], keepdims=0)
    return n.model(n.linear(x, features, 5))


def lstm() -> Any:
    """An LSTM unrolled over six steps, as it is exported without the operator LSTM."""
    steps, features, cells = 6, 10, 16
    n = FloatNetwork((1, steps, features), 15)
    shares = n.constant(np.ones(steps, np.int64))
    weights = [n.weights(4 * cells, size) for size in (features, cells)]
    bias = n.constant(n.rng.normal(0, 0.2, 4 * cells).astype(np.float32))
    hidden = cell = ""
    for x in n.node("Split", "input", shares, outputs=steps, axis=1):
        gates = n.node("Gemm", _shaped(n, x, 1, features), weights[0], bias, transB=1)
        if hidden:
            gates = n.node("Add", gates, n.node("Gemm", hidden, weights[1], transB=1))
        parts = n.node("Split", gates, n.constant(np.full(4, cells, np.int64)), outputs=4, axis=1)
        new, forget, output = (n.node("Sigmoid", part) for part in parts[:3])
        kept = n.node("Mul", new, n.node("Tanh", parts[3]))
        cell = n.node("Add", n.node("Mul", forget, cell), kept) if cell else kept
        hidden = n.node("Mul", output, n.node("Tanh", cell))
    return n.model(n.linear(hidden, cells, 5))


NETWORKS: dict[str, Callable[[], Any]] = {
    "resnet": resnet, "mobilenet_v1": mobilenet_v1, "mobilenet_v2": mobilenet_v2, "vgg": vgg,
    "squeezenet": squeezenet, "densenet": densenet, "shufflenet": shufflenet, "efficientnet": efficientnet,
    "keyword": keyword, "mlp": mlp, "unet": unet, "vit": vit, "lstm": lstm,
}  # fmt: skip


class _Samples:
    """Calibration inputs, as onnxruntime asks for them."""

    def __init__(self, shape: Sequence[int], count: int) -> None:
        rng = np.random.default_rng(99)
        self._samples = iter(rng.normal(0, 1, (count, *shape)).astype(np.float32))

    def get_next(self) -> dict[str, Any] | None:
        sample = next(self._samples, None)
        return None if sample is None else {"input": sample}


def quantize(
    model: Any, path: Path, form: str = "qdq", kind: str = "uint8", per_channel: bool = True, **options: Any
) -> Path:
    """The network quantized by onnxruntime: QDQ or QLinear, int8 or uint8 activations."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(_Samples, CalibrationDataReader):
        pass

    shape = [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim]
    samples = Reader(shape, options.pop("samples", 24))
    names = {"int8": "QInt8", "uint8": "QUInt8", "int16": "QInt16", "uint16": "QUInt16"}
    logging.disable(logging.WARNING)
    try:
        quantize_static(
            model, path, samples,
            quant_format=QuantFormat.QDQ if form == "qdq" else QuantFormat.QOperator,
            activation_type=QuantType[names[kind]], weight_type=options.pop("weight_type", QuantType.QInt8),
            per_channel=per_channel, **options,
        )  # fmt: skip
    finally:
        logging.disable(logging.NOTSET)
    return path


def small_networks() -> list[bytes]:
    """Files of a few kilobytes with most operators, for damage."""
    import tempfile

    n = FloatNetwork((1, 2, 8, 8), 12)
    x = n.conv("input", 4, pad=1)
    x = n.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    y = n.conv(n.depthwise(x), 4, 1, relu="")
    x = n.node("Concat", n.node("Add", x, y), n.conv(x, 4, 3, group=2, relu="HardSwish"), axis=1)
    n.channels[x] = 8
    x = n.node("Pad", x, n.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)))
    x = n.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.node("Flatten", n.node("Mul", x, n.node("Sigmoid", x)))
    image = n.model(n.node("Softmax", n.linear(x, 72, 3)))
    n = FloatNetwork((1, 6), 13)
    x = n.node("Reshape", n.linear("input", 6, 8, "Tanh"), n.constant(np.array([1, 2, 4], np.int64)))
    x = n.node("MatMul", x, n.node("Transpose", x, perm=[0, 2, 1]))
    x = n.node("ReduceMean", x, axes=[1], keepdims=1)
    x = n.node(
        "Squeeze", n.node("Clip", x, "", n.constant(np.float32(2))), n.constant(np.array([1], np.int64))
    )
    rows = n.model(n.linear(x, 2, 2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        return [
            quantize(model, path, form, kind).read_bytes()
            for model in (image, rows)
            for form, kind in (("qdq", "uint8"), ("qlinear", "int8"))
        ]
