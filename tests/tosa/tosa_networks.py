"""Ten networks of random weights, in the operators of which converters make them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tests.tosa.tosa_maker import TosaMaker

LOW = -128  # the zero point behind a ReLU


class Layers:
    """A network and the zero point of each of its tensors of 8 bits."""

    def __init__(self, mode: int, shape: list[int]) -> None:
        self.maker, self.random = TosaMaker(mode), np.random.default_rng(len(shape) + prod(shape))
        self.first = self.maker.input(shape)
        self.points = {self.first: -3}

    def noted(self, name: str, point: int) -> str:
        self.points[name] = point
        return name

    def conv(
        self, name: str, channels: int, kernel: int = 3, stride: int = 1, point: int = LOW,
        depthwise: bool = False, dilation: int = 1,
    ) -> str:  # fmt: skip
        """A convolution with padding that keeps the size, and factors for each channel."""
        depth = self.maker.shape_of(name)[3]
        size = (kernel, kernel, depth, 1) if depthwise else (channels, kernel, kernel, depth)
        weights = self.random.normal(0, 45, size).clip(-127, 127).astype(np.int8)
        count = kernel * kernel * (1 if depthwise else depth)
        bias = self.random.normal(0, 45 * 60 * count**0.5, depth if depthwise else channels)
        if kernel == 1 and stride == 2:  # TOSA allows no pixels behind the last window
            name = self.noted(self.maker.cut(name, [0, 0, 0, 0], self.odd(name)), self.points[name])
        height, width = self.maker.shape_of(name)[1:3]
        pads = []
        for length in (height, width):
            whole = max(0, (-(-length // stride) - 1) * stride + (kernel - 1) * dilation + 1 - length)
            pads += [whole // 2, whole - whole // 2]
        sums = self.maker.convolution(
            name, weights, bias.astype(np.int32), self.points[name], pads, (stride, stride),
            (dilation, dilation), depthwise,
        )  # fmt: skip
        factors = (
            self.random.uniform(0.5, 1, len(bias)) * (70 if point == LOW else 40) / (45 * 70 * count**0.5)
        )
        return self.noted(self.maker.rescale(sums, factors, (0, point)), point)

    def odd(self, name: str) -> list[int]:
        batch, height, width, depth = self.maker.shape_of(name)
        return [batch, height - 1 + height % 2, width - 1 + width % 2, depth]

    def add(self, one: str, other: str, point: int = 2) -> str:
        points = (self.points[one], self.points[other], point)
        return self.noted(self.maker.added(one, other, (0.031, 0.022, 0.043), points), point)

    def relu(self, name: str) -> str:
        point = self.points[name]
        return self.noted(self.maker.clamp(name, point, 127), point)

    def average(self, name: str) -> str:
        """MEAN over rows and columns as TensorFlow's converter lowers it."""
        _, height, width, _ = self.maker.shape_of(name)
        found = self.maker.rescale(name, 1.0, (self.points[name], 0), "int32")
        for axis in (1, 2):
            shape = self.maker.shape_of(found)
            shape[axis] = 1
            found = self.maker.op("REDUCE_SUM", [found], shape, "int32", axis=axis)
        return self.noted(self.maker.rescale(found, 1.3 / (height * width), (0, -20)), -20)

    def dense(self, name: str, units: int) -> str:
        """A fully connected layer, as the convolution of one pixel."""
        depth = prod(self.maker.shape_of(name))
        image = self.noted(self.maker.reshape(name, [1, 1, 1, depth]), self.points[name])
        found = self.conv(image, units, 1, point=5)
        return self.noted(self.maker.reshape(found, [1, units]), 5)

    def pool(self, kind: str, name: str, kernel: int, stride: int) -> str:
        batch, height, width, depth = self.maker.shape_of(name)
        shape = [batch, (height - kernel) // stride + 1, (width - kernel) // stride + 1, depth]
        point = self.points[name]
        inputs = [name]
        if kind == "AVG_POOL2D":
            inputs += [self.maker.constant([point], "int8"), self.maker.constant([point], "int8")]
        found = self.maker.op(
            kind, inputs, shape, "int8", kernel=[kernel] * 2, stride=[stride] * 2, pad=[0] * 4
        )
        return self.noted(found, point)

    def table(self, name: str, function: Callable[[Any], Any]) -> str:
        entries = np.clip(np.rint(function(np.arange(-128, 128) / 32.0) * 64), -128, 127)
        table = self.maker.constant(entries, "int8")
        return self.noted(self.maker.op("TABLE", [name, table], self.maker.shape_of(name), "int8"), 0)

    def joined(self, *names: str) -> str:
        shape = self.maker.shape_of(names[0])
        shape[3] = sum(self.maker.shape_of(name)[3] for name in names)
        return self.noted(self.maker.op("CONCAT", list(names), shape, "int8", axis=3), self.points[names[0]])

    def product(self, one: str, other: str, factor: float, point: int) -> str:
        parts = [self.maker.rescale(n, 1.0, (self.points[n], 0), "int32") for n in (one, other)]
        found = self.maker.rescale(self.maker.pair("MUL", *parts), factor, (0, point))
        return self.noted(found, point)

    def matmul(self, one: str, other: str, factor: float) -> str:
        (batch, rows, depth), columns = self.maker.shape_of(one), self.maker.shape_of(other)[2]
        points = [self.maker.constant([self.points[name]], "int8") for name in (one, other)]
        sums = self.maker.op("MATMUL", [one, other, *points], [batch, rows, columns], "int32")
        assert depth == self.maker.shape_of(other)[1]
        return self.noted(self.maker.rescale(sums, factor, (0, 1)), 1)

    def transposed(self, name: str, order: list[int]) -> str:
        shape = [self.maker.shape_of(name)[axis] for axis in order]
        found = self.maker.op("TRANSPOSE", [name], shape, "int8", perms=order)
        return self.noted(found, self.points[name])


def resnet8(mode: int) -> tuple[Layers, str]:
    net = Layers(mode, [1, 16, 16, 3])
    x = net.conv(net.first, 8)
    for channels, stride in ((8, 1), (16, 2), (32, 2)):
        y = net.conv(net.conv(x, channels, 3, stride), channels, point=4)
        x = net.relu(net.add(y, x if stride == 1 else net.conv(x, channels, 1, stride, point=-6)))
    return net, net.dense(net.average(x), 10)


def mobilenet(mode: int) -> tuple[Layers, str]:
    net = Layers(mode, [1, 20, 20, 3])
    x = net.conv(net.first, 8, 3, 2)
    for channels, stride in ((16, 1), (24, 2), (24, 1)):
        x = net.conv(net.conv(x, 0, 3, stride, depthwise=True), channels, 1)
    return net, net.dense(net.average(x), 7)


def inverted_residuals(mode: int) -> tuple[Layers, str]:
    net = Layers(mode, [1, 12, 12, 6])
    x = net.conv(net.first, 8, point=3)
    for _ in range(2):
        y = net.conv(net.conv(net.conv(x, 24, 1), 0, depthwise=True), 8, 1, point=-9)
        x = net.add(x, y)
    return net, net.average(x)


def autoencoder(mode: int) -> tuple[Layers, str]:
    net = Layers(mode, [1, 1, 1, 64])
    x = net.first
    for units in (32, 8, 32, 64):
        x = net.conv(x, units, 1)
    return net, x


def vgg(mode: int) -> tuple[Layers, str]:
    net = Layers(mode, [1, 16, 12, 3])
    x = net.pool("MAX_POOL2D", net.conv(net.first, 12), 2, 2)
    x = net.pool("AVG_POOL2D", net.conv(x, 16, 5), 2, 2)
    return net, net.dense(net.pool("AVG_POOL2D", x, 3, 1), 6)


def dilated_unet(mode: int) -> tuple[Layers, str]:
    net = Layers(mode, [1, 16, 16, 4])
    one = net.conv(net.first, 8)
    two = net.conv(net.pool("MAX_POOL2D", one, 2, 2), 16, dilation=2)
    maker = net.maker
    scale = [maker.sizes(values) for values in ([4, 2, 4, 2], [-1, -1], [1, 1])]
    up = maker.op("RESIZE", [two, *scale], [1, 16, 16, 16], "int8", mode=1)
    net.noted(up, LOW)
    return net, net.conv(net.joined(one, up), 3, 1, point=11)


def squeeze_excite(mode: int) -> tuple[Layers, str]:
    net = Layers(mode, [1, 10, 10, 8])
    x = net.table(net.conv(net.first, 12, point=1), lambda v: v / (1 + np.exp(-v)))
    gate = net.conv(net.conv(net.average(x), 4, 1), 12, 1, point=0)
    gate = net.table(gate, lambda v: 1 / (1 + np.exp(-v)))
    return net, net.conv(net.product(x, gate, 0.021, -4), 5, 1, point=0)


def attention(mode: int) -> tuple[Layers, str]:
    net = Layers(mode, [1, 8, 1, 16])
    rows = [
        net.noted(net.maker.reshape(net.conv(net.first, 16, 1, point=p), [1, 8, 16]), p) for p in (2, -7, 5)
    ]
    scores = net.matmul(rows[0], net.transposed(rows[1], [0, 2, 1]), 0.0031)
    return net, net.matmul(net.table(scores, lambda v: np.exp(v - 4)), rows[2], 0.0043)


def keywords(mode: int) -> tuple[Layers, str]:
    """A temporal network: rows of different offsets, cut, padded and joined."""
    net = Layers(mode, [1, 24, 1, 10])
    x = net.conv(net.first, 12, 1)
    maker = net.maker
    cut = maker.cut(x, [0, 2, 0, 0], [1, 20, 1, 12])
    amounts, filler = maker.sizes([0, 0, 4, 0, 0, 0, 0, 0]), maker.constant([LOW], "int8")
    padded = net.noted(maker.op("PAD", [cut, amounts, filler], [1, 24, 1, 12], "int8"), LOW)
    return net, net.dense(net.conv(net.joined(x, padded), 8, 1), 4)


def classes(mode: int) -> tuple[Layers, str]:
    """Which of several maps is the greatest at each pixel."""
    net = Layers(mode, [1, 9, 9, 5])
    x = net.conv(net.conv(net.first, 8, 3, 2), 4, 1, point=0)
    return net, net.maker.op("ARGMAX", [x], [1, 5, 5], "int32", axis=3)


NETWORKS: dict[str, Callable[[int], tuple[Layers, str]]] = {
    function.__name__: function
    for function in (
        resnet8, mobilenet, inverted_residuals, autoencoder, vgg, dilated_unet, squeeze_excite, attention,
        keywords, classes,
    )
}  # fmt: skip
