"""The fixed point of int8 TFLite, defined once: what TFLite Micro computes, for every operator.

Arrays in, arrays out. Integers are int64 inside, so nothing overflows unseen; where TensorFlow's int32 would
wrap, `wrap32` says so. Plain NumPy: this module is the definition, faster code is tested equal to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int64]

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
INT8_MIN, INT8_MAX = -128, 127
# A multiplier whose exponent lies below this leaves nothing of an int32.
_MIN_EXPONENT = -31


def quantize_multiplier(real: float) -> tuple[int, int]:
    """The real number as (multiplier, shift): multiplier / 2^31 * 2^shift, the multiplier 31 bits long."""
    mantissa, exponent = math.frexp(real)
    multiplier = int(math.copysign(math.floor(abs(mantissa) * (1 << 31) + 0.5), mantissa))
    if multiplier == 1 << 31:
        multiplier, exponent = multiplier // 2, exponent + 1
    if exponent < _MIN_EXPONENT:
        return 0, 0
    return multiplier, exponent


def quantize_multipliers(reals: NDArray[np.float64]) -> Integers:
    """`quantize_multiplier` of each, as rows."""
    mantissas, exponents = np.frexp(reals)
    multipliers = np.copysign(np.floor(np.abs(mantissas) * (1 << 31) + 0.5), mantissas).astype(np.int64)
    is_full = multipliers == 1 << 31
    found = np.stack((multipliers >> is_full, exponents + is_full), axis=1)
    found[found[:, 1] < _MIN_EXPONENT] = 0
    return found


# From this exponent on, 31 bits without a right shift lose less than the second rounding does.
_MIN_UNSHIFTED = -12


def single_rounding_multiplier(real: float) -> tuple[int, int]:
    """As `quantize_multiplier`, with a shift of 0 from 2^-13 to 1, so that `requant` rounds once.

    The multiplier then has leading zeros. What it loses moves an int8 result by less than 2^-11 of a step.
    """
    multiplier, shift = quantize_multiplier(real)
    if _MIN_UNSHIFTED <= shift < 0:
        return (multiplier + (1 << (-shift - 1))) >> -shift, 0
    return multiplier, shift


def wrap32(values: ArrayLike) -> Integers:
    """The low 32 bits, as the signed number that they are."""
    # Through int32 and back: NumPy keeps the low bits.
    return np.asarray(values, np.int64).astype(np.int32).astype(np.int64)


def wrap48(values: ArrayLike) -> Integers:
    """The low 48 bits, as the signed number that they are."""
    return np.asarray(values, np.int64) << 16 >> 16


def rounding_divide(values: ArrayLike, exponent: ArrayLike) -> Integers:
    """values / 2^exponent, rounded half away from zero; exponent 0 changes nothing."""
    wide, power = np.asarray(values, np.int64), np.asarray(exponent, np.int64)
    half = (np.int64(1) << power) >> 1
    shifted: Integers = (wide + half - ((wide < 0) & (power > 0))) >> power
    return shifted


def high_multiply(left: ArrayLike, right: ArrayLike) -> Integers:
    """The high half of the doubled 32 x 32 bit product, rounded half up; its one overflow saturates."""
    product = np.asarray(left, np.int64) * np.asarray(right, np.int64)
    high: Integers = np.minimum((product + (1 << 30)) >> 31, INT32_MAX)
    return high


def requant(values: ArrayLike, multiplier: ArrayLike, shift: ArrayLike) -> Integers:
    """Multiplies int32 values by multiplier / 2^31 * 2^shift: TFLite's double rounding.

    A positive shift comes first and wraps at 32 bits; a negative one comes last. Multiplier and shift may be
    arrays that broadcast; a shift beyond 31 either way counts as 31.
    """
    exponent = np.clip(np.asarray(shift, np.int64), -31, 31)
    shifted = wrap32(np.asarray(values, np.int64) << np.maximum(exponent, 0))
    return rounding_divide(high_multiply(shifted, multiplier), np.maximum(-exponent, 0))


def scaled_once(values: ArrayLike, multiplier: ArrayLike, shift: ArrayLike) -> Integers:
    """values * multiplier / 2^31 * 2^shift, rounded once, halves away from zero.

    A shift counts as at least -31 and at most 0.
    """
    product = np.asarray(values, np.int64) * np.asarray(multiplier, np.int64)
    return rounding_divide(product, 31 - np.clip(np.asarray(shift, np.int64), -31, 0))


def requant_int64(values: ArrayLike, multiplier: ArrayLike, shift: ArrayLike) -> Integers:
    """The same of 64-bit sums: the multiplier cut to 15 bits, one rounding, half up; the low 32 bits."""
    return rescale48(values, narrow_multiplier(multiplier), shift)


def narrow_multiplier(multiplier: ArrayLike) -> Integers:
    """A multiplier of 31 bits cut to 15, rounded, as TFLite does before it multiplies 64-bit sums."""
    narrow: Integers = np.minimum((np.asarray(multiplier, np.int64) + (1 << 15)) >> 16, 0x7FFF)
    return narrow


def rescale48(values: ArrayLike, factor: ArrayLike, shift: ArrayLike) -> Integers:
    """values * factor / 2^15 * 2^shift, rounded once, half up; the low 32 bits."""
    drop = 15 - np.clip(np.asarray(shift, np.int64), -31, 14)
    products = np.asarray(values, np.int64) * np.asarray(factor, np.int64)
    return wrap32((products + (np.int64(1) << (drop - 1))) >> drop)


def limit(values: ArrayLike, zero_point: int, least: int, greatest: int) -> NDArray[np.int8]:
    """Adds the zero point, as int32 does, and clamps: how every requantized result becomes int8."""
    moved = wrap32(np.asarray(values, np.int64) + zero_point)
    return np.minimum(np.maximum(moved, least), greatest).astype(np.int8)


_RECIPROCAL_OF_ZERO = -1515870788  # what TFLite's steps of Newton's method give where int32 wraps


def quotient(dividends: ArrayLike, divisors: ArrayLike, multiplier: int, shift: int) -> Integers:
    """dividends / divisors * multiplier / 2^31 * 2^shift, both of 17 bits at most: TFLite's DIV.

    It multiplies by a reciprocal. Where less than 2^-31 of the product would stay, or more than all of it,
    TFLite shifts right by more than a word or less than nothing: `divide_anyhow`.
    """
    tops, bottoms = np.asarray(dividends, np.int64), np.asarray(divisors, np.int64)
    tops, bottoms = np.where(bottoms < 0, -tops, tops), np.abs(bottoms)
    unused = 32 - _bit_lengths(bottoms)
    fractions = (np.maximum(bottoms, 1) << np.minimum(unused, 31)) - (1 << 31)
    reciprocals = np.where(bottoms == 0, _RECIPROCAL_OF_ZERO, reciprocal_of_one_plus(fractions))
    headroom = np.where(tops < 0, 32 - _bit_lengths(-2 * tops - 1), 31 - _bit_lengths(tops))
    products = high_multiply(high_multiply(wrap32(tops << headroom), reciprocals), multiplier)
    return divide_anyhow(products, (31 - unused) + headroom - shift)


def divide_anyhow(values: Integers, exponents: ArrayLike) -> Integers:
    """`rounding_divide` of 32-bit numbers as TFLite's C++ does it on x86 and RISC-V for any exponent.

    Below 0 and above 31 it shifts by the low five bits, and adds 1 unless the number is negative.
    """
    powers = np.asarray(exponents, np.int64)
    beyond = (values >> (powers & 31)) + (values >= 0)
    return np.where(powers & ~31, beyond, rounding_divide(values, powers & 31))


def _bit_lengths(values: Integers) -> Integers:
    """Bits of numbers that are not negative; frexp is exact for so few."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)


def rescaled_narrowly(values: ArrayLike, multiplier: int, shift: int) -> Integers:
    """values * multiplier / 2^31 * 2^shift, halves up, by 16 bits of the multiplier: TFLite's for int64."""
    narrow = min((multiplier + (1 << 15)) >> 16, (1 << 15) - 1)
    places = 15 - shift
    return wrap32((np.asarray(values, np.int64) * narrow + (1 << (places - 1))) >> places)


def rounded_average(sums: ArrayLike, counts: ArrayLike) -> Integers:
    """sums / counts, rounded half away from zero."""
    totals, divisors = np.asarray(sums, np.int64), np.asarray(counts, np.int64)
    quotient: Integers = np.sign(totals) * ((np.abs(totals) + divisors // 2) // divisors)
    return quotient


def average_up(sums: ArrayLike, counts: ArrayLike) -> Integers:
    """sums / counts, rounded half up: what averages of uint8 are, whose zero is int8's -128."""
    totals, divisors = np.asarray(sums, np.int64), np.asarray(counts, np.int64)
    quotient: Integers = (2 * totals + divisors) // (2 * divisors)
    return quotient


def mean_multiplier(real: float, count: int) -> tuple[int, int]:
    """The multiplier of a sum of `count` values, 1 / count included, with as many bits as fit."""
    multiplier, shift = quantize_multiplier(real)
    headroom = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << headroom) // count, shift - headroom


def inverse_square_root(value: int) -> tuple[int, int]:
    """The multiplier and shift that stand for 1 / sqrt(value), by TFLite's five Newton steps."""
    return inverse_square_roots([value])[0]


def inverse_square_roots(values: Sequence[int]) -> list[tuple[int, int]]:
    """The same of several numbers."""
    halves, shifts = zip(*[_half_and_shift(max(value, 2)) for value in values], strict=True)
    estimates: Integers = np.full(len(values), 1 << 28, np.int64)  # 1 with three integer bits
    for _ in range(5):
        cubes = _saturated(high_multiply(high_multiply(estimates, estimates), estimates) << 6)
        steps = wrap32(high_multiply(3 << 27, estimates) - high_multiply(np.array(halves), cubes))
        estimates = _saturated(steps << 3)
    multipliers = high_multiply(estimates, 1_518_500_250).tolist()  # sqrt(2) / 2 in Q0.31
    return [
        (INT32_MAX, 0) if value <= 1 else (multiplier << max(-shift, 0), -max(shift, 0))
        for value, multiplier, shift in zip(values, multipliers, shifts, strict=True)
    ]


def _half_and_shift(value: int) -> tuple[int, int]:
    """Half of a number with 28 or 29 bits, from which the steps begin, and how far the result is shifted."""
    large = 0
    while value >= 1 << 29:
        value, large = value // 4, large + 1
    pairs = (32 - value.bit_length() - 1) // 2 - 1
    return int(rounding_divide((value << 2 * pairs) >> 1, 1)), 11 + large - pairs


def wide_inverse_square_root(value: int) -> tuple[int, int]:
    """The same of a number of any size, of which 28 or 29 bits count, with a multiplier of 31 bits."""
    multiplier, shift = inverse_square_root(value)
    unused = 31 - multiplier.bit_length()
    return multiplier << unused, shift - unused


def _saturated(values: Integers) -> Integers:
    return np.clip(values, INT32_MIN, INT32_MAX)


# --- gemmlowp's functions: raw integers of `b` integer bits stand for raw / 2^(31 - b) ---

_ONE_IN_Q0 = INT32_MAX
# exp(-1/8) and 1/3 in Q0.31, for the polynomial around -1/8.
_EXP_OF_MINUS_EIGHTH, _THIRD = 1_895_147_668, 715_827_883
# exp(-2^n) in Q0.31 for n = -2 .. 4.
_EXP_OF_POWERS = (
    (-2, 1_672_461_947),
    (-1, 1_302_514_674),
    (0, 790_015_084),
    (1, 290_630_308),
    (2, 39_332_535),
    (3, 720_401),
    (4, 242),
)
# 48/17 and -32/17 in Q2.29: the first guess of Newton's division.
_GUESS_CONSTANT, _GUESS_SLOPE = 1_515_870_810, -1_010_580_540
_ONE_IN_Q2 = 1 << 29
_HALF = 1 << 30  # of what `>> 31` drops


def _saturating_left(values: ArrayLike, bits: int) -> Integers:
    saturated: Integers = np.clip(np.asarray(values, np.int64) << bits, INT32_MIN, INT32_MAX)
    return saturated


def exp_of_negative(values: ArrayLike, integer_bits: int) -> Integers:
    """exp(x) in Q0.31 for x <= 0."""
    raw = np.asarray(values, np.int64)
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    below_quarter = (raw & (quarter - 1)) - quarter
    result = _exp_near_zero(_saturating_left(below_quarter, integer_bits))
    remainder = below_quarter - raw
    for exponent, factor in _EXP_OF_POWERS:
        if integer_bits > exponent:
            is_set = remainder & (1 << (fraction_bits + exponent)) != 0
            result = np.where(is_set, high_multiply(result, factor), result)
    if integer_bits > 5:
        result = np.where(raw < -(1 << (fraction_bits + 5)), 0, result)
    return np.where(raw == 0, _ONE_IN_Q0, result)


def _exp_near_zero(raw: Integers) -> Integers:
    """exp(x) in Q0.31 for x in Q0.31 between -1/4 and 0: four terms around -1/8."""
    x = raw + (1 << 28)
    square = high_multiply(x, x)
    cube, fourth = high_multiply(square, x), high_multiply(square, square)
    quarter_of_fourth = rounding_divide(fourth, 2)
    tail = rounding_divide(high_multiply(quarter_of_fourth + cube, _THIRD) + square, 1)
    return wrap32(_EXP_OF_MINUS_EIGHTH + high_multiply(_EXP_OF_MINUS_EIGHTH, x + tail))


_Whole = TypeVar("_Whole", int, Integers)


def _newton_reciprocal(raw: _Whole) -> _Whole:
    """2 / (1 + x) in Q2.29 for x in Q0.31 between 0 and 1: three steps of Newton's method.

    The guess stays between 0.9 and 1.9 from the start and its error below 1/17, so nothing here can saturate
    or wrap, and plain operators will do: for arrays, and much faster for a single number.
    """
    half_denominator = (raw + _ONE_IN_Q0 + 1) >> 1
    guess = _GUESS_CONSTANT + ((half_denominator * _GUESS_SLOPE + _HALF) >> 31)
    for _ in range(3):
        error = _ONE_IN_Q2 - ((half_denominator * guess + _HALF) >> 31)
        guess = guess + (((guess * error + _HALF) >> 31) << 2)
    return guess


def reciprocal_of_one_plus(values: ArrayLike) -> Integers:
    """1 / (1 + x) in Q0.31 for x in Q0.31 between 0 and 1."""
    return _saturating_left(_newton_reciprocal(np.asarray(values, np.int64)), 1)


def logistic(values: ArrayLike, integer_bits: int) -> Integers:
    """1 / (1 + exp(-x)) in Q0.31."""
    raw = np.asarray(values, np.int64)
    positive = reciprocal_of_one_plus(exp_of_negative(-np.abs(raw), integer_bits))
    return np.where(raw == 0, 1 << 30, np.where(raw > 0, positive, _ONE_IN_Q0 - positive))


def tanh(values: ArrayLike, integer_bits: int) -> Integers:
    """tanh(x) in Q0.31: the same raw number with one more integer bit is 2x."""
    raw = np.asarray(values, np.int64)
    exponential = exp_of_negative(-np.abs(raw), integer_bits + 1)
    magnitude = _saturating_left(_newton_reciprocal(exponential) - _ONE_IN_Q2, 2)
    return np.sign(raw) * magnitude


# --- softmax ---

_SOFTMAX_INTEGER_BITS = 5
_SOFTMAX_SUM_BITS = 12


def input_radius(integer_bits: int, left_shift: int) -> int:
    """The greatest input that still fits `integer_bits` after the shift."""
    return math.floor(((1 << integer_bits) - 1) * 2.0 ** (31 - integer_bits) / 2.0**left_shift)


def softmax_table(beta: float, input_scale: float) -> NDArray[np.int32]:
    """exp(-d * beta * scale) in Q0.31 for d = 0 .. 255; 0 where it is too small to count."""
    real = min(beta * input_scale * (1 << (31 - _SOFTMAX_INTEGER_BITS)), float(INT32_MAX))
    multiplier, shift = quantize_multiplier(real)
    differences = -np.arange(256, dtype=np.int64)
    table = exp_of_negative(requant(differences, multiplier, shift), _SOFTMAX_INTEGER_BITS)
    counts = differences >= -input_radius(_SOFTMAX_INTEGER_BITS, shift)
    return np.where(counts, table, 0).astype(np.int32)


def softmax(rows: NDArray[Any], table: NDArray[Any], bits: int = 8) -> NDArray[Any]:
    """Softmax along the last axis, to the whole range of int8, or of int16: scale 2^-bits."""
    wide = rows.astype(np.int64)
    exponentials = table.astype(np.int64)[wide.max(axis=-1, keepdims=True) - wide]
    # TFLite's sum has 32 bits; where they are all 0, its reciprocal is undefined.
    sums = rounding_divide(exponentials, _SOFTMAX_SUM_BITS).sum(axis=-1, keepdims=True) & 0xFFFF_FFFF
    sums = np.maximum(sums, 1)
    reciprocals, drop = _reciprocal_of_sum(int(sums.item())) if sums.size == 1 else _reciprocals_of_sums(sums)
    shares = rounding_divide(high_multiply(reciprocals, exponentials), drop - bits)
    least = -(1 << (bits - 1))
    dtype = np.int8 if bits == 8 else np.int16
    return np.clip(shares + least, least, -least - 1).astype(dtype)


def _reciprocal_of_sum(total: int) -> tuple[int, int]:
    """1 / the sum as a multiplier in Q0.31, and the bits to shift right after it; for a sum of Q12.19."""
    headroom = 32 - total.bit_length()
    reciprocal = min(_newton_reciprocal((total << headroom) - (1 << 31)) << 1, INT32_MAX)
    return reciprocal, _SOFTMAX_SUM_BITS - headroom + 31


def _reciprocals_of_sums(totals: Integers) -> tuple[Integers, Integers]:
    """The same of each sum."""
    # frexp is exact here: the sums have far fewer than 53 bits.
    headroom = 32 - np.frexp(totals.astype(np.float64))[1].astype(np.int64)
    reciprocals = reciprocal_of_one_plus(wrap32((totals << headroom) - (1 << 31)))
    return reciprocals, _SOFTMAX_SUM_BITS - headroom + 31
