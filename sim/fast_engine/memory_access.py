"""Memory as the kernels reach it: pointers and byte offsets, vectors whole or in part, plain copies."""

from __future__ import annotations

from llvmlite import ir

from dlasim.native.expressions import MEMORY, TypedPointer
from dlasim.native.record import Integer
from dlasim.native.routine import intrinsic
from dlasim.native.target import host
from dlasim.sim.fast_engine.vectors import LANES, call_llvm, place, splat_constant, splat_value, typed

_I1, _I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
HAS_MASKS = host().has("avx512bw")  # whether some bytes are loaded and stored by single instructions
_LANES8, _LANES32 = ir.VectorType(_I8, LANES), ir.VectorType(_I32, LANES)


def _mask(builder: ir.IRBuilder, count: ir.Value, lanes: int = LANES) -> ir.Value:
    """True in the first `count` lanes."""
    vector = ir.VectorType(_I32, lanes)
    numbers = ir.Constant(vector, list(range(lanes)))
    return builder.icmp_signed("<", numbers, splat_value(builder, builder.trunc(count, _I32), vector))


def load_masked(builder: ir.IRBuilder, pointer: ir.Value, count: ir.Value, vector: ir.VectorType) -> ir.Value:
    """The first `count` lanes; zeros beyond, where memory is not touched."""
    name = f"llvm.masked.load.v{vector.count}i{vector.element.width}.p0"
    address = builder.bitcast(pointer, vector.as_pointer())
    mask = _mask(builder, count, vector.count)
    return call_llvm(builder, name, vector, [address, ir.Constant(_I32, 1), mask, ir.Constant(vector, None)])


def _masked_store(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, count: ir.Value) -> None:
    name = f"llvm.masked.store.v{LANES}i{value.type.element.width}.p0"
    call_llvm(builder, name, ir.VoidType(), [value, pointer, ir.Constant(_I32, 1), _mask(builder, count)])


@intrinsic
def load8(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> ir.Value:
    """Sixteen int8, sign-extended."""
    address = place(builder, pointer, offset, _LANES8)
    return builder.sext(builder.load(address, align=1), _LANES32)


@intrinsic
def load8_some(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, count: ir.Value) -> ir.Value:
    """The first `count` of sixteen int8, sign-extended; zeros beyond, where memory is not touched."""
    address = place(builder, pointer, offset, _LANES8)
    return builder.sext(load_masked(builder, address, count, _LANES8), _LANES32)


@intrinsic
def load32(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> ir.Value:
    """Sixteen int32."""
    return builder.load(place(builder, pointer, offset, _LANES32), align=4)


@intrinsic
def load_third(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, first: ir.Constant) -> ir.Value:
    """Every third of 48 int32, from the one with the number `first` on."""
    numbers = [first.constant + 3 * lane for lane in range(LANES)]
    parts = [
        builder.load(
            place(builder, pointer, builder.add(offset, ir.Constant(_I64, 4 * LANES * part)), _LANES32),
            align=4,
        )
        for part in range(3)
    ]
    order = [number if number < 2 * LANES else 0 for number in numbers]
    early = builder.shuffle_vector(parts[0], parts[1], ir.Constant(_LANES32, order))
    order = [lane if number < 2 * LANES else number - LANES for lane, number in enumerate(numbers)]
    return builder.shuffle_vector(early, parts[2], ir.Constant(_LANES32, order))


@intrinsic
def load32_some(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, count: ir.Value) -> ir.Value:
    """The first `count` of sixteen int32; zeros beyond, where memory is not touched."""
    return load_masked(builder, place(builder, pointer, offset, _LANES32), count, _LANES32)


@intrinsic
def store8(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, value: ir.Value) -> None:
    """The low bytes of all lanes."""
    address = place(builder, pointer, offset, _LANES8)
    builder.store(builder.trunc(value, _LANES8), address, align=1)


@intrinsic
def store8_some(
    builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, value: ir.Value, count: ir.Value
) -> None:
    """The low bytes of the first `count` lanes, at most 15."""
    value = builder.trunc(value, _LANES8)
    if HAS_MASKS:
        _masked_store(builder, value, place(builder, pointer, offset, _LANES8), count)
    else:
        _store_parts(builder, value, place(builder, pointer, offset, _I8), count)


def _store_parts(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, count: ir.Value) -> None:
    """Eight, four, two bytes and one, as many as there are: LLVM would store and branch for each byte."""
    halves = builder.bitcast(value, ir.VectorType(_I64, 2))
    rest, high = (builder.extract_element(halves, ir.Constant(_I32, number)) for number in (0, 1))
    for part in (8, 4, 2, 1):
        chosen = builder.and_(count, ir.Constant(_I64, part))
        holds = builder.icmp_signed("!=", chosen, ir.Constant(_I64, 0))
        kind = ir.IntType(8 * part)
        with builder.if_then(holds):
            stored = rest if kind == _I64 else builder.trunc(rest, kind)
            builder.store(stored, builder.bitcast(pointer, kind.as_pointer()), align=1)
        pointer = builder.gep(pointer, [chosen])
        left = high if kind == _I64 else builder.lshr(rest, ir.Constant(_I64, 8 * part))
        rest = builder.select(holds, left, rest)


@intrinsic
def store8_saturated(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, value: ir.Value) -> None:
    """All lanes as int8, those out of its range as its nearest value."""
    for relation, limit in ((">", splat_constant(-128)), ("<", splat_constant(127))):
        value = builder.select(builder.icmp_signed(relation, value, limit), value, limit)
    builder.store(builder.trunc(value, _LANES8), place(builder, pointer, offset, _LANES8), align=1)


@intrinsic
def store8_halves(
    builder: ir.IRBuilder, pointer: ir.Value, first: ir.Value, second: ir.Value, value: ir.Value
) -> None:
    """The low bytes of the first half of the lanes at one offset, those of the others at a second offset,
    which are lost where both are the same."""
    value, kind = builder.trunc(value, _LANES8), ir.VectorType(_I8, LANES // 2)
    for offset, lane in ((second, LANES // 2), (first, 0)):
        order = ir.Constant(ir.VectorType(_I32, LANES // 2), list(range(lane, lane + LANES // 2)))
        half = builder.shuffle_vector(value, value, order)
        builder.store(half, place(builder, pointer, offset, kind), align=1)


@intrinsic
def store8_quad(
    builder: ir.IRBuilder,
    pointer: ir.Value,
    offset: ir.Value,
    first: ir.Value,
    second: ir.Value,
    third: ir.Value,
    fourth: ir.Value,
) -> None:
    """All lanes of four vectors as int8, saturated: the first four lanes of each, then the next four, and so
    on; AVX-512 puts them together that way."""
    shorts, packed = ir.VectorType(_I16, 2 * LANES), ir.VectorType(_I8, 4 * LANES)
    halves = [
        call_llvm(builder, "llvm.x86.avx512.packssdw.512", shorts, pair)
        for pair in ([first, second], [third, fourth])
    ]
    value = call_llvm(builder, "llvm.x86.avx512.packsswb.512", packed, halves)
    builder.store(value, place(builder, pointer, offset, packed), align=1)


@intrinsic
def store32(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, value: ir.Value) -> None:
    """All lanes."""
    builder.store(value, place(builder, pointer, offset, _LANES32), align=4)


@intrinsic
def store32_some(
    builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, value: ir.Value, count: ir.Value
) -> None:
    """The first `count` lanes."""
    _masked_store(builder, value, place(builder, pointer, offset, _LANES32), count)


@intrinsic
def get32(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> ir.Value:
    """One int32."""
    return builder.sext(builder.load(place(builder, pointer, offset, _I32), align=1), _I64)


@intrinsic
def put32(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, value: ir.Value) -> None:
    """Write the low 32 bits of an integer."""
    builder.store(builder.trunc(value, _I32), place(builder, pointer, offset, _I32), align=1)


@intrinsic
def get8(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> ir.Value:
    """One int8."""
    return builder.sext(builder.load(place(builder, pointer, offset, _I8)), _I64)


@intrinsic
def put8(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, value: ir.Value) -> None:
    """Write the low byte of an integer."""
    builder.store(builder.trunc(value, _I8), place(builder, pointer, offset, _I8))


@intrinsic
def shifted(builder: ir.IRBuilder, pointer: TypedPointer, offset: ir.Value) -> TypedPointer:
    """The pointer, `offset` bytes further."""
    return pointer._replace(pointer=builder.bitcast(place(builder, pointer, offset, _I8), MEMORY))


@intrinsic
def table_at(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> TypedPointer:
    """The int32 that lie `offset` bytes beyond the pointer."""
    return typed(builder, place(builder, pointer, offset, _I32), Integer(32))


@intrinsic
def pointer_at(builder: ir.IRBuilder, address: ir.Value) -> TypedPointer:
    """The bytes at an address that the host passed as a number."""
    return typed(builder, builder.inttoptr(address, _I8.as_pointer()), Integer(8))


@intrinsic
def copy_bytes(
    builder: ir.IRBuilder,
    target: ir.Value,
    target_offset: ir.Value,
    source: ir.Value,
    source_offset: ir.Value,
    size: ir.Value,
) -> None:
    """memcpy."""
    to, source_place = place(builder, target, target_offset, _I8), place(builder, source, source_offset, _I8)
    call_llvm(builder, "llvm.memcpy.p0.p0.i64", ir.VoidType(), [to, source_place, size, ir.Constant(_I1, 0)])
