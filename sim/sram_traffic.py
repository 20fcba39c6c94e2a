"""What a compute operation moves through the SRAM's ports, and how far that and its results outlast its work.

`docs/timing-model.md` says what the local buffers keep, and why. Time and energy count the same bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dlasim.isa.instructions import (
    EXPONENTIALS_BYTES,
    INT32_BYTES,
    RECORD_BYTES,
    TABLE_BYTES,
    Extent,
    Init,
    Operand,
    Out,
    Quant,
    Unit,
)
from dlasim.sim import formulas
from dlasim.sim.footprint import STEP_LIMIT, Count, Footprint, all_footprints, product
from dlasim.sim.formulas import UnitCosts
from dlasim.sim.operation import Batch

TABLES = {Extent.TABLE: TABLE_BYTES, Extent.EXPONENTIALS: EXPONENTIALS_BYTES}
_WEIGHTS = (Extent.CONV_WEIGHTS, Extent.DEPTH_WEIGHTS, Extent.MATRIX)


class Traffic(NamedTuple):
    """Cycles beyond the work, for the output stage and then for the ports; bytes through the ports."""

    output: Count
    stall: Count
    moved_bytes: Count


def operation_traffic(unit: UnitCosts, batch: Batch, work: Count, cycles_each: Count) -> Traffic:
    """The traffic of operations whose results take so many cycles each in the output stage."""
    if batch.instruction.unit is Unit.MAC:
        return _mac_traffic(unit, batch, work)
    table = sum(TABLES.get(operand.extent, 0) for operand in batch.instruction.operands)
    moved: Count = sum(crossing_bytes(unit, batch, footprint) for footprint in all_footprints(batch))
    pixels, channels = product(*batch.pair("OUT_SIZE")), batch.value("OUT_CHANNELS")
    numbers = (work, pixels, channels, cycles_each, moved)
    bound = float(np.max(pixels)) * float(np.max(channels)) * float(np.max(cycles_each)) + float(
        np.max(moved)
    )
    output, stall = _evaluate(formulas.lane_costs, unit, numbers, bound)
    # A table must be there as a whole before the work.
    return Traffic(output, stall + formulas.port_cycles(unit.port_rate, table), moved + table)


def _mac_traffic(unit: UnitCosts, batch: Batch, work: Count) -> Traffic:
    """One group of output channels after the other."""
    depthwise = batch.instruction.is_depthwise
    each_group: Count = np.zeros_like(work)
    by_channel: Count = np.zeros_like(work)
    for footprint in all_footprints(batch):
        if is_input(footprint.operand) and not depthwise:
            each_group = each_group + crossing_bytes(unit, batch, footprint)
        elif not is_weight(footprint.operand):
            by_channel = by_channel + crossing_bytes(unit, batch, footprint)
    channels: Count = batch.value("OUT_CHANNELS")
    pixels = product(*batch.pair("OUT_SIZE"))
    weight_bytes = filter_bytes(batch)
    rows, columns = batch.pair("OUT_SIZE")
    turns: Count = formulas.evaluate(formulas.pixel_turns, unit, rows, columns)
    first_bytes = _first_bytes(batch, depthwise)
    block_input = _block_input(unit, batch) if unit.in_blocks else 0
    first: Count = formulas.first_fetch_cycles(unit, channels, pixels, turns, *first_bytes, block_input)
    result_bytes = np.where(batch.fields.get("out", Out.INT8) == Out.INT8, 1, INT32_BYTES)
    numbers = (channels, pixels, turns, work, each_group, by_channel, weight_bytes, result_bytes, first)
    most_channels, most_pixels, _, _, most_input, most, most_weights, *_ = (float(np.max(n)) for n in numbers)
    most += most_channels * (most_pixels * (most_weights + unit.result_cycles) + most_input)
    return Traffic(*_evaluate(formulas.grouped_costs, unit, numbers, most))


def _block_input(unit: UnitCosts, batch: Batch) -> Count:
    """Pixels of the input of the first block of pixels."""
    size: tuple[Count, ...] = batch.pair("OUT_SIZE")
    outputs: tuple[Count, ...] = formulas.block_outputs(unit, *size)
    if not batch.instruction.has_window:
        return product(*outputs)
    lines = []
    for axis, count in enumerate(outputs):
        stride, kernel, dilation, size_in = (
            batch.pair(name)[axis] for name in ("STRIDE", "KERNEL", "DILATION", "IN_SIZE")
        )
        numbers: tuple[Count, ...] = (count, stride, (kernel - 1) * dilation + 1, size_in)
        lines.append(formulas.lines_under(*numbers))
    return product(*lines)


def _first_bytes(batch: Batch, depthwise: bool) -> tuple[Count, Count, Count]:
    """Input channels that outputs share; bytes of an output channel, and of one for each pixel."""
    depth, by_pixel = (0, 1) if depthwise else (batch.value("IN_CHANNELS"), 0)
    has_record = (batch.fields["init"] == Init.BIAS) | (batch.fields["quant"] == Quant.CHANNEL)
    partial = (batch.fields["init"] == Init.PARTIAL) * INT32_BYTES
    return depth, has_record * RECORD_BYTES, by_pixel + partial


def _evaluate(formula: Count, unit: UnitCosts, numbers: tuple[Count, ...], bound: float) -> tuple[Count, ...]:
    """The terms of a formula; where 64 bits may not hold them, they are cut at STEP_LIMIT."""
    exact: tuple[Count, ...] = formula(unit, *numbers)
    if bound < STEP_LIMIT:
        return exact
    about = formula(unit, *[np.asarray(number, np.float64) for number in numbers])
    return tuple(
        np.where(size < STEP_LIMIT, term, STEP_LIMIT) for size, term in zip(about, exact, strict=True)
    )


def filter_bytes(batch: Batch) -> Count:
    """Bytes of the weights of an output channel."""
    taps = product(*batch.pair("KERNEL")) if batch.instruction.has_window else 1
    return taps if batch.instruction.is_depthwise else product(taps, batch.value("IN_CHANNELS"))


def is_weight(operand: Operand) -> bool:
    """Whether the weight buffer holds it."""
    return operand.extent in _WEIGHTS


def is_input(operand: Operand) -> bool:
    """Whether a line buffer holds it."""
    return operand.extent in (Extent.INPUT, Extent.ROWS_OF_INPUT)


def crossing_bytes(unit: UnitCosts, batch: Batch, footprint: Footprint) -> Count:
    """Bytes of an operand, other than weights, that cross the ports while a group of output channels, or a
    VECTOR operation, is worked on."""
    match footprint.operand.extent:
        case Extent.INPUT:
            channels = batch.value("IN_CHANNELS")
            columns = _positions_read(batch, 1)
            held = np.minimum(channels, unit.output_lanes) if batch.instruction.is_depthwise else channels
            tap_rows: Count = batch.pair("OUT_SIZE")[0] * batch.pair("KERNEL")[0]
            rows = _positions_read(batch, 0)
            lines = formulas.lines_moved(unit, columns * held, rows, _span(batch), tap_rows)
            return product(lines, columns, channels)
        case Extent.TABLE | Extent.EXPONENTIALS:
            return 0
        case _:
            crossings: Count = 1
            if not footprint.operand.writes and unit.passes > 1:
                row_bytes: Count = batch.value("OUT_CHANNELS")
                crossings = formulas.row_crossings(unit, row_bytes)
            return np.where(footprint.present, footprint.box.total_bytes * crossings, 0)


def _span(batch: Batch) -> Count:
    """Lines of the input from the first tap of a window to the last, those in the padding apart."""
    kernel, dilation = batch.pair("KERNEL")[0], batch.pair("DILATION")[0]
    return np.minimum((kernel - 1) * dilation + 1, batch.pair("IN_SIZE")[0])


def _positions_read(batch: Batch, axis: int) -> Count:
    """Rows (axis 0) or columns (axis 1) that some tap reads."""
    size, outputs, kernel, stride, dilation = (
        batch.pair(name)[axis] for name in ("IN_SIZE", "OUT_SIZE", "KERNEL", "STRIDE", "DILATION")
    )
    numbers: tuple[Count, ...] = (size, outputs, kernel, stride, dilation, np.gcd(stride, dilation))
    return formulas.positions_read(*numbers)
