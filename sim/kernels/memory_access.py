"""Memory as the kernels reach it: pointers and byte offsets, vectors whole or in part, plain copies."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from dlasim.sim.kernels.jit import intrinsic
from dlasim.sim.kernels.vectors import LANES, call_llvm, lanes, place, splat_value

_I1, _I8, _I32, _I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
_LANES8, _LANES32 = ir.VectorType(_I8, LANES), ir.VectorType(_I32, LANES)


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
