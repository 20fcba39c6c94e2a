"""What an activation lets through, in steps of an int8 tensor or in plain numbers."""

from __future__ import annotations

import numpy as np

from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, INT32_MAX, INT32_MIN

_FLOAT32_MAX = float(np.finfo(np.float32).max)
# The real numbers that each activation is limited to; None: no limit.
ACTIVATIONS: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}


def quantized_range(
    activation: str, scale: float, zero_point: int, ends: tuple[int, int] = (INT8_MIN, INT8_MAX)
) -> tuple[int, int]:
    """The least and the greatest integer that the activation lets through, of a type with these ends."""
    least, greatest = ACTIVATIONS[activation]
    low = ends[0] if least is None else max(ends[0], quantized(least, scale, zero_point))
    high = ends[1] if greatest is None else min(ends[1], quantized(greatest, scale, zero_point))
    return low, high


def quantized(value: float, scale: float, zero_point: int) -> int:
    """The value in steps of the scale: a float32 division, rounded half away from zero."""
    with np.errstate(over="ignore"):
        steps = float(np.float32(value) / np.float32(scale))
    # A tiny scale makes an infinity of it, which the int8 range then cuts off.
    steps = min(max(steps, -float(1 << 30)), float(1 << 30))
    return int(np.trunc(steps + np.copysign(0.5, steps))) + zero_point


def float_range(activation: str) -> tuple[float, float]:
    """The least and the greatest float32 that the activation lets through; infinities never pass."""
    least, greatest = ACTIVATIONS[activation]
    return (-_FLOAT32_MAX if least is None else least, _FLOAT32_MAX if greatest is None else greatest)


def integer_range(activation: str) -> tuple[int, int]:
    """The least and the greatest int32 that the activation lets through."""
    least, greatest = ACTIVATIONS[activation]
    return (INT32_MIN if least is None else int(least), INT32_MAX if greatest is None else int(greatest))
