"""The inner loops of depthwise convolution: sixteen channels of neighbouring pixels, group by group."""

from __future__ import annotations

from dlasim.native.routine import Number, Pointer, Vector, routine
from dlasim.sim.kernels.dot import dot_groups
from dlasim.sim.kernels.memory_access import load32, store32
from dlasim.sim.kernels.vectors import BYTES32, multiply, splat, subtract


@routine
def depth_span3(
    columns: Pointer,
    at: Number,
    step: Number,
    turns: Number,
    places: Pointer,
    weights: Pointer,
    start: Vector,
    tile: Pointer,
) -> None:
    """`turns` pixels of three groups: places and weights stay in registers."""
    p0, p1, p2 = places[0], places[1], places[2]
    w0, w1, w2 = load32(weights, 0), load32(weights, BYTES32), load32(weights, 2 * BYTES32)
    for i in range(turns):
        total = dot_groups(start, load32(columns, at + p0), w0)
        total = dot_groups(total, load32(columns, at + p1), w1)
        total = dot_groups(total, load32(columns, at + p2), w2)
        store32(tile, i * BYTES32, total)
        at += step


@routine
def depth_span6(
    columns: Pointer,
    at: Number,
    step: Number,
    turns: Number,
    places: Pointer,
    weights: Pointer,
    start: Vector,
    tile: Pointer,
) -> None:
    """`turns` pixels of six groups: places and weights stay in registers."""
    p0, p1, p2, p3, p4, p5 = places[0], places[1], places[2], places[3], places[4], places[5]
    w0, w1, w2 = load32(weights, 0), load32(weights, BYTES32), load32(weights, 2 * BYTES32)
    w3, w4 = load32(weights, 3 * BYTES32), load32(weights, 4 * BYTES32)
    w5 = load32(weights, 5 * BYTES32)
    for i in range(turns):
        total = dot_groups(start, load32(columns, at + p0), w0)
        total = dot_groups(total, load32(columns, at + p1), w1)
        total = dot_groups(total, load32(columns, at + p2), w2)
        total = dot_groups(total, load32(columns, at + p3), w3)
        total = dot_groups(total, load32(columns, at + p4), w4)
        total = dot_groups(total, load32(columns, at + p5), w5)
        store32(tile, i * BYTES32, total)
        at += step


@routine
def depth_span(
    columns: Pointer,
    at: Number,
    step: Number,
    turns: Number,
    places: Pointer,
    groups: Number,
    weights: Pointer,
    start: Vector,
    tile: Pointer,
) -> None:
    """`turns` pixels of any number of groups."""
    for i in range(turns):
        total = start
        for group in range(groups):
            weight = load32(weights, group * BYTES32)
            total = dot_groups(total, load32(columns, at + places[group]), weight)
        store32(tile, i * BYTES32, total)
        at += step


@routine
def span_offset(
    columns: Pointer,
    at: Number,
    step: Number,
    turns: Number,
    places: Pointer,
    groups: Number,
    ones: Pointer,
    zero_point: Number,
    tile: Pointer,
) -> None:
    """Take the weights' zero point times the inputs of each of `turns` pixels off their sums."""
    factor = splat(zero_point)
    for i in range(turns):
        total = splat(0)
        for group in range(groups):
            total = dot_groups(total, load32(columns, at + places[group]), splat(ones[group]))
        store32(tile, i * BYTES32, subtract(load32(tile, i * BYTES32), multiply(factor, total)))
        at += step
