"""Scales that are the same for all channels, and values rescaled by them."""

from __future__ import annotations

from typing import NamedTuple

from dlasim.native.routine import Number, Pointer, Vector, inlined
from dlasim.sim.fast_engine.finish import LEAST, LEFT, MULTIPLIER, RIGHT, put_scale
from dlasim.sim.fast_engine.memory_access import load32
from dlasim.sim.fast_engine.vectors import (
    LANES,
    even_down_offset,
    high_product,
    odd_down_offset,
    requantize,
    requantize_down,
)


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
def scale(constants: Pointer, multiplier: Number, shift: Number) -> Scale:
    """A scale for all lanes."""
    for lane in range(LANES):
        put_scale(constants, lane, multiplier, shift)
    return Scale(
        load32(constants, LEFT), load32(constants, LEAST),
        load32(constants, MULTIPLIER), load32(constants, RIGHT),
    )  # fmt: skip


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
