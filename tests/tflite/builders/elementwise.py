"""Random networks of one operator that maps each element, or each pair of elements."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization
from tests.tflite.maker import Maker

# TensorFlow prescribes the output scales of these.
SOFTMAX_OUTPUT = Quantization((1 / 256,), (-128,))
TANH_OUTPUT = Quantization((1 / 128,), (0,))


def binary(kind: str, options: Callable[[Maker], dict[str, Any]], same_scale: bool = False) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(4)
        quantization = make.quantization() if same_scale else None
        one, other = _broadcast_pair(make, shape)
        is_constant = make.number(0, 4) == 0  # as in beta - mean * factor of a normalization
        first = _constant(make, one, quantization) if is_constant else make.input(one, quantization)
        second = make.input(other, quantization)
        result = make.tensor("output", shape, quantization or make.quantization())
        return make.graph(kind, [first, second], [result], options(make))

    return build


def _broadcast_pair(make: Maker, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast to this one, an outer product among them."""
    channels, pixels = (1, 1, 1, shape[3]), (*shape[:3], 1)
    rows, columns = (1, shape[1], 1, shape[3]), (1, 1, *shape[2:])
    pair = make.choice(
        (shape, shape),
        (shape, channels),
        (shape, rows),
        (shape, columns),
        (shape, pixels),
        (channels, pixels),
    )
    return pair if make.number(0, 1) else pair[::-1]


def _constant(make: Maker, shape: tuple[int, ...], quantization: Quantization | None) -> int:
    data = make.rng.integers(-128, 128, shape, dtype=np.int8)
    return make.constant("constant", data, quantization or make.quantization())


def division(kind: str) -> Callable:
    """Divides by a constant that is never zero, raw or real."""

    def build(make: Maker) -> Graph:
        shape, quantization = make.shape(4), make.quantization()
        allowed = np.setdiff1d(np.arange(-128, 128), [0, quantization.zero_point])
        size = make.choice(shape, (1,))
        divisor = make.constant("divisor", make.rng.choice(allowed, size).astype(np.int8), quantization)
        source = make.input(shape, quantization)
        result = make.tensor("output", shape, quantization if kind == "FLOOR_DIV" else make.quantization())
        return make.graph(kind, [source, divisor], [result], {})

    return build


def relu6(make: Maker) -> Graph:
    """With one scale: TFLite Micro's kernel ignores a difference. tests/host/test_round_scales.py has two."""
    source = make.input(make.shape(4))
    return make.moved("RELU6", source, [], make.tensors[source].shape, {})


def sqrt(make: Maker) -> Graph:
    """Of values that are never negative."""
    shape = make.shape(3)
    source = make.input(shape, Quantization((0.0625,), (-128,)))
    result = make.tensor("output", shape, make.quantization())
    return make.graph("SQRT", [source], [result], {})


def neg(make: Maker) -> Graph:
    """Of int32, which all runtimes but TFLite Micro have."""
    source = make.tensor("input_0", make.shape(3), None, "int32")
    make.inputs.append(source)
    result = make.tensor("output", make.tensors[source].shape, None, "int32")
    return make.graph("NEG", [source], [result], {})


def leaky_relu(make: Maker) -> Graph:
    return make.unary("LEAKY_RELU", {"alpha": float(np.float32(make.rng.uniform(0.05, 0.5)))})


def prelu(make: Maker) -> Graph:
    shape = make.shape(4)
    source = make.input(shape)
    alpha = make.constant(
        "alpha", make.rng.integers(-128, 128, (1, 1, shape[3]), dtype=np.int8), make.quantization()
    )
    result = make.tensor("output", shape, make.quantization())
    return make.graph("PRELU", [source, alpha], [result], {})


def dequantize(make: Maker) -> Graph:
    source = make.input(make.shape(3))
    result = make.tensor("output", make.tensors[source].shape, None, "float32")
    return make.graph("DEQUANTIZE", [source], [result], {})


def cast(make: Maker) -> Graph:
    source = make.input(make.shape(3))
    result = make.tensor("output", make.tensors[source].shape, None, "int32")
    return make.graph("CAST", [source], [result], {"in_data_type": "int8", "out_data_type": "int32"})


def gelu(make: Maker) -> Graph:
    return make.unary("GELU", {"approximate": bool(make.number(0, 1))})


def rsqrt(make: Maker) -> Graph:
    """Of values that are never negative, as TensorFlow demands."""
    shape = make.shape(make.number(2, 4))
    source = make.input(shape, replace(make.quantization(), zero_points=(-128,)))
    result = make.tensor("output", shape, make.quantization())
    return make.graph("RSQRT", [source], [result], {})


def quotient(make: Maker) -> Graph:
    """Of two that the network computes; there may be divisors of 0."""
    shape = make.shape(3)
    first, second = make.input(shape), make.input(make.choice(shape, (1, 1, shape[2])))
    scales = [make.quantization_of(number).scale for number in (first, second)]
    scale = scales[0] / scales[1] * make.choice(0.01, 0.05, 0.2)
    result = make.tensor("output", shape, replace(make.quantization(), scales=(make.scale(scale),)))
    return make.graph("DIV", [first, second], [result], make.activation())


def power(make: Maker) -> Graph:
    shape = make.shape(3)
    second = make.constant("second", make.rng.choice((0, 1, 2, 3, 5, 31), shape).astype(np.int32))
    source = make.plain("input_0", shape, "int32")
    return make.graph("POW", [source, second], [make.tensor("output", shape, None, "int32")], {})


def comparison(kind: str) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(3)
        first = make.input(shape)
        second = make.input(
            make.choice(shape, (1, 1, shape[2])), make.choice(None, make.quantization_of(first))
        )
        result = make.tensor("output", shape, None, "bool")
        return make.graph(kind, [first, second], [result], {})

    return build


def logical(kind: str) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(3)
        sources = [make.plain("input_0", shape, "bool")]
        if kind != "LOGICAL_NOT":
            sources.append(make.plain("input_1", make.choice(shape, (1, 1, shape[2])), "bool"))
        return make.graph(kind, sources, [make.tensor("output", shape, None, "bool")], {})

    return build


def select(kind: str) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(3)
        others = (shape,) if kind == "SELECT" else (shape, (1, 1, shape[2]), (1, shape[1], 1))
        form = make.choice(*others)
        mask = make.rng.integers(0, 2, form).astype(bool)
        is_constant = kind == "SELECT_V2" and make.number(0, 1)
        condition = make.constant("mask", mask) if is_constant else make.plain("condition", form, "bool")
        first = make.input(make.choice(*others))
        second = make.input(shape, make.quantization_of(first))
        return make.graph(
            kind, [condition, first, second], [make.tensor("output", shape, make.quantization_of(first))], {}
        )

    return build


def plain_pair(kind: str) -> Callable:
    """Two int32 tensors, the second a constant that is never 0."""

    def build(make: Maker) -> Graph:
        shape = make.shape(3)
        second = make.constant("second", make.rng.choice((-7, -1, 1, 3, 5), shape).astype(np.int32))
        source = make.plain("input_0", shape, "int32")
        return make.graph(kind, [source, second], [make.tensor("output", shape, None, "int32")], {})

    return build


def float_unary(kind: str) -> Callable:
    """Between two conversions."""

    def build(make: Maker) -> Graph:
        source = make.input(make.shape(3))
        shape = make.tensors[source].shape
        real = make.tensor("real", shape, None, "float32")
        result = make.tensor("output", shape, None, "float32")
        first = Operator("DEQUANTIZE", (source,), (real,), {}, "operator 0")
        graph = make.graph(kind, [real], [result], {})
        return replace(graph, operators=(first, replace(graph.operators[0], location="operator 1")))

    return build


def one_hot(make: Maker) -> Graph:
    """Of indices that are bytes first, so that many of them are in range, and others below and above it."""
    source, depth = make.input(make.shape(make.number(1, 3))), make.number(1, 90)
    shape = make.tensors[source].shape
    indices = make.tensor("indices", shape, None, make.choice("int32", "int64"))
    axis = make.number(-1, len(shape))
    place = len(shape) if axis == -1 else axis
    constants = [make.constant("depth", np.array(depth, np.int32))]
    dtype = make.choice("int8", "float32", "int32")
    quantization = make.quantization() if dtype == "int8" else None
    for name in ("on", "off"):
        value = np.array(make.number(-100, 100), dtype)
        constants.append(make.constant(name, value, quantization))
    result = make.tensor("output", (*shape[:place], depth, *shape[place:]), quantization, dtype)
    graph = make.graph("ONE_HOT", [indices, *constants], [result], {"axis": axis})
    first = Operator("CAST", (source,), (indices,), {}, "operator 0")
    return replace(graph, operators=(first, replace(graph.operators[0], location="operator 1")))


def unary(kind: str, output: Quantization | None = None, **options: Any) -> Callable:
    return lambda make: make.unary(kind, options, output)


def l2_normalization(make: Maker) -> Graph:
    return make.unary("L2_NORMALIZATION", {"fused_activation_function": "NONE"}, TANH_OUTPUT)
