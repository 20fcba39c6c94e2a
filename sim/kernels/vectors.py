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
    total = builder.add(product, half)
    negative = builder.icmp_signed("<", product, constant(0))
    total = builder.select(negative, builder.sub(total, one), total)
    return builder.ashr(total, builder.add(right, constant(31)))
