"""Sixteen int32 lanes as one value: loads, stores, arithmetic and the requantization, in LLVM IR.

LLVM splits the vectors into what the machine has. Addresses are a pointer and an offset in bytes, of any
alignment. Nothing here knows an instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from dlasim.native.expressions import MEMORY, TypedPointer
from dlasim.native.record import Array, Integer
from dlasim.native.routine import Vector, inlined, intrinsic

LANES = 16
BYTES32 = 4 * LANES
MAX_DOWN_SHIFT = 22  # of `requantize_down`

_I1, _I8, _I32, _I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
_LANES8, _LANES32 = ir.VectorType(_I8, LANES), ir.VectorType(_I32, LANES)
_HALF64 = ir.VectorType(_I64, LANES // 2)
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)


def splat_constant(value: int, vector: ir.VectorType = _LANES32) -> ir.Constant:
    """A vector of equal constants."""
    return ir.Constant(vector, [value] * vector.count)


def place(
    builder: ir.IRBuilder, pointer: ir.Value | TypedPointer, offset: ir.Value, kind: ir.Type
) -> ir.Value:
    """The address `offset` bytes beyond `pointer`, as a pointer to `kind`."""
    address = pointer.pointer if isinstance(pointer, TypedPointer) else pointer
    raw = builder.bitcast(address, _I8.as_pointer())
    return builder.bitcast(builder.gep(raw, [offset]), kind.as_pointer())


def splat_value(builder: ir.IRBuilder, value: ir.Value, vector: ir.VectorType) -> ir.Value:
    """A vector of equal lanes."""
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(
        single, ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(_I32, vector.count), None)
    )


def call_llvm(builder: ir.IRBuilder, name: str, result: ir.Type, arguments: list[ir.Value]) -> ir.Value:
    """Call an LLVM intrinsic."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)


@intrinsic
def splat(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """All lanes the low 32 bits of an integer."""
    return splat_value(builder, builder.trunc(value, _I32), _LANES32)


def typed(builder: ir.IRBuilder, pointer: ir.Value, element: Integer) -> TypedPointer:
    """A pointer to numbers of a type."""
    return TypedPointer(builder.bitcast(pointer, MEMORY), Array(element, is_pointer=True))


def _binary(build: Callable[[Any, Any, Any], Any]) -> Any:
    return intrinsic(lambda builder, left, right: build(builder, left, right))


def _choose(relation: str) -> Callable[[Any, Any, Any], Any]:
    return lambda b, left, right: b.select(b.icmp_signed(relation, left, right), left, right)


add = _binary(lambda b, left, right: b.add(left, right))
subtract = _binary(lambda b, left, right: b.sub(left, right))
multiply = _binary(lambda b, left, right: b.mul(left, right))
minimum = _binary(_choose("<"))
maximum = _binary(_choose(">"))
bit_and = _binary(lambda b, left, right: b.and_(left, right))
shift_left = _binary(lambda b, left, right: b.shl(left, right))
shift_right = _binary(lambda b, left, right: b.ashr(left, right))


@intrinsic
def twice(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The first half of the lanes, and once more."""
    order = [lane % (LANES // 2) for lane in range(LANES)]
    return builder.shuffle_vector(value, value, ir.Constant(_LANES32, order))


@intrinsic
def smallest(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The smallest lane, as a number."""
    return builder.sext(call_llvm(builder, f"llvm.vector.reduce.smin.v{LANES}i32", _I32, [value]), _I64)


@intrinsic
def where_negative(builder: ir.IRBuilder, value: ir.Value, yes: ir.Value, no: ir.Value) -> ir.Value:
    """`yes` in the lanes where the value is below zero, `no` in the others."""
    return builder.select(builder.icmp_signed("<", value, splat_constant(0)), yes, no)


@intrinsic
def shift_right_rounded(builder: ir.IRBuilder, value: ir.Value, amount: ir.Value) -> ir.Value:
    """value / 2^amount (above 0), halves away from zero, without losing the carry of value + half."""
    half = builder.lshr(builder.shl(splat_constant(1), amount), splat_constant(1))
    negative = builder.ashr(value, splat_constant(31))
    moved = builder.add(value, builder.add(half, negative))
    below, above = builder.ashr(moved, amount), builder.lshr(moved, amount)
    return builder.select(builder.icmp_signed("<", value, splat_constant(0)), below, above)


@intrinsic
def divide_rounded(builder: ir.IRBuilder, value: ir.Value, divisor: ir.Value) -> ir.Value:
    """value / divisor (above 0), halves away from zero; doubles hold all of it exactly."""
    dividend = builder.sitofp(value, _DOUBLES)
    divisor = splat_value(builder, builder.sitofp(divisor, ir.DoubleType()), _DOUBLES)
    magnitude = call_llvm(builder, f"llvm.fabs.v{LANES}f64", _DOUBLES, [dividend])
    twice = builder.fadd(divisor, divisor)
    quotient = builder.fdiv(builder.fadd(builder.fadd(magnitude, magnitude), divisor), twice)
    whole = builder.fptosi(quotient, _LANES32)
    negative = builder.icmp_signed("<", value, splat_constant(0))
    return builder.select(negative, builder.neg(whole), whole)


@intrinsic
def requantize(
    builder: ir.IRBuilder,
    value: ir.Value,
    left: ir.Value,
    least: ir.Value,
    multiplier: ir.Value,
    right: ir.Value,
) -> ir.Value:
    """`numerics.requant` with the shift taken apart: by `left`, then by `right`.

    `least` is the smallest shifted value to multiply: one above the smallest int32 where the multiplier is
    the smallest int32 too, which makes that product saturate. The two roundings, y = (x*m + 2^30) >> 31 and
    (y + half - (y < 0)) >> right, are one shift of a 64-bit number, even and odd lanes apart.
    """
    value = builder.shl(value, left)
    value = builder.select(builder.icmp_signed(">", value, least), value, least)
    even = _scaled(builder, *(_even(builder, v) for v in (value, multiplier, right)))
    odd = _scaled(builder, *(_odd(builder, v) for v in (value, multiplier, right)))
    mixed = [lane + (LANES - 1 if lane % 2 else 0) for lane in range(LANES)]
    return builder.shuffle_vector(
        builder.bitcast(even, _LANES32), builder.bitcast(odd, _LANES32), ir.Constant(_LANES32, mixed)
    )


@inlined
def requantize_down(
    value: Vector, multiplier: Vector, right: Vector, even_offset: Vector, odd_offset: Vector
) -> Vector:
    """`requantize` where it shifts right alone, plus a zero point, in fewer steps.

    With a multiplier of 0 or more and a shift from 1 on, both roundings are one,

        (value * multiplier + 2^30 + 2^(30 + right) - (value < 0) * 2^31) >> (31 + right)

    since a negative value whose product rounds to 0 stays 0. The offsets, which `even_down_offset` and
    `odd_down_offset` give, are twice the constants of that, so that the upper halves of the 64-bit sums are
    all that is left to shift. Values are between -2^30 and 2^30, `right` is at most MAX_DOWN_SHIFT: then
    nothing overflows. Where `right` is 0, `high_product` is all.
    """
    high = high_product(value, multiplier, even_offset, odd_offset)
    return shift_right(add(high, shift_right(value, splat(31))), right)


@inlined
def requantize_clamped(
    value: Vector, multiplier: Vector, less: Vector, even_half: Vector, odd_half: Vector
) -> Vector:
    """`requantize_down` where the zero point is the least that leaves: what is below it may round otherwise.

    So negative values need no correction, nothing is doubled, and the halves of the offsets are added; the
    upper halves are left to shift by `less`, which is one less than `right`.
    """
    return shift_right(upper_halves(value, multiplier, even_half, odd_half), less)


@inlined
def high_product(value: Vector, multiplier: Vector, even_offset: Vector, odd_offset: Vector) -> Vector:
    """The upper halves of 2 * value * multiplier + offset, whose even and odd lanes are apart."""
    return upper_halves(add(value, value), multiplier, even_offset, odd_offset)


@intrinsic
def upper_halves(
    builder: ir.IRBuilder, value: ir.Value, multiplier: ir.Value, even_offset: ir.Value, odd_offset: ir.Value
) -> ir.Value:
    """Those of value * multiplier + offset, whose even and odd lanes are apart."""
    even, odd = (
        _offset_product(builder, take(builder, value), take(builder, multiplier), offset)
        for take, offset in ((_even, even_offset), (_odd, odd_offset))
    )
    upper = [lane | 1 if lane % 2 == 0 else lane + LANES for lane in range(LANES)]
    return builder.shuffle_vector(even, odd, ir.Constant(_LANES32, upper))


def _offset_product(
    builder: ir.IRBuilder, value: ir.Value, multiplier: ir.Value, offset: ir.Value
) -> ir.Value:
    product = builder.mul(value, multiplier)
    return builder.bitcast(builder.add(product, builder.bitcast(offset, _HALF64)), _LANES32)


@intrinsic
def halve64(builder: ir.IRBuilder, offset: ir.Value) -> ir.Value:
    """Half of each 64-bit number, which is even."""
    halves = builder.ashr(builder.bitcast(offset, _HALF64), splat_constant(1, _HALF64))
    return builder.bitcast(halves, _LANES32)


def _down_offset(take: Callable[[ir.IRBuilder, ir.Value], ir.Value]) -> Any:
    def generate(builder: ir.IRBuilder, right: ir.Value, zero_point: ir.Value) -> ir.Value:
        right, zero_point = take(builder, right), take(builder, zero_point)
        one = splat_constant(1, _HALF64)
        half = builder.lshr(builder.shl(one, right), one)
        half = builder.shl(half, splat_constant(32, _HALF64))
        moved = builder.shl(builder.shl(zero_point, splat_constant(32, _HALF64)), right)
        total = builder.add(builder.add(half, moved), splat_constant(1 << 31, _HALF64))
        return builder.bitcast(total, _LANES32)

    return intrinsic(generate)


def _even(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    wide = builder.shl(builder.bitcast(value, _HALF64), splat_constant(32, _HALF64))
    return builder.ashr(wide, splat_constant(32, _HALF64))


def _odd(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    # A shift by 32 says the same, but without AVX-512 LLVM then multiplies all 64 bits.
    order = ir.Constant(_LANES32, [lane | 1 for lane in range(LANES)])
    return _even(builder, builder.shuffle_vector(value, value, order))


even_down_offset = _down_offset(_even)
odd_down_offset = _down_offset(_odd)


def _scaled(builder: ir.IRBuilder, value: ir.Value, multiplier: ir.Value, right: ir.Value) -> ir.Value:
    def constant(number: int) -> ir.Constant:
        return splat_constant(number, _HALF64)

    half = builder.shl(builder.lshr(builder.shl(constant(1), right), constant(1)), constant(31))
    rounds = builder.icmp_signed(">", right, constant(0))
    one = builder.select(rounds, constant(1 << 31), constant(0))
    product = builder.add(builder.mul(value, multiplier), constant(1 << 30))
    total = builder.add(product, half)
    negative = builder.icmp_signed("<", product, constant(0))
    total = builder.select(negative, builder.sub(total, one), total)
    return builder.ashr(total, builder.add(right, constant(31)))
