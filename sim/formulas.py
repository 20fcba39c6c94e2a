"""What an operation costs: each formula once, over whole numbers or arrays of them.

The timing model (`sim/cost.py`, `sim/sram_traffic.py`) applies them to all operations of a stream, and the
compiler's estimates (`compiler_shim/lowering/tile_costs.py`) to one tile of a layer. They are routines, so
that a search over tiles can be compiled. Only numbers that belong to the machine may decide a branch: all
others may be arrays. `docs/timing-model.md` explains every formula.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlasim.native.record import Record, record
from dlasim.native.routine import routine
from dlasim.sim.footprint import STEP_LIMIT, Count


@record
class BusCosts(Record):
    """The bus. `rate` is the bytes that a transfer alone moves in a cycle, 0 for no limit; `alone` and
    `shared` are the terms of a fraction: what a transfer does alone, and beside another (both 0 where they
    never slow each other down)."""

    rate: int = 0
    latency: int = 0
    burst_bytes: int = 0
    burst_overhead: int = 0
    alone: int = 0
    shared: int = 0


@record
class UnitCosts(Record):
    """What a compute unit is for one instruction: channels that it works on at a time, cycles to fill and to
    drain it, and bytes that cross the SRAM's ports in a cycle, 0 for no limit."""

    input_lanes: int = 0
    output_lanes: int = 0
    fill: int = 0
    drain: int = 0
    port_rate: int = 0


def evaluate(formula: Callable[..., Count], costs: Record, *numbers: Count) -> Count:
    """A formula of numbers or arrays, cut at STEP_LIMIT, beyond which nothing is legal."""
    exact = formula(costs, *numbers)
    if isinstance(exact, int):
        return min(exact, STEP_LIMIT)
    about = formula(costs, *[np.asarray(number, np.float64) for number in numbers])
    return exact if about.max(initial=0) < STEP_LIMIT else np.where(about < STEP_LIMIT, exact, STEP_LIMIT)


@routine
def ceil_div(value: int, by: int) -> int:
    """Quotient rounded up."""
    return -(-value // by)


@routine
def select(truth: int, chosen: int, other: int) -> int:
    """`chosen` where the truth value is 1, `other` where it is 0."""
    return other + (chosen - other) * truth


@routine
def excess(value: int, limit: int) -> int:
    """How far the value exceeds the limit; 0 where it does not."""
    return (value - limit) * (value > limit)


@routine
def lane_cycles(unit: UnitCosts, pixels: int, steps: int, in_channels: int, out_channels: int) -> int:
    """Cycles in which the lanes work: `steps` for each pixel and each group of input and output channels."""
    input_groups = ceil_div(in_channels, unit.input_lanes)
    return pixels * steps * input_groups * ceil_div(out_channels, unit.output_lanes)


@routine
def merge_runs(run_bytes: int, runs: int, run_stride: int, planes: int, plane_stride: int) -> tuple[int, int]:
    """Bytes and number of the runs that are contiguous in memory: touching runs, then planes, merge."""
    merged = select((run_stride == run_bytes) | (runs == 1), runs, 1)
    run_bytes, runs = run_bytes * merged, runs // merged
    whole = select((runs == 1) & ((plane_stride == run_bytes) | (planes == 1)), planes, 1)
    return run_bytes * whole, runs * (planes // whole)


@routine
def transfer_beats(bus: BusCosts, run_bytes: int, runs: int) -> int:
    """Cycles on the bus for `runs` separate runs, when nothing else is on it; latency apart."""
    cycles = runs * ceil_div(run_bytes, bus.rate) if bus.rate else 0 * runs
    if bus.burst_overhead:
        cycles += runs * ceil_div(run_bytes, bus.burst_bytes) * bus.burst_overhead
    return cycles


@routine
def contention_cycles(bus: BusCosts, beats: int, other_beats: int) -> int:
    """How much longer transfers take that need so many cycles on the bus alone, beside others that do."""
    if not bus.alone:
        return 0
    together = beats - excess(beats, other_beats)
    return together * (bus.alone - bus.shared) // bus.shared


@routine
def port_cycles(unit: UnitCosts, moved_bytes: int) -> int:
    """Cycles that the SRAM's ports need to move these bytes."""
    return ceil_div(moved_bytes, unit.port_rate) if unit.port_rate else 0 * moved_bytes


@routine
def stall_cycles(unit: UnitCosts, moved_bytes: int, work: int) -> int:
    """Cycles that the ports need beyond those of the work."""
    return excess(port_cycles(unit, moved_bytes), work)


@routine
def grouped_stall_cycles(unit: UnitCosts, channels: int, each_group: int, by_channel: int, work: int) -> int:
    """As `stall_cycles`, one group of output channels after the other; the last may be smaller. `each_group`
    bytes cross for every group, `by_channel` bytes once, in proportion to a group's channels."""
    groups, whole_groups = ceil_div(channels, unit.output_lanes), channels // unit.output_lanes
    rest = channels % unit.output_lanes
    last = by_channel // channels * rest
    work_in_group = work // groups
    moved = each_group * whole_groups + by_channel - last
    stall = stall_cycles(unit, moved, work_in_group * whole_groups)
    return stall + select(rest > 0, stall_cycles(unit, each_group + last, work_in_group), 0)


@routine
def positions_read(size: int, outputs: int, kernel: int, stride: int, dilation: int, common: int) -> int:
    """Rows or columns that some tap reads. Tap t of output i reads stride*i + dilation*t, as does every
    (i + dilation/g, t - stride/g), g being their greatest common divisor `common`."""
    again = excess(outputs, dilation // common) * excess(kernel, stride // common)
    read = outputs * kernel - again
    return read - excess(read, size)
