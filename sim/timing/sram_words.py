"""In how many accesses an operation's bytes cross the SRAM's ports: a word that is partly used takes a whole
one.

Bytes that follow each other cross in the same words, even if they belong to several pixels.
`docs/cost-model.md` says what is counted, and what that leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instruction_rows import Extent, Unit
from dlasim.isa.registers import OPERANDS
from dlasim.named_tuple import NamedTuple
from dlasim.native.storage import plain
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.footprint import Box, Count, Footprint, all_footprints, product
from dlasim.sim.programs.operation import Batch
from dlasim.sim.programs.stream import Batches
from dlasim.sim.timing.cost import unit_costs
from dlasim.sim.timing.formulas import UnitCosts, block_lanes, pixel_turns, row_crossings
from dlasim.sim.timing.operation_costs import OperationSizes, describe_kind, read_sizes, window_bytes


def stream_accesses(
    config: DlaConfig, batches: Batches, sram_bytes: NDArray[np.int64], width: int
) -> NDArray[np.float64]:
    """Accesses of operations in order, in words of `width` bytes, from their bytes at the ports."""
    crossings, of_weights = list[_Crossing](), np.zeros(len(sram_bytes))
    for chosen, batch in batches:
        if batch.instruction.is_transfer:
            (footprint,) = all_footprints(batch)
            box = footprint.box
            crossings.append(_Crossing(chosen, box.total_bytes, box, box.run_bytes))
            continue
        unit = unit_costs(config, batch.instruction.mnemonic)
        others, weights = _all_but_weights(unit, batch, chosen, width)
        crossings += others
        if weights is not None:
            size = _filter_bytes(batch, weights)
            left = sram_bytes[chosen] - sum(each.moved for each in others)
            words = _filter_words(unit, batch, weights, size, width)
            of_weights[chosen] = left / (batch.value("OUT_CHANNELS") * size) * words
    return _accesses(crossings, len(sram_bytes), width) + of_weights


_WEIGHTS = (Extent.CONV_WEIGHTS, Extent.DEPTH_WEIGHTS, Extent.MATRIX)
_INPUTS = (Extent.INPUT, Extent.ROWS_OF_INPUT)
_LONG_WORDS = 8  # as LONG in rtl/dla_slices.sv


class _Crossing(NamedTuple):
    """Bytes of an operand that cross in some operations: first `part` bytes of each run of its box, then as
    many more of each; those that are sliced share no words."""

    operations: NDArray[np.int64]
    moved: Count
    box: Box
    part: Count
    is_sliced: Count = False


def _accesses(crossings: Sequence[_Crossing], operations: int, width: int) -> NDArray[np.float64]:
    """The accesses of each operation for all that crosses, counted together."""
    columns, begin = np.empty((10, sum(len(each.operations) for each in crossings)), np.int64), 0
    for each in crossings:
        end = begin + len(each.operations)
        for row, values in enumerate((*each[:2], *each.box, *each[3:])):
            columns[row, begin:end] = values
        begin = end
    numbers, moved, *sizes, part, is_sliced = columns
    box = Box(*sizes)
    alone = box.planes * box.runs * ((box.run_bytes + width - 2) // width + 1)
    words = np.where(is_sliced, alone, _words(box, part, width))
    return np.bincount(numbers, moved / box.total_bytes * words, operations).astype(np.float64, copy=False)


def _all_but_weights(
    unit: UnitCosts, batch: Batch, operations: NDArray[np.int64], width: int
) -> tuple[list[_Crossing], Footprint | None]:
    """What crosses of all other operands; and the weights, if any."""
    found, weights = list[_Crossing](), None
    for footprint in all_footprints(batch):
        if footprint.operand.extent in _WEIGHTS:
            weights = footprint
        else:
            found.append(_moved(unit, batch, footprint, operations, width))
    return found, weights


def _moved(
    unit: UnitCosts, batch: Batch, footprint: Footprint, operations: NDArray[np.int64], width: int
) -> _Crossing:
    """What crosses of an operand."""
    operand, box = footprint.operand, footprint.box
    moved = _crossing_bytes(unit, batch, footprint)
    part, is_sliced = box.run_bytes, np.False_
    if batch.instruction.unit is Unit.MAC:
        channels, lanes = batch.value("OUT_CHANNELS"), _block_lanes(unit, batch)
        if operand.extent in _INPUTS and not batch.instruction.is_depthwise:
            moved = moved * np.where(moved > unit.line_buffer, -(-channels // lanes), 1)
            is_sliced = _is_sliced(unit, batch, box, width)
        else:  # a group of output channels after the other, which at a single pixel follow each other
            follows = (box.planes * box.runs == 1) & operand.extent.is_view
            together = lanes if operand.extent.is_view else unit.output_lanes  # records cross as weights do
            part = np.minimum(-(-together * box.run_bytes // channels), box.run_bytes)
            part = np.where(follows, box.run_bytes, part)
    return _Crossing(operations, moved, box, part, is_sliced)


def _is_sliced(unit: UnitCosts, batch: Batch, box: Box, width: int) -> Count:
    """Whether pixels under a single tap that are not whole words cross a word of each after the other, and so
    share none: several long ones, where the line buffer has no room for two blocks."""
    taps = product(*batch.pair("KERNEL")) if batch.instruction.has_window else 1
    beyond = [each % width for each in (box.address, box.plane_stride, box.run_stride, box.run_bytes)]
    crowded = 2 * unit.accumulators * box.run_bytes > unit.line_buffer
    is_long = box.run_bytes >= _LONG_WORDS * width
    sliced: Count = (taps == 1) & (sum(beyond) > 0) & crowded & is_long & (box.planes * box.runs > 1)
    return sliced


def _block_lanes(unit: UnitCosts, batch: Batch) -> Count:
    """Output channels that read the input together, and whose results are written together."""
    turns: Any = pixel_turns(unit, *batch.pair("OUT_SIZE"))  # type: ignore[arg-type]  # arrays
    lanes: Count = block_lanes(unit, batch.value("OUT_CHANNELS"), turns)  # type: ignore[arg-type]
    return lanes


def _crossing_bytes(unit: UnitCosts, batch: Batch, footprint: Footprint) -> Count:
    """Bytes of an operand other than weights, for a group of output channels or a VECTOR operation."""
    operand = footprint.operand
    if operand.extent is Extent.INPUT:
        return window_bytes(unit, describe_kind(batch.instruction, batch.fields, 0), _sizes(batch))
    if operand.extent.table_bytes:
        return operand.extent.table_bytes
    once = np.where(footprint.present, footprint.box.total_bytes, 0)
    if operand.writes or unit.passes == 1:
        return once
    return once * row_crossings(unit, footprint.box.run_bytes)


def _sizes(batch: Batch) -> OperationSizes:
    """The sizes of all operations, as arrays."""
    sizes, file = plain(OperationSizes), [batch.value(register.name) for register in OPERANDS]
    read_sizes(sizes, file)  # type: ignore[arg-type]  # arrays
    sizes.common_rows = np.gcd(sizes.stride_rows, sizes.dilation_rows)
    sizes.common_columns = np.gcd(sizes.stride_columns, sizes.dilation_columns)
    return sizes


def _filter_bytes(batch: Batch, weights: Footprint) -> Count:
    """Bytes of the weights of an output channel."""
    taps = product(*batch.pair("KERNEL")) if batch.instruction.has_window else 1
    if batch.instruction.is_depthwise:
        return taps
    return product(taps, batch.value("IN_CHANNELS"), weights.element_bytes)


def _filter_words(unit: UnitCosts, batch: Batch, weights: Footprint, size: Count, width: int) -> Count:
    """Accesses that bring all weights once, filters of so many bytes.

    In a convolution, the filters of the lanes cross in turn, a word at a time. Filters that are shorter than
    a word, and those of one tap of a depthwise convolution, cross as one run for each group.
    """
    address, channels = weights.box.address, batch.value("OUT_CHANNELS")
    lanes = np.minimum(channels, unit.output_lanes)
    if batch.instruction.is_depthwise:
        return size * _part_words(address, channels, lanes, width, 0, channels)
    begins = np.where(size % width == 0, address % width, width - 1)
    alone = channels * ((begins + size - 1) // width + 1)
    return np.where(size < width, _part_words(address, channels * size, lanes * size, width, 0), alone)


def _in_rows(box: Box) -> Box:
    """The same bytes: planes of one run as the runs of one plane."""
    column = box.runs == 1
    return box._replace(
        planes=np.where(column, 1, box.planes),
        runs=np.where(column, box.planes, box.runs),
        run_stride=np.where(column, box.plane_stride, box.run_stride),
    )


def _words(box: Box, part: Count, width: int) -> Count:
    """Words that the runs of a box touch, if first `part` bytes of each run cross, then as many more of each
    until all have.

    A run or a plane that continues in the same word or in the next shares it. Planes of one run are runs.
    """
    box = _in_rows(box)
    near = (part <= box.run_stride) & (box.run_stride <= width)
    follows = (box.run_stride == part) | near | (box.runs == 1)
    dense = follows & ((box.plane_stride == box.runs * box.run_stride) | (box.planes == 1))
    reach = np.where(follows, (box.runs - 1) * box.run_stride, 0)
    reach = reach + np.where(dense, (box.planes - 1) * box.plane_stride, 0)
    count = np.where(dense, 1, box.planes) * np.where(follows, 1, box.runs)
    strides = np.where(dense, 0, box.plane_stride), np.where(follows, 0, box.run_stride)
    return count * _part_words(box.address, box.run_bytes, part, width, reach, *strides)


def _part_words(
    address: Count, run_bytes: Count, part: Count, width: int, reach: Count, *strides: Count
) -> Count:
    """Words that the parts of a run touch, each with `reach` further bytes: the mean over runs that lie these
    strides apart."""
    whole, rest = run_bytes // part, run_bytes % part
    common = np.gcd(width, np.where(whole + (rest > 0) > 1, part, 0))
    for stride in strides:
        common = np.gcd(common, stride)
    begins = address % common
    words: Count = whole * _touched(begins, part + reach, common, width)
    return words + (rest > 0) * _touched(begins, rest + reach, common, width)


def _touched(begins: Count, run_bytes: Count, common: Count, width: int) -> Count:
    """Words of a run that begins `begins` bytes after a multiple of `common`, a divisor of the width: the
    mean over those multiples."""
    return 1 + (begins + run_bytes - 1) // common * common / width
