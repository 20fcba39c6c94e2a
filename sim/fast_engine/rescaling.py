"""Scales as lanes take them, and values rescaled by them."""

from __future__ import annotations

from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Number, Vector, inlined
from dlasim.sim.fast_engine.vectors import (
    bit_and,
    even_down_offset,
    high_product,
    maximum,
    minimum,
    odd_down_offset,
    requantize,
    requantize_down,
    splat,
    subtract,
    where_negative,
)

_INT32_MIN = -(1 << 31)


class Scale(NamedTuple):
    """A multiplier and a shift, as `requantize` takes them."""

    left: Vector
    least: Vector
    multiplier: Vector
    right: Vector


class DownScale(NamedTuple):
    """A multiplier and a shift to the right, as `requantize_down` takes them."""

    multiplier: Vector
    right: Vector
    even_offset: Vector
    odd_offset: Vector


@inlined
def lane_scales(multiplier: Vector, shift: Vector) -> Scale:
    """Each lane's multiplier and shift."""
    shift = minimum(maximum(shift, splat(-31)), splat(31))
    lowest_bit = bit_and(multiplier, subtract(splat(0), multiplier))  # negative for the smallest int32 alone
    least = where_negative(lowest_bit, splat(_INT32_MIN + 1), splat(_INT32_MIN))
    return Scale(maximum(shift, splat(0)), least, multiplier, maximum(subtract(splat(0), shift), splat(0)))


@inlined
def scale(multiplier: Number, shift: Number) -> Scale:
    """A scale for all lanes."""
    return lane_scales(splat(multiplier), splat(shift))


@inlined
def rescale(value: Vector, by: Scale) -> Vector:
    """`requantize` with what `scale` gave."""
    return requantize(value, by.left, by.least, by.multiplier, by.right)


@inlined
def down_scale(by: Scale, zero_point: Vector) -> DownScale:
    """What `requantize_down` takes, from what `scale` gave."""
    return DownScale(
        by.multiplier, by.right, even_down_offset(by.right, zero_point), odd_down_offset(by.right, zero_point)
    )


@inlined
def rescale_down(value: Vector, by: DownScale) -> Vector:
    """`requantize_down` with what `down_scale` gave."""
    return requantize_down(value, by.multiplier, by.right, by.even_offset, by.odd_offset)


@inlined
def rescale_high(value: Vector, by: DownScale) -> Vector:
    """The same where nothing is shifted."""
    return high_product(value, by.multiplier, by.even_offset, by.odd_offset)
