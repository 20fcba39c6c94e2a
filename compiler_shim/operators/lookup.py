"""Operators with one 8-bit input and no neighbours: 256-entry tables."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.operators import int16
from dlasim.compiler_shim.operators.activations import quantized_range
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall
from dlasim.isa.host_op_rows import UnaryFunction
from dlasim.sim.arithmetic import numerics
from dlasim.sim.arithmetic.numerics import (
    INT8_MAX,
    INT8_MIN,
    Integers,
    divide_anyhow,
    high_multiply,
    input_radius,
    limit,
    quantize_multiplier,
    requant,
    rounding_divide,
    wrap32,
)

# Integer bits of the fixed point in which LOGISTIC and TANH are computed.
_INTEGER_BITS = 4
_INT16_MIN, _INT16_MAX = -(1 << 15), (1 << 15) - 1


Lowering = Callable[[BoundOperator], list[KernelCall]]


def looked_up(table: Callable[[BoundOperator], NDArray[Any]]) -> Lowering:
    """The lowering of an operator that is a table: what it makes of each of the 256 values of its input."""

    @functools.wraps(table)
    def lower(op: BoundOperator) -> list[KernelCall]:
        op.types(op.input(), "int8")
        op.types(op.output(), "int8")
        return [table_call(op, table(op))]

    return lower


def or_int16(lowering: Lowering, of_int16: Lowering) -> Lowering:
    """The lowering of an operator that is a table of int8, and has another form of int16."""

    @functools.wraps(lowering)
    def lower(op: BoundOperator) -> list[KernelCall]:
        return of_int16(op) if int16.is_int16(op) else lowering(op)

    return lower


def or_float(lowering: Lowering) -> Lowering:
    """The lowering of an operator that is something else of integers, and that UNARY has of float32."""

    @functools.wraps(lowering)
    def lower(op: BoundOperator) -> list[KernelCall]:
        if op.input().dtype != "float32":
            return lowering(op)
        op.same_types(op.input(), op.output())
        return [op.call("UNARY", op.input_numbers, function=UnaryFunction[op.kind])]

    return lower


def table_call(op: BoundOperator, table: NDArray[Any], position: int = 0) -> KernelCall:
    """The call that looks everything of an input up in this table."""
    return op.call("LUT", (op.input_numbers[position], op.new_constant("table", table)))


def _centred(op: BoundOperator) -> Integers:
    return np.arange(INT8_MIN, INT8_MAX + 1, dtype=np.int64) - op.zero_point(op.input())


def _scales(op: BoundOperator) -> tuple[float, float]:
    return op.scale(op.input()), op.scale(op.output())


def _limited(
    op: BoundOperator, values: Integers, least: int = INT8_MIN, greatest: int = INT8_MAX
) -> NDArray[np.int8]:
    return limit(values, op.zero_point(op.output()), least, greatest)


def _relu(op: BoundOperator, in_float32: bool | None = None) -> NDArray[np.int8]:
    scale_in, scale_out = _scales(op)
    scaled = requant(_centred(op), *op.multiplier(op.ratio([scale_in], [scale_out], in_float32)))
    return _limited(op, scaled, *quantized_range(op.kind, scale_out, op.zero_point(op.output())))


def table(op: BoundOperator) -> list[KernelCall]:
    """TABLE, dlasim's own: its second input has a result for each of -128 to 127."""
    op.types(op.input(), "int8")
    op.types(op.output(), "int8", "int16", "int32", "float32")
    op.same_types(op.input(1), op.output())
    op.require(op.input(1).elements == 256, f"its table has {op.input(1).elements} entries, not 256")
    return [table_call(op, np.asarray(op.constant(1)).ravel())]


@looked_up
def relu(op: BoundOperator) -> NDArray[np.int8]:
    """RELU."""
    return _relu(op)


@looked_up
def limited_relu(op: BoundOperator) -> NDArray[np.int8]:
    """RELU6 and RELU_N1_TO_1, which only LiteRT rescales."""
    return _relu(op, in_float32=True)


@looked_up
def leaky_relu(op: BoundOperator) -> NDArray[np.int8]:
    """LEAKY_RELU."""
    scale_in, scale_out = _scales(op)
    alpha = float(np.float32(op.option("alpha")))
    values = _centred(op)
    positive = requant(values, *op.multiplier(op.ratio([scale_in], [scale_out])))
    negative = requant(values, *op.multiplier(op.ratio([scale_in, alpha], [scale_out])))
    return _limited(op, np.where(values >= 0, positive, negative))


@looked_up
def absolute(op: BoundOperator) -> NDArray[np.int8]:
    """ABS."""
    scale_in, scale_out = _scales(op)
    return _limited(op, requant(np.abs(_centred(op)), *op.multiplier(scale_in / scale_out)))


@looked_up
def square_root(op: BoundOperator) -> NDArray[np.int8]:
    """SQRT in float32, cut off instead of rounded; 0 where TensorFlow refuses, below 0."""
    scale_in, scale_out = np.float32(op.scale(op.input())), np.float32(op.scale(op.output()))
    real = scale_in * np.maximum(_centred(op), 0).astype(np.float32)
    steps = np.floor(np.sqrt(real) / scale_out)  # infinite beyond float32
    return _limited(op, np.minimum(steps, 1 << 30).astype(np.int64))


_RSQRT_BITS = 20  # below the point


@looked_up
def inverse_square_root(op: BoundOperator) -> NDArray[np.int8]:
    """RSQRT: the greatest value for 0, and where TensorFlow refuses, below 0."""
    scale_in, scale_out = np.float32(op.scale(op.input())), np.float32(op.scale(op.output()))
    product = float(np.sqrt(scale_in) * scale_out)
    op.require(product > 0, "its scales are too small for float32")
    multiplier, shift = op.multiplier(1.0 / product)
    centred = _centred(op)
    shifted = wrap32(_roots()[np.maximum(centred, 0)] << max(shift - _RSQRT_BITS, 0))
    scaled = high_multiply(shifted, multiplier)
    table = _limited(op, divide_anyhow(scaled, max(_RSQRT_BITS - shift, 0)))
    return np.where(centred > 0, table, np.int8(INT8_MAX))


@functools.cache
def _roots() -> Integers:
    """1 / sqrt of what a byte can be above its zero point; the first, of 0, is not used."""
    roots = numerics.inverse_square_roots(range(1 << 8))
    return np.array([requant(1, root, exponent + _RSQRT_BITS) for root, exponent in roots])


def _real(op: BoundOperator) -> NDArray[np.float32]:
    """What each number of the input stands for, in float32."""
    scale = op.scale(op.input())
    real = np.float32(scale) * _centred(op).astype(np.float32)
    op.require(bool(np.isfinite(real).all()), f"with an input scale of {scale:g}, some inputs are infinite")
    return real


@looked_up
def gelu(op: BoundOperator) -> NDArray[np.int8]:
    """GELU in float32."""
    values = _real(op)
    half, one = np.float32(0.5), np.float32(1)
    if op.option("approximate"):
        reach = np.float32(math.sqrt(2 / math.pi)) * values * (one + np.float32(0.044715) * values * values)
        transformed = half * values * (one + np.tanh(reach.astype(np.float64)).astype(np.float32))
    else:
        scaled = values * np.float32(-math.sqrt(0.5))
        transformed = half * values * np.array([math.erfc(x) for x in scaled.tolist()], np.float32)
    return _quantized(op, transformed)


def _quantized(op: BoundOperator, real: NDArray[np.float32]) -> NDArray[np.int8]:
    """Results in float32 as LiteRT quantizes them for its tables, halves away from zero."""
    scale = op.scale(op.output())
    per_step = np.float32(1) / np.float32(scale)
    op.require(bool(np.isfinite(per_step)), f"an output scale of {scale:g} is too small for float32")
    steps = (real * per_step).astype(np.float64)
    steps = np.clip(np.trunc(steps + np.copysign(0.5, steps)), -(1 << 30), 1 << 30)
    return _limited(op, steps.astype(np.int64))


def _of_floats(op: BoundOperator, function: Callable[[float], float]) -> NDArray[np.int8]:
    """A function of real numbers, which LiteRT computes in float32."""
    return _quantized(op, np.array([function(real) for real in _real(op).tolist()], np.float32))


@looked_up
def elu(op: BoundOperator) -> NDArray[np.int8]:
    """ELU: exp minus 1, each rounded to float32."""
    values = _real(op)
    exponential = np.exp(np.minimum(values, 0).astype(np.float64)).astype(np.float32)
    return _quantized(op, np.where(values >= 0, values, exponential - np.float32(1)))


@looked_up
def exponential(op: BoundOperator) -> NDArray[np.int8]:
    """EXP."""
    return _of_floats(op, lambda real: math.exp(min(real, 80.0)))


@looked_up
def logarithm(op: BoundOperator) -> NDArray[np.int8]:
    """LOG: the least value from 0 down."""
    table = _of_floats(op, lambda real: math.log(real) if real > 0 else 0.0)
    return np.where(_centred(op) > 0, table, INT8_MIN).astype(np.int8)


def _sigmoid_input(op: BoundOperator) -> tuple[Integers, Integers]:
    """The input in fixed point, and where it is too far out to count: -1, 1, or 0 for inside."""
    values = _centred(op)
    multiplier, shift = quantize_multiplier(op.scale(op.input()) * (1 << (31 - _INTEGER_BITS)))
    radius = input_radius(_INTEGER_BITS, shift)
    # A radius of 0 sends even 0 to the lower end, as TFLite Micro does.
    beyond = np.where(values <= -radius, -1, np.where(values >= radius, 1, 0))
    return requant(np.where(beyond != 0, 0, values), multiplier, shift), beyond


def _saturated(inside: Integers, beyond: Integers) -> NDArray[np.int8]:
    limits = np.where(beyond > 0, INT8_MAX, INT8_MIN)
    return np.where(beyond != 0, limits, np.clip(inside, INT8_MIN, INT8_MAX)).astype(np.int8)


@looked_up
def logistic(op: BoundOperator) -> NDArray[np.int8]:
    """LOGISTIC: in fixed point, as TFLite Micro; in float32, as LiteRT."""
    _require_output(op, 1 / 256, -128)
    if op.is_litert:
        # Where this is infinite, the result is 0.
        exponential = np.exp(-_real(op).astype(np.float64)).astype(np.float32)
        return _quantized(op, np.float32(1) / (np.float32(1) + exponential))
    fixed, beyond = _sigmoid_input(op)
    return _saturated(rounding_divide(numerics.logistic(fixed, _INTEGER_BITS), 31 - 8) - 128, beyond)


@looked_up
def tanh(op: BoundOperator) -> NDArray[np.int8]:
    """TANH: in fixed point, as TFLite Micro; in float32, as LiteRT."""
    _require_output(op, 1 / 128, 0)
    if op.is_litert:
        return _quantized(op, np.tanh(_real(op).astype(np.float64)).astype(np.float32))
    fixed, beyond = _sigmoid_input(op)
    return _saturated(rounding_divide(numerics.tanh(fixed, _INTEGER_BITS), 31 - 7), beyond)


def _require_output(op: BoundOperator, scale: float, zero_point: int) -> None:
    found = (op.scale(op.output()), op.zero_point(op.output()))
    op.require(
        found == (scale, zero_point), f"output has scale and zero point {found}, not {(scale, zero_point)}"
    )


@looked_up
def hard_swish(op: BoundOperator) -> NDArray[np.int8]:
    """HARD_SWISH: x * relu6(x + 3) / 6 in 16-bit fixed point, seven bits above the input's scale."""
    scale_in, scale_out = _scales(op)
    fine = scale_in / 128
    values = _centred(op) << 7
    out_multiplier, out_exponent = op.multiplier(fine / scale_out)
    op.require(out_exponent <= 0, "its output scale is less than 1/128 of its input scale")
    gate_multiplier, gate_exponent = op.multiplier(fine / (3 / 32768))
    # From 0 to 1 in Q0.15: how much of the input passes.
    gate = (_gate(values, _int16_multiplier(gate_multiplier), gate_exponent) + (1 << 15)) >> 1
    product = gate * _multiply_int16(values, _int16_multiplier(out_multiplier))
    truncated = np.sign(product) * (np.abs(product) >> 15)
    return _limited(op, _divide_int16(truncated, -out_exponent))


def _gate(values: Integers, multiplier: int, exponent: int) -> Integers:
    """x / 3 limited to [-1, 1] in Q0.15; the last bit of a left shift comes after the product."""
    left = max(exponent, 0)
    early = _saturate_int16(values << max(left - 1, 0))
    late = _saturate_int16(_multiply_int16(early, multiplier) << min(left, 1))
    return _divide_int16(late, max(-exponent, 0))


def _int16_multiplier(multiplier: int) -> int:
    return min((multiplier + (1 << 15)) >> 16, _INT16_MAX)


def _divide_int16(values: Integers, exponent: int) -> Integers:
    """By a power of two; beyond 16 bits, gemmlowp's mask overflows and it rounds away from zero."""
    if exponent > 15:
        return np.where(values < 0, -1, 1)
    return rounding_divide(values, exponent)


def _multiply_int16(values: Integers, factor: int) -> Integers:
    product: Integers = (values * factor + (1 << 14)) >> 15
    return product


def _saturate_int16(values: Integers) -> Integers:
    limited: Integers = np.clip(values, _INT16_MIN, _INT16_MAX)
    return limited
