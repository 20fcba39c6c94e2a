"""What a compute operation moves through the SRAM's ports, and how far that outlasts its work.

Local buffers are assumed to hold the rows under a window, the weights that the PEs use for one output row,
and that row's accumulators; `docs/timing-model.md` says why, and what follows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instructions import TABLE_BYTES, Extent, Operand, Unit
from dlasim.sim import formulas
from dlasim.sim.footprint import Count, Footprint, all_footprints, product
from dlasim.sim.formulas import UnitCosts, evaluate
from dlasim.sim.operation import Batch

Cycles = NDArray[np.int64]


def sram_stall_cycles(unit: UnitCosts, batch: Batch, work: Cycles) -> Cycles:
    """Cycles that the ports need beyond those of the work. A table must be there as a whole before it."""
    if not unit.port_rate:
        return np.zeros_like(work)
    if batch.instruction.unit is Unit.MAC:
        return _mac_stall(unit, batch, work)
    table = any(operand.extent is Extent.TABLE for operand in batch.instruction.operands)
    moved: Count = sum(_crossing(batch, footprint) for footprint in all_footprints(batch))
    stall: Cycles = evaluate(formulas.stall_cycles, unit, moved, work)
    return stall + (formulas.port_cycles(unit, TABLE_BYTES) if table else 0)


def moved_bytes(unit: UnitCosts, batch: Batch) -> Count:
    """Bytes that cross the ports in all."""
    moved: Count = 0
    channels: Count = batch.value("OUT_CHANNELS")
    groups = formulas.ceil_div(channels, unit.output_lanes) if batch.instruction.reduces_channels else 1
    for footprint in all_footprints(batch):
        match footprint.operand.extent:
            case Extent.TABLE | Extent.TRANSFER:
                moved = moved + footprint.box.total_bytes
            case Extent.INPUT | Extent.ROWS_OF_INPUT:
                moved = moved + product(_crossing(batch, footprint), groups)
            case _:
                moved = moved + _crossing(batch, footprint)
    return moved


def _mac_stall(unit: UnitCosts, batch: Batch, work: Cycles) -> Cycles:
    """One group of output channels after the other."""
    depthwise = batch.instruction.is_depthwise
    each_group: Count = np.zeros_like(work)  # crosses once for every group
    by_channel: Count = np.zeros_like(work)  # crosses once, in proportion to a group's channels
    for footprint in all_footprints(batch):
        if _is_input(footprint.operand) and not depthwise:
            each_group = each_group + _crossing(batch, footprint)
        else:
            by_channel = by_channel + _crossing(batch, footprint)
    channels = batch.value("OUT_CHANNELS")
    stall: Cycles = evaluate(formulas.grouped_stall_cycles, unit, channels, each_group, by_channel, work)
    return stall


def _is_input(operand: Operand) -> bool:
    return operand.extent in (Extent.INPUT, Extent.ROWS_OF_INPUT)


def _crossing(batch: Batch, footprint: Footprint) -> Count:
    """Bytes of an operand that cross the ports while a group, or a VECTOR operation, is worked on."""
    match footprint.operand.extent:
        case Extent.INPUT:
            return product(_positions_read(batch, 0), _positions_read(batch, 1), batch.value("IN_CHANNELS"))
        case Extent.CONV_WEIGHTS | Extent.DEPTH_WEIGHTS | Extent.MATRIX:
            return product(footprint.box.total_bytes, batch.pair("OUT_SIZE")[0])
        case Extent.TABLE:
            return 0
        case _:
            return np.where(footprint.present, footprint.box.total_bytes, 0)


def _positions_read(batch: Batch, axis: int) -> Count:
    """Rows (axis 0) or columns (axis 1) that some tap reads."""
    size, outputs, kernel, stride, dilation = (
        batch.pair(name)[axis] for name in ("IN_SIZE", "OUT_SIZE", "KERNEL", "STRIDE", "DILATION")
    )
    numbers: tuple[Count, ...] = (size, outputs, kernel, stride, dilation, np.gcd(stride, dilation))
    return formulas.positions_read(*numbers)
