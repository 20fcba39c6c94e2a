"""Parts of random networks beyond those of CNNs: quotients, roots, comparisons and choices, running sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Operator, Quantization, Tensor
from tests.compiler.network_builder import ACTIVATIONS, Activation, MisfitError, RandomNetwork, Shape

# Kernels that LiteRT alone has: a network with one of them is compared operator by operator.
IN_LITERT_ALONE = frozenset(
    ("POW", "REDUCE_ANY", "REDUCE_PROD", "RELU_N1_TO_1", "SELECT", "SQRT", "TILE", "TOPK_V2", "WHERE")
)
_COMPARISONS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")
_MAX_TILED = 3


def _scaled(net: RandomNetwork, scale: float, *bases: float) -> Quantization:
    return Quantization((net.scale(scale, *bases),), (net.number(-60, 60),))


def _plain(net: RandomNetwork, kind: str, inputs: list[int], shape: Shape, dtype: str, **options: Any) -> int:
    """An operator whose result has no scale, which only its own part of the network reads."""
    if np.prod(shape) > 2 * net.most_elements:
        raise MisfitError
    index = net.tensor(shape, None, dtype)
    net.operators.append(Operator(kind, tuple(inputs), (index,), options, f"operator {len(net.operators)}"))
    return index


def _other(net: RandomNetwork, one: Activation) -> Activation:
    """Another activation of this shape, or a constant that is broadcast along all but the last dimension."""
    same = [other for other in net.activations if other.shape == one.shape and other.index != one.index]
    if same and net.chance(0.6):
        return net.choice(*same)
    shape = (*(1 for _ in one.shape[:-1]), one.shape[-1])
    quantization = net.choice(one.quantization, net.fresh_quantization())
    return Activation(net.constant(net.int8(shape), quantization), shape, quantization)


def quotient(net: RandomNetwork) -> None:
    """DIV; divisors may be 0."""
    one = net.any_activation()
    other = _other(net, one)
    base = one.quantization.scale / other.quantization.scale
    output = _scaled(net, base * net.choice(0.01, 0.05, 0.2), base)
    options = {"fused_activation_function": net.choice(*ACTIVATIONS)}
    net.output("DIV", [one.index, other.index], one.shape, output, options)


def running_sum(net: RandomNetwork) -> None:
    """CUMSUM."""
    source = net.any_activation()
    axis = net.number(0, len(source.shape) - 1)
    base = source.quantization.scale
    output = _scaled(net, base * np.sqrt(source.shape[axis]) * net.rng.uniform(0.6, 2), base)
    options = {"exclusive": net.chance(0.4), "reverse": net.chance(0.4)}
    net.output("CUMSUM", [source.index, net.constant(np.int32(axis))], source.shape, output, options)


def factors(net: RandomNetwork) -> None:
    """REDUCE_PROD over a few elements."""
    source = net.any_activation()
    axes = [axis for axis, size in enumerate(source.shape) if axis and size <= 4]
    if len(source.shape) < 2 or not axes:
        raise MisfitError
    axis, keep = net.choice(*axes), net.chance(0.5)
    count = source.shape[axis]
    base = source.quantization.scale**count
    output = _scaled(net, base * 40.0 ** (count - 1), base)
    shape = tuple(1 if at == axis else size for at, size in enumerate(source.shape) if keep or at != axis)
    inputs = [source.index, net.constant(np.array([axis]))]
    net.output("REDUCE_PROD", inputs, shape, output, {"keep_dims": keep})


def root(net: RandomNetwork) -> None:
    """SQRT and RSQRT of what is never negative, and squares of differences."""
    source, kind = net.any_activation(), net.choice("RSQRT", "SQRT", "SQUARED_DIFFERENCE")
    if kind == "SQUARED_DIFFERENCE":
        other = _other(net, source)
        scales = max(source.quantization.scale, other.quantization.scale)
        output = _scaled(net, scales**2 * net.rng.uniform(40, 120), scales**2)
        net.output(kind, [source.index, other.index], source.shape, output, {})
        return
    positive = net.matched(source, replace(source.quantization, zero_points=(-128,)))
    output = net.new_quantization()
    if kind == "RSQRT" and np.sqrt(source.quantization.scale) * output.scale < 2.0**-30:
        raise MisfitError  # the references cannot shift that far
    net.output(kind, [positive.index], source.shape, output, {})


def choice_of_two(net: RandomNetwork) -> None:
    """SELECT or SELECT_V2 by comparisons, joined by logical operators or along a dimension."""
    one = net.any_activation()
    other = net.matched(net.any_activation(), one.quantization) if net.chance(0.3) else one
    other = other if other.shape == one.shape else one
    if one.quantization.scale >= 1:
        raise MisfitError  # the references cannot shift that far
    partners = [_other(net, one) for _ in range(net.number(1, 2))]
    if any(partner.quantization.scale >= 1 for partner in partners):
        raise MisfitError
    conditions = [
        _plain(net, net.choice(*_COMPARISONS), [one.index, partner.index], one.shape, "bool")
        for partner in partners
    ]
    if len(conditions) == 2:
        conditions = [_plain(net, net.choice("LOGICAL_AND", "LOGICAL_OR"), conditions, one.shape, "bool")]
    if net.chance(0.3):
        conditions = [_plain(net, "LOGICAL_NOT", conditions, one.shape, "bool")]
    kind = net.choice("SELECT", "SELECT_V2")
    if kind == "SELECT_V2" and net.chance(0.5):
        axis = len(one.shape) - 1
        shape = (*one.shape[:axis], 1)
        inputs = [*conditions, net.constant(np.array([axis]))]
        conditions = [
            _plain(net, net.choice("REDUCE_ALL", "REDUCE_ANY"), inputs, shape, "bool", keep_dims=True)
        ]
    data = Activation(net.constant(net.int8(one.shape), one.quantization), one.shape, one.quantization)
    second = net.choice(other, data)
    net.output(kind, [*conditions, one.index, second.index], one.shape, one.quantization, {})


def masked(net: RandomNetwork) -> None:
    """SELECT_V2 by a constant, between an activation and a number or another one, as masks are."""
    one = net.any_activation()
    axes = [size if net.chance(0.7) else 1 for size in one.shape]
    mask = Tensor(
        f"c{len(net.tensors)}", tuple(axes), "bool", None, net.rng.integers(0, 2, axes).astype(bool)
    )
    net.tensors.append(mask)
    condition = len(net.tensors) - 1
    number = net.constant(np.int8(net.choice(-128, -128, 0, 127)), one.quantization)
    data = net.constant(net.int8(net.choice(one.shape, one.shape[-1:])), one.quantization)
    choices = [one.index, net.choice(number, number, data, one.index)]
    choices = choices[::-1] if net.chance(0.5) else choices
    net.output("SELECT_V2", [condition, *choices], one.shape, one.quantization, {})


def limited(net: RandomNetwork) -> None:
    """RELU6 and RELU_N1_TO_1 between two scales."""
    source, kind = net.any_activation(), net.choice("RELU6", "RELU_N1_TO_1")
    output = _scaled(net, source.quantization.scale * net.rng.uniform(0.3, 1.5), source.quantization.scale)
    net.output(kind, [source.index], source.shape, output, {})


def spread(net: RandomNetwork) -> None:
    """TILE and BROADCAST_TO."""
    source = net.any_activation()
    rank = len(source.shape)
    if net.chance(0.5):
        repeats = [net.choice(1, 1, net.number(1, _MAX_TILED)) for _ in range(rank)]
        shape = tuple(size * count for size, count in zip(source.shape, repeats, strict=True))
        net.output("TILE", [source.index, net.constant(np.array(repeats))], shape, source.quantization, {})
        return
    shape = tuple(net.number(1, 6) if size == 1 and axis else size for axis, size in enumerate(source.shape))
    net.output("BROADCAST_TO", [source.index, net.constant(np.array(shape))], shape, source.quantization, {})


def largest(net: RandomNetwork) -> None:
    """TOPK_V2, whose indices go on to POW, and at times through CAST and QUANTIZE."""
    source = net.any_activation()
    count = net.number(1, source.shape[-1])
    shape = (*source.shape[:-1], count)
    values, indices = net.tensor(shape, source.quantization), net.tensor(shape, None, "int32")
    inputs = (source.index, net.constant(np.int32(count)))
    net.operators.append(Operator("TOPK_V2", inputs, (values, indices), {}, f"operator {len(net.operators)}"))
    exponents = net.constant(net.rng.choice((0, 1, 2, 3), shape).astype(np.int32))
    powers = _plain(net, "POW", [indices, exponents], shape, "int32")
    net.activations.append(Activation(values, shape, source.quantization))
    if net.chance(0.8):
        return
    real = _plain(net, "CAST", [powers], shape, "float32", in_data_type="int32", out_data_type="float32")
    scale = max(1.0, float(source.shape[-1])) ** 2 / 100
    net.output("QUANTIZE", [real], shape, _scaled(net, scale), {})


def places(net: RandomNetwork) -> None:
    """GATHER_ND of what a WHERE of a constant finds."""
    if not net.operators:
        raise MisfitError  # a network cut behind the WHERE would compute nothing
    source = net.any_activation()
    chosen = net.rng.integers(0, 2, source.shape).astype(bool)
    chosen.flat[0] = True
    count = int(chosen.sum())
    condition = Tensor(f"c{len(net.tensors)}", source.shape, "bool", None, chosen)
    net.tensors.append(condition)
    found = _plain(net, "WHERE", [len(net.tensors) - 1], (count, len(source.shape)), "int64")
    line = net.output("GATHER_ND", [source.index, found], (count,), source.quantization, {})
    shape = (1, count)
    net.activations.remove(line)
    target = net.constant(np.array(shape))
    net.output("RESHAPE", [line.index, target], shape, source.quantization, {"new_shape": shape})


LISTED: dict[str, Callable[[RandomNetwork], None]] = {
    "quotient": quotient,
    "running_sum": running_sum,
    "factors": factors,
    "root": root,
    "choice_of_two": choice_of_two,
    "masked": masked,
    "limited": limited,
    "spread": spread,
    "largest": largest,
    "places": places,
}
