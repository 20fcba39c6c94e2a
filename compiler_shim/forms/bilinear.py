"""RESIZE_BILINEAR as depthwise convolutions: one for the output pixels that weigh their neighbours alike.

The output's rows, and its columns, fall into phases, in which the position between two of the input is the
same, in 1024ths, and moves on by the same step. What lies before the first or behind the last row or column
is the same as that, so the input gets an edge of copies where a phase reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.copies import copy_into
from dlasim.compiler_shim.calls.nodes import DlaNode, Pair, Value
from dlasim.compiler_shim.calls.views import sliced
from dlasim.compiler_shim.forms.parts import images, with_input, with_output
from dlasim.compiler_shim.forms.products import INT8_RANGE
from dlasim.compiler_shim.forms.rules import MAX_PARTS, Candidate, as_image
from dlasim.dataclass import dataclass
from dlasim.isa.host_op_rows import RESIZE_FRACTION_BITS
from dlasim.isa.instruction_rows import Init, Out, Quant, ShiftMode
from dlasim.sim.arithmetic.numerics import INT8_MAX

_ONE = 1 << RESIZE_FRACTION_BITS
_MAX_WEIGHT = 255  # an int8 with a zero point of -128
_AS_IT_IS = {"OUT_MULT": 1 << 30, "OUT_SHIFT": 1}


@dataclass(frozen=True, slots=True)
class _BilinearPhase:
    """Along one axis: the first output position, how many there are and how far apart; the first input
    position and how far those are apart; and the weights of one or two neighbours, as small as possible."""

    first: int
    count: int
    step: int
    source: int
    stride: int
    weights: tuple[int, ...]

    @property
    def bits(self) -> int:
        """The weights' sum as a power of two."""
        return sum(self.weights).bit_length() - 1

    @property
    def extent(self) -> int:
        """Input positions from the first that it reads to the last."""
        return (self.count - 1) * self.stride + len(self.weights)


def resize_bilinear(candidate: Candidate) -> list[DlaNode] | None:
    """RESIZE_BILINEAR."""
    sizes = candidate.inputs[0].shape[1:3]
    axes = [_phases(value.data, size) for value, size in zip(candidate.inputs[1:], sizes, strict=True)]
    greatest = [max(weight for phase in axis for weight in phase.weights) for axis in axes]
    if (
        candidate.outputs[0].shape[0] * len(axes[0]) * len(axes[1]) > MAX_PARTS
        or prod(greatest) > _MAX_WEIGHT
    ):
        return None
    nodes: list[DlaNode] = []
    for part in images(candidate):
        edged, before = _with_edges(part, axes, nodes)
        for rows, columns in product(*axes):
            nodes += _interpolated(edged, before, (rows, columns))
    return nodes


def _phases(table: NDArray[np.int32] | None, size: int) -> list[_BilinearPhase]:
    """The phases of an axis, from lower and upper input positions, and the fraction."""
    assert table is not None
    positions = table[:, 0].astype(np.int64) * _ONE + table[:, 2]
    positions = np.clip(positions, -_ONE, size * _ONE)
    whole, fraction = positions >> RESIZE_FRACTION_BITS, positions & (_ONE - 1)
    return [
        _BilinearPhase(first, count, step, int(whole[first]), stride, _weights(int(part)))
        for part in np.unique(fraction)
        for first, count, step, stride in _runs(np.flatnonzero(fraction == part), whole)
    ]


def _weights(fraction: int) -> tuple[int, ...]:
    divisor = gcd(_ONE, fraction)
    return ((_ONE - fraction) // divisor, fraction // divisor) if fraction else (1,)


def _runs(places: NDArray[np.int64], whole: NDArray[np.int64]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of output positions with equal steps, in the input too: first, count, step, stride."""
    start = 0
    while start < len(places):
        end, step, stride = start + 1, 1, 1
        if end < len(places):
            step = int(places[end] - places[start])
            stride = int(whole[places[end]] - whole[places[start]])
        while (
            stride > 0
            and end < len(places)
            and places[end] - places[end - 1] == step
            and whole[places[end]] - whole[places[end - 1]] == stride
        ):
            end += 1
        yield int(places[start]), end - start, step, max(stride, 1)
        start = end


def _with_edges(
    candidate: Candidate, axes: list[list[_BilinearPhase]], nodes: list[DlaNode]
) -> tuple[Candidate, Pair]:
    """The call with the edges that phases read as part of its input, and how many are before that."""
    image = candidate.inputs[0]
    _, *sizes, channels = image.shape
    before = [max(0, -min(phase.source for phase in axis)) for axis in axes]
    ends = [max(phase.source + phase.extent for phase in axis) for axis in axes]
    after = [max(0, end - size) for end, size in zip(ends, sizes, strict=True)]
    first: Pair = before[0], before[1]
    if not any((*before, *after)):
        return candidate, first
    shape = (1, *(sum(parts) for parts in zip(before, sizes, after, strict=True)), channels)
    name = f"{candidate.outputs[0].name}/edges"
    edged = replace(image, name=name, shape=shape, data=None, alias=None, view=None)
    target = replace(candidate, outputs=(edged,), output_number=candidate.add(edged))
    zones = [_zones(*each) for each in zip(before, sizes, after, strict=True)]
    for (down, row, height), (across, column, width) in product(*zones):
        part, ones = (1, height, width, channels), (1, 1, 1, 1)
        source = sliced(image.shape, (0, row, column, 0), part, ones)
        found = copy_into(target, 0, source, sliced(shape, (0, down, across, 0), part, ones))
        assert found is not None, "a part of an image is one copy"
        nodes += found
    return replace(candidate, inputs=(edged,), input_numbers=(target.output_number,)), first


def _zones(before: int, size: int, after: int) -> list[tuple[int, int, int]]:
    """Parts of an axis with edges: where they begin, where they come from, and how long they are."""
    return [
        *((place, 0, 1) for place in range(before)),
        (before, 0, size),
        *((before + size + place, size - 1, 1) for place in range(after)),
    ]


def _interpolated(
    candidate: Candidate, before: Pair, phases: tuple[_BilinearPhase, _BilinearPhase]
) -> list[DlaNode]:
    """The output pixels of two phases, rounded half away from zero as OP_E32_SHIFT and the second step of a
    requantization round. Where weights can be twice as large, the first step, which halves, is exact."""
    weights = np.outer(*(np.array(phase.weights) for phase in phases))
    doubles = 2 * int(weights.max()) <= _MAX_WEIGHT
    weights = 2 * weights if doubles else weights
    zero_point = -128 if weights.max() > INT8_MAX else 0
    part, channels = _pixels(candidate, before, phases), candidate.outputs[0].shape[3]
    data = np.repeat((weights + zero_point)[..., None], channels, axis=2).astype(np.int8)
    bits = phases[0].bits + phases[1].bits
    convolution = DlaNode(
        "OP_DEPTH_CONV", part.layer, part.input_numbers[:1], part.output_number,
        as_image(part.inputs[0].shape), as_image(part.outputs[0].shape),
        kernel=(len(phases[0].weights), len(phases[1].weights)),
        stride=(phases[0].stride, phases[1].stride),
        fields={"init": Init.ZERO, "out": Out.INT8, "quant": Quant.TENSOR},
        registers={"IN_ZP": 0, "PAD_VALUE": 0, "WEIGHT_ZP": zero_point, "OUT_ZP": 0,
                   "OUT_MULT": 1 << 30, "OUT_SHIFT": -bits, **INT8_RANGE},
        weights=part.add(Value("weights", data.shape, "int8", data=data)),
    )  # fmt: skip
    return [convolution] if doubles else _rounded_apart(candidate, convolution, bits)


def _pixels(candidate: Candidate, before: Pair, phases: tuple[_BilinearPhase, _BilinearPhase]) -> Candidate:
    """The call that reads and writes the pixels of two phases."""
    channels = candidate.outputs[0].shape[3]
    begin = [phase.source + edges for phase, edges in zip(phases, before, strict=True)]
    read = (1, *(phase.extent for phase in phases), channels)
    written = (1, *(phase.count for phase in phases), channels)
    first, step = ([getattr(phase, name) for phase in phases] for name in ("first", "step"))
    source = sliced(candidate.inputs[0].shape, (0, *begin, 0), read, (1, 1, 1, 1))
    target = sliced((1, *candidate.outputs[0].shape[1:]), (0, *first, 0), written, (1, *step, 1))
    return with_output(with_input(candidate, 0, source, read), target, written)


def _rounded_apart(candidate: Candidate, convolution: DlaNode, bits: int) -> list[DlaNode]:
    """The convolution's sums, their division by a power of two, and its results as int8."""
    shape, layer = convolution.out_shape, candidate.layer
    sums, shifted = (
        candidate.add(Value(f"{candidate.outputs[0].name}/{name}", shape, "int32"))
        for name in ("int32", "shifted")
    )
    fields = {**convolution.fields, "out": Out.INT32}
    return [
        replace(convolution, output=sums, fields=fields, out_element_bytes=4),
        DlaNode(
            "OP_E32_SHIFT", layer, (sums,), shifted, shape, shape, in_element_bytes=4, out_element_bytes=4,
            fields={"mode": ShiftMode.RIGHT_ROUND}, registers={"SHIFT_AMOUNT": bits},
        ),
        DlaNode(
            "OP_REQUANT", layer, (shifted,), convolution.output, shape, shape, in_element_bytes=4,
            fields={"quant": Quant.TENSOR}, registers={"OUT_ZP": 0, **_AS_IT_IS, **INT8_RANGE},
        ),
    ]  # fmt: skip
