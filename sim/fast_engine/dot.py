"""The inner loops of the MAC unit, in LLVM IR: tiles of sums that stay in registers."""

from __future__ import annotations

from llvmlite import ir

from dlasim.native.expressions import TypedPointer
from dlasim.native.routine import intrinsic
from dlasim.native.target import host
from dlasim.sim.fast_engine.memory_access import HAS_MASKS, load_masked
from dlasim.sim.fast_engine.multiplication import IS_QUAD, STAGED, STAGED_BYTES, add_products, pairs
from dlasim.sim.fast_engine.vectors import (
    BYTES32,
    LANES,
    call_llvm,
    place,
    splat_constant,
    splat_value,
    typed,
)

GROUP_BYTES = 4

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_SUMS = ir.VectorType(_I32, LANES)
_SHORTS = ir.VectorType(_I16, 2 * LANES)
_WEIGHTS = ir.VectorType(_I8, GROUP_BYTES // STAGED_BYTES * LANES)
Values = list[ir.Value]


def index(value: int) -> ir.Constant:
    """An offset or a number of turns."""
    return ir.Constant(_I64, value)


def _load(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, kind: ir.Type, align: int) -> ir.Value:
    return builder.load(place(builder, pointer, offset, kind), align=align)


def load_index(builder: ir.IRBuilder, table: ir.Value, number: ir.Value) -> ir.Value:
    """An int32 of a table, as an offset."""
    return builder.sext(_load(builder, table, builder.shl(number, index(2)), _I32, 4), _I64)


class Loop:
    """A counted loop of at least one turn in IR, with values carried from turn to turn."""

    def __init__(self, builder: ir.IRBuilder, count: ir.Value, carried: Values) -> None:
        self._builder, self._count = builder, count
        before = builder.block
        self._body = builder.append_basic_block("turn")
        self._after = builder.append_basic_block("done")
        builder.branch(self._body)
        builder.position_at_end(self._body)
        self.number = builder.phi(_I64)
        self.number.add_incoming(index(0), before)
        self.values: Values = []
        for value in carried:
            phi = builder.phi(value.type)
            phi.add_incoming(value, before)
            self.values.append(phi)

    def close(self, results: Values) -> Values:
        """End the turn; what was carried is `results` from now on."""
        builder = self._builder
        number = builder.add(self.number, index(1))
        last = builder.block
        self.number.add_incoming(number, last)
        for phi, result in zip(self.values, results, strict=True):
            phi.add_incoming(result, last)
        builder.cbranch(builder.icmp_signed("<", number, self._count), self._body, self._after)
        builder.position_at_end(self._after)
        return results


@intrinsic
def dot_tile(
    builder: ir.IRBuilder,
    pixels: ir.Constant,
    vectors: ir.Constant,
    zipped: ir.Constant,
    stage_at: ir.Value,
    places_at: ir.Value,
    taps_at: ir.Value,
    tap_count: ir.Value,
    groups: ir.Value,
    packed_at: ir.Value,
    starts_at: ir.Value,
    tile_at: ir.Value,
) -> None:
    """tile[pixel][channel] = starts[channel] + sums over taps and groups, for pixels x (vectors x 16).

    `places` holds the offset of each pixel in `stage`, `taps` that of each tap from there, in bytes;
    `packed` the weights as [tap][group][channel] groups. Where `zip_groups` has put two groups of a vector of
    channels into two vectors, these are multiplied at a time, for one load of inputs: both, or the first,
    which has half the channels. Then a vector of the tile has the sums of two pixels.
    """
    rows, columns = pixels.constant, zipped.constant or vectors.constant
    step_kind = _I64 if zipped.constant else _I32
    origins = [load_index(builder, places_at, index(i)) for i in range(rows)]
    first = [_load(builder, starts_at, index(v * BYTES32), _SUMS, 4) for v in range(vectors.constant)]
    starts = first
    if zipped.constant:
        first = [splat_constant(0)] * columns
    weights_at = place(builder, packed_at, index(0), _I8)
    outer = Loop(builder, tap_count, [*(first * rows), weights_at])
    tap = load_index(builder, taps_at, outer.number)
    corners = [place(builder, stage_at, builder.add(origin, tap), _I8) for origin in origins]
    inner = Loop(builder, groups, outer.values)
    *sums, weights_at = inner.values
    weights = [_load(builder, weights_at, index(v * BYTES32), _SUMS, 4) for v in range(columns)]
    step = builder.mul(inner.number, index(step_kind.width // 8))
    for i, corner in enumerate(corners):
        value = _load(builder, corner, step, step_kind, 1)
        group = splat_value(builder, value, ir.VectorType(step_kind, 8 * BYTES32 // step_kind.width))
        group = builder.bitcast(group, _SUMS)
        for v in range(columns):
            sums[i * columns + v] = add_products(builder, sums[i * columns + v], group, weights[v])
    weights_at = place(builder, weights_at, index((2 if zipped.constant else columns) * BYTES32), _I8)
    *sums, _ = outer.close(inner.close([*sums, weights_at]))
    if zipped.constant:
        halves = zip(sums[::2], sums[1::2], strict=True)
        sums = [builder.add(*_alternate(builder, *each)) for each in halves]
        sums = [builder.add(each, starts[0]) for each in sums]
    for number, value in enumerate(sums):
        builder.store(value, place(builder, tile_at, index(number * BYTES32), _SUMS), align=4)


def _alternate(builder: ir.IRBuilder, low: ir.Value, high: ir.Value) -> Values:
    """The even lanes of two vectors, and the odd ones."""
    orders = [range(first, 2 * LANES, 2) for first in (0, 1)]
    return [builder.shuffle_vector(low, high, ir.Constant(_SUMS, list(order))) for order in orders]


@intrinsic
def zip_groups(builder: ir.IRBuilder, packed: ir.Value, offset: ir.Value) -> None:
    """Put the two groups of each channel, a vector of first ones and one of second ones, side by side."""
    pair = ir.VectorType(_I32, 2 * LANES)
    address = place(builder, packed, offset, pair)
    order = [lane // 2 + LANES * (lane % 2) for lane in range(2 * LANES)]
    both = builder.load(address, align=4)
    zipped = builder.shuffle_vector(both, both, ir.Constant(pair, order))
    builder.store(zipped, address, align=4)


@intrinsic
def dot_rows(
    builder: ir.IRBuilder,
    rows: ir.Constant,
    is_folded: ir.Constant,
    stage_at: ir.Value,
    stage_offset: ir.Value,
    weights_at: ir.Value,
    offsets_at: ir.Value,
    turns: ir.Value,
    offset: ir.Value,
    sums_at: ir.Value,
) -> None:
    """Products of one staged patch, of `turns` x 64 bytes, with several rows of weights as they lie in SRAM,
    added to the lanes of sums[row].

    Where the input is staged with an offset (uint8), `offset` times the weights is taken off again.
    """
    count = rows.constant
    patch_at = place(builder, stage_at, stage_offset, _I8)
    rows_at = [
        place(builder, weights_at, load_index(builder, offsets_at, index(i)), _I8) for i in range(count)
    ]
    sums = [place(builder, sums_at, index(i * BYTES32), _SUMS) for i in range(count)]
    weight_sums = [splat_constant(0)] * (count * is_folded.constant)
    loop = Loop(builder, turns, [*(builder.load(each, align=4) for each in sums), *weight_sums])
    totals = list(loop.values)
    patch = _load(builder, patch_at, builder.shl(loop.number, index(6)), _SUMS, 1)
    for i, row in enumerate(rows_at):
        weights_here = _load_weights(builder, row, loop.number)
        totals[i] = add_products(builder, totals[i], patch, weights_here)
        if is_folded.constant:
            ones = splat_constant(0x01010101)
            totals[count + i] = add_products(builder, totals[count + i], ones, weights_here)
    totals = loop.close(totals)
    factor = splat_value(builder, builder.trunc(offset, _I32), _SUMS)
    for i, weight_sum in enumerate(totals[count:]):
        totals[i] = builder.sub(totals[i], builder.mul(factor, weight_sum))
    for each, total in zip(sums, totals, strict=False):
        builder.store(total, each, align=4)


@intrinsic
def sum_lanes(builder: ir.IRBuilder, rows_at: ir.Value) -> ir.Value:
    """The sum of the lanes of each of sixteen vectors."""
    rows = [_load(builder, rows_at, index(i * BYTES32), _SUMS, 4) for i in range(LANES)]
    while len(rows) > 1:
        block = len(rows) // 2
        rows = [builder.add(*_exchanged(builder, rows[i], rows[i + block], block)) for i in range(block)]
    return rows[0]


@intrinsic
def transpose_groups(
    builder: ir.IRBuilder,
    weights_at: ir.Value,
    offsets_at: ir.Value,
    count: ir.Value,
    packed_at: ir.Value,
    packed_offset: ir.Value,
    packed_stride: ir.Value,
) -> None:
    """Up to `count` weights of each of sixteen rows, to sixteen groups [group][row]; memory beyond is not
    touched where the CPU has masks, and must be readable elsewhere."""
    rows_at = [
        place(builder, weights_at, load_index(builder, offsets_at, index(i)), _I8) for i in range(LANES)
    ]
    # Groups are made wide last: what changes places is half as much without VNNI.
    narrow = ir.VectorType(ir.IntType(8 * GROUP_BYTES // STAGED_BYTES), LANES)
    rows = [builder.bitcast(_load_some_weights(builder, row, count), narrow) for row in rows_at]
    for i, row in enumerate((_transposed if IS_QUAD else _transposed_shorts)(builder, rows)):
        offset = builder.add(packed_offset, builder.mul(packed_stride, index(i)))
        builder.store(_as_groups(builder, row), place(builder, packed_at, offset, _SUMS), align=4)


def _load_weights(builder: ir.IRBuilder, row: ir.Value, turn: ir.Value) -> ir.Value:
    """Sixteen groups of int8 weights."""
    offset = builder.mul(turn, index(BYTES32 // STAGED_BYTES))
    return _as_groups(builder, _load(builder, row, offset, _WEIGHTS, 1))


def _as_groups(builder: ir.IRBuilder, weights: ir.Value) -> ir.Value:
    """Int8 weights as sixteen groups; shorts are made from them where a group holds two."""
    weights = builder.bitcast(weights, _WEIGHTS)
    return builder.bitcast(weights if IS_QUAD else builder.sext(weights, _SHORTS), _SUMS)


def _load_some_weights(builder: ir.IRBuilder, row: ir.Value, count: ir.Value) -> ir.Value:
    """The first `count` int8 weights and zeros, where the CPU has masks; a whole vector elsewhere."""
    if not HAS_MASKS:
        return _load(builder, row, index(0), _WEIGHTS, 1)
    return load_masked(builder, row, count, _WEIGHTS)


def _transposed(builder: ir.IRBuilder, rows: Values) -> Values:
    """A 16 x 16 matrix with its diagonal for an axis: blocks of 8, 4, 2 and 1 change places."""
    block = LANES // 2
    while block:
        for i in range(LANES):
            if not i & block:
                rows[i], rows[i + block] = _exchanged(builder, rows[i], rows[i + block], block)
        block //= 2
    return rows


def _transposed_shorts(builder: ir.IRBuilder, rows: Values) -> Values:
    """The same of elements of 16 bits, in half the steps, as CPUs interleave parts of 128 bits apart.

    Eight rows that are interleaved three times, the first with the fifth and so on, are transposed; then the
    parts of both eights are put together.
    """
    part = LANES // 2
    eights = [rows[:part], rows[part:]]
    for _ in range(3):
        eights = [
            [row for i in range(part // 2) for row in _interleaved(builder, eight[i], eight[i + part // 2])]
            for eight in eights
        ]
    halves = [
        [*range(first, first + part), *range(LANES + first, LANES + first + part)] for first in (0, part)
    ]
    return [
        builder.shuffle_vector(*pair, ir.Constant(_SUMS, order))
        for order in halves
        for pair in zip(*eights, strict=True)
    ]


def _interleaved(builder: ir.IRBuilder, first: ir.Value, second: ir.Value) -> Values:
    """The lower halves of each eight lanes of two vectors, interleaved, and the upper halves."""
    orders = [
        [eight + half + i // 2 + LANES * (i % 2) for eight in range(0, LANES, 8) for i in range(8)]
        for half in (0, 4)
    ]
    return [builder.shuffle_vector(first, second, ir.Constant(_SUMS, order)) for order in orders]


def _exchanged(builder: ir.IRBuilder, upper: ir.Value, lower: ir.Value, block: int) -> Values:
    """Two rows of a matrix, of which the later blocks of one and the earlier of the other change places."""
    early = [lane if not lane & block else lane - block + LANES for lane in range(LANES)]
    late = [lane + block if not lane & block else lane + LANES for lane in range(LANES)]
    return [builder.shuffle_vector(upper, lower, ir.Constant(_SUMS, order)) for order in (early, late)]


@intrinsic
def stage_at(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> TypedPointer:
    """Memory for staged values, `offset` bytes beyond the pointer."""
    return typed(builder, place(builder, pointer, offset, _I8), STAGED)


@intrinsic
def dot_groups(builder: ir.IRBuilder, total: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    """total + the products of groups, lane by lane."""
    return add_products(builder, total, inputs, weights)


@intrinsic
def multiply_add(builder: ir.IRBuilder, total: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    """total + inputs * weights, of lanes that hold shorts; the weights' upper halves are zero."""
    if host().has("avx512vnni"):
        return call_llvm(builder, "llvm.x86.avx512.vpdpwssd.512", _SUMS, [total, inputs, weights])
    return pairs(builder, total, inputs, weights)
