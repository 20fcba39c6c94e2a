"""Operators with one 8-bit input and no neighbours: 256-entry tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.operators.activations import quantized_range
from dlasim.compiler_shim.operators.bound import HostCall, Site
from dlasim.sim.numerics import (
    INT8_MAX,
    INT8_MIN,
    Integers,
    input_radius,
    limit,
    logistic,
    quantize_multiplier,
    requant,
    rounding_divide,
    tanh,
)

# Integer bits of the fixed point in which LOGISTIC and TANH are computed.
_INTEGER_BITS = 4
_INT16_MIN, _INT16_MAX = -(1 << 15), (1 << 15) - 1


def table_of(site: Site) -> NDArray[Any]:
    """What the operator makes of each of the 256 values of its input, in ascending order."""
    table: NDArray[Any] = _TABLES[site.operator.kind](site)
    return table


def lookup(site: Site) -> list[HostCall]:
    """Any operator that is a table."""
    site.types(site.input(), "int8")
    site.types(site.output(), "int8")
    return [table_call(site, table_of(site))]


def table_call(site: Site, table: NDArray[Any]) -> HostCall:
    """The call that looks everything up in this table."""
    return site.call("LUT", (site.operator.inputs[0], site.new_constant("table", table)))


def _centred(site: Site) -> Integers:
    return np.arange(INT8_MIN, INT8_MAX + 1, dtype=np.int64) - site.zero_point(site.input())


def _scales(site: Site) -> tuple[float, float]:
    return site.scale(site.input()), site.scale(site.output())


def _limited(
    site: Site, values: Integers, least: int = INT8_MIN, greatest: int = INT8_MAX
) -> NDArray[np.int8]:
    return limit(values, site.zero_point(site.output()), least, greatest)


def _relu(activation: str) -> Any:
    def table(site: Site) -> NDArray[np.int8]:
        scale_in, scale_out = _scales(site)
        scaled = requant(_centred(site), *quantize_multiplier(scale_in / scale_out))
        return _limited(site, scaled, *quantized_range(activation, scale_out, site.zero_point(site.output())))

    return table


def _leaky_relu(site: Site) -> NDArray[np.int8]:
    scale_in, scale_out = _scales(site)
    alpha = float(np.float32(site.option("alpha", 0.0)))
    values = _centred(site)
    positive = requant(values, *quantize_multiplier(scale_in / scale_out))
    # LiteRT rounds this to float32 at each step; TFLite Micro does not.
    negative = requant(values, *quantize_multiplier(scale_in * alpha / scale_out))
    return _limited(site, np.where(values >= 0, positive, negative))


def _absolute(site: Site) -> NDArray[np.int8]:
    scale_in, scale_out = _scales(site)
    return _limited(site, requant(np.abs(_centred(site)), *quantize_multiplier(scale_in / scale_out)))


def _square_root(site: Site) -> NDArray[np.int8]:
    """In float32, cut off instead of rounded; 0 where TensorFlow refuses, below 0."""
    scale_in, scale_out = np.float32(site.scale(site.input())), np.float32(site.scale(site.output()))
    real = scale_in * np.maximum(_centred(site), 0).astype(np.float32)
    with np.errstate(over="ignore"):
        steps = np.floor(np.sqrt(real) / scale_out)
    return _limited(site, np.minimum(steps, 1 << 30).astype(np.int64))


def _sigmoid_input(site: Site) -> tuple[Integers, Integers]:
    """The input in fixed point, and where it is too far out to count: -1, 1, or 0 for inside."""
    values = _centred(site)
    multiplier, shift = quantize_multiplier(site.scale(site.input()) * (1 << (31 - _INTEGER_BITS)))
    radius = input_radius(_INTEGER_BITS, shift)
    # A radius of 0 sends even 0 to the lower end, as TFLite Micro does.
    beyond = np.where(values <= -radius, -1, np.where(values >= radius, 1, 0))
    return requant(np.where(beyond != 0, 0, values), multiplier, shift), beyond


def _saturated(inside: Integers, beyond: Integers) -> NDArray[np.int8]:
    limits = np.where(beyond > 0, INT8_MAX, INT8_MIN)
    return np.where(beyond != 0, limits, np.clip(inside, INT8_MIN, INT8_MAX)).astype(np.int8)


def _logistic(site: Site) -> NDArray[np.int8]:
    _require_output(site, 1 / 256, -128)
    fixed, beyond = _sigmoid_input(site)
    return _saturated(rounding_divide(logistic(fixed, _INTEGER_BITS), 31 - 8) - 128, beyond)


def _tanh(site: Site) -> NDArray[np.int8]:
    _require_output(site, 1 / 128, 0)
    fixed, beyond = _sigmoid_input(site)
    return _saturated(rounding_divide(tanh(fixed, _INTEGER_BITS), 31 - 7), beyond)


def _require_output(site: Site, scale: float, zero_point: int) -> None:
    found = (site.scale(site.output()), site.zero_point(site.output()))
    site.require(
        found == (scale, zero_point), f"output has scale and zero point {found}, not {(scale, zero_point)}"
    )


def _hard_swish(site: Site) -> NDArray[np.int8]:
    """x * relu6(x + 3) / 6 in 16-bit fixed point, seven bits above the input's scale."""
    scale_in, scale_out = _scales(site)
    fine = scale_in / 128
    values = _centred(site) << 7
    out_multiplier, out_exponent = quantize_multiplier(fine / scale_out)
    site.require(out_exponent <= 0, "its output scale is less than 1/128 of its input scale")
    gate_multiplier, gate_exponent = quantize_multiplier(fine / (3 / 32768))
    # From 0 to 1 in Q0.15: how much of the input passes.
    gate = (_gate(values, _short(gate_multiplier), gate_exponent) + (1 << 15)) >> 1
    product = gate * _short_product(values, _short(out_multiplier))
    truncated = np.sign(product) * (np.abs(product) >> 15)
    return _limited(site, _short_divide(truncated, -out_exponent))


def _gate(values: Integers, multiplier: int, exponent: int) -> Integers:
    """x / 3 limited to [-1, 1] in Q0.15; the last bit of a left shift comes after the product."""
    left = max(exponent, 0)
    early = _short_limited(values << max(left - 1, 0))
    late = _short_limited(_short_product(early, multiplier) << min(left, 1))
    return _short_divide(late, max(-exponent, 0))


def _short(multiplier: int) -> int:
    return min((multiplier + (1 << 15)) >> 16, _INT16_MAX)


def _short_divide(values: Integers, exponent: int) -> Integers:
    """By a power of two; beyond 16 bits, gemmlowp's mask overflows and it rounds away from zero."""
    if exponent > 15:
        return np.where(values < 0, -1, 1)
    return rounding_divide(values, exponent)


def _short_product(values: Integers, factor: int) -> Integers:
    product: Integers = (values * factor + (1 << 14)) >> 15
    return product


def _short_limited(values: Integers) -> Integers:
    limited: Integers = np.clip(values, _INT16_MIN, _INT16_MAX)
    return limited


_TABLES = {
    "RELU": _relu("RELU"),
    "RELU6": _relu("RELU6"),
    "RELU_N1_TO_1": _relu("RELU_N1_TO_1"),
    "LEAKY_RELU": _leaky_relu,
    "ABS": _absolute,
    "SQRT": _square_root,
    "LOGISTIC": _logistic,
    "TANH": _tanh,
    "HARD_SWISH": _hard_swish,
}
LOOKUP_KINDS = tuple(_TABLES)
