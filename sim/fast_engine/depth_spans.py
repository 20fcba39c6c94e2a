"""The inner loops of depthwise convolution: sixteen channels of neighbouring pixels, group by group."""

from __future__ import annotations

from llvmlite import ir

from dlasim.named_tuple import NamedTuple
from dlasim.native.expressions import Parts
from dlasim.native.routine import Number, Pointer, Vector, intrinsic, routine
from dlasim.sim.fast_engine.dot import Loop, dot_groups, index, load_index
from dlasim.sim.fast_engine.memory_access import load32, store32
from dlasim.sim.fast_engine.multiplication import add_products
from dlasim.sim.fast_engine.vectors import BYTES32, LANES, multiply, place, splat, subtract

_SUMS = ir.VectorType(ir.IntType(32), LANES)


class PixelSpan(NamedTuple):
    """`turns` pixels: their interleaved columns, where those of the first begin and how far the next one's
    are from there, and where the sums go."""

    columns: Pointer
    at: Number
    step: Number
    turns: Number
    tile: Pointer


@intrinsic
def kept_span(
    builder: ir.IRBuilder,
    groups: ir.Constant,
    span: Parts,
    places: ir.Value,
    weights: ir.Value,
    start: ir.Value,
) -> None:
    """The sums of a span of so few groups that places and weights stay in registers."""
    columns, at, step, turns, tile = span
    numbers = [index(number) for number in range(groups.constant)]
    offsets = [load_index(builder, places, number) for number in numbers]
    weights_at = [place(builder, weights, builder.mul(number, index(BYTES32)), _SUMS) for number in numbers]
    kept = [builder.load(each, align=4) for each in weights_at]
    loop = Loop(builder, turns, [at])
    (here,) = loop.values
    total = start
    for offset, weight in zip(offsets, kept, strict=True):
        inputs = builder.load(place(builder, columns, builder.add(here, offset), _SUMS), align=4)
        total = add_products(builder, total, inputs, weight)
    sums_at = builder.mul(loop.number, index(BYTES32))
    builder.store(total, place(builder, tile, sums_at, _SUMS), align=4)
    loop.close([builder.add(here, step)])


@routine
def any_span(span: PixelSpan, places: Pointer, groups: Number, weights: Pointer, start: Vector) -> None:
    """The sums of a span of any number of groups."""
    at = span.at
    for i in range(span.turns):
        total = start
        for group in range(groups):
            weight = load32(weights, group * BYTES32)
            total = dot_groups(total, load32(span.columns, at + places[group]), weight)
        store32(span.tile, i * BYTES32, total)
        at += span.step


@routine
def span_offset(span: PixelSpan, places: Pointer, groups: Number, ones: Pointer, zero_point: Number) -> None:
    """Take the weights' zero point times the inputs of each pixel off its sums."""
    factor, at = splat(zero_point), span.at
    for i in range(span.turns):
        total = splat(0)
        for group in range(groups):
            total = dot_groups(total, load32(span.columns, at + places[group]), splat(ones[group]))
        store32(span.tile, i * BYTES32, subtract(load32(span.tile, i * BYTES32), multiply(factor, total)))
        at += span.step
