"""What the loops of host calls take on a plain in-order CPU that differ from operator to operator.

Each function gives the cycles of a call beyond those for each element and multiply-accumulate, which
`host_estimate` adds; its first words say how many.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, log, log2, prod

import numpy as np

from dlasim.isa import host_op_rows
from dlasim.sim.host_time.host_work import Work, row_length


def convolution(work: Work) -> float:
    """10 for each row of the window and element written, 8 for each weight."""
    weights = work.input(1)
    return 10 * (weights[1] if len(weights) == 4 else 1) * work.written + 8 * prod(weights)


def _taps_inside(work: Work, axis: int, side: str, edge: str) -> int:
    """Pairs of an input row and a tap (or column) that reach the output of a transposed convolution."""
    stride = getattr(work.attributes, f"stride_{side}", 1)
    places = np.arange(work.input(0)[axis])[:, None] * stride + np.arange(work.input(1)[axis])
    places -= getattr(work.attributes, f"pad_{edge}", 0)
    return int(((places >= 0) & (places < work.output[axis])).sum())


def _are_images(work: Work) -> bool:
    return len(work.input(1)) == len(work.input(0)) == len(work.output) == 4


def transposed(work: Work) -> float:
    """For each four output channels 120 for each pixel, and for each tap that reaches one 65 and 20 for each
    input channel."""
    if not _are_images(work):
        return 5 * work.macs
    blocks, taps = -(-work.output[3] // 4), work.input(0)[0]
    taps *= _taps_inside(work, 1, "height", "top") * _taps_inside(work, 2, "width", "left")
    return blocks * (120 * prod(work.output[:3]) + taps * (65 + 20 * work.input(1)[3]))


def int16_transposed(work: Work) -> float:
    """For each output channel 14 for each tap of a row that reaches a row, and for each tap that reaches
    a pixel 39 and 8.2 for each input channel."""
    if not _are_images(work):
        return 8 * work.macs
    rows, columns = _taps_inside(work, 1, "height", "top"), _taps_inside(work, 2, "width", "left")
    across, depth = work.input(1)[2:]
    each = rows * (14 * work.output[2] * across + columns * (39 + 8.2 * depth))
    return work.output[0] * work.output[3] * each


def depthwise(work: Work) -> float:
    """100 for each row of an output channel."""
    width = (1, 1, *work.output)[-2]
    return 100 * (work.written // max(width, 1))


def matrix(work: Work) -> float:
    """430 for each four output channels; a row alone takes 4.1 for each multiply-accumulate, two rows
    together 2.95, and then 8 for each weight."""
    weights = work.input(1)
    channels = max((1, *weights)[-2] if len(weights) > 1 else 1, 1)
    rows = max(work.written // channels, 1)
    pairs = 8 * prod(weights) if rows > 1 else 0
    return work.macs / rows * (2.95 * (rows // 2 * 2) + 4.1 * (rows % 2)) + 430 * -(-channels // 4) + pairs


_WHOLE_TABLE = 512  # elements from which SOFTMAX rounds all exponentials first


def softmax(work: Work) -> float:
    """205 for each row and 34.7 for each element; of many elements 28.3 for each, and 3,450."""
    rows = work.written // max((1, *work.output)[-1], 1)
    own = 34.7 * work.written if work.written < _WHOLE_TABLE else 28.3 * work.written + 3450
    return 205 * rows + own


def requantized(work: Work) -> float:
    """185 for each four channels, or 20 more for each element that is rounded once."""
    if work.attributes is not None and work.attributes.rounds_once:
        return 20 * work.written
    return 185 * -(-(1, *work.output)[-1] // 4)


def matrices(rate: float) -> Callable[[Work], float]:
    """A rate of cycles for each product of two elements, and 100 for each product of two matrices."""

    def cycles(work: Work) -> float:
        transposed = work.attributes is not None and work.attributes.transposed1
        products = work.written * (1, 1, *work.input(0))[-2 if transposed else -1]
        return rate * products + 100 * prod(work.output[:-2])

    return cycles


def window_elements(rate: float) -> Callable[[Work], float]:
    """A rate of cycles for each element of each window."""

    def cycles(work: Work) -> float:
        at = work.attributes
        return 0 if at is None else rate * work.written * at.filter_height * at.filter_width

    return cycles


_MANY_ELEMENTS = 512  # from which sums look up what they add


def sums(rate: float) -> Callable[[Work], float]:
    """For few elements 61 for each and 145 for each row; for many a rate for each, 110 for each row, and
    12,600 for tables."""

    def cycles(work: Work) -> float:
        rows = work.written // row_length(work)
        if work.written < _MANY_ELEMENTS:
            return 61 * work.written + 145 * rows
        return rate * work.written + 110 * rows + 12_600

    return cycles


def rows(rate: float) -> Callable[[Work], float]:
    """A rate of cycles for each row."""
    return lambda work: rate * (work.written // row_length(work))


def pixels(rate: float) -> Callable[[Work], float]:
    """A rate of cycles for each pixel of the output, or row of channels."""
    return lambda work: rate * (work.written // max((1, *work.output)[-1], 1))


def products(work: Work) -> float:
    """43 for each element, 11 for each of its dimensions, 57 for each result."""
    return (43 + 11 * len(work.input(0))) * prod(work.input(0)) + 57 * work.written


def quotients(work: Work) -> float:
    """For few elements 257 for each and 140 for each row; for more of them 83 for each, 122 for each row, and
    45,900 for a table."""
    rows = work.written // row_length(work)
    if work.written < _MANY_ELEMENTS:
        return 257 * work.written + 140 * rows
    return 83 * work.written + 122 * rows + 45_900


def _moved(runs: int, elements: int, work: Work, step: int = 0, sides: int = 1) -> float:
    """Runs of so many elements each: 12 for 16 bytes and 6 for a word, of those that begin at a word on both
    sides; 11 for four bytes of the others. `step` divides the distances of the runs, if their length does
    not. `sides` says whether source and target must meet words independently."""
    size = elements * work.element_bytes
    words = 12 * (size // 16) + 6 * (size % 16 // 4) + (size >= 16)
    aligned = float((gcd(size, step * work.element_bytes, 4) / 4) ** sides)
    return runs * (aligned * words + (1 - aligned) * 11 * (size // 4) + 7 * (size % 4))


def concatenation(work: Work) -> float:
    """20 for each run, 75 for each input."""
    axis = 0 if work.attributes is None else work.attributes.axis
    turns = max(prod(work.output[:axis]), 1)
    parts = [prod(shape) // turns for shape in work.inputs]
    return sum(20 * turns + 75 + _moved(turns, part, work, gcd(*parts, 0), sides=2) for part in parts)


def strided(work: Work) -> float:
    """40 for each run; one whose elements are apart takes 6 for each."""
    at = work.attributes
    if at is None:
        return 6 * work.written
    length = int(at.size[-1])
    runs = int(prod(at.size[:-1]))
    if at.stride[-1] != 1:
        return runs * (35 + 6 * length)
    strides = [step for step, count in zip(at.stride[:-1], at.size[:-1], strict=True) if count > 1]
    return 40 * runs + _moved(runs, length, work, gcd(at.offset, *strides))


def picked(rate: float, length_of: Callable[[Work], int]) -> Callable[[Work], float]:
    """A rate of cycles for each run, and those of moving it."""

    def cycles(work: Work) -> float:
        length = max(length_of(work), 1)
        runs = work.written // length
        return rate * runs + _moved(runs, length, work)

    return cycles


def behind_axis(work: Work) -> int:
    return prod(work.input(0)[(work.attributes.axis if work.attributes is not None else 0) + 1 :])


def behind_indices(work: Work) -> int:
    return prod(work.input(0)[(1, *work.input(1))[-1] :])


def updates(work: Work) -> float:
    """For each block of rows 28, and 10 for each dimension; for each row 20 and those of moving it, or 5 for
    a single byte; unless that is in place, those of moving all."""
    *outer, rows, length = (1, 1, *work.input(1))
    blocks = prod(outer)
    is_single = length * work.element_bytes == 1
    moved = 0.0 if is_single else _moved(blocks * rows, length, work)
    moved += 0.0 if work.is_in_place else _moved(1, work.written, work)
    return blocks * (28 + 10 * len(work.output) + (5 if is_single else 20) * rows) + moved


def filters(work: Work) -> float:
    """For each batch 9 for each weight and 50 for each filter; 36 for each element of the result."""
    features, batches = work.input(1), (1, 1, *work.input(0))[-2]
    weights = prod(features) + prod(work.input(2))
    return batches * (9 * weights + 50 * (1, 1, *features)[-2]) + 36 * prod(work.output)


def sums_of_products(work: Work) -> float:
    """5.3 for each multiply-accumulate; 8 in the channels that remain of blocks of four."""
    channels, depth = (1, 1, *work.input(1))[-2:]
    rest = work.written // max(channels, 1) * (channels % 4)
    return depth * (5.3 * work.written + 2.7 * rest)


def greatest(work: Work) -> float:
    """22 for each row and 34 for each element, 44 of float32; 88 (120) for each level of the heap through
    which a later element sinks, as many as in random order; 138 (184) for each level in the end."""
    length, most = (1, *work.input(0))[-1], (1, *work.output)[-1]
    rows = prod(work.output) // max(most, 1)
    later = most * log((length + 0.5) / (most + 0.5)) if length > most else 0.0  # the sum of most / place
    height = (most + 1).bit_length() - 1
    levels = (most + 1) * height - (2 << height) + 2  # of heaps of 1, 2, … most elements
    each, sunk, ordered = (44, 120, 184) if work.reads_floats else (34, 88, 138)
    return rows * (22 + each * length + sunk * later * log2(most + 1) + ordered * levels)


def int16_windows(work: Work) -> float:
    """42 for each run of products: a row of the window, or a tap where other pixels or groups lie between."""
    weights, at = work.input(1), work.attributes
    if len(weights) != 4:
        return 0
    is_joined = weights[3] == (1, *work.input(0))[-1] and getattr(at, "dilation_width", 1) == 1
    return 42 * work.written * weights[1] * (1 if is_joined else weights[2])


def int16_arithmetic(work: Work) -> float:
    """66 for each sum, 33 for each product, 282 for each quotient, 110 for each row."""
    function = 0 if work.attributes is None else int(work.attributes.function)
    rates: dict[int, int] = {host_op_rows.WideFunction.MUL: 33, host_op_rows.WideFunction.DIV: 282}
    each = rates.get(function, 66)
    return each * work.written + 110 * (work.written // row_length(work))


def padding(work: Work) -> float:
    """1 for each byte, 35 and 13 for each dimension for each row of the input."""
    shape = work.input(0)
    length = max((1, *shape)[-1], 1)
    rows = prod(shape) // length
    fill = 1.0 if work.element_bytes == 1 else 36 / work.element_bytes
    row = 35 + 13 * len(work.output)
    return fill * work.element_bytes * work.written + row * rows + _moved(rows, length, work, sides=2)


def long_entries(work: Work) -> float:
    """1 for each element that is longer than a byte: its index becomes an offset."""
    return work.written if work.element_bytes > 1 else 0


def narrow_halves(work: Work) -> float:
    """8.5 for each int16: more of them are close to a half, and divided bit by bit."""
    return 8.5 * work.written if work.element_bytes == 2 else 0


def detections(work: Work) -> float:
    """Fast, as if each box had a good score: 500 and 225 for each detection for each box, and 13 for each
    score. Regular: 36 for each score; what it compares depends on how many are good."""
    boxes, scores, at = (1, 1, *work.input(0))[-2], prod(work.input(1)), work.attributes
    if at is None or at.regular:
        return 36 * scores
    count = int(at.max_detections)
    return boxes * (500 + 225 * count) + 13 * scores
