"""A function of two int8 numbers as a product: the first, rescaled by a factor that a table has for the
second. Of a quotient the factors are reciprocals.

Each factor is tried with all values of the first number, so the product gives exactly what the operators
compute that it replaces, ties included, or there is no table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.dataclass import dataclass
from dlasim.sim.arithmetic.numerics import (
    INT8_MAX,
    INT8_MIN,
    INT32_MAX,
    INT32_MIN,
    Integers,
    quantize_multiplier,
)

_SHIFTS = range(2, 23)
_NONE = np.zeros(256, np.int32)


@dataclass(frozen=True, slots=True)
class FactorTable:
    """Factors for -128 to 127, and what becomes of the products.

    `exception` is an entry without a factor, such as a divisor of 0, and what each value becomes there.
    """

    factors: NDArray[np.int32]
    right_shift: int
    zero_points: tuple[int, int]  # of the number that is rescaled, and of the result
    limits: tuple[int, int]
    exception: tuple[int, NDArray[np.int8]] | None = None

    def calls(
        self, op: BoundOperator, sources: tuple[int, ...], shapes: tuple[Shape, ...]
    ) -> list[KernelCall]:
        """MUL_LUT; where there is an exception, SELECT takes its results instead."""
        if self.exception is None:
            return [self._product(op, sources, op.output_numbers[0])]
        entry, results = self.exception
        name, all_values = op.output().name, np.arange(INT8_MIN, INT8_MAX + 1)
        is_there = Tensor(f"{name}/is_exception", shapes[1], "bool")
        instead = Tensor(f"{name}/exception", shapes[0], "int8")
        product = replace(op.output(), name=f"{name}/product")
        tables = [op.new_constant("table", data) for data in (all_values == entry, results)]
        return [
            self._product(op, sources, product),
            op.call("LUT", (sources[1], tables[0]), (is_there,)),
            op.call("LUT", (sources[0], tables[1]), (instead,)),
            op.call("SELECT", (is_there, instead, product)),
        ]

    def _product(self, op: BoundOperator, sources: tuple[int, ...], output: int | Tensor) -> KernelCall:
        multiplier, shift = quantize_multiplier(2.0**-self.right_shift)
        return op.call(
            "MUL_LUT",
            (*sources, op.new_constant("factors", self.factors)),
            (output,),
            input1_zero_point=self.zero_points[0],
            output_zero_point=self.zero_points[1],
            output_multiplier=multiplier,
            output_shift=shift,
            clamp_min=self.limits[0],
            clamp_max=self.limits[1],
        )


def find_factors(
    results: Integers, values: Integers, entries: Integers, zero_points: tuple[int, int]
) -> FactorTable | None:
    """The factors that make of each value (a row of `results`) the result for each entry (a column).

    Of numbers that are no entries, the factor is 0. As few bits are shifted out as suffice, and an exception
    is made only where there are no factors without one.
    """
    steps, limits = values - zero_points[0], (int(results.min()), int(results.max()))
    fits = (results[steps == 0] == np.clip(zero_points[1], *limits)).all(axis=0)  # whatever the factor
    if np.count_nonzero(~fits) > 1:
        return None
    best = None
    for right_shift in _SHIFTS:
        form = FactorTable(_NONE, right_shift, zero_points, limits)
        table = _with_shift(results, values, entries, form, fits)
        if table is not None and table.exception is None:
            return table
        best = best or table
    return best


def _with_shift(
    results: Integers, values: Integers, entries: Integers, form: FactorTable, fits: NDArray[np.bool_]
) -> FactorTable | None:
    """The form with factors for all entries, or for all but one; those that do not fit have none."""
    steps, numbers = values - form.zero_points[0], results - form.zero_points[1]
    lowest = np.where(results > form.limits[0], _least_product(numbers, form.right_shift), INT32_MIN)
    highest = np.where(results < form.limits[1], _least_product(numbers + 1, form.right_shift) - 1, INT32_MAX)
    moved = steps != 0
    found, exist = _common_factors(lowest[moved], highest[moved], steps[moved, None])
    fits = fits & exist
    if np.count_nonzero(~fits) > 1:
        return None
    factors = form.factors.copy()
    factors[entries[fits] - INT8_MIN] = found[fits]
    if fits.all():
        return replace(form, factors=factors)
    instead = np.zeros(256, np.int8)
    instead[values - INT8_MIN] = results[:, ~fits].ravel()
    return replace(form, factors=factors, exception=(int(entries[~fits][0]), instead))


def _common_factors(
    lowest: Integers, highest: Integers, steps: Integers
) -> tuple[Integers, NDArray[np.bool_]]:
    """For each column the smallest factor whose product with each step, none of them 0, is from the lowest to
    the highest number of its row; and whether there is one with products of 32 bits."""
    near, far = np.where(steps > 0, lowest, highest), np.where(steps > 0, highest, lowest)
    first, last = (-(-near // steps)).max(axis=0), (far // steps).min(axis=0)
    smallest = np.clip(0, first, last)
    return smallest, (first <= last) & (np.abs(smallest) * np.abs(steps).max() <= INT32_MAX)


def _least_product(numbers: Integers, right_shift: int) -> Integers:
    """The least product that `requant` by 2^-right_shift makes a number of: it halves, rounding up, then
    shifts, rounding halves away from zero."""
    whole, half = 1 << (right_shift - 1), 1 << (right_shift - 2)
    halved = np.where(numbers > 0, numbers * whole - half, (numbers - 1) * whole + half + 1)
    return 2 * halved - 1
