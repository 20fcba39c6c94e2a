"""The VECTOR unit: everything that is not a product with weights."""

from __future__ import annotations

import numpy as np

from dlasim.isa.instruction_rows import PoolMode, ShiftMode, SigmoidMode
from dlasim.sim.arithmetic.interpolation import (
    INT16_MIN,
    limited16,
    logistic16,
    lookup_words,
    low16,
    softmax16,
    tanh16,
)
from dlasim.sim.arithmetic.numerics import (
    average_up,
    requant,
    rounded_average,
    rounding_divide,
    softmax,
    wrap32,
)
from dlasim.sim.readable_engine.mac import rescaled
from dlasim.sim.readable_engine.operands import Context, Integers
from dlasim.sim.readable_engine.taps import inside_taps

LOWEST = -(1 << 15)  # of any element


def fill(context: Context) -> Integers:
    """OP_FILL."""
    return np.array(context.value("FILL_VALUE"), np.int64)


def requantize(context: Context) -> Integers:
    """OP_REQUANT."""
    return rescaled(context, context.view("IN"), context.value("ACT_MIN"))


def shift32(context: Context) -> Integers:
    """OP_E32_SHIFT."""
    value, amount = context.view("IN"), context.value("SHIFT_AMOUNT")
    match context.field("mode"):
        case ShiftMode.LEFT:
            return wrap32(value << amount)
        case ShiftMode.RIGHT:
            return value >> amount
        case ShiftMode.RIGHT_ROUND:
            return rounding_divide(value, amount)
        case mode:
            raise AssertionError(f"the decoder lets no shift mode {mode} pass")


def add32(context: Context) -> Integers:
    """OP_E32_ADD."""
    return wrap32(context.view("IN") + context.view("IN2"))


def add16(context: Context) -> Integers:
    """OP_E16_ADD."""
    first, second = (
        limited16(requant(context.view(name), context.value(f"{name}_MULT"), context.value(f"{name}_SHIFT")))
        for name in ("IN", "IN2")
    )
    limit = context.value("LIMIT")
    return limited16(first + second).clip(-limit, limit)


def multiply16(context: Context) -> Integers:
    """OP_E16_MUL."""
    return low16(context.view("IN")) * low16(context.view("IN2"))


def sigmoid16(context: Context) -> Integers:
    """OP_E16_SIGMOID."""
    factor, shift = context.value("IN_MULT") & 0xFFFF, context.value("SHIFT_AMOUNT")
    function = logistic16 if context.field("mode") == SigmoidMode.LOGISTIC else tanh16
    return function(low16(context.view("IN")), factor, shift, context.linear("LUT_ADDR", 256))


def pool(context: Context) -> Integers:
    """OP_POOL."""
    match context.field("mode"):
        case PoolMode.MAX:
            return _clamped(context, _largest(context))
        case PoolMode.AVERAGE:
            return _clamped(context, rounded_average(_window_sum(context), _window_pixels(context)))
        case PoolMode.AVERAGE_UP:
            return _clamped(context, average_up(_window_sum(context), _window_pixels(context)))
        case PoolMode.MEAN:
            zero_points = _window_pixels(context) * context.value("IN_ZP")
            return _rescaled(context, wrap32(_window_sum(context) - zero_points))
        case mode:
            raise AssertionError(f"the decoder lets no pooling mode {mode} pass")


def relu(context: Context) -> Integers:
    """OP_ACT_RELU."""
    lowest = max(context.value("ACT_MIN"), context.value("OUT_ZP"))
    return _scaled(context, _input(context)).clip(lowest, context.value("ACT_MAX"))


def leaky_relu(context: Context) -> Integers:
    """OP_ACT_LRELU."""
    value = _input(context)
    negative = requant(value, context.value("IN_MULT"), context.value("IN_SHIFT"))
    negative = wrap32(negative + context.value("OUT_ZP"))
    return _clamped(context, np.where(value >= 0, _scaled(context, value), negative))


def lut(context: Context) -> Integers:
    """OP_ACT_LUT."""
    return context.linear("LUT_ADDR", 256)[context.view("IN") + 128]


def add(context: Context) -> Integers:
    """OP_E_ADD."""
    return _rescaled(context, wrap32(_aligned(context, "IN") + _aligned(context, "IN2")))


def subtract(context: Context) -> Integers:
    """OP_E_SUB."""
    return _rescaled(context, wrap32(_aligned(context, "IN") - _aligned(context, "IN2")))


def squared_difference(context: Context) -> Integers:
    """OP_E_SQDIFF."""
    difference = wrap32(_aligned(context, "IN") - _aligned(context, "IN2"))
    return _rescaled(context, wrap32(difference * difference))


def multiply(context: Context) -> Integers:
    """OP_E_MUL."""
    return _rescaled(context, _input(context) * (context.view("IN2") - context.value("IN2_ZP")))


def absolute(context: Context) -> Integers:
    """OP_E_ABS."""
    return _rescaled(context, np.abs(_input(context)))


def minimum(context: Context) -> Integers:
    """OP_C_MIN."""
    return np.minimum(context.view("IN"), context.view("IN2"))


def maximum(context: Context) -> Integers:
    """OP_C_MAX."""
    return np.maximum(context.view("IN"), context.view("IN2"))


def normalize_rows(context: Context) -> Integers:
    """OP_SOFTMAX."""
    return softmax(context.view("IN"), context.linear("LUT_ADDR", 256)).astype(np.int64)


def normalize_rows16(context: Context) -> Integers:
    """OP_E16_SOFTMAX."""
    scale = context.value("IN_MULT"), context.value("IN_SHIFT")
    return softmax16(context.view("IN"), context.linear("LUT_ADDR", -1), *scale)


def lookup16(context: Context) -> Integers:
    """OP_E16_LUT."""
    return low16(lookup_words(context.linear("LUT_ADDR", -1), context.view("IN") - INT16_MIN))


def _input(context: Context) -> Integers:
    return context.view("IN") - context.value("IN_ZP")


def _aligned(context: Context, name: str) -> Integers:
    """An input of a sum, brought to the common scale."""
    value = wrap32((context.view(name) - context.value(f"{name}_ZP")) << context.value("LEFT_SHIFT"))
    return requant(value, context.value(f"{name}_MULT"), context.value(f"{name}_SHIFT"))


def _scaled(context: Context, value: Integers) -> Integers:
    scaled = requant(value, context.value("OUT_MULT"), context.value("OUT_SHIFT"))
    return wrap32(scaled + context.value("OUT_ZP"))


def _rescaled(context: Context, value: Integers) -> Integers:
    return _clamped(context, _scaled(context, value))


def _clamped(context: Context, value: Integers) -> Integers:
    return value.clip(*context.limits)


def _largest(context: Context) -> Integers:
    image = context.view("IN")
    largest = np.full((*context.pair("OUT_SIZE"), image.shape[2]), LOWEST, np.int64)
    for tap in inside_taps(context.operation):
        np.maximum(largest, tap.read(image, LOWEST), out=largest)
    return largest


def _window_sum(context: Context) -> Integers:
    image = context.view("IN")
    total = np.zeros((*context.pair("OUT_SIZE"), image.shape[2]), np.int64)
    for tap in inside_taps(context.operation):
        total += tap.read(image, 0)
    return wrap32(total)


def _window_pixels(context: Context) -> Integers:
    """[row, column, 1]: how many pixels of each window lie inside the input."""
    image = context.view("IN")
    count = np.zeros(context.pair("OUT_SIZE"), np.int64)
    for tap in inside_taps(context.operation):
        count += tap.inside(image)
    return count[:, :, None]
