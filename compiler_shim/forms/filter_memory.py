"""SVDF on the DLA: the state moves by copies of its bytes.

A state of int8 is then what a depthwise convolution reads. Of a state of int16 the VECTOR unit multiplies two
elements in each word, and adds up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode, Value
from dlasim.compiler_shim.calls.views import View, dense
from dlasim.compiler_shim.forms.products import INT8_RANGE
from dlasim.compiler_shim.forms.rules import Candidate
from dlasim.compiler_shim.forms.translate import matrix_sums
from dlasim.compiler_shim.forms.wide_arithmetic import INT16_BITS, NO_LIMIT, WideArithmetic, scaled
from dlasim.isa.instruction_rows import INT32_BYTES, Init, Out, Quant
from dlasim.sim.arithmetic.numerics import INT8_MIN


def svdf(candidate: Candidate) -> list[DlaNode] | None:
    """SVDF."""
    return (_of_bytes if candidate.outputs[1].dtype == "int8" else _of_halves)(candidate)


def _of_bytes(candidate: Candidate) -> list[DlaNode] | None:
    """With a state of int8: times become rows, ranks columns, units channels of an image for each batch."""
    at, (batches, units) = candidate.attributes, candidate.outputs[0].shape
    wide, memory = WideArithmetic(candidate), candidate.inputs[2].shape[1]
    rows, shape = batches * units * at.rank, (memory, at.rank, units)
    entering = wide.tensor(rows, dtype="int8")
    scale = {"OUT_MULT": at.feature_multiplier, "OUT_SHIFT": at.feature_shift, "OUT_ZP": 0, **INT8_RANGE}
    (product,) = _features(candidate, entering)
    fields = {**product.fields, "out": Out.INT8}
    wide.nodes.append(
        replace(product, fields=fields, registers={**product.registers, **scale}, out_element_bytes=1)
    )
    if at.state_zero_point:
        entering = _with_zero_point(wide, candidate, entering, rows)
    moved = wide.tensor(rows, memory, dtype="int8")
    copies = _moved(wide, candidate, (entering, 1), (moved, memory), rows)
    for batch in range(batches):
        image = wide.tensor(*shape, dtype="int8")
        row = View(batch * units * at.rank * memory, shape, (1, memory, at.rank * memory))
        copies.append(wide.copy(moved, row, image, dense(shape)))
        wide.nodes.append(_convolution(candidate, image, batch))
    return wide.nodes if all(copies) else None


def _with_zero_point(wide: WideArithmetic, candidate: Candidate, entering: int, rows: int) -> int:
    """The zero point comes after the limits, so it may wrap: a table."""
    codes = np.arange(1 << 8) + INT8_MIN + candidate.attributes.state_zero_point
    table = candidate.add(Value("table", codes.shape, "int8", data=codes.astype(np.int8)))
    output, image = wide.tensor(rows, dtype="int8"), (1, 1, rows)
    wide.nodes.append(DlaNode("OP_ACT_LUT", candidate.layer, (entering,), output, image, image, table=table))
    return output


def _convolution(candidate: Candidate, image: int, batch: int) -> DlaNode:
    """The units of one batch."""
    at, units = candidate.attributes, candidate.outputs[0].shape[1]
    time = _constant(candidate, 2).reshape(units, at.rank, -1)
    weights = np.ascontiguousarray(time.transpose(2, 1, 0))
    records = np.zeros((units, 3), np.int32)
    records[:, 0] = _constant(candidate, 3)
    constants = [
        candidate.add(Value(name, data.shape, str(data.dtype), data=data))
        for name, data in (("weights", weights), ("records", records))
    ]
    part = View(batch * units, (units,), (1,))
    output = candidate.add(
        replace(candidate.outputs[0], shape=(units,), alias=candidate.output_number, view=part)
    )
    return DlaNode(
        "OP_DEPTH_CONV", candidate.layer, (image,), output, weights.shape, (1, 1, units),
        kernel=weights.shape[:2], weights=constants[0], records=constants[1],
        fields={"init": Init.BIAS, "out": Out.INT8, "quant": Quant.TENSOR},
        registers={
            "IN_ZP": at.state_zero_point, "PAD_VALUE": 0, "WEIGHT_ZP": 0, "OUT_ZP": at.output_zero_point,
            "OUT_MULT": at.output_multiplier, "OUT_SHIFT": at.output_shift, **INT8_RANGE,
        },
    )  # fmt: skip


def _of_halves(candidate: Candidate) -> list[DlaNode] | None:
    """With a state of int16: two elements in each word, so that products take every second one."""
    at, (filters, memory) = candidate.attributes, candidate.inputs[2].shape
    wide, rows = WideArithmetic(candidate), candidate.inputs[0].shape[0] * filters
    sums, words = wide.tensor(rows), (memory + 1) // 2
    wide.nodes += _features(candidate, sums)
    registers = {
        **scaled("IN", (at.feature_multiplier, at.feature_shift)), **scaled("IN2", (0, 0)), "LIMIT": NO_LIMIT
    }  # fmt: skip
    entering = wide.compute("OP_E16_ADD", (sums, sums), wide.tensor(rows), (1, rows), registers)
    moved = wide.tensor(rows, words)
    if not all(_moved(wide, candidate, (entering, INT32_BYTES), (moved, words * INT32_BYTES), rows)):
        return None
    total, units = _filtered(wide, candidate, moved, rows * words), rows // at.rank
    total = _row_sums(wide, total, units, at.rank * words)
    bias = _constant(candidate, 3)
    biases = wide.constant(np.tile(bias, units // bias.size))
    biased = wide.compute("OP_E32_ADD", (total, biases), wide.tensor(units), (1, units))
    wide.requantize(biased, (at.output_multiplier, at.output_shift), at.output_zero_point, (1, units))
    return wide.nodes


def _features(candidate: Candidate, output: int) -> list[DlaNode]:
    """What each filter sees now, for each batch, as sums."""
    filters = candidate.inputs[1].shape[0]
    zeros = Value("records", (filters, 3), "int32", data=np.zeros((filters, 3), np.int32))
    numbers = *candidate.input_numbers[:2], candidate.add(zeros)
    inputs = *candidate.inputs[:2], zeros
    return matrix_sums(replace(candidate, inputs=inputs, input_numbers=numbers, output_number=output))


def _moved(
    wide: WideArithmetic, candidate: Candidate, newest: tuple[int, int], moved: tuple[int, int], rows: int
) -> list[bool]:
    """Puts the state without its oldest elements and the newest ones into `moved`, and that into the state.

    `newest` and `moved` come with the bytes from a row to the next; what is left of a row is filled as well.
    """
    (state,), state_value = candidate.more_outputs, candidate.outputs[1]
    size = np.dtype(state_value.dtype).itemsize
    length = candidate.inputs[2].shape[1] * size

    def columns(first: int, count: int, row: int) -> View:
        return View(first, (rows, count), (row, 1))

    copies = [
        wide.copy(newest[0], columns(0, size, newest[1]), moved[0], columns(place, size, moved[1]))
        for place in range(length - size, moved[1], size)
    ]
    if length > size:
        older = columns(size, length - size, length)
        copies.append(wide.copy(state, older, moved[0], columns(0, length - size, moved[1])))
    copies.append(wide.copy(moved[0], columns(0, length, moved[1]), state, columns(0, length, length)))
    return copies


def _filtered(wide: WideArithmetic, candidate: Candidate, moved: int, count: int) -> int:
    """Sums of two neighbours' products with the weights of their times."""
    time = _constant(candidate, 2)
    padded = np.pad(time, ((0, 0), (0, time.shape[1] % 2))).astype(np.int32)
    batches = 2 * count // padded.size
    even, odd = (wide.constant(np.tile(padded[:, place::2].ravel(), batches)) for place in (0, 1))
    shape = (1, count)
    high = wide.shift_right(moved, INT16_BITS, wide.tensor(count), shape)
    products = wide.multiply(moved, even, shape), wide.multiply(high, odd, shape)
    return wide.compute("OP_E32_ADD", products, wide.tensor(count), shape)


def _row_sums(wide: WideArithmetic, tensor: int, rows: int, columns: int) -> int:
    """The sum of each row: its halves are added until one element remains."""

    def part(source: int, first: int, count: int, length: int) -> int:
        return wide.part(source, View(first, (rows, count), (length, 1)))

    while columns > 1:
        half, rest = (columns + 1) // 2, columns // 2
        halved = wide.tensor(rows, half)
        halves = part(tensor, 0, rest, columns), part(tensor, half, rest, columns)
        wide.compute("OP_E32_ADD", halves, part(halved, 0, rest, half), (rows, rest))
        if rest < half:
            wide.shift_right(part(tensor, rest, 1, columns), 0, part(halved, rest, 1, half), (rows, 1))
        tensor, columns = halved, half
    return tensor


def _constant(candidate: Candidate, position: int) -> NDArray[Any]:
    data = candidate.inputs[position].data
    assert data is not None, "a rule refuses weights that are computed"
    return data
