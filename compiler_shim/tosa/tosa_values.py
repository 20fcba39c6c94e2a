"""What the tensors of a TOSA file are while it is converted.

TOSA has no scales: RESCALE and the operators around it say how numbers become others. What is between two
RESCALEs is put off until the second: a function of one 8-bit tensor becomes a table, sums and products become
an operator that rescales by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.tosa.tosa_rescale import Rescaling
from dlasim.dataclass import dataclass
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, Integers

Array = NDArray[Any]
EIGHT_BITS = np.arange(INT8_MIN, INT8_MAX + 1)


class UnplacedError(Exception):
    """Why an operator cannot be placed."""


@dataclass(frozen=True, slots=True)
class LineOfBytes:
    """Numbers of 8 bits less a zero point, rescaled to 32 bits."""

    factor: float
    zero_point: int


@dataclass(frozen=True, slots=True)
class TosaConstant:
    """A constant; one that RESCALE made of 8 bits has those too."""

    data: Array
    eight_bits: Array | None = None
    line: LineOfBytes | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dimensions."""
        return self.data.shape

    @property
    def dtype(self) -> str:
        """Its type."""
        return self.data.dtype.name


@dataclass(frozen=True, slots=True)
class TosaActivation:
    """A tensor of the graph. With a `curve` it is int8, and stands for what the curve has for each of -128 to
    127; `line` says that the curve is one."""

    number: int
    shape: tuple[int, ...]
    dtype: str
    curve: Integers | None = None
    line: LineOfBytes | None = None


@dataclass(frozen=True, slots=True)
class Delayed:
    """int32 results that a RESCALE makes 8 bits of.

    `place` adds the operator that computes these, and gives its number; None where that is not exact.
    `whole` adds operators that compute the int32 results themselves, where the CPU can.
    """

    shape: tuple[int, ...]
    place: Callable[[Rescaling, str], int | None]
    whole: Callable[[], int] | None = None
    dtype: str = "int32"


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over dimensions of 8-bit numbers: what REDUCE_SUM after REDUCE_SUM gives."""

    source: TosaActivation
    line: LineOfBytes
    axes: tuple[int, ...]


Value = TosaConstant | TosaActivation | Delayed


def curve_of(value: Value) -> Integers | None:
    """What an 8-bit tensor's numbers stand for."""
    if not isinstance(value, TosaActivation):
        return None
    return EIGHT_BITS if value.curve is None and value.dtype == "int8" else value.curve
