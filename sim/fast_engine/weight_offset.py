"""The weights' zero point in dense sums: WEIGHT_ZP times the sum of a window's inputs comes off each.

    sum of in * (weight - WEIGHT_ZP) = sum of in * weight - WEIGHT_ZP * sum of in

The second sum is the same for all outputs of a pixel, so weights stay bytes and it is made once.
"""

from __future__ import annotations

from dlasim.native.routine import Number, Pointer, inlined, routine
from dlasim.sim.fast_engine.memory_access import load32, store32
from dlasim.sim.fast_engine.multiplication import IS_QUAD, STAGED_BYTES
from dlasim.sim.fast_engine.operation_rows import OperationRow
from dlasim.sim.fast_engine.vectors import BYTES32, splat, subtract


@inlined
def run_offset(row: OperationRow, stage: Pointer, place: Number, count: Number) -> Number:
    """What comes off a sum for the `count` staged values from byte `place` on."""
    staged_offset = 128 + row.in_zp if IS_QUAD else 0
    first = place // STAGED_BYTES
    total = 0
    for i in range(first, first + count):
        total += stage[i]
    return row.weight_zp * (total - staged_offset * count)


@routine
def window_offset(
    row: OperationRow, stage: Pointer, place: Number, tap_places: Pointer, taps: Number, run: Number
) -> Number:
    """What comes off the sums of the pixel whose window begins at byte `place` of the staged input."""
    total = 0
    for tap in range(taps):
        total += run_offset(row, stage, place + tap_places[tap], run)
    return total


@routine
def offset_tile(tile: Pointer, columns: Number, pixels: Number, offsets: Pointer, at: Number) -> None:
    """Take the offsets off the first pixels of a tile; its pixel 0 has the offset number `at`."""
    for p in range(pixels):
        offset = splat(offsets[at + p])
        for v in range(columns):
            place = (p * columns + v) * BYTES32
            store32(tile, place, subtract(load32(tile, place), offset))
