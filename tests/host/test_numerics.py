"""The fixed point against its definition in plain Python integers and reals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlasim.sim.arithmetic import numerics

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
MULTIPLIER = st.integers(1 << 30, (1 << 31) - 1)


def wrapped(value):
    value &= 0xFFFF_FFFF
    return value - (1 << 32) if value >> 31 else value


def half_away(value):
    """A Fraction to the nearest integer, halves away from zero."""
    return int(math.copysign(1, value)) * math.floor(abs(value) + Fraction(1, 2))


def requantized(value, multiplier, shift):
    shifted = wrapped(value << max(shift, 0))
    # The first rounding takes halves up, the second away from zero.
    high = math.floor(Fraction(shifted * multiplier, 1 << 31) + Fraction(1, 2))
    return half_away(Fraction(high, 1 << max(-shift, 0)))


@given(INT32, MULTIPLIER, st.integers(-31, 30))
@settings(deadline=None, max_examples=500)
def test_requant(value, multiplier, shift):
    assert numerics.requant(value, multiplier, shift) == requantized(value, multiplier, shift)


@given(st.lists(st.tuples(INT32, MULTIPLIER, st.integers(-31, 30)), min_size=1, max_size=20))
@settings(deadline=None)
def test_requant_of_arrays_is_that_of_each_element(rows):
    values, multipliers, shifts = np.array(rows, np.int64).T
    expected = [requantized(*row) for row in rows]
    assert numerics.requant(values, multipliers, shifts).tolist() == expected


@given(st.integers(-(1 << 62), 1 << 62))
@settings(deadline=None)
def test_wrap32(value):
    assert numerics.wrap32(value) == wrapped(value)


@given(INT32, st.integers(0, 31))
@settings(deadline=None, max_examples=300)
def test_rounding_divide(value, exponent):
    assert numerics.rounding_divide(value, exponent) == half_away(Fraction(value, 1 << exponent))


@given(st.integers(-(1 << 20), 1 << 20), st.integers(1, 1000))
@settings(deadline=None, max_examples=300)
def test_rounded_average(total, count):
    assert numerics.rounded_average(total, count) == half_away(Fraction(total, count))


@given(st.floats(1e-12, 1e9))
@settings(deadline=None, max_examples=300)
def test_quantize_multiplier_is_the_nearest_of_31_bits(real):
    multiplier, shift = numerics.quantize_multiplier(real)
    if multiplier == 0:
        assert real < 2.0**-32
        return
    assert 1 << 30 <= multiplier < 1 << 31
    exact = Fraction(real) / Fraction(2) ** shift * (1 << 31)
    # Half a step; a whole one where rounding up reached the next power of two.
    assert abs(exact - multiplier) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        (1.0, (1 << 30, 1)),
        (0.5, (1 << 30, 0)),
        (-0.75, (-(3 << 29), 0)),
        (0.0, (0, 0)),
        (1 - 2.0**-40, (1 << 30, 1)),
        (2.0**-32, (1 << 30, -31)),
        (2.0**-33, (0, 0)),
    ],
)
def test_quantize_multiplier_at_its_ends(real, expected):
    assert numerics.quantize_multiplier(real) == expected


@given(st.lists(st.floats(0, 1e30) | st.floats(0, 1) | st.integers(-40, 40).map(lambda n: 2.0**n)))
@settings(deadline=None, max_examples=300)
def test_multipliers_of_many_are_those_of_each(reals):
    rows = numerics.quantize_multipliers(np.array(reals, np.float64))
    assert [tuple(row) for row in rows] == [numerics.quantize_multiplier(real) for real in reals]


@pytest.mark.parametrize("real", [1 - 2.0**-33, 2.0**-32, 2.0**-31 * (1 - 2.0**-33), 0.0])
def test_multipliers_of_many_at_their_ends(real):
    rows = numerics.quantize_multipliers(np.array([real, 1.0]))
    assert rows.tolist() == [list(numerics.quantize_multiplier(real)), [1 << 30, 1]]


@given(st.floats(1e-4, 10.0), st.integers(1, 5000))
@settings(deadline=None, max_examples=300)
def test_mean_multiplier_divides_by_the_count(real, count):
    multiplier, shift = numerics.mean_multiplier(real, count)
    value = Fraction(multiplier, 1 << 31) * Fraction(2) ** shift
    assert abs(value / (Fraction(real) / count) - 1) < Fraction(1, 1 << 17)


@pytest.mark.parametrize("power", range(-1, 5))
def test_exponentials_of_powers_of_two(power):
    exact = math.exp(-(2.0**power)) * 2**31
    assert abs(int(numerics.exp_of_negative(-int(2.0 ** (power + 26)), 5)) - exact) < 1 + exact * 2.0**-20


def fixed(values, integer_bits):
    return np.round(np.asarray(values) * 2.0 ** (31 - integer_bits)).astype(np.int64)


@pytest.mark.parametrize(
    ("function", "real"),
    [
        (lambda x: numerics.exp_of_negative(fixed(-np.abs(x), 5), 5), lambda x: np.exp(-np.abs(x))),
        (lambda x: numerics.logistic(fixed(x, 4), 4), lambda x: 1 / (1 + np.exp(-x))),
        (lambda x: numerics.tanh(fixed(x, 4), 4), np.tanh),
        (
            lambda x: numerics.reciprocal_of_one_plus(fixed(np.abs(x) / 17, 0)),
            lambda x: 1 / (1 + np.abs(x) / 17),
        ),
    ],
)
def test_functions_approximate_the_real_ones(function, real):
    """To 2^-21, as the polynomial does; the operators' tests show that the last bits are TensorFlow's."""
    values = np.linspace(-15.9, 15.9, 4001)
    assert np.abs(function(values) / 2.0**31 - real(values)).max() < 2.0**-21


def test_newton_needs_no_saturation():
    """What gemmlowp's steps give, with every saturation and wrap that they have."""
    rng = np.random.default_rng(0)
    edges = np.concatenate([np.arange(300), (1 << 31) - 1 - np.arange(300), 1 << np.arange(31)])
    for raw in (*edges.tolist(), *rng.integers(0, 1 << 31, 20_000).tolist()):
        half_denominator = (raw + (1 << 31)) >> 1
        guess = 1_515_870_810 + high(half_denominator, -1_010_580_540)
        for _ in range(3):
            error = (1 << 29) - high(half_denominator, guess)
            step = high(guess, error)
            guess = wrapped(guess + min(max(step << 2, -(1 << 31)), (1 << 31) - 1))
        expected = min(guess << 1, (1 << 31) - 1)
        assert numerics.reciprocal_of_one_plus(raw) == expected


def high(left, right):
    return min((left * right + (1 << 30)) >> 31, (1 << 31) - 1)


@pytest.mark.parametrize("width", [1, 2, 12, 1000, 4097, 9000])
def test_softmax_of_one_row_is_that_of_each(width):
    """A single row takes a shorter way; wide ones overflow TensorFlow's sum of 32 bits."""
    rng = np.random.default_rng(width)
    table = numerics.softmax_table(1.0, 0.05)
    rows = rng.integers(-128, 128, (5, width)).astype(np.int8)
    rows[1] = 127
    together = numerics.softmax(rows, table)
    for row, expected in zip(rows, together, strict=True):
        assert (numerics.softmax(row, table) == expected).all()


@given(st.floats(2**-13, 1, exclude_max=True), st.integers(-(1 << 22), 1 << 22))
@settings(deadline=None, max_examples=500)
def test_one_rounding_is_of_the_real_number(real, value):
    """Of any result that int8 can hold; nothing but what is next to a half may go the other way."""
    exact = Fraction(value) * Fraction(real)
    found = int(numerics.requant(value, *numerics.single_rounding_multiplier(real)))
    if abs(exact) <= 255:
        assert abs(found - exact) <= Fraction(1, 2) + Fraction(1, 1 << 11)


@pytest.mark.parametrize("real", [2.0**-13 * 0.999, 2.0**-20, 1.0, 1.5, 0.0])
def test_one_rounding_leaves_other_factors_alone(real):
    assert numerics.single_rounding_multiplier(real) == numerics.quantize_multiplier(real)


def test_a_factor_of_almost_one_keeps_its_last_bit():
    assert numerics.single_rounding_multiplier(1 - 2.0**-31) == ((1 << 31) - 1, 0)
