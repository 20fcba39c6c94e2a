"""How a box of a tensor in system memory becomes one transfer, and how long that keeps the bus."""

from __future__ import annotations

from dlasim.native.routine import routine
from dlasim.sim.timing.formulas import BusCosts, ceil_div, excess, merge_runs, transfer_beats, unpack_beats


@routine
def transfer_shape(
    rows: int, columns: int, run_bytes: int, pixel_bytes: int, line_bytes: int
) -> tuple[int, int, int, int]:
    """The box that moves `run_bytes` of each pixel of a tensor whose pixels are `pixel_bytes` and whose rows
    are `line_bytes` apart: bytes of a run, runs, the stride between them, and planes of runs, a line
    apart."""
    if run_bytes == pixel_bytes:
        run_bytes *= columns
        if run_bytes == line_bytes:
            return run_bytes * rows, 1, line_bytes, 1
        return run_bytes, rows, line_bytes, 1
    if columns * pixel_bytes == line_bytes or rows == 1:
        return run_bytes, columns * rows, pixel_bytes, 1
    return run_bytes, columns, pixel_bytes, rows


@routine
def box_beats(
    bus: BusCosts, rows: int, columns: int, run_bytes: int, pixel_bytes: int, line_bytes: int
) -> int:
    """Cycles on the bus for a box as in `transfer_shape`."""
    run, runs, stride, planes = transfer_shape(rows, columns, run_bytes, pixel_bytes, line_bytes)
    run, runs = merge_runs(run, runs, stride, planes, line_bytes)
    return transfer_beats(bus, run, runs)


@routine
def constants_beats(bus: BusCosts, size: int, packed: int, spared: int) -> int:
    """Cycles on the bus for constants of `size` bytes in SRAM; where the machine unpacks, twice `packed` of
    these come from half as many bytes of memory. Compressed ones spare bytes."""
    if bus.packed_rate:
        return unpack_beats(bus, size - spared - packed, packed)
    return transfer_beats(bus, size - spared, 1)


@routine
def latency_cycles(bus: BusCosts, beats: int) -> int:
    """Cycles that the latency adds to each of many transfers in a row, each of `beats` cycles on the bus: the
    outstanding ones share one latency."""
    return excess(ceil_div(bus.latency + beats, bus.outstanding), beats)
