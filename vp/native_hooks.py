"""The native hooks: `block_hooks` compiled for this host, and the hook that fills the emulator's TLB."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from dlasim.dataclass import dataclass
from dlasim.native import target
from dlasim.native.translator import TranslationUnit
from dlasim.vp.block_hooks import begin_block, begin_instruction, must_stop, read_register, stop_emulator

_BYTE, _WORD, _LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_POINTER = _BYTE.as_pointer()
_PAGE_BITS = 12

# Of the emulator's interface.
_FETCH = 18  # UC_MEM_FETCH
_READ, _WRITE, _EXECUTE = 1, 2, 4


@dataclass(frozen=True, slots=True)
class NativeHooks:
    """Addresses of the hooks, and what keeps their code alive."""

    block: int
    debug: int
    fill_tlb: int
    engine: Any


@cache
def compile_hooks(
    stop_address: int, read_address: int, *, taken_branches_cost: bool, log_functions: bool = False
) -> NativeHooks:
    """Machine code for this host, given the emulator's functions that stop it and read a register; code for
    what nobody asks for is left out."""
    unit = TranslationUnit()
    _entry(unit, begin_block, "block_hook", int(taken_branches_cost), int(log_functions))
    _entry(unit, begin_instruction, "debug_hook")
    _fill_tlb(unit.module)
    for function, address in ((stop_emulator, stop_address), (read_register, read_address)):
        llvm.add_symbol(unit.function(function)[0].name, address)
    engine = llvm.create_mcjit_compiler(_optimized(unit), target.machine())
    engine.finalize_object()
    block, debug, tlb = (engine.get_function_address(f"{name}_hook") for name in ("block", "debug", "tlb"))
    return NativeHooks(block, debug, tlb, engine)


def _entry(unit: TranslationUnit, routine: Callable[..., Any], name: str, *constants: int) -> None:
    """void name(engine, pc, size, counts): calls a routine, with constants for its other arguments."""
    called, _ = unit.function(routine)
    kinds = [_LONG, _LONG, _WORD, called.args[3].type]
    function = ir.Function(unit.module, ir.FunctionType(ir.VoidType(), kinds), name)
    build = ir.IRBuilder(function.append_basic_block())
    engine, pc, size, counts = function.args
    build.call(called, [engine, pc, build.zext(size, _LONG), counts, *map(_LONG, constants)])
    build.ret_void()


def _optimized(unit: TranslationUnit) -> llvm.ModuleRef:
    """The module with routines inlined, but for the one that is rarely called."""
    rare = unit.function(must_stop)[0].name
    target.initialize()
    module = llvm.parse_assembly(str(unit.module))
    for function in module.functions:
        if function.name == rare:
            function.add_function_attribute("noinline")
            function.add_function_attribute("cold")
        if not function.is_declaration and not function.name.endswith("_hook"):
            function.linkage = "internal"
    builder = llvm.create_pass_builder(target.machine(), llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    return module


def _fill_tlb(module: ir.Module) -> None:
    """bool tlb_hook(engine, address, access, entry, map): addresses are physical; who may do what.

    Pages of RAM are executable only once something was fetched from them: stores to executable pages
    take Unicorn's slow path, which looks for code to forget and is ten times slower. `map` holds RAM's
    base, its size, then a byte per page that says whether it was.
    """
    kinds = [_POINTER, _LONG, _WORD, _LONG.as_pointer(), _LONG.as_pointer()]
    function = ir.Function(module, ir.FunctionType(_BYTE, kinds), "tlb_hook")
    build = ir.IRBuilder(function.append_basic_block())
    _, address, access, entry, table = function.args
    rights_at = build.bitcast(build.gep(entry, [_LONG(1)]), _WORD.as_pointer())
    base, size = (build.load(build.gep(table, [_LONG(word)])) for word in range(2))
    flags = build.bitcast(build.gep(table, [_LONG(2)]), _POINTER)
    everything, data = _WORD(_READ | _WRITE | _EXECUTE), _WORD(_READ | _WRITE)

    is_fetch = build.icmp_unsigned("==", access, _WORD(_FETCH))
    build.store(build.and_(address, _LONG(-1 << _PAGE_BITS)), entry)
    build.store(build.select(is_fetch, _WORD(_READ | _EXECUTE), everything), rights_at)
    offset = build.sub(address, base)
    with build.if_then(build.icmp_unsigned("<", offset, size)):
        flag_at = build.gep(flags, [build.lshr(offset, _LONG(_PAGE_BITS))])
        fetched = build.or_(build.load(flag_at), build.zext(is_fetch, _BYTE))
        build.store(fetched, flag_at)
        is_code = build.icmp_unsigned("!=", fetched, _BYTE(0))
        build.store(build.select(is_code, everything, data), rights_at)
    build.ret(_BYTE(1))
