"""Sixteen int32 lanes as one value in numba: loads, stores, arithmetic and the requantization, in LLVM IR.

LLVM splits the vectors into what the machine has. Addresses are a pointer and an offset in bytes, of any
alignment. Nothing here knows an instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from dlasim.sim.kernels.jit import intrinsic

LANES = 16
BYTES32 = 4 * LANES

_I1, _I8, _I32, _I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
_LANES8, _LANES32 = ir.VectorType(_I8, LANES), ir.VectorType(_I32, LANES)
_HALF64 = ir.VectorType(_I64, LANES // 2)
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)


class Lanes(types.Type):  # type: ignore[misc]
    """The numba type of sixteen int32."""

    def __init__(self) -> None:
        super().__init__("int32x16")


lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _LANES32)


def splat_constant(value: int, vector: ir.VectorType = _LANES32) -> ir.Constant:
    """A vector of equal constants."""
    return ir.Constant(vector, [value] * vector.count)


def place(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, kind: ir.Type) -> ir.Value:
    """The address `offset` bytes beyond `pointer`, as a pointer to `kind`."""
    raw = builder.bitcast(pointer, _I8.as_pointer())
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


def _mask(builder: ir.IRBuilder, count: ir.Value) -> ir.Value:
    """True in the first `count` lanes."""
    numbers = ir.Constant(_LANES32, list(range(LANES)))
    return builder.icmp_signed("<", numbers, splat_value(builder, builder.trunc(count, _I32), _LANES32))


def _masked_load(
    builder: ir.IRBuilder, pointer: ir.Value, count: ir.Value, vector: ir.VectorType
) -> ir.Value:
    name = f"llvm.masked.load.v{LANES}i{vector.element.width}.p0"
    arguments = [pointer, ir.Constant(_I32, 1), _mask(builder, count), ir.Constant(vector, None)]
    return call_llvm(builder, name, vector, arguments)


def _masked_store(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, count: ir.Value) -> None:
    name = f"llvm.masked.store.v{LANES}i{value.type.element.width}.p0"
    call_llvm(builder, name, ir.VoidType(), [value, pointer, ir.Constant(_I32, 1), _mask(builder, count)])


@intrinsic
def load8(typing: Any, pointer: Any, offset: Any) -> Any:
    """Sixteen int8, sign-extended."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = place(builder, args[0], args[1], _LANES8)
        return builder.sext(builder.load(address, align=1), _LANES32)

    return lanes(pointer, types.int64), generate


@intrinsic
def load8_some(typing: Any, pointer: Any, offset: Any, count: Any) -> Any:
    """The first `count` of sixteen int8, sign-extended; zeros beyond, where memory is not touched."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = place(builder, args[0], args[1], _LANES8)
        return builder.sext(_masked_load(builder, address, args[2], _LANES8), _LANES32)

    return lanes(pointer, types.int64, types.int64), generate


@intrinsic
def load32(typing: Any, pointer: Any, offset: Any) -> Any:
    """Sixteen int32."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(place(builder, args[0], args[1], _LANES32), align=4)

    return lanes(pointer, types.int64), generate


@intrinsic
def load32_some(typing: Any, pointer: Any, offset: Any, count: Any) -> Any:
    """The first `count` of sixteen int32; zeros beyond, where memory is not touched."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _masked_load(builder, place(builder, args[0], args[1], _LANES32), args[2], _LANES32)

    return lanes(pointer, types.int64, types.int64), generate


@intrinsic
def store8(typing: Any, pointer: Any, offset: Any, value: Any) -> Any:
    """The low bytes of all lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = place(builder, args[0], args[1], _LANES8)
        builder.store(builder.trunc(args[2], _LANES8), address, align=1)
        return context.get_dummy_value()

    return types.void(pointer, types.int64, lanes), generate


@intrinsic
def store8_some(typing: Any, pointer: Any, offset: Any, value: Any, count: Any) -> Any:
    """The low bytes of the first `count` lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = place(builder, args[0], args[1], _LANES8)
        _masked_store(builder, builder.trunc(args[2], _LANES8), address, args[3])
        return context.get_dummy_value()

    return types.void(pointer, types.int64, lanes, types.int64), generate


@intrinsic
def store32(typing: Any, pointer: Any, offset: Any, value: Any) -> Any:
    """All lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], place(builder, args[0], args[1], _LANES32), align=4)
        return context.get_dummy_value()

    return types.void(pointer, types.int64, lanes), generate


@intrinsic
def store32_some(typing: Any, pointer: Any, offset: Any, value: Any, count: Any) -> Any:
    """The first `count` lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _masked_store(builder, args[2], place(builder, args[0], args[1], _LANES32), args[3])
        return context.get_dummy_value()

    return types.void(pointer, types.int64, lanes, types.int64), generate


@intrinsic
def get32(typing: Any, pointer: Any, offset: Any) -> Any:
    """One int32."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sext(builder.load(place(builder, args[0], args[1], _I32), align=1), _I64)

    return types.int64(pointer, types.int64), generate


@intrinsic
def put32(typing: Any, pointer: Any, offset: Any, value: Any) -> Any:
    """Write the low 32 bits of an integer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(builder.trunc(args[2], _I32), place(builder, args[0], args[1], _I32), align=1)
        return context.get_dummy_value()

    return types.void(pointer, types.int64, types.int64), generate


@intrinsic
def get8(typing: Any, pointer: Any, offset: Any) -> Any:
    """One int8."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sext(builder.load(place(builder, args[0], args[1], _I8)), _I64)

    return types.int64(pointer, types.int64), generate


@intrinsic
def put8(typing: Any, pointer: Any, offset: Any, value: Any) -> Any:
    """Write the low byte of an integer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(builder.trunc(args[2], _I8), place(builder, args[0], args[1], _I8))
        return context.get_dummy_value()

    return types.void(pointer, types.int64, types.int64), generate


@intrinsic
def shifted(typing: Any, pointer: Any, offset: Any) -> Any:
    """The pointer, `offset` bytes further."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(place(builder, args[0], args[1], _I8), args[0].type)

    return pointer(pointer, types.int64), generate


@intrinsic
def table_at(typing: Any, pointer: Any, offset: Any) -> Any:
    """The int32 that lie `offset` bytes beyond the pointer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return place(builder, args[0], args[1], _I32)

    return types.CPointer(types.int32)(pointer, types.int64), generate


@intrinsic
def pointer_at(typing: Any, address: Any) -> Any:
    """The bytes at an address that the host passed as a number."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], _I8.as_pointer())

    return types.CPointer(types.int8)(types.int64), generate


@intrinsic
def copy_bytes(
    typing: Any, target: Any, target_offset: Any, source: Any, source_offset: Any, size: Any
) -> Any:
    """memcpy."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to, source_place = place(builder, args[0], args[1], _I8), place(builder, args[2], args[3], _I8)
        call_llvm(
            builder,
            "llvm.memcpy.p0.p0.i64",
            ir.VoidType(),
            [to, source_place, args[4], ir.Constant(_I1, 0)],
        )
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, types.int64), generate


@intrinsic
def set_bytes(typing: Any, target: Any, offset: Any, value: Any, size: Any) -> Any:
    """memset."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to = place(builder, args[0], args[1], _I8)
        arguments = [to, builder.trunc(args[2], _I8), args[3], ir.Constant(_I1, 0)]
        call_llvm(builder, "llvm.memset.p0.i64", ir.VoidType(), arguments)
        return context.get_dummy_value()

    return types.void(target, types.int64, types.int64, types.int64), generate


@intrinsic
def splat(typing: Any, value: Any) -> Any:
    """All lanes the low 32 bits of an integer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return splat_value(builder, builder.trunc(args[0], _I32), _LANES32)

    return lanes(types.int64), generate


def _binary(build: Callable[[Any, Any, Any], Any]) -> Any:
    def typed(typing: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return build(builder, args[0], args[1])

        return lanes(lanes, lanes), generate

    return intrinsic(typed)


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
def where_negative(typing: Any, value: Any, yes: Any, no: Any) -> Any:
    """`yes` in the lanes where the value is below zero, `no` in the others."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.icmp_signed("<", args[0], splat_constant(0)), args[1], args[2])

    return lanes(lanes, lanes, lanes), generate


@intrinsic
def shift_right_rounded(typing: Any, value: Any, amount: Any) -> Any:
    """value / 2^amount (above 0), halves away from zero, without losing the carry of value + half."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, amount = args
        half = builder.lshr(builder.shl(splat_constant(1), amount), splat_constant(1))
        negative = builder.ashr(value, splat_constant(31))
        moved = builder.add(value, builder.add(half, negative))
        below, above = builder.ashr(moved, amount), builder.lshr(moved, amount)
        return builder.select(builder.icmp_signed("<", value, splat_constant(0)), below, above)

    return lanes(lanes, lanes), generate


@intrinsic
def divide_rounded(typing: Any, value: Any, divisor: Any) -> Any:
    """value / divisor (above 0), halves away from zero; doubles hold all of it exactly."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.sitofp(args[0], _DOUBLES)
        divisor = splat_value(builder, builder.sitofp(args[1], ir.DoubleType()), _DOUBLES)
        magnitude = call_llvm(builder, f"llvm.fabs.v{LANES}f64", _DOUBLES, [value])
        twice = builder.fadd(divisor, divisor)
        quotient = builder.fdiv(builder.fadd(builder.fadd(magnitude, magnitude), divisor), twice)
        whole = builder.fptosi(quotient, _LANES32)
        negative = builder.icmp_signed("<", args[0], splat_constant(0))
        return builder.select(negative, builder.neg(whole), whole)

    return lanes(lanes, types.int64), generate


@intrinsic
def requantize(typing: Any, value: Any, left: Any, least: Any, multiplier: Any, right: Any) -> Any:
    """`numerics.requant` with the shift taken apart: by `left`, then by `right`.

    `least` is the smallest shifted value to multiply: one above the smallest int32 where the multiplier is
    the smallest int32 too, which makes that product saturate. The two roundings, y = (x*m + 2^30) >> 31 and
    (y + half - (y < 0)) >> right, are one shift of a 64-bit number, even and odd lanes apart.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, left, least, multiplier, right = args
        value = builder.shl(value, left)
        value = builder.select(builder.icmp_signed(">", value, least), value, least)
        even = _scaled(builder, *(_even(builder, v) for v in (value, multiplier, right)))
        odd = _scaled(builder, *(_odd(builder, v) for v in (value, multiplier, right)))
        mixed = [lane + (LANES - 1 if lane % 2 else 0) for lane in range(LANES)]
        return builder.shuffle_vector(
            builder.bitcast(even, _LANES32), builder.bitcast(odd, _LANES32), ir.Constant(_LANES32, mixed)
        )

    return lanes(lanes, lanes, lanes, lanes, lanes), generate


def _even(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    wide = builder.shl(builder.bitcast(value, _HALF64), splat_constant(32, _HALF64))
    return builder.ashr(wide, splat_constant(32, _HALF64))


def _odd(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.ashr(builder.bitcast(value, _HALF64), splat_constant(32, _HALF64))


def _scaled(builder: ir.IRBuilder, value: ir.Value, multiplier: ir.Value, right: ir.Value) -> ir.Value:
    def constant(number: int) -> ir.Constant:
        return splat_constant(number, _HALF64)

    half = builder.shl(builder.lshr(builder.shl(constant(1), right), constant(1)), constant(31))
    rounds = builder.icmp_signed(">", right, constant(0))
    one = builder.select(rounds, constant(1 << 31), constant(0))
    product = builder.add(builder.mul(value, multiplier), constant(1 << 30))
    negative = builder.and_(builder.ashr(product, constant(63)), one)
    total = builder.sub(builder.add(product, half), negative)
    return builder.ashr(total, builder.add(right, constant(31)))
