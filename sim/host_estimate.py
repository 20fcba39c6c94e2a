"""How long host calls take on a plain in-order CPU: an estimate, for when no CPU is simulated.

Cycles for each of what a kernel of the virtual prototype's firmware loops over, fitted to its instructions on
a core that executes one a cycle (`benchmarks/cpu_estimate.py`); the virtual prototype measures instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from types import SimpleNamespace

import numpy as np

from dlasim.isa import host_ops
from dlasim.isa.host_attributes import decode_attributes
from dlasim.isa.program import HostCall, Program
from dlasim.sim import plain_rates
from dlasim.sim.host_work import Shape, Work, row_length

DOORBELL_CYCLES = 40


@dataclass(frozen=True, slots=True)
class Rates:
    """Cycles of a call, and for each of what it works on; `more` are those of loops of another kind."""

    call: float = 300
    mac: float = 0
    read: float = 0  # element of the first input
    written: float = 0  # element of the outputs
    more: Callable[[Work], float] | None = None


def _convolution(work: Work) -> float:
    """10 for each row of the window and element written, 8 for each weight."""
    weights = work.input(1)
    return 10 * (weights[1] if len(weights) == 4 else 1) * work.written + 8 * prod(weights)


def _transposed(work: Work) -> float:
    """For each four output channels 120 for each pixel, and for each tap that reaches one 65 and 20 for each
    input channel."""
    weights, image = work.input(1), work.input(0)
    if len(weights) != 4 or len(image) != 4 or len(work.output) != 4:
        return 5 * work.macs
    blocks, taps = -(-work.output[3] // 4), image[0]
    for axis, side, edge in ((1, "height", "top"), (2, "width", "left")):
        stride = getattr(work.attributes, f"stride_{side}", 1)
        places = np.arange(image[axis])[:, None] * stride + np.arange(weights[axis])
        places -= getattr(work.attributes, f"pad_{edge}", 0)
        taps *= int(((places >= 0) & (places < work.output[axis])).sum())
    return blocks * (120 * prod(work.output[:3]) + taps * (65 + 20 * weights[3]))


def _depthwise(work: Work) -> float:
    """100 for each row of an output channel."""
    width = (1, 1, *work.output)[-2]
    return 100 * (work.written // max(width, 1))


def _matrix(work: Work) -> float:
    """430 for each four output channels; a row alone takes 4.1 for each multiply-accumulate, two rows
    together 2.95, and then 8 for each weight."""
    weights = work.input(1)
    channels = max((1, *weights)[-2] if len(weights) > 1 else 1, 1)
    rows = max(work.written // channels, 1)
    pairs = 8 * prod(weights) if rows > 1 else 0
    return work.macs / rows * (2.95 * (rows // 2 * 2) + 4.1 * (rows % 2)) + 430 * -(-channels // 4) + pairs


_WHOLE_TABLE = 512  # elements from which SOFTMAX rounds all exponentials first


def _softmax(work: Work) -> float:
    """205 for each row and 34.7 for each element; of many elements 28.3 for each, and 3,450."""
    rows = work.written // max((1, *work.output)[-1], 1)
    own = 34.7 * work.written if work.written < _WHOLE_TABLE else 28.3 * work.written + 3450
    return 205 * rows + own


def _channel_blocks(work: Work) -> float:
    """185 for each four channels."""
    return 185 * -(-(1, *work.output)[-1] // 4)


def _matrices(work: Work) -> float:
    """10 for each product of two elements."""
    transposed = work.attributes is not None and work.attributes.transposed1
    return 10 * work.written * (1, 1, *work.input(0))[-2 if transposed else -1]


def _window_elements(rate: float) -> Callable[[Work], float]:
    """So many cycles for each element of each window."""

    def cycles(work: Work) -> float:
        at = work.attributes
        return 0 if at is None else rate * work.written * at.filter_height * at.filter_width

    return cycles


_MANY_ELEMENTS = 512  # from which sums look up what they add


def _sums(rate: float) -> Callable[[Work], float]:
    """For few elements 61 for each and 145 for each row; for more of them so many for each, 110 for each row,
    and 12,600 for tables."""

    def cycles(work: Work) -> float:
        rows = work.written // row_length(work)
        if work.written < _MANY_ELEMENTS:
            return 61 * work.written + 145 * rows
        return rate * work.written + 110 * rows + 12_600

    return cycles


def _rows(rate: float) -> Callable[[Work], float]:
    """So many cycles for each row."""
    return lambda work: rate * (work.written // row_length(work))


def _pixels(rate: float) -> Callable[[Work], float]:
    """So many cycles for each pixel of the output, or row of channels."""
    return lambda work: rate * (work.written // max((1, *work.output)[-1], 1))


def _products(work: Work) -> float:
    """43 for each element, 11 for each of its dimensions, 57 for each result."""
    return (43 + 11 * len(work.input(0))) * prod(work.input(0)) + 57 * work.written


def _quotients(work: Work) -> float:
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


def _concatenation(work: Work) -> float:
    """20 for each run, 75 for each input."""
    axis = 0 if work.attributes is None else work.attributes.axis
    turns = max(prod(work.output[:axis]), 1)
    parts = [prod(shape) // turns for shape in work.inputs]
    return sum(20 * turns + 75 + _moved(turns, part, work, gcd(*parts, 0), sides=2) for part in parts)


def _strided(work: Work) -> float:
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


def _picked(rate: float, length_of: Callable[[Work], int]) -> Callable[[Work], float]:
    """So many cycles for each run."""

    def cycles(work: Work) -> float:
        length = max(length_of(work), 1)
        runs = work.written // length
        return rate * runs + _moved(runs, length, work)

    return cycles


def _behind_axis(work: Work) -> int:
    return prod(work.input(0)[(work.attributes.axis if work.attributes is not None else 0) + 1 :])


def _behind_indices(work: Work) -> int:
    return prod(work.input(0)[(1, *work.input(1))[-1] :])


def _detections(work: Work) -> float:
    """Fast, as if each box had a good score: 500 and 225 for each detection for each box, and 13 for each
    score. Regular: 36 for each score; what it compares depends on how many are good."""
    boxes, scores, at = (1, *work.input(0))[-2], prod(work.input(1)), work.attributes
    if at is None or at.regular:
        return 36 * scores
    detections = int(at.max_detections)
    return boxes * (500 + 225 * detections) + 13 * scores


def _filters(work: Work) -> float:
    """9 for each weight, 86 for each filter and batch."""
    features, batches = work.input(1), (1, 1, *work.input(0))[-2]
    return batches * (9 * (prod(features) + prod(work.input(2))) + 86 * (1, 1, *features)[-2])


def _sums_of_products(work: Work) -> float:
    """5.3 for each multiply-accumulate."""
    return 5.3 * work.written * (1, *work.input(1))[-1]


def _wide_windows(work: Work) -> float:
    """42 for each run of products: a row of the window, or a tap where other pixels or groups lie between."""
    weights, at = work.input(1), work.attributes
    if len(weights) != 4:
        return 0
    is_joined = weights[3] == (1, *work.input(0))[-1] and getattr(at, "dilation_width", 1) == 1
    return 42 * work.written * weights[1] * (1 if is_joined else weights[2])


def _wide_arithmetic(work: Work) -> float:
    """66 for each sum, 33 for each product, 110 for each row."""
    is_product = work.attributes is not None and work.attributes.function == host_ops.WideFunction.MUL
    return (33 if is_product else 66) * work.written + 110 * (work.written // row_length(work))


def _padding(work: Work) -> float:
    """1 for each byte, 35 and 13 for each dimension for each row of the input."""
    shape = work.input(0)
    length = max((1, *shape)[-1], 1)
    rows = prod(shape) // length
    fill = 1.0 if work.element_bytes == 1 else 36 / work.element_bytes
    row = 35 + 13 * len(work.output)
    return fill * work.element_bytes * work.written + row * rows + _moved(rows, length, work, sides=2)


RATES = {
    "CONV_2D": Rates(mac=2.9, written=29, more=_convolution),
    "TRANSPOSE_CONV": Rates(written=27, more=_transposed),
    "DEPTHWISE_CONV_2D": Rates(mac=4.1, written=34, more=_depthwise),
    "FULLY_CONNECTED": Rates(written=30, more=_matrix),
    "ADD": Rates(more=_sums(32.6)),
    "SUB": Rates(more=_sums(32.6)),
    "MUL": Rates(written=33, more=_rows(110)),
    "DIV": Rates(more=_quotients),
    "PRODUCT": Rates(more=_products),
    "SQUARED_DIFFERENCE": Rates(more=_sums(35)),
    "BATCH_MATMUL": Rates(written=28, more=_matrices),
    "REQUANT": Rates(written=25.5, more=_channel_blocks),
    "PRELU": Rates(written=38, more=_rows(110)),
    "LUT": Rates(written=8),
    "AVERAGE_POOL_2D": Rates(written=38, more=_window_elements(2.6)),
    "MAX_POOL_2D": Rates(written=34, more=_window_elements(2.6)),
    "MEAN": Rates(read=18, written=80),
    "SOFTMAX": Rates(call=260, more=_softmax),
    "PAD": Rates(more=_padding),
    "CONCATENATION": Rates(call=150, more=_concatenation),
    "STRIDED_COPY": Rates(more=_strided),
    "GATHER": Rates(more=_picked(32, _behind_axis)),
    "GATHER_ND": Rates(more=_picked(46, _behind_indices)),
    "RESIZE_NEAREST": Rates(more=_picked(33, lambda work: (1, *work.output)[-1])),
    "RESIZE_BILINEAR": Rates(written=29.7, more=_pixels(48)),
    "QUANTIZE": Rates(call=800, written=25),
    "RESCALE": Rates(call=190, written=41),
    "SVDF": Rates(more=_filters),
    "MATRIX_SUMS": Rates(written=15, more=_sums_of_products),
    "LSTM_CELL": Rates(call=600, written=180),
    "CONV_2D_16": Rates(mac=7.8, written=158, more=_wide_windows),
    "FULLY_CONNECTED_16": Rates(mac=7.8, written=100),
    "TRANSPOSE_CONV_16": Rates(mac=8, written=150),
    "ARITHMETIC_16": Rates(call=210, more=_wide_arithmetic),
    "POOL_16": Rates(written=35, more=_window_elements(9.2)),
    "MEAN_16": Rates(read=20.5, written=80),
    "SOFTMAX_16": Rates(written=60, more=_pixels(110)),
    "SIGMOID_16": Rates(call=220, written=35.5),
    "LEAKY_16": Rates(call=170, written=40),
    "DECODE_BOXES": Rates(written=940),
    "SUPPRESS_BOXES": Rates(more=_detections),
    "DEQUANTIZE": Rates(call=210, written=98.5),
    "CAST": Rates(more=plain_rates.conversions),
    "BINARY": Rates(more=plain_rates.plain_binary),
    "UNARY": Rates(more=plain_rates.plain_unary),
    "ARG_MAX": Rates(more=plain_rates.search),
    "REDUCE": Rates(more=plain_rates.reduction),
    "CUMULATIVE_SUM": Rates(more=plain_rates.running_sums),
    "TOP_K": Rates(read=45),
    "L2_NORMALIZATION": Rates(read=30, more=_pixels(400)),
    "COMPARE": Rates(more=plain_rates.comparison),
    "SELECT": Rates(written=51),
}
OTHERS = Rates(read=16, written=16)  # the firmware has no kernel to measure
_MEASURED = {operator.name for operator in host_ops.HOST_OPERATORS if operator.firmware}
assert RATES.keys() >= _MEASURED, f"no rates for {_MEASURED - RATES.keys()}"
assert RATES.keys() <= host_ops.BY_NAME.keys(), "rates of no host operator"


def call_cycles(program: Program, call: HostCall) -> int:
    """Estimated CPU cycles of a host call of a program."""
    shapes = [
        [program.tensors[n].shape for n in numbers if n >= 0] for numbers in (call.inputs, call.outputs)
    ]
    read, written = (
        [program.tensors[n].type.name for n in numbers[:1] if n >= 0]
        for numbers in (call.inputs, call.outputs)
    )
    macs = program.layers[call.layer].macs
    types = (*read, "int8")[0], (*written, "int8")[0]
    return operator_cycles(shapes[0], shapes[1], call.code, macs, call.attributes, types)


def _first_type(program: Program, numbers: Sequence[int]) -> str:
    return program.tensors[numbers[0]].type.name if numbers and numbers[0] >= 0 else "int8"


def operator_cycles(
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    code: int,
    macs: int,
    words: Sequence[int] = (),
    types: tuple[str, str] = ("int8", "int8"),
) -> int:
    """Estimated CPU cycles of a host operator on tensors of these shapes; `words` are its attributes, `types`
    those of its first input and output."""
    operator = host_ops.BY_CODE[code]
    rates = RATES.get(operator.name, OTHERS)
    attributes: SimpleNamespace | None = None
    if len(words) == operator.words:
        attributes = decode_attributes(operator, words)
    work = Work(inputs, outputs, macs, attributes, *types)
    cycles = rates.call + rates.mac * macs + rates.written * work.written + rates.read * prod(work.input(0))
    return round(cycles + (rates.more(work) if rates.more else 0))
