"""TOSA's integer operators one by one, against Arm's reference model: not one element differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlasim
from tests.tosa.tosa_maker import DOUBLE, SINGLE, TosaMaker, needs_reference, reference

IMAGE = (1, 6, 8, 5)
Case = Callable[[TosaMaker], str]


def image(net: TosaMaker, shape: Any = IMAGE, dtype: str = "int8") -> str:
    return net.input(shape, dtype)


def wide(net: TosaMaker, name: str, factor: float = 1.0, point: int = 3) -> str:
    return net.rescale(name, factor, (point, 0), "int32")


def conv(
    net: TosaMaker, *, pad: Any = (0, 0, 0, 0), stride: Any = (1, 1), dilation: Any = (1, 1), **more: Any
) -> str:
    random = np.random.default_rng(1)
    shape = (3, 2, 5, 2) if more.get("depthwise") else (7, 3, 2, 5)
    weights = random.integers(-127, 128, shape).astype(np.int8)
    bias = random.integers(-3000, 3000, 10 if more.get("depthwise") else 7)
    sums = net.convolution(image(net), weights, bias, 3, pad, stride, dilation, **more)
    return net.rescale(sums, random.uniform(0.0041, 0.0078, len(bias)), (0, -9))


def transposed(net: TosaMaker) -> str:
    weights = np.random.default_rng(2).integers(-127, 128, (4, 3, 2, 5))
    inputs = [
        image(net), net.constant(weights, "int8"), net.constant(np.arange(4) * 100, "int32"),
        net.constant([3], "int8"), net.constant([0], "int8"),
    ]  # fmt: skip
    sums = net.op("TRANSPOSE_CONV2D", inputs, [1, 13, 9, 4], "int32", out_pad=[0] * 4, stride=[2, 1])
    return net.rescale(sums, 0.0043, (0, 4))


def matmul(net: TosaMaker) -> str:
    points = [net.constant([2], "int8"), net.constant([-5], "int8")]
    inputs = [image(net, (2, 5, 7)), image(net, (2, 7, 3))]
    return net.rescale(net.op("MATMUL", [*inputs, *points], [2, 5, 3], "int32"), 0.0052, (0, 1))


def pair(kind: str, shapes: Any = (IMAGE, IMAGE)) -> Case:
    def make(net: TosaMaker) -> str:
        if kind == "MUL":
            one, other = (wide(net, image(net, shape)) for shape in shapes)
            return net.rescale(net.pair(kind, one, other), 0.0077, (0, -2))
        factors = (0.5, 0.5) if kind == "MINIMUM" else (0.5, 0.31)
        one, other = (
            wide(net, image(net, shape), factor * (1 << 20))
            for shape, factor in zip(shapes, factors, strict=True)
        )
        return net.rescale(net.pair(kind, one, other), 0.4 * 2**-19, (0, -2))

    return make


def plain(kind: str, dtype: str = "int32", result: str = "int32") -> Case:
    """Of two int32 tensors, which are also the result's type."""

    def make(net: TosaMaker) -> str:
        return net.pair(kind, image(net, (3, 7), dtype), image(net, (3, 1), dtype), result)

    return make


def reduced(kind: str, dtype: str = "int8", axis: int = 1) -> Case:
    def make(net: TosaMaker) -> str:
        shape = list(IMAGE)
        shape[axis] = 1
        return net.op(kind, [image(net, IMAGE, dtype)], shape, dtype, axis=axis)

    return make


def pooled(
    kind: str, point: int, pad: Any = (0, 0, 0, 0), kernel: int = 2, shape: Any = (1, 3, 4, 5)
) -> Case:
    def make(net: TosaMaker) -> str:
        points = [net.constant([point], "int8")] * 2 if kind == "AVG_POOL2D" else []
        return net.op(
            kind, [image(net), *points], shape, "int8", kernel=[kernel] * 2, stride=[2, 2], pad=list(pad)
        )

    return make


def averaged(net: TosaMaker) -> str:
    total = wide(net, image(net), 1.0, -7)
    for axis, shape in ((2, [1, 6, 1, 5]), (3, [1, 6, 1, 1])):
        total = net.op("REDUCE_SUM", [total], shape, "int32", axis=axis)
    return net.rescale(total, 0.031, (0, 3))


def mapped(net: TosaMaker) -> str:
    """Functions of one element, one after another."""
    x = net.rescale(image(net), 0.7, (3, -4))
    x = net.op("NEGATE", [x, net.constant([2], "int8"), net.constant([-3], "int8")], IMAGE, "int8")
    x = net.op("TABLE", [x, net.constant(np.arange(256) * 7 % 251 - 120, "int8")], IMAGE, "int8")
    x = net.op("ABS", [wide(net, net.clamp(x, -90, 101), 3.0)], IMAGE, "int32")
    x = net.pair("SUB", x, net.constant(np.full((1, 1, 1, 1), 40), "int32"))
    return net.rescale(net.op("CAST", [net.rescale(x, 0.2)], IMAGE, "int32"), 1.1)


def moved(net: TosaMaker) -> str:
    x = image(net)
    x = net.op("REVERSE", [x], IMAGE, "int8", axis=2)
    x = net.cut(x, [0, 1, 2, 0], [1, 4, 5, 5])
    x = net.op("TILE", [x, net.sizes([1, 2, 1, 1])], [1, 8, 5, 5], "int8")
    amounts = net.sizes([0, 0, 1, 2, 0, 1, 0, 0])
    x = net.op("PAD", [x, amounts, net.constant([17], "int8")], [1, 11, 6, 5], "int8")
    x = net.op("TRANSPOSE", [x], [1, 5, 11, 6], "int8", perms=[0, 3, 1, 2])
    x = net.op("IDENTITY", [net.reshape(x, [5, 66])], [5, 66], "int8")
    return net.op("CONCAT", [x, net.constant(np.arange(10).reshape(5, 2), "int8")], [5, 68], "int8", axis=1)


def picked(net: TosaMaker) -> str:
    rows = net.constant([[4, 0, 0, 2], [1, 1, 3, 4]], "int32")
    return net.op("GATHER", [image(net, (2, 5, 6)), rows], [2, 4, 6], "int8")


def chosen(net: TosaMaker) -> str:
    one, other = image(net, (4, 5)), image(net, (4, 5))
    truth = net.pair("GREATER", wide(net, one), wide(net, other, 0.5), "bool")
    truth = net.op("LOGICAL_NOT", [truth], [4, 5], "bool")
    return net.op("SELECT", [truth, one, other], [4, 5], "int8")


def resized(
    scale: list[int], offset: list[int], border: list[int], shape: list[int], is_linear: bool = False
) -> Case:
    def make(net: TosaMaker) -> str:
        sizes = [net.sizes(values) for values in (scale, offset, border)]
        if not is_linear:
            return net.op("RESIZE", [image(net), *sizes], shape, "int8", mode=1)
        x = net.op("TABLE", [image(net), net.constant(np.arange(256) * 7 % 251 - 120, "int8")], IMAGE, "int8")
        x = net.op("RESIZE", [x, *sizes], shape, "int32", mode=2)
        return net.rescale(x, 1 / (scale[0] * scale[2]))

    return make


def shares(net: TosaMaker) -> str:
    """Softmax in the parts that ExecuTorch's passes leave of it."""
    x = image(net, (6, 10))
    most = net.op("REDUCE_MAX", [x], [6, 1], "int8", axis=1)
    left = net.pair("SUB", wide(net, x, 1 << 20, -5), wide(net, most, 1 << 20, -5))
    left = net.rescale(left, 2.0**-20, (0, 127))
    powers = np.rint(np.exp((np.arange(-128, 128) - 127) / 30) * 255) - 128
    power = net.op("TABLE", [left, net.constant(powers, "int8")], [6, 10], "int8")
    total = net.op("REDUCE_SUM", [wide(net, power, 1.0, -128)], [6, 1], "int32", axis=1)
    total = net.rescale(total, 0.1, (0, -128))
    over = np.rint(255 / np.maximum(np.arange(256), 1)) - 128
    over = net.op("TABLE", [total, net.constant(over, "int8")], [6, 1], "int8")
    return net.rescale(
        net.pair("MUL", wide(net, power, 1.0, -128), wide(net, over, 1.0, -128)), 0.02, (0, -128)
    )


CASES: dict[str, Case] = {
    "conv": conv,
    "conv-same": lambda net: conv(net, pad=(1, 1, 0, 1)),
    "conv-odd": lambda net: conv(net, pad=(2, 1, 1, 1), stride=(2, 1)),
    "conv-dilated": lambda net: conv(net, dilation=(2, 3)),
    "depthwise": lambda net: conv(net, depthwise=True),
    "depthwise-stride": lambda net: conv(net, depthwise=True, pad=(1, 0, 0, 0), stride=(2, 2)),
    "transposed-conv": transposed,
    "matmul": matmul,
    "add": pair("ADD"),
    "add-row": pair("ADD", (IMAGE, (1, 1, 1, 5))),
    "sub": pair("SUB"),
    "mul": pair("MUL"),
    "mul-row": pair("MUL", (IMAGE, (1, 1, 1, 5))),
    "add-int32": plain("ADD"),
    "sub-int32": plain("SUB"),
    "mul-int32": plain("MUL"),
    "intdiv": plain("INTDIV"),
    "maximum-int32": plain("MAXIMUM"),
    "minimum": pair("MINIMUM"),
    "maximum-of-unlike": pair("MAXIMUM"),
    "equal": plain("EQUAL", "int32", "bool"),
    "greater-equal": plain("GREATER_EQUAL", "int32", "bool"),
    "and": plain("LOGICAL_AND", "bool", "bool"),
    "or": plain("LOGICAL_OR", "bool", "bool"),
    "select": chosen,
    "reduce-max": reduced("REDUCE_MAX"),
    "reduce-min": reduced("REDUCE_MIN", axis=3),
    "reduce-sum-int32": reduced("REDUCE_SUM", "int32"),
    "reduce-any": reduced("REDUCE_ANY", "bool"),
    "reduce-all": reduced("REDUCE_ALL", "bool", 2),
    "mean": averaged,
    "max-pool": pooled("MAX_POOL2D", 0),
    "max-pool-padded": pooled("MAX_POOL2D", 0, (1, 0, 0, 1), 3),
    "average-pool": pooled("AVG_POOL2D", 0),
    "average-pool-relu": pooled("AVG_POOL2D", -128),
    "average-pool-point": pooled("AVG_POOL2D", 5),
    "average-pool-padded": pooled("AVG_POOL2D", 0, (0, 1, 0, 1), 3),
    "functions": mapped,
    "movement": moved,
    "gather": picked,
    "argmax": lambda net: net.op("ARGMAX", [image(net)], [1, 6, 8], "int32", axis=3),
    "resize-twice": resized([4, 2, 4, 2], [-1, -1], [1, 1], [1, 12, 16, 5]),
    "resize-corners": resized([20, 10, 14, 7], [0, 0], [0, 0], [1, 11, 15, 5]),
    "resize-between": resized([4, 2, 4, 2], [-1, -1], [1, 1], [1, 12, 16, 5], is_linear=True),
    "resize-between-corners": resized([20, 10, 14, 7], [0, 0], [0, 0], [1, 11, 15, 5], is_linear=True),
    "softmax": shares,
    "rescale-int32": lambda net: net.rescale(image(net, (4, 5), "int32"), 2.0**-26 * 1.7, (0, 3)),
    "rescale-channels": lambda net: net.rescale(image(net, (4, 2), "int32"), [3e-7, 2e-8], (0, -3)),
}  # fmt: skip


@needs_reference
@pytest.mark.parametrize("mode", [DOUBLE, SINGLE])
@pytest.mark.parametrize("name", CASES)
def test_it_equals_the_reference_model(tmp_path: Path, name: str, mode: int) -> None:
    net = TosaMaker(mode)
    path = net.save(tmp_path / "one.tosa", CASES[name](net))
    random = np.random.default_rng(5)
    inputs = [random_input(random, net.dtype_of(each), net.shape_of(each)) for each in net.inputs]
    (expected,) = reference(path, net, inputs)
    found = dlasim.run(path, inputs=inputs if len(inputs) > 1 else inputs[0]).outputs[0]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def random_input(random: np.random.Generator, dtype: str, shape: list[int]) -> Any:
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    most = 128 if dtype == "int8" else 20_000
    return random.integers(-most, most, shape).astype(dtype)
