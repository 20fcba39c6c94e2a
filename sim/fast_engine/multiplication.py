"""How sums of products are made, in LLVM IR.

The CPU decides between two ways when this module is imported. With VNNI, inputs are staged as `uint8` in
groups of four bytes, for one instruction (u8 times s8). Otherwise they are `int16` in groups of two, for the
pair multiplication that every x86 has, or what LLVM makes of it elsewhere. A group has 32 bits either way, so
addresses and layouts are the same.
"""

from __future__ import annotations

from llvmlite import ir

from dlasim.native.record import Integer
from dlasim.native.target import host
from dlasim.sim.fast_engine.vectors import LANES, call_llvm, splat_constant

_I16, _I32 = ir.IntType(16), ir.IntType(32)
_SUMS = ir.VectorType(_I32, LANES)
Values = list[ir.Value]

IS_QUAD = host().has_vnni  # whether groups are four bytes rather than two shorts
STAGED = Integer(8, is_signed=False) if IS_QUAD else Integer(16)  # the type of a staged input
STAGED_BYTES = STAGED.bits // 8


def _split(builder: ir.IRBuilder, width: int, name: str, arguments: Values) -> ir.Value:
    """Call an intrinsic that works on `width` lanes on each part of sixteen, and join the parts."""
    part = ir.VectorType(_I32, width)
    results = []
    for start in range(0, LANES, width):
        mask = ir.Constant(part, list(range(start, start + width)))
        pieces = [builder.shuffle_vector(a, ir.Constant(_SUMS, None), mask) for a in arguments]
        results.append(call_llvm(builder, name, part, pieces))
    while len(results) > 1:
        results = [_join(builder, *results[i : i + 2]) for i in range(0, len(results), 2)]
    return results[0]


def _join(builder: ir.IRBuilder, low: ir.Value, high: ir.Value) -> ir.Value:
    count = 2 * low.type.count
    return builder.shuffle_vector(low, high, ir.Constant(ir.VectorType(_I32, count), list(range(count))))


def _quads(builder: ir.IRBuilder, total: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    """Sums of four products of an unsigned and a signed byte."""
    width, bits = (16, 512) if host().has("avx512vnni") else (8, 256)
    return _split(builder, width, f"llvm.x86.avx512.vpdpbusd.{bits}", [total, inputs, weights])


def pairs(builder: ir.IRBuilder, total: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    """Sums of two products of signed shorts."""
    target = host()
    if not target.is_x86:
        low = [
            builder.ashr(builder.shl(v, splat_constant(16)), splat_constant(16)) for v in (inputs, weights)
        ]
        high = [builder.ashr(v, splat_constant(16)) for v in (inputs, weights)]
        return builder.add(builder.add(total, builder.mul(*low)), builder.mul(*high))
    if target.has("avx512bw"):
        return builder.add(total, _products(builder, 16, "llvm.x86.avx512.pmaddw.d.512", inputs, weights))
    if target.has("avx2"):
        return builder.add(total, _products(builder, 8, "llvm.x86.avx2.pmadd.wd", inputs, weights))
    return builder.add(total, _products(builder, 4, "llvm.x86.sse2.pmadd.wd", inputs, weights))


def _products(builder: ir.IRBuilder, width: int, name: str, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    part, shorts = ir.VectorType(_I32, width), ir.VectorType(_I16, 2 * width)
    results = []
    for start in range(0, LANES, width):
        mask = ir.Constant(part, list(range(start, start + width)))
        pieces = [
            builder.bitcast(builder.shuffle_vector(v, ir.Constant(_SUMS, None), mask), shorts)
            for v in (inputs, weights)
        ]
        results.append(call_llvm(builder, name, part, pieces))
    while len(results) > 1:
        results = [_join(builder, *results[i : i + 2]) for i in range(0, len(results), 2)]
    return results[0]


add_products = _quads if IS_QUAD else pairs  # adds the products of groups to sums
