"""What a compute operation moves through the SRAM's ports, and how far that outlasts its work.

Local buffers are assumed to hold the rows under a window, the weights that the PEs use for one output row,
and that row's accumulators; `docs/timing-model.md` says why, and what follows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instructions import TABLE_BYTES, Extent, Operand, Unit
from dlasim.sim.config import DlaConfig
from dlasim.sim.footprint import Count, Footprint, all_footprints, product
from dlasim.sim.operation import Batch

Cycles = NDArray[np.int64]


def sram_cycles(config: DlaConfig, moved_bytes: Count) -> Count:
    """Cycles that the ports need to move these bytes; 0 where their bandwidth is unlimited."""
    rate = config.sram_bandwidth * config.sram_ports
    return -(-moved_bytes // rate) if rate else moved_bytes * 0


def sram_stall_cycles(config: DlaConfig, batch: Batch, work: Cycles) -> Cycles:
    """Cycles that the ports need beyond those of the work. A table must be there as a whole before it."""
    if not config.sram_bandwidth:
        return np.zeros_like(work)
    if batch.instruction.unit is Unit.MAC:
        return _mac_stall(config, batch, work)
    table = any(operand.extent is Extent.TABLE for operand in batch.instruction.operands)
    stall = _beyond(config, sum(_crossing(batch, footprint) for footprint in all_footprints(batch)), work)
    return stall + (sram_cycles(config, TABLE_BYTES) if table else 0)


def _mac_stall(config: DlaConfig, batch: Batch, work: Cycles) -> Cycles:
    """One group of output channels after the other; the last may be smaller, and its traffic with it."""
    depthwise = batch.instruction.mnemonic == "OP_DEPTH_CONV"
    lanes = config.depthwise_lanes if depthwise else config.lanes[1]
    channels = batch.value("OUT_CHANNELS")
    groups, rest = -(-channels // lanes), channels % lanes
    each_group: Count = 0  # crosses once for every group
    by_channel: Count = 0  # crosses once, in proportion to a group's channels
    for footprint in all_footprints(batch):
        if _is_input(footprint.operand) and not depthwise:
            each_group = each_group + _crossing(batch, footprint)
        else:
            by_channel = by_channel + _crossing(batch, footprint)
    whole_groups = channels // lanes
    last = by_channel // channels * rest
    work_in_group = work // groups
    stall = _beyond(
        config, product(each_group, whole_groups) + by_channel - last, work_in_group * whole_groups
    )
    return stall + np.where(rest > 0, _beyond(config, each_group + last, work_in_group), 0)


def _beyond(config: DlaConfig, moved_bytes: Count, work: Cycles) -> Cycles:
    stall: Cycles = np.maximum(sram_cycles(config, moved_bytes) - work, 0)
    return stall


def _is_input(operand: Operand) -> bool:
    return operand.extent in (Extent.INPUT, Extent.ROWS_OF_INPUT)


def _crossing(batch: Batch, footprint: Footprint) -> Count:
    """Bytes of an operand that cross the ports while a group, or a VECTOR operation, is worked on."""
    match footprint.operand.extent:
        case Extent.INPUT:
            return product(_positions_met(batch, 0), _positions_met(batch, 1), batch.value("IN_CHANNELS"))
        case Extent.CONV_WEIGHTS | Extent.DEPTH_WEIGHTS | Extent.MATRIX:
            return product(footprint.box.total_bytes, batch.pair("OUT_SIZE")[0])
        case Extent.TABLE:
            return 0
        case _:
            return np.where(footprint.present, footprint.box.total_bytes, 0)


def _positions_met(batch: Batch, axis: int) -> Count:
    """Rows (axis 0) or columns (axis 1) that some tap meets. Tap t of output i meets stride*i + dilation*t,
    as does every (i + dilation/g, t - stride/g), g being their common divisor."""
    size, outputs, kernel, stride, dilation = (
        batch.pair(name)[axis] for name in ("IN_SIZE", "OUT_SIZE", "KERNEL", "STRIDE", "DILATION")
    )
    common = np.gcd(stride, dilation)
    again = np.maximum(outputs - dilation // common, 0) * np.maximum(kernel - stride // common, 0)
    return np.minimum(size, outputs * kernel - again)
