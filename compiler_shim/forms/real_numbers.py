"""QUANTIZE and DEQUANTIZE on the DLA, which takes the bits of a float32 as an int32, or as four bytes.

The bytes of a wide result come from four tables, and the MAC unit puts them side by side.

QUANTIZE is a step function of the bits: those of one sign are in the order of their floats. A few tables,
which are indexed with the bits cut off, give a result that is right or one step too far from 0; comparing the
float with that at which the result starts decides. All but this comparison is done in int8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode, Shape
from dlasim.compiler_shim.calls.views import dense
from dlasim.compiler_shim.forms import translate
from dlasim.compiler_shim.forms.products import AS_IT_IS
from dlasim.compiler_shim.forms.rules import Candidate
from dlasim.compiler_shim.forms.wide_arithmetic import WideArithmetic
from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import INT32_BYTES, Init, Out, Quant
from dlasim.sim.arithmetic.float_steps import SIGN, float_steps
from dlasim.sim.arithmetic.numerics import INT8_MAX, INT8_MIN, Integers, requant, wrap32

_CHANNELS = 16  # elements of a pixel: as many lanes as VECTOR has by default, and four times as many bytes
_COLUMNS = 64
_BLOCK = 16 << 10  # elements of a block
_HALF = 1 << 30  # a multiplier
_CODES = np.arange(INT8_MIN, INT8_MAX + 1)
_SAME = (1 << 31) - 1, 0  # of an int32, limited to int8: all numbers keep their sign


def table(candidate: Candidate) -> list[DlaNode]:
    """LUT, whose results may have several bytes, as those of DEQUANTIZE have."""
    entries = candidate.inputs[1].data
    assert entries is not None, "made by the compiler"
    if entries.dtype.itemsize == 1:
        return translate.table(candidate)
    wide, image = WideArithmetic(candidate), _image(prod(candidate.outputs[0].shape))
    block = _Block(candidate, wide, image, candidate.input_numbers[0], candidate.output_number)
    block.put_side_by_side(
        block.look_up_bytes(block.source, entries), candidate.output_number, entries.itemsize
    )
    return wide.nodes


def quantize(candidate: Candidate) -> list[DlaNode] | None:
    """QUANTIZE and QUANTIZE_TABLE. The MAC unit works on one block while VECTOR works on the next."""
    zero_point = candidate.attributes.zero_point
    starts = _starts(candidate)
    if starts is None:
        return None
    # By result: the float at which it starts. From that of the zero point nothing is subtracted.
    first = starts.astype(np.int64)[_CODES & 0xFF] % (2 * SIGN)
    first[zero_point - INT8_MIN] = 0
    sides = []
    for sign, count in ((1, INT8_MAX - zero_point), (-1, zero_point - INT8_MIN)):
        if count:
            found = _levels(first[zero_point + sign * np.arange(1, count + 1) - INT8_MIN] % SIGN)
            if found is None:
                return None
            sides.append(_SignSteps(sign, *found))
    steps = _Quantization(zero_point, first, sides)
    wide = WideArithmetic(candidate)
    before: _Block | None = None
    for block in _blocks(candidate, wide):
        block.load(steps)
        if before is not None:
            before.widen()
        block.begin(steps)
        if before is not None:
            before.finish(steps)
        before = block
    assert before is not None, "there are elements"
    before.widen()
    before.finish(steps)
    return wide.nodes


def _starts(candidate: Candidate) -> NDArray[Any] | None:
    """The second table of QUANTIZE_TABLE."""
    if candidate.name == "QUANTIZE_TABLE":
        return candidate.inputs[2].data
    steps = float_steps(candidate.attributes.scale, candidate.attributes.zero_point, "int8")
    return None if steps is None else steps.starts


def _image(count: int) -> Shape:
    """So many elements in a shape that suits the units."""
    channels = _divisor(count, _CHANNELS)
    columns = _divisor(count // channels, _COLUMNS)
    return count // channels // columns, columns, channels


def _blocks(candidate: Candidate, wide: WideArithmetic) -> Iterator[_Block]:
    rows, columns, channels = _image(prod(candidate.outputs[0].shape))
    count = min(rows, max(2, -(-rows * columns * channels // _BLOCK)))
    height = -(-rows // count)
    for first in range(0, rows, height):
        image = min(height, rows - first), columns, channels
        view = replace(dense(image), offset=first * columns * channels)
        source, output = (
            candidate.add(replace(value, shape=image, alias=number, view=view))
            for value, number in zip(
                (candidate.inputs[0], candidate.outputs[0]),
                (candidate.input_numbers[0], candidate.output_number), strict=True,
            )
        )  # fmt: skip
        yield _Block(candidate, wide, image, source, output)


@dataclass(frozen=True, slots=True)
class _CellLevel:
    """Cells of 2^bits floats, from -128 on; the first begins with the least float, the last ends with the
    greatest. `counts` are the steps up to the end of each."""

    bits: int
    offset: int
    counts: Integers


def _levels(thresholds: Integers) -> tuple[int, list[_CellLevel]] | None:
    """A float, of whose bits those of others are subtracted, and the levels of cells, such that the greatest
    count that a float is given is right or one too many: the first for floats above, the others for those
    below."""
    for bits in range(30, 0, -1):
        centre = max(int(thresholds[-1]) - (254 << bits), 0)
        level, rest = _level(thresholds - centre, bits, INT8_MIN)
        if level is not None:
            break
    else:
        return None
    levels = [level]
    while rest:
        found = (_level(thresholds[:rest] - centre, bits, INT8_MAX) for bits in range(30, 0, -1))
        level, less = next((pair for pair in found if pair[0] is not None), (None, 0))
        if level is None or less >= rest:
            return None
        levels.append(level)
        rest = less
    return centre, levels


def _level(distances: Integers, bits: int, offset: int) -> tuple[_CellLevel | None, int]:
    """A level, unless one of its cells has several steps, and how many are left to the next one: those of the
    first cell, if these are several."""
    cells = np.clip(requant(distances, _HALF, 1 - bits) + offset, INT8_MIN, INT8_MAX)
    steps = np.bincount(cells - INT8_MIN, minlength=len(_CODES))
    if steps[1:].max() > 1:
        return None, 0
    counts, rest = np.cumsum(steps), int(steps[0])
    if rest <= 1:
        return _CellLevel(bits, offset, counts), 0
    return _CellLevel(bits, offset, np.where(_CODES == INT8_MIN, 0, counts)), rest


@dataclass(frozen=True, slots=True)
class _SignSteps:
    """How floats of a sign are found: the float whose bits are subtracted, and the levels of cells."""

    sign: int
    centre: int
    levels: list[_CellLevel]

    @property
    def added(self) -> int:
        """What the bits of a float are made less by, and where it is negative, rid of its sign."""
        return -self.centre + (SIGN if self.sign < 0 else 0)


@dataclass(frozen=True, slots=True)
class _Quantization:
    """A quantization: the float at which each result starts, and how each sign is found."""

    zero_point: int
    first: Integers
    sides: list[_SignSteps]


class _Block:
    """The nodes for some rows."""

    def __init__(
        self, candidate: Candidate, wide: WideArithmetic, image: Shape, source: int, output: int
    ) -> None:
        self._candidate, self._wide, self._image = candidate, wide, image
        self.source, self._output = source, output
        self._floats = self._result = self._bytes = self._first = self._sign = -1

    def load(self, steps: _Quantization) -> None:
        """The floats in SRAM, less what is subtracted first, and their signs."""
        floats = self._wide.shift_right(self.source, 0, self._wide.tensor(*self._image), self._image)
        self._sign = self._narrow(floats, _SAME, 0)
        self._floats = self._plus(floats, steps.sides[0].added)

    def begin(self, steps: _Quantization) -> None:
        """A result that is right or a step too far, and the bytes of its first float."""
        is_positive, (first, *others) = self._mask(self._sign, True), steps.sides
        result = self._of_side(self._floats, first, steps.zero_point)
        if first.sign < 0:  # positive floats are the greatest number
            result = self._extremum("OP_C_MAX", result, is_positive)
        else:
            result = self._extremum("OP_C_MIN", result, is_positive)
        for side in others:
            distance = self._plus(self._floats, side.added - first.added)
            other = self._of_side(distance, side, steps.zero_point)
            negative = self._extremum("OP_C_MIN", other, self._mask(self._sign, False))
            result = self._extremum("OP_C_MAX", result, negative)
        self._result = result
        self._bytes = self.look_up_bytes(result, wrap32(-steps.first - first.added).astype(np.int32))

    def widen(self) -> None:
        """What is added to the floats, so that those before that float become negative."""
        self._first = self._wide.tensor(*self._image)
        self.put_side_by_side(self._bytes, self._first, INT32_BYTES)

    def _of_side(self, distance: int, side: _SignSteps, zero_point: int) -> int:
        """What the tables give for floats of a sign."""
        further = "OP_C_MAX" if side.sign > 0 else "OP_C_MIN"
        first, *others = [
            self._looked_up(
                self._narrow(distance, (_HALF, 1 - level.bits), level.offset),
                zero_point + side.sign * level.counts,
            )
            for level in side.levels
        ]
        return reduce(lambda one, other: self._extremum(further, one, other), others, first)

    def finish(self, steps: _Quantization) -> None:
        """The result, or the one before it, where the float is before the first of the result."""
        result, distance = self._result, self._wide.tensor(*self._image)
        self._wide.compute("OP_E32_ADD", (self._floats, self._first), distance, self._image)
        sign = self._narrow(distance, _SAME, 0)
        before = self._looked_up(result, _CODES + np.sign(steps.zero_point - _CODES))
        kept = self._extremum("OP_C_MIN", result, self._mask(sign, True))
        replaced = self._extremum("OP_C_MIN", before, self._mask(sign, False))
        self._extremum("OP_C_MAX", kept, replaced, self._output)

    def _mask(self, sign: int, is_positive: bool) -> int:
        """127 where a number is at least 0, or where it is less, and else -128."""
        return self._looked_up(sign, np.where((_CODES >= 0) == is_positive, INT8_MAX, INT8_MIN))

    def look_up_bytes(self, source: int, entries: NDArray[Any]) -> int:
        """The bytes of entries for an int8 tensor: a column for each."""
        tables = np.ascontiguousarray(entries).view(np.int8).reshape(-1, entries.dtype.itemsize).T
        return self._wide.look_up_bytes(source, self._image, list(tables))

    def put_side_by_side(self, columns: int, output: int, size: int) -> None:
        """Numbers of so many bytes from columns of these."""
        rows, width, channels = self._image
        out_channels = channels * size
        weights = (np.arange(out_channels) % size == np.arange(size)[:, None]).astype(np.int8)
        self._wide.nodes.append(DlaNode(
            "OP_DEPTH_CONV", self._candidate.layer, (columns,), output, (rows, width * size, channels),
            (rows, width, out_channels), kernel=(1, size), stride=(1, size), registers=AS_IT_IS,
            fields={"init": Init.ZERO, "out": Out.INT8, "quant": Quant.TENSOR},
            weights=self._wide.constant(weights.reshape(1, size, out_channels)),
        ))  # fmt: skip

    def _plus(self, source: int, number: int) -> int:
        """A tensor of int32 and a number, which wrap."""
        data = np.full((1, 1, self._image[2]), wrap32(np.array(number)), np.int32)
        output = self._wide.tensor(*self._image)
        self._wide.compute("OP_E32_ADD", (source, self._wide.constant(data)), output, self._image)
        self._wide.nodes[-1] = replace(self._wide.nodes[-1], broadcast=(0, 0))
        return output

    def _narrow(self, source: int, scale: tuple[int, int], zero_point: int) -> int:
        """A tensor of int32 as int8."""
        output = self._wide.tensor(*self._image, dtype="int8")
        self._wide.requantize(source, scale, zero_point, self._image, output=output)
        return output

    def _looked_up(self, source: int, entries: Integers) -> int:
        output = self._wide.tensor(*self._image, dtype="int8")
        limited = np.clip(entries, INT8_MIN, INT8_MAX).astype(np.int8)
        self._wide.look_up(source, output, self._image, limited)
        return output

    def _extremum(self, mnemonic: str, first: int, second: int, output: int | None = None) -> int:
        target = self._wide.tensor(*self._image, dtype="int8") if output is None else output
        node = DlaNode(mnemonic, self._candidate.layer, (first, second), target, self._image, self._image)
        self._wide.nodes.append(node)
        return target


def _divisor(count: int, most: int) -> int:
    """The greatest divisor that is not above this."""
    return next(size for size in range(most, 0, -1) if count % size == 0)
