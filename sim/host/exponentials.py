"""exp of float32 and what is made of it, in integers: every host computes the same bits.

e^x = 2^n * e^r with x = n ln 2 + r. x has 56 bits below the point, r 32, e^r 31: docs/numerics.md states how
far results are from TensorFlow's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dlasim.sim.host.call import Array, Call

_FARTHEST = np.float32(127.5)  # beyond it e^x is infinite, or 0
_INPUT_BITS, _REST_BITS, _RESULT_BITS = 56, 32, 31  # below the point
_LN2 = 49946518145322874  # with 56 bits below the point
_PER_LN2 = 94548  # 1 / ln 2, with 16 bits
_ONE = 1 << _RESULT_BITS
_TERMS = [(_ONE + math.factorial(n) // 2) // math.factorial(n) for n in range(11)]
_POWERS, _DIFFERENCES = _TERMS[:-1], _TERMS[1:]  # the series of e^r and of (e^r - 1) / r
_FINE_BITS = 29  # of (e^r - 1) / r, so that its product with a float32 is exact in 53 bits
# Where TensorFlow's reference takes 1 and e^x for 1 / (1 + e^-x).
_ALWAYS_ONE, _ALWAYS_POWER = np.float32(16.619047164916992188), np.float32(-9)


def exponential(values: Array) -> Array:
    """e^x, rounded to float32; NaN stays."""
    power, rest = _reduced(values)
    return _where_number(values, _scaled(_series(rest, _POWERS), power - _RESULT_BITS))


def logistic(values: Array) -> Array:
    """1 / (1 + e^-x) in float32, in TensorFlow's steps."""
    with np.errstate(over="ignore"):
        usual = np.float32(1) / (np.float32(1) + exponential(-values))
    found = np.where(values < _ALWAYS_POWER, exponential(values), usual)
    return np.where(values > _ALWAYS_ONE, np.float32(1), found)


def elu(values: Array) -> Array:
    """x, or e^x - 1 below 0."""
    power, rest = _reduced(values)
    difference = _ONE - (_series(rest, _POWERS) >> np.minimum(-power, 63).clip(0))
    fine = (_series(rest, _DIFFERENCES) + 2) >> (_RESULT_BITS - _FINE_BITS)
    near = _scaled(values.astype(np.float64) * fine, -_FINE_BITS)
    found = np.where(power == 0, near, -_scaled(difference, -_RESULT_BITS))
    return np.where(values < 0, _where_number(values, found), values)


def softmax_float(call: Call) -> list[Array]:
    """SOFTMAX_FLOAT: in TensorFlow's order, one element after another."""
    values, beta = call.inputs[0], np.float32(call.attributes.beta)
    with np.errstate(all="ignore"):
        greatest = np.fmax.reduce(values, axis=-1, keepdims=True, initial=np.finfo(np.float32).min)
        powers = exponential((values - greatest) * beta)
        sums = np.cumsum(powers, axis=-1, dtype=np.float32)[..., -1:]
        return [powers / sums]


def _reduced(values: Array) -> tuple[Array, Array]:
    """n, and r with 32 bits below the point; e^x is 2^n * e^r."""
    limited = np.clip(np.nan_to_num(values, nan=0.0), -_FARTHEST, _FARTHEST).astype(np.float64)
    fixed = np.ldexp(limited, _INPUT_BITS).astype(np.int64)
    power = ((fixed >> (_INPUT_BITS - 16)) * _PER_LN2 + (1 << 31)) >> 32
    half = 1 << (_INPUT_BITS - _REST_BITS - 1)
    return power, (fixed - power * _LN2 + half) >> (_INPUT_BITS - _REST_BITS)


def _series(rest: Array, terms: Sequence[int]) -> Array:
    """A polynomial in r, with 31 bits below the point."""
    result = np.full(rest.shape, terms[-1], np.int64)
    for term in reversed(terms[:-1]):
        result = term + ((rest * result) >> _REST_BITS)
    return result


def _scaled(numbers: Array, power: Array | int) -> Array:
    """number * 2^power, rounded to float32 once."""
    with np.errstate(over="ignore"):
        return np.ldexp(numbers.astype(np.float64), power).astype(np.float32)


def _where_number(values: Array, found: Array) -> Array:
    return np.where(np.isnan(values), np.float32(np.nan), found)


KERNELS = {"softmax_float": softmax_float}
