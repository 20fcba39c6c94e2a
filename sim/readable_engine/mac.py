"""The MAC unit: convolution, depthwise convolution, matrix multiplication."""

from __future__ import annotations

import numpy as np

from dlasim.isa.instruction_rows import SUM_LEFT_SHIFT, Init, Out, Quant, Weights, adds_tensor
from dlasim.sim.arithmetic.numerics import requant, rescale48, wrap32, wrap48
from dlasim.sim.readable_engine.operands import Context, Integers
from dlasim.sim.readable_engine.taps import taps


def conv(context: Context) -> Integers:
    """OP_CONV."""
    return _finish(context, _convolved(context), context.field("out"), context.value("ACT_MIN"))


def conv_relu(context: Context) -> Integers:
    """OP_CONV_RELU."""
    lowest = max(context.value("ACT_MIN"), context.value("OUT_ZP"))
    return _finish(context, _convolved(context), Out.INT8, lowest)


def depth_conv(context: Context) -> Integers:
    """OP_DEPTH_CONV."""
    image = context.view("IN")
    outputs = context.value("OUT_CHANNELS")
    weights = _weights(context, *context.pair("KERNEL"), outputs)
    total: Integers = np.zeros((*context.pair("OUT_SIZE"), outputs), np.int64)
    for tap in taps(context.operation):
        pixels = tap.read(image, _zero(context, "PAD_VALUE")) - _zero(context, "IN_ZP")
        total += np.repeat(pixels, outputs // context.value("IN_CHANNELS"), axis=2) * weights[tap.y, tap.x]
    return _finish(context, total, context.field("out"), context.value("ACT_MIN"))


def mat_mul(context: Context) -> Integers:
    """OP_MAT_MUL."""
    matrix = _weights(context, context.value("OUT_CHANNELS"), context.value("IN_CHANNELS"))
    rows = context.view("IN") - _zero(context, "IN_ZP")
    if context.field("weights") == Weights.INT16:
        total = (_product(rows, matrix >> 8) << 8) + _product(rows, matrix & 0xFF)
    else:
        total = _product(rows, matrix)
    return _finish(context, total, context.field("out"), context.value("ACT_MIN"))


def _weights(context: Context, *shape: int) -> Integers:
    """The weights, their zero point taken off."""
    return context.linear("WEIGHT_ADDR", *shape) - _zero(context, "WEIGHT_ZP")


def _zero(context: Context, register: str) -> int:
    """A zero point, which int16 has not."""
    return 0 if context.is_int16 else context.value(register)


def _convolved(context: Context) -> Integers:
    image = context.view("IN")
    outputs = context.value("OUT_CHANNELS")
    weights = _weights(context, outputs, *context.pair("KERNEL"), context.value("IN_CHANNELS"))
    total: Integers = np.zeros((*context.pair("OUT_SIZE"), outputs), np.int64)
    for tap in taps(context.operation):
        pixels = tap.read(image, _zero(context, "PAD_VALUE")) - _zero(context, "IN_ZP")
        total += _product(pixels, weights[:, tap.y, tap.x])
    return total


def _product(pixels: Integers, matrix: Integers) -> Integers:
    """Sums over the last axis of both. Floats only because they multiply fast: all sums are below 2^53."""
    assert pixels.shape[-1] < 1 << 30, "|pixel * weight| < 2^23"
    exact: Integers = (pixels.astype(np.float64) @ matrix.T.astype(np.float64)).astype(np.int64)
    return exact


def _finish(context: Context, total: Integers, out: int, lowest: int) -> Integers:
    """From the sums to what leaves the unit."""
    if context.is_int16:
        return _finish_int16(context, total)
    accumulator = wrap32(total + _start(context))
    if out == Out.INT32:
        return accumulator
    result = rescaled(context, accumulator, lowest)
    return _summed(context, result) if adds_tensor(context.operation.fields) else result


def _summed(context: Context, result: Integers) -> Integers:
    """The sum with the tensor at ACC."""
    own = _aligned(context, result - context.value("OUT_ZP"), "IN")
    other = _aligned(context, context.view("ACC") - context.value("IN2_ZP"), "IN2")
    scaled = requant(own + other, context.value("OUT_MULT"), context.value("OUT_SHIFT"))
    moved = wrap32(scaled + context.value("SUM_ZP"))
    return moved.clip(context.value("SUM_MIN"), context.value("SUM_MAX"))


def _aligned(context: Context, value: Integers, name: str) -> Integers:
    shift = min(context.value(f"{name}_SHIFT"), 0)
    return requant(value << SUM_LEFT_SHIFT, context.value(f"{name}_MULT"), shift)


def _finish_int16(context: Context, total: Integers) -> Integers:
    bias = context.records().wide_bias if context.field("init") == Init.BIAS else 0
    factor: int | Integers = context.value("OUT_MULT") & 0xFFFF
    shift: int | Integers = context.value("OUT_SHIFT")
    if context.field("quant") == Quant.CHANNEL:
        factor, shift = context.records().factor, context.records().shift
    scaled = rescale48(wrap48(total + bias), factor, shift)
    return scaled.clip(*context.limits)


def _start(context: Context) -> Integers:
    match context.field("init"):
        case Init.BIAS:
            return context.records().bias
        case Init.PARTIAL:
            return context.view("ACC")
        case _:
            return np.zeros(1, np.int64)


def rescaled(context: Context, accumulator: Integers, lowest: int) -> Integers:
    """Requantized by the registers or the channels' records, moved to OUT_ZP, and clamped."""
    if context.field("quant") == Quant.CHANNEL:
        records = context.records()
        scaled = requant(accumulator, records.multiplier, records.shift)
    else:
        scaled = requant(accumulator, context.value("OUT_MULT"), context.value("OUT_SHIFT"))
    moved = wrap32(scaled + context.value("OUT_ZP"))
    return moved.clip(lowest, context.value("ACT_MAX"))
