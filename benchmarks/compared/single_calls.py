"""Single calls of every host operator that the firmware has, over sizes and lengths of contiguous runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from dlasim.isa import host_op_rows
from dlasim.isa.host_attributes import float_word
from dlasim.sim.arithmetic.float_steps import float_steps

Shape = tuple[int, ...]
_FLOAT_LIMITS = {"clamp_min": float_word(-3.4028235e38), "clamp_max": float_word(3.4028235e38)}


@dataclass(frozen=True, slots=True)
class Single:
    """One host call: tensors by shape and type, and attributes that are not the usual ones."""

    operator: str
    inputs: tuple[tuple[Shape, str], ...]
    output: tuple[Shape, str]
    attributes: dict[str, Any]
    more_outputs: tuple[tuple[Shape, str] | int, ...] = ()  # a number: the input that it is, a state
    sums: int = 0  # how many of the first inputs are data even if they are int32

    @property
    def elements(self) -> int:
        """Elements written, or multiply-accumulates."""
        return max(prod(self.output[0]), self.macs)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of what has a layer's count of them."""
        if self.operator == "DEPTHWISE_CONV_2D":
            return prod(self.output[0]) * prod(self.inputs[1][0][1:3])
        if self.operator.removesuffix("_16") == "TRANSPOSE_CONV":
            return prod(self.inputs[0][0][:-1]) * prod(self.inputs[1][0])
        if self.operator.removesuffix("_16") in ("CONV_2D", "FULLY_CONNECTED"):
            return prod(self.output[0]) * prod(self.inputs[1][0][1:])
        return 0

    @property
    def title(self) -> str:
        """What it is, and on how much."""
        shapes = [shape for shape, _ in self.inputs[:2]]
        return f"{self.operator} of {' and '.join('x'.join(map(str, shape)) for shape in shapes)}"


def singles() -> Iterator[Single]:
    """Calls of every operator that the firmware has, small and large."""
    for size, depth, channels, taps, stride in (
        (32, 3, 16, 3, 1), (32, 16, 16, 3, 1), (16, 32, 32, 3, 2), (14, 64, 32, 1, 1), (28, 8, 48, 1, 1),
        (6, 4, 12, 3, 1), (7, 64, 64, 3, 1), (5, 128, 128, 1, 1), (24, 16, 24, 5, 1), (48, 3, 8, 7, 2),
        (9, 16, 16, 3, 1),
    ):  # fmt: skip
        yield _convolution("CONV_2D", size, depth, (channels, taps, taps, depth), stride)
    for size, channels, taps, stride in (
        (48, 8, 3, 1), (24, 32, 3, 1), (24, 32, 3, 2), (12, 64, 3, 1), (6, 128, 3, 1), (14, 48, 5, 1),
        (28, 16, 5, 2), (28, 16, 7, 1), (7, 48, 5, 1), (3, 256, 3, 1), (8, 12, 3, 1), (9, 20, 3, 2),
    ):  # fmt: skip
        yield _convolution("DEPTHWISE_CONV_2D", size, channels, (1, taps, taps, channels), stride)
    for rows, depth, channels in (
        (1, 64, 10),
        (1, 400, 32),
        (1, 1024, 100),
        (1, 8, 128),
        (16, 64, 64),
        (7, 128, 32),
    ):
        weights, records = ((channels, depth), "int8"), ((channels, 3), "int32")
        yield _int8("FULLY_CONNECTED", (rows, depth), (rows, channels), weights, records)
    for rank in (1, 2, 4, 6):
        yield Single("PLACE_CURSOR", (((rank,), "int32"),), ((1,), "int32"), {})
    for shape in ((1, 3, 3, 56), (1, 14, 14, 32), (1, 32, 32, 16)):
        yield from _elements(shape)
    for size, depth, channels, taps, stride in (
        (8, 16, 8, 2, 2),
        (14, 32, 32, 3, 2),
        (7, 8, 5, 4, 2),
        (10, 4, 3, 3, 1),
    ):
        out = size * stride
        weights, records = ((channels, taps, taps, depth), "int8"), ((channels, 3), "int32")
        steps = {"stride_height": stride, "stride_width": stride}
        shapes = (1, size, size, depth), (1, out, out, channels)
        yield _int8("TRANSPOSE_CONV", *shapes, weights, records, **steps)
    for length in (1, 2, 3, 4, 7, 8, 16, 24, 31, 64, 250):
        yield from _runs(length)
    for size, channels, taps in ((8, 64, 8), (26, 8, 2), (14, 32, 3), (24, 24, 2)):
        out = size // taps
        for operator in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            filters = {
                "filter_height": taps,
                "filter_width": taps,
                "stride_height": taps,
                "stride_width": taps,
            }
            yield _int8(operator, (1, size, size, channels), (1, out, out, channels), **filters)
    for shape in ((1, 3, 3, 1280), (1, 7, 7, 64), (1, 14, 14, 32)):
        yield _int8("MEAN", shape, (1, 1, 1, shape[-1]), axis_mask=0b0110)

    for shape in ((1, 10), (1, 250), (64, 64), (2, 99, 99), (200, 7), (3, 3000)):
        yield _int8("SOFTMAX", shape, shape, ((256,), "int32"))
    yield from _more()
    yield from _sixteen_bits()
    yield from _floats()
    yield from _detections()
    yield from _recurrent()

    for size, depth, turned in ((16, 16, 0), (32, 64, 1), (8, 8, 0)):
        second = (2, size, depth) if turned else (2, depth, size)
        batch = (second, "int8")
        yield _int8("BATCH_MATMUL", (2, size, depth), (2, size, size), batch, transposed2=turned)


def _more() -> Iterator[Single]:
    """What looks along dimensions, compares and chooses."""
    for shape in ((1, 12, 12, 16), (1, 40, 64), (2, 3, 500)):
        kept = (*shape[:-1], 1)
        for function in (host_op_rows.ReduceFunction.MAX, host_op_rows.ReduceFunction.MIN):
            rank = len(shape)
            yield _int8("REDUCE", shape, kept, function=int(function), axis_mask=1 << rank - 1)
            yield _int8("REDUCE", shape, (1, *shape[1:]), function=int(function), axis_mask=1)
        yield Single("CUMULATIVE_SUM", ((shape, "int32"),), (shape, "int32"), {"axis": 1})
        yield _int8("CUMULATIVE_SUM", shape, shape, axis=1)
        yield _int8("PRODUCT", shape, kept, axis_mask=1 << len(shape) - 1)
        yield _int8("PRODUCT", shape, (1, *shape[1:]), axis_mask=1)
        yield _int8("DIV", shape, shape, (shape, "int8"))
        yield _int8("MUL_LUT", shape, shape, (shape, "int8"), ((256,), "int32"))
        yield _int8("L2_NORMALIZATION", shape, shape)
        words = {"is_centred": 1, "repeat": 1, "shift": 46, "offset_shift": 20}
        yield _int8("NORMALIZE", shape, shape, ((shape[-1], 2), "int32"), **words)
        row = ((shape[-1],), "int8")
        yield Single("COMPARE", ((shape, "int8"), row), (shape, "bool"), {"function": 2})
        plain = {"function": 2}
        yield Single("COMPARE", ((shape, "int32"), (shape, "int32")), (shape, "bool"), plain)
        yield Single("SELECT", ((shape, "bool"), (shape, "int8"), row), (shape, "int8"), {})


def _floats() -> Iterator[Single]:
    """What computes in float32 without an FPU."""
    for shape in ((1, 12, 12, 6), (1, 250)):
        real, row = (shape, "float32"), ((shape[-1],), "float32")
        kept = ((*shape[:-1], 1), "float32")
        for function in host_op_rows.BinaryFunction:
            if function != host_op_rows.BinaryFunction.POW:
                words = {"function": int(function), **_FLOAT_LIMITS}
                yield Single("BINARY", (real, real), real, words)
                yield Single("BINARY", (real, row), real, words)
        for unary in host_op_rows.UnaryFunction:
            yield Single("UNARY", (real,), real, {"function": int(unary)})
        yield Single("SOFTMAX_FLOAT", (real,), real, {"beta": 1.0})
        for dtype in ("int8", "int32", "int64"):
            yield Single("CAST", (real,), (shape, dtype), {})
            if dtype != "int32":  # which is zero here
                yield Single("CAST", ((shape, dtype),), real, {})
        for compared in host_op_rows.CompareFunction:
            words = {"function": int(compared)}
            yield Single("COMPARE", (real, row), (shape, "bool"), words)
        for reduced in list(host_op_rows.ReduceFunction)[:4]:
            words = {"function": int(reduced), "axis_mask": 1 << len(shape) - 1}
            yield Single("REDUCE", (real,), kept, words)
        yield Single("CUMULATIVE_SUM", (real,), real, {"axis": len(shape) - 1})
        yield Single("ARG_MAX", (real,), (shape[:-1], "int32"), {"axis": len(shape) - 1})


def _sixteen_bits() -> Iterator[Single]:
    """Operators of int16 activations."""
    usual: dict[str, Any] = {"clamp_min": -32768, "clamp_max": 32767}
    for size, channels, taps, depth, filters in ((12, 8, 3, 8, 4), (12, 8, 3, 1, 8), (9, 40, 1, 40, 8)):
        image = ((1, size, size, channels), "int16")
        weights, records = ((filters, taps, taps, depth), "int8"), ((filters, 4), "int32")
        out = size - taps + 1
        steps = {**usual, "wide_sums": 1}
        yield Single("CONV_2D_16", (image, weights, records), ((1, out, out, filters), "int16"), steps)
    for size, depth, channels, taps, stride in (
        (4, 8, 4, 2, 2),
        (6, 16, 3, 3, 2),
        (5, 3, 2, 4, 2),
        (5, 4, 3, 3, 1),
        (7, 32, 2, 2, 2),
        (3, 1, 8, 1, 1),
    ):
        image, records = ((1, size, size, depth), "int16"), ((channels, 4), "int32")
        weights, out = ((channels, taps, taps, depth), "int8"), size * stride
        for wide_sums in (0, 1):
            words = {**usual, "stride_height": stride, "stride_width": stride, "wide_sums": wide_sums}
            result = (1, out, out, channels), "int16"
            yield Single("TRANSPOSE_CONV_16", (image, weights, records), result, words)
    for shape in ((1, 64), (8, 40)):
        given = ((shape, "int16"), ((12, shape[1]), "int8"), ((12, 4), "int32"))
        yield Single("FULLY_CONNECTED_16", given, ((shape[0], 12), "int16"), {**usual, "wide_sums": 1})
    for shape in ((1, 12, 12, 8), (1, 10)):
        one, out = (shape, "int16"), (shape, "int16")
        for function in host_op_rows.WideFunction:
            yield Single("ARITHMETIC_16", (one, one), out, {**usual, "function": int(function)})
        tables = ((513,), "int16")
        yield Single("SOFTMAX_16", (one, tables, tables), out, {})
        matrices = ((4, *shape[-2:]), "int16")
        product = (4, shape[-2], shape[-2]), "int16"
        yield Single("BATCH_MATMUL_16", (matrices, matrices), product, {"transposed2": 1})
        yield Single("LUT_16", (one, tables), out, {})
        yield Single("SIGMOID_16", (one, ((256,), "int32")), out, {"factor": 3})
        yield Single("LEAKY_16", (one,), out, usual)
        yield Single("DEQUANTIZE", (one,), (shape, "float32"), {"scale": 0.05})
    for function in host_op_rows.PoolFunction:
        filters = {"filter_height": 2, "filter_width": 2, "stride_height": 2, "stride_width": 2}
        image, out = ((1, 12, 12, 8), "int16"), ((1, 6, 6, 8), "int16")
        yield Single("POOL_16", (image,), out, {**usual, **filters, "function": int(function)})
    yield Single("MEAN_16", (((1, 6, 6, 8), "int16"),), ((1, 1, 1, 8), "int16"), {"axis_mask": 0b0110})


def _recurrent() -> Iterator[Single]:
    """Filters with a memory, the parts of an LSTM, and the greatest elements."""
    for batch, depth, filters, memory, rank in (
        (1, 40, 64, 10, 1), (1, 8, 12, 2, 1), (2, 96, 24, 31, 2), (1, 1, 16, 64, 4), (3, 250, 9, 1, 1),
        (1, 1, 40, 1, 2), (1, 16, 320, 8, 2),
    ):  # fmt: skip
        for state in ("int8", "int16"):
            weights = ((filters, depth), "int8"), ((filters, memory), state), ((filters // rank,), "int32")
            given = (((batch, depth), "int8"), *weights, ((batch, filters * memory), state))
            yield Single("SVDF", given, ((batch, filters // rank), "int8"), {"rank": rank}, more_outputs=(4,))
    for rows, depth, channels in (
        (1, 28, 80),
        (28, 28, 80),
        (1, 3, 8),
        (5, 1, 16),
        (2, 130, 20),
        (3, 20, 6),
        (1, 9, 4),
        (4, 50, 3),
    ):
        weights, records = ((channels, depth), "int8"), ((channels, 3), "int32")
        given = (((rows, depth), "int8"), weights, records)
        yield Single("MATRIX_SUMS", given, ((rows, channels), "int32"), {})
    for batch, units in ((1, 1), (1, 4), (1, 20), (2, 16), (1, 64), (5, 7), (1, 250)):
        sums, cell = ((batch, 4 * units), "int32"), ((batch, units), "int32")
        given = (sums, sums, cell, ((256,), "int32"))
        words = {
            "row_step": 1, "cell_clip": 32767, "tanh_factor": 3, "output_shift": -22, "forget_shift": -15,
            "update_shift": -16, "input_shift": [-16] * 4, "recurrent_shift": [-16] * 4,
        }  # fmt: skip
        yield Single(
            "LSTM_CELL",
            given,
            ((batch, units), "int8"),
            words,
            more_outputs=(((batch, units), "int32"),),
            sums=2,
        )
    for rows, length, most in (
        (1, 10, 1),
        (1, 10, 5),
        (4, 64, 3),
        (1, 250, 10),
        (1, 1001, 5),
        (16, 8, 8),
        (40, 2, 1),
        (1, 400, 1),
        (2, 120, 60),
    ):
        for dtype in ("int8", "int16", "float32"):
            chosen = (rows, most)
            given = (((rows, length), dtype),)
            yield Single("TOP_K", given, (chosen, dtype), {}, more_outputs=((chosen, "int32"),))
    for length in (1, 2, 3, 4, 7, 8, 16, 24, 31, 64, 250):
        shape = (1, 96, length)
        for point in (-128, 0):
            yield _by_table(shape, point)
        for dtype, scale in (("int8", 0.01), ("uint8", 0.004), ("int16", 1 / 32767)):
            yield Single("QUANTIZE", ((shape, "float32"),), (shape, dtype), {"scale": scale})
        yield Single("DEQUANTIZE", ((shape, "int16"),), (shape, "float32"), {"scale": 0.05})


def _detections() -> Iterator[Single]:
    """The boxes of detection networks. Which of them are left takes as long as many overlap: not here."""
    for boxes in (1, 60, 400):
        given = ((1, boxes, 4), "float32"), ((boxes, 4), "float32")
        scales = {f"{side}_scale": 10.0 for side in "yxhw"}
        yield Single("DECODE_BOXES", given, ((boxes, 4), "float32"), scales)


def _by_table(shape: Shape, zero_point: int) -> Single:
    """A QUANTIZE whose range is that of the noise, or only its positive half."""
    steps = float_steps(1 / (127 - zero_point), zero_point, "int8")
    assert steps is not None
    words = {"first": steps.first, "zero_point": zero_point, "bits": steps.bits}
    words |= {"positive_cells": len(steps.positive) - 1, "negative_cells": len(steps.negative) - 1}
    cells = len(steps.positive) + len(steps.negative)
    given = ((shape, "float32"), ((cells,), "uint8"), ((256,), "int32"))
    return Single("QUANTIZE_TABLE", given, (shape, "int8"), words)


def _elements(shape: Shape) -> Iterator[Single]:
    """What works element by element, or moves elements."""
    _, height, width, channels = shape
    for operator in ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE"):
        yield _int8(operator, shape, shape, (shape, "int8"))
    yield _int8("PRELU", shape, shape, ((1, 1, 1, channels), "int8"))
    yield Single("RESCALE", ((shape, "int16"),), (shape, "int8"), {})
    for rounds_once in (0, 1):
        sums = (shape, "int32"), ((channels, 3), "int32")
        yield Single("REQUANT", sums, (shape, "int8"), {"rounds_once": rounds_once})
    yield _int8("LUT", shape, shape, ((256,), "int8"))
    yield Single("LUT", ((shape, "int8"), ((256,), "float32")), (shape, "float32"), {})  # DEQUANTIZE
    before = [0, 1, 1, 0, 0, 0]
    yield _int8("PAD", shape, (1, height + 2, width + 2, channels), before=before)
    yield _int8("CONCATENATION", shape, (1, height, width, 2 * channels), (shape, "int8"), axis=3)
    half = (1, 1, 1, height, width, channels // 2)
    stride = (0, 0, 0, width * channels, channels, 1)
    yield _int8("STRIDED_COPY", shape, half[2:], size=half, stride=stride)
    larger, tables = (1, 2 * height, 2 * width, channels), (((2 * height,), "int32"), ((2 * width,), "int32"))
    yield _int8("RESIZE_NEAREST", shape, larger, *tables)
    tables = (((2 * height, 3), "int32"), ((2 * width, 3), "int32"))
    yield _int8("RESIZE_BILINEAR", shape, larger, *tables)
    yield _int8("RESIZE_FLOAT", shape, larger, *tables)
    yield Single("RESIZE_FLOAT", ((shape, "float32"), *tables), (larger, "float32"), {})
    yield Single("QUANTIZE", ((shape, "float32"),), (shape, "int8"), {"scale": 0.05})
    yield Single("CAST", ((shape, "int8"),), (shape, "int32"), {})
    yield _int8("BINARY", shape, shape, (shape, "int8"), function=int(host_op_rows.BinaryFunction.MAXIMUM))
    function = int(host_op_rows.UnaryFunction.ABS)
    yield Single("UNARY", ((shape, "int32"),), (shape, "int32"), {"function": function})
    yield Single("ARG_MAX", ((shape, "int8"),), (shape[:-1], "int32"), {"axis": 3})
    yield _int8("GATHER", shape, shape, ((width,), "int32"), axis=2)
    yield _int8("GATHER_ND", shape, (height, width, channels), ((height, 2), "int32"))  # rows of the image


def _runs(length: int) -> Iterator[Single]:
    """What moves 96 runs of so many elements."""
    shape, twice = (1, 96, 1, length), (1, 96, 1, 2 * length)
    yield _int8("CONCATENATION", shape, twice, (shape, "int8"), axis=3)
    size = (1, 1, 1, 1, 96, length)
    yield _int8("STRIDED_COPY", twice, shape, size=size, stride=(0, 0, 0, 0, 2 * length, 1))
    yield _int8("STRIDED_COPY", twice, shape, size=size, stride=(0, 0, 0, 0, 1, 96))
    yield _int8("GATHER", shape, shape, ((96,), "int32"), axis=1)
    yield _int8("GATHER_ND", (96, length), (96, length), ((96, 1), "int32"))
    yield _int8("UPDATE_SLICE", shape, shape, ((1, 48, 1, length), "int8"), ((4,), "int32"))
    yield _int8("PAD", shape, (1, 98, 2, length), before=[0, 1, 1, 0, 0, 0])
    larger, rows = (1, 16, 12, length), (((16,), "int32"), ((12,), "int32"))
    yield _int8("RESIZE_NEAREST", (1, 8, 12, length), larger, *rows)
    for operator in ("ADD", "MUL", "SQUARED_DIFFERENCE", "DIV"):
        yield _int8(operator, shape, shape, ((length,), "int8"))
    yield _int8("PRELU", shape, shape, ((length,), "int8"))
    yield _int8("MUL_LUT", shape, shape, ((length,), "int8"), ((256,), "int32"))


def _convolution(operator: str, size: int, channels: int, weights: Shape, stride: int) -> Single:
    taps, depth = weights[1], weights[3] if operator == "DEPTHWISE_CONV_2D" else weights[0]
    out = -(-size // stride)
    steps = {"stride_height": stride, "stride_width": stride, "pad_top": taps // 2, "pad_left": taps // 2}
    given = ((weights, "int8"), ((depth, 3), "int32"))
    return _int8(operator, (1, size, size, channels), (1, out, out, depth), *given, **steps)


def _int8(operator: str, one: Shape, out: Shape, *others: tuple[Shape, str], **attributes: Any) -> Single:
    return Single(operator, ((one, "int8"), *others), (out, "int8"), attributes)
