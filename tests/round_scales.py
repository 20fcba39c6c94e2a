"""Scales as people and converters choose them. Their ratios are simple, so that many results are ties, which
show in which precision a reference multiplies and divides scales, and how it rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

RANGES = (1, 2, 4, 6, 10)  # of real numbers, divided by the number of steps
STEPS = (255, 127, 128)
FRACTIONS = (1, 3 / 4, 2 / 3, 4 / 5, 3 / 5, 5 / 6, 5 / 7, 7 / 8)


def round_scale(rng: np.random.Generator, near: float, bases: Sequence[float] = ()) -> float:
    """A round scale near this one: a power of two, a decimal, a range in 8 bits, or, if there are bases, a
    simple multiple of one of them in half of the cases."""
    if bases and rng.random() < 0.5:
        mantissa = float(rng.choice(bases)) * float(rng.choice(FRACTIONS))
    elif rng.random() < 0.4:
        mantissa = float(rng.choice(RANGES)) / float(rng.choice(STEPS))
    elif rng.random() < 0.5:
        decade = 10.0 ** math.floor(math.log10(near))
        return float(np.float32(decade * rng.choice((1, 2, 2.5, 4, 5, 6, 8))))
    else:
        mantissa = 1.0
    return float(np.float32(mantissa * 2.0 ** round(math.log2(near / mantissa))))
