"""Rows of pixels interleaved into groups, so that one instruction multiplies the taps of a column."""

from __future__ import annotations

from llvmlite import ir

from dlasim.native.routine import Number, Pointer, intrinsic, routine
from dlasim.sim.fast_engine.dot import GROUP_BYTES
from dlasim.sim.fast_engine.memory_access import store32
from dlasim.sim.fast_engine.multiplication import IS_QUAD, STAGED_BYTES
from dlasim.sim.fast_engine.vectors import BYTES32, LANES, place, splat_constant

GROUP_ROWS = GROUP_BYTES // STAGED_BYTES  # rows whose values one group holds

_I8, _I16, _I32 = (ir.IntType(bits) for bits in (8, 16, 32))
_BYTES = ir.VectorType(_I8, LANES)
_SUMS = ir.VectorType(_I32, LANES)
_FLIPPED = 0x80808080  # the top bits, which make int8 of uint8 that are 128 higher


@intrinsic
def interleave(
    builder: ir.IRBuilder,
    rows: ir.Value,
    first: ir.Value,
    second: ir.Value,
    third: ir.Value,
    fourth: ir.Value,
) -> ir.Value:
    """Sixteen groups of the values at four offsets, or at the first two where a group holds two shorts."""
    offsets = (first, second, third, fourth)[:GROUP_ROWS]
    loaded = [builder.load(place(builder, rows, offset, _BYTES), align=1) for offset in offsets]
    if not IS_QUAD:
        halves = []
        for first_lane in (0, LANES // 2):  # apart, as CPUs interleave: LLVM takes more steps for both
            order = [first_lane + lane // 2 + LANES * (lane % 2) for lane in range(LANES)]
            half = builder.shuffle_vector(*loaded, ir.Constant(_SUMS, order))
            halves.append(builder.sext(half, ir.VectorType(_I16, LANES)))
        every = ir.Constant(ir.VectorType(_I32, 2 * LANES), list(range(2 * LANES)))
        return builder.bitcast(builder.shuffle_vector(*halves, every), _SUMS)
    total = splat_constant(_FLIPPED)
    for number, each in enumerate(loaded):
        moved = builder.shl(builder.zext(each, _SUMS), splat_constant(8 * number))
        total = builder.xor(total, moved)
    return total


@routine
def interleave_rows(
    rows: Pointer,
    at: Number,
    row_bytes: Number,
    last: Number,
    width: Number,
    pixel_bytes: Number,
    columns: Pointer,
) -> None:
    """`width` pixels of up to GROUP_ROWS rows, the last of them `last` bytes below the one at `at`."""
    second = at + min(row_bytes, last)
    third, fourth = at + min(2 * row_bytes, last), at + last
    for x in range(width):
        moved = x * pixel_bytes
        group = interleave(rows, at + moved, second + moved, third + moved, fourth + moved)
        store32(columns, x * BYTES32, group)
