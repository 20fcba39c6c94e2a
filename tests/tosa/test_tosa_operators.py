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


def transposed(
    net: TosaMaker,
    kernel: tuple[int, int] = (3, 2),
    stride: tuple[int, int] = (2, 1),
    pads: tuple[int, ...] = (0, 0, 0, 0),
) -> str:
    weights = np.random.default_rng(2).integers(-127, 128, (4, *kernel, 5))
    inputs = [
        image(net), net.constant(weights, "int8"), net.constant(np.arange(4) * 100, "int32"),
        net.constant([3], "int8"), net.constant([0], "int8"),
    ]  # fmt: skip
    shape = [
        (size - 1) * step + span + before + after
        for size, step, span, before, after in zip(
            IMAGE[1:3], stride, kernel, pads[::2], pads[1::2], strict=True
        )
    ]
    sums = net.op("TRANSPOSE_CONV2D", inputs, [1, *shape, 4], "int32", out_pad=pads, stride=stride)
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


def plain(kind: str, dtype: str = "int32", result: str = "int32", cut: int = 0) -> Case:
    """Of two int32 tensors, which are also the result's type."""

    def make(net: TosaMaker) -> str:
        return net.pair(kind, image(net, (3, 7), dtype), image(net, (3, 1), dtype), result, cut)

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


def negated(net: TosaMaker) -> str:
    points = [net.constant([0], "int32")] * 2
    return net.op("NEGATE", [image(net, (3, 7), "int32"), *points], [3, 7], "int32")


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


def scattered(net: TosaMaker) -> str:
    """At constant indices, then in a row that is computed."""
    old, new, row = image(net, (2, 5, 6)), image(net, (2, 3, 6)), image(net, (1, 1, 6))
    x = net.op("SCATTER", [old, net.constant([[4, 0, 2], [1, 3, 0]], "int32"), new], [2, 5, 6], "int8")
    x = net.reshape(x, [1, 10, 6])
    most = net.op("ARGMAX", [net.reshape(row, [6, 1])], [1], "int32", axis=0)
    place = net.pair("ADD", net.reshape(most, [1, 1]), net.constant([[3]], "int32"))
    return net.op("SCATTER", [x, place, row], [1, 10, 6], "int8")


def unsigned(net: TosaMaker) -> str:
    """From uint8 to int8, and back."""
    x = net.rescale(image(net), 1.0, (-126, 2), unsigned=(True, False))
    x = net.rescale(net.convolution(x, np.full((3, 1, 1, 5), 9), np.zeros(3), 2), 0.05, (0, -7))
    return net.rescale(x, 1.0, (-7, -100), unsigned=(False, True))


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


def shifted(kind: str, is_rounded: bool = False) -> Case:
    """Of int32 by amounts that are computed, constant, and one for all; then of a byte."""

    def make(net: TosaMaker) -> str:
        more = {"round": is_rounded} if kind == "ARITHMETIC_RIGHT_SHIFT" else {}
        x, other = image(net, (3, 31), "int32"), image(net, (3, 1))
        zeros = net.op("CLZ", [net.op("ABS", [wide(net, other)], [3, 1], "int32")], [3, 1], "int32")
        computed = net.pair("SUB", zeros, net.constant([[7]], "int32"))
        parts = [
            net.op(kind, [x, amounts], [3, 31], "int32", **more)
            for amounts in (computed, net.constant([range(31)], "int32"), net.constant([[1]], "int32"))
        ]
        byte = net.op(kind, [image(net, (3, 31)), net.constant([[3]], "int8")], [3, 31], "int8", **more)
        return net.op("CONCAT", [*parts, wide(net, byte)], [3, 124], "int32", axis=1)

    return make


def bits(net: TosaMaker) -> str:
    """Of int32 and of bytes."""
    x, byte = image(net, (4, 9), "int32"), image(net, (4, 9))
    mask = net.constant([[0x35]], "int8")
    for kind in ("BITWISE_AND", "BITWISE_OR", "BITWISE_XOR"):
        byte = net.op(kind, [net.op("BITWISE_NOT", [byte], [4, 9], "int8"), mask], [4, 9], "int8")
        mask = net.constant([[-0x3B]], "int8")
    zeros = net.op("CLZ", [net.op("BITWISE_NOT", [x], [4, 9], "int32")], [4, 9], "int32")
    more = net.op("CLZ", [wide(net, byte)], [4, 9], "int32")
    small = net.op("CLZ", [net.pair("INTDIV", x, net.constant([[5000]], "int32"))], [4, 9], "int32")
    return net.pair("ADD", net.pair("ADD", zeros, small), net.pair("ADD", more, wide(net, byte)))


def between(net: TosaMaker) -> str:
    """Tables of 16 bits: of 16, and of 8."""
    entries = net.constant(np.sin(np.arange(513) / 40) * 30_000, "int16")
    x = net.op("TABLE", [image(net, (5, 40), "int16"), entries], [5, 40], "int32")
    byte = net.rescale(image(net, (5, 40)), 200.5, (3, 0), "int16")
    return net.pair("ADD", x, net.op("TABLE", [byte, entries], [5, 40], "int32"))


def tensorflow_shares(net: TosaMaker) -> str:
    """SOFTMAX of int8 as TensorFlow's converter lowers it: exp by four tables of 8 bits, then Newton."""
    rows, each, one = [6, 10], [6, 1], "int32"

    def number(value: int) -> str:
        return net.constant([[value]], "int32")

    def shift(kind: str, name: str, amount: str, **more: bool) -> str:
        return net.op(kind, [name, amount], net.shape_of(name), one, **more)

    def product(first: str, second: str, cut: int) -> str:
        return net.pair("MUL", first, second, cut=cut)

    x = wide(net, image(net, rows), 1.0, -5)
    below = net.pair("SUB", x, net.op("REDUCE_MAX", [x], each, one, axis=1))
    places = net.rescale(below, 128.0, dtype="int16")
    powers = np.rint(np.exp(np.arange(-256, 257) * 0.07) * 2.0**31).clip(0, 2**31 - 1).astype(np.int64)
    parts = [
        net.op("TABLE", [places, net.constant((powers >> low) & 255, "int16")], rows, one)
        for low in (24, 16, 8, 0)
    ]
    power = shift("ARITHMETIC_RIGHT_SHIFT", parts[3], number(7), round=True)
    for part, amount in zip(parts, (17, 9, 1), strict=False):
        power = net.pair("ADD", power, shift("LOGICAL_LEFT_SHIFT", part, number(amount)))
    cut = shift("ARITHMETIC_RIGHT_SHIFT", power, number(12), round=True)
    total = net.op("REDUCE_SUM", [cut], each, one, axis=1)
    zeros = net.op("CLZ", [total], each, one)
    half = shift("LOGICAL_LEFT_SHIFT", total, net.pair("SUB", zeros, number(1)))
    found = net.pair("ADD", product(half, number(-1010580540), 31), number(1515870810))
    for _ in range(3):
        rest = net.pair("SUB", number(1 << 29), product(found, half, 31))
        found = net.pair("ADD", found, product(product(found, rest, 31), number(4), 0))
    scaled = product(power, found, 30)
    amounts = net.pair("SUB", number(12 + 31 - 8), zeros)
    return net.rescale(shift("ARITHMETIC_RIGHT_SHIFT", scaled, amounts, round=True), 1.0, (0, -128))


CASES: dict[str, Case] = {
    "conv": conv,
    "conv-same": lambda net: conv(net, pad=(1, 1, 0, 1)),
    "conv-odd": lambda net: conv(net, pad=(2, 1, 1, 1), stride=(2, 1)),
    "conv-dilated": lambda net: conv(net, dilation=(2, 3)),
    "depthwise": lambda net: conv(net, depthwise=True),
    "depthwise-stride": lambda net: conv(net, depthwise=True, pad=(1, 0, 0, 0), stride=(2, 2)),
    "transposed-conv": transposed,
    "transposed-conv-same": lambda net: transposed(net, (4, 4), (2, 2), (-1, -1, -1, -1)),
    "transposed-conv-cut": lambda net: transposed(net, (3, 3), (2, 2), (-1, 0, -1, 0)),
    "transposed-conv-more": lambda net: transposed(net, (3, 3), (2, 2), (0, 1, -1, 1)),
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
    "xor": plain("LOGICAL_XOR", "bool", "bool"),
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
    "scatter": scattered,
    "unsigned": unsigned,
    "argmax": lambda net: net.op("ARGMAX", [image(net)], [1, 6, 8], "int32", axis=3),
    "resize-twice": resized([4, 2, 4, 2], [-1, -1], [1, 1], [1, 12, 16, 5]),
    "resize-corners": resized([20, 10, 14, 7], [0, 0], [0, 0], [1, 11, 15, 5]),
    "resize-between": resized([4, 2, 4, 2], [-1, -1], [1, 1], [1, 12, 16, 5], is_linear=True),
    "resize-between-corners": resized([20, 10, 14, 7], [0, 0], [0, 0], [1, 11, 15, 5], is_linear=True),
    "softmax": shares,
    "softmax-tensorflow": tensorflow_shares,
    "shift-left": shifted("LOGICAL_LEFT_SHIFT"),
    "shift-right": shifted("LOGICAL_RIGHT_SHIFT"),
    "shift-right-signed": shifted("ARITHMETIC_RIGHT_SHIFT"),
    "shift-right-rounded": shifted("ARITHMETIC_RIGHT_SHIFT", is_rounded=True),
    "bits": bits,
    "table-int16": between,
    "mul-cut-off": plain("MUL", cut=9),
    "negate-int32": negated,
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
