"""The native hooks: what the emulator calls at the start of every basic block, when it fills its TLB, and,
when debugging, before every instruction. They count and find out when to stop; what the words of the
ledger mean stands in `ledger.py`.

They are put together as LLVM code instead of Python compiled by numba because they run tens of millions
of times a second: the block hook is some 30 machine instructions, with all that is rare out of its way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from dlasim.vp import ledger as at

_BYTE, _WORD, _LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_POINTER = _BYTE.as_pointer()
_LONG_BYTES = 8
_MSTATUS_MIE = 8

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
def compile_hooks(*, taken_branches_cost: bool, log_functions: bool = False) -> NativeHooks:
    """Machine code for this host; what is not requested is left out."""
    module = ir.Module("hooks")
    _rare_function(module)
    _block_function(module, taken_branches_cost, log_functions)
    _debug_function(module)
    _tlb_function(module)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    compiled = llvm.parse_assembly(str(module))
    compiled.verify()
    engine = llvm.create_mcjit_compiler(compiled, machine)
    engine.finalize_object()
    block, debug, tlb = (engine.get_function_address(f"{name}_hook") for name in ("block", "debug", "tlb"))
    return NativeHooks(block, debug, tlb, engine)


class _Function:
    """A function under construction, with the ledger as its memory."""

    def __init__(self, module: ir.Module, name: str, result: ir.Type, arguments: list[ir.Type]) -> None:
        self.function = ir.Function(module, ir.FunctionType(result, arguments), name)
        self.build = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.arguments = self.function.args
        self.base = self.build.ptrtoint(self.arguments[-1], _LONG)

    def load(self, word: int, base: ir.Value | None = None) -> ir.Value:
        """A word of the ledger, or of the record at the address `base`."""
        return self.build.load(self._place(word, base))

    def store(self, word: int, value: ir.Value | int, base: ir.Value | None = None) -> None:
        """Writes one."""
        self.build.store(_LONG(value) if isinstance(value, int) else value, self._place(word, base))

    def add(self, word: int, value: ir.Value | int, base: ir.Value | None = None) -> None:
        """Adds to one."""
        amount = _LONG(value) if isinstance(value, int) else value
        self.store(word, self.build.add(self.load(word, base), amount), base)

    def call(self, word: int, result: ir.Type, *arguments: ir.Value) -> ir.Value:
        """Calls the function whose address a word holds."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.build.call(self.build.inttoptr(self.load(word), kind.as_pointer()), arguments)

    def _place(self, word: int, base: ir.Value | None) -> ir.Value:
        address = self.build.add(self.base if base is None else base, _LONG(_LONG_BYTES * word))
        return self.build.inttoptr(address, _LONG.as_pointer())


def _block_function(module: ir.Module, taken_branches_cost: bool, log_functions: bool) -> None:
    """void block_hook(engine, pc, size, ledger): charges the block before, checks deadlines, opens this."""
    hook = _Function(module, "block_hook", ir.VoidType(), [_POINTER, _LONG, _WORD, _POINTER])
    build, (engine, pc, size, ledger) = hook.build, hook.arguments
    entry = build.block
    charge, check = build.append_basic_block("charge"), build.append_basic_block("check")
    rare, begin = build.append_basic_block("rare"), build.append_basic_block("begin")
    known, unknown = build.append_basic_block("known"), build.append_basic_block("unknown")
    started, before = hook.load(at.INSTRUCTIONS), hook.load(at.CYCLES)
    first = hook.load(at.OPEN_FIRST)
    build.cbranch(build.icmp_unsigned("!=", first, _LONG(0)), charge, check)

    build.position_at_end(charge)
    last = hook.load(at.OPEN_LAST)
    instructions, cycles = (
        build.add(total, build.sub(hook.load(word, last), hook.load(word, first)))
        for total, word in ((started, at.INSTRUCTION_SUM), (before, at.CYCLE_SUM))
    )
    hook.add(at.EDGES, 1, first)
    hook.add(at.EDGES, -1, last)
    if taken_branches_cost:
        cycles = _charge_taken(hook, pc, last, cycles)
    hook.store(at.INSTRUCTIONS, instructions)
    hook.store(at.CYCLES, cycles)
    charged = build.block
    build.branch(check)

    build.position_at_end(check)
    now, count = build.phi(_LONG), build.phi(_LONG)
    for phi, old, new in ((now, before, cycles), (count, started, instructions)):
        phi.add_incoming(old, entry)
        phi.add_incoming(new, charged)
    late = build.icmp_signed(">=", now, hook.load(at.DEADLINE_CYCLES))
    full = build.icmp_signed(">=", count, hook.load(at.DEADLINE_INSTRUCTIONS))
    build.cbranch(build.or_(late, full), rare, begin).set_weights([1, 1 << 20])

    build.position_at_end(rare)
    hook.store(at.OPEN_FIRST, 0)
    stop = build.call(module.get_global("must_stop"), [engine, ledger])
    leave = build.append_basic_block("leave")
    build.cbranch(stop, leave, begin)
    build.position_at_end(leave)
    build.ret_void()

    build.position_at_end(begin)
    blocks = hook.load(at.BLOCKS)
    ring = build.mul(build.and_(blocks, _LONG(at.RING_BLOCKS - 1)), _LONG(_LONG_BYTES))
    hook.store(at.RING, pc, build.add(hook.base, ring))
    hook.store(at.BLOCKS, build.add(blocks, _LONG(1)))
    offset = build.sub(pc, hook.load(at.CODE_BASE))
    inside = build.icmp_unsigned("<", offset, hook.load(at.CODE_BYTES))
    build.cbranch(inside, known, unknown).set_weights([1 << 20, 1])

    build.position_at_end(known)
    bytes_ = build.zext(size, _LONG)
    record = build.add(hook.base, build.mul(offset, _LONG(at.RECORD_BYTES_PER_CODE_BYTE)))
    record = build.add(record, _LONG(_LONG_BYTES * at.HEAD_WORDS))
    hook.store(at.OPEN_FIRST, record)
    hook.store(at.OPEN_LAST, build.add(record, build.mul(bytes_, _LONG(at.RECORD_BYTES_PER_CODE_BYTE))))
    hook.store(at.OPEN_END, build.add(pc, bytes_))
    if log_functions:
        _log_function(hook, record, now)
    build.ret_void()

    build.position_at_end(unknown)  # a guess, so that deadlines still come
    guess = build.lshr(build.add(build.zext(size, _LONG), _LONG(3)), _LONG(2))
    for word, amount in ((at.OUTSIDE_BLOCKS, 1), (at.INSTRUCTIONS, guess), (at.CYCLES, guess)):
        hook.add(word, amount)
    hook.store(at.OPEN_FIRST, 0)
    build.ret_void()


def _charge_taken(hook: _Function, pc: ir.Value, last: ir.Value, cycles: ir.Value) -> ir.Value:
    """The cycles with the extra ones of the branch at `last`, if this block does not follow it."""
    build = hook.build
    plain = build.block
    taken = build.icmp_unsigned("!=", pc, hook.load(at.OPEN_END))
    with build.if_then(taken):
        hook.add(at.TAKEN, 1, last)
        more = build.add(cycles, hook.load(at.TAKEN_CYCLES, last))
        added = build.block
    total = build.phi(_LONG)
    total.add_incoming(cycles, plain)
    total.add_incoming(more, added)
    return total


def _log_function(hook: _Function, record: ir.Value, now: ir.Value) -> None:
    """Appends (now, function) to the log if the block belongs to another function than the one before."""
    build = hook.build
    function = hook.load(at.FUNCTION, record)
    with build.if_then(build.icmp_unsigned("!=", function, hook.load(at.FUNCTION_NOW)), likely=False):
        hook.store(at.FUNCTION_NOW, function)
        entry = hook.load(at.LOG_AT)
        with build.if_else(build.icmp_unsigned("<", entry, hook.load(at.LOG_END))) as (fits, full):
            with fits:
                hook.store(0, now, entry)
                hook.store(1, function, entry)
                hook.add(at.LOG_AT, 2 * _LONG_BYTES)
            with full:
                hook.add(at.LOG_LOST, 1)


def _rare_function(module: ir.Module) -> None:
    """bool must_stop(engine, ledger): a deadline is really due, or an interrupt pending that is accepted."""
    rare = _Function(module, "must_stop", ir.IntType(1), [_POINTER, _POINTER])
    rare.function.attributes.add("noinline")
    build, engine = rare.build, rare.arguments[0]
    stop, look = build.append_basic_block("stop"), build.append_basic_block("look")
    on, due = build.append_basic_block("on"), build.append_basic_block("due")
    build.cbranch(build.icmp_unsigned("!=", rare.load(at.RESUME_FIRST), _LONG(0)), on, due)
    build.position_at_end(due)  # events wait for the next start of a block
    late = build.icmp_signed(">=", rare.load(at.CYCLES), rare.load(at.EVENT_CYCLES))
    full = build.icmp_signed(">=", rare.load(at.INSTRUCTIONS), rare.load(at.DEADLINE_INSTRUCTIONS))
    build.cbranch(build.or_(late, full), stop, look)

    build.position_at_end(look)
    scratch = build.inttoptr(build.add(rare.base, _LONG(_LONG_BYTES * at.SCRATCH)), _POINTER)
    enabled = []
    for register in (at.MSTATUS_ID, at.MIE_ID):
        rare.store(at.SCRATCH, 0)
        rare.call(at.READ_FUNCTION, _WORD, engine, build.trunc(rare.load(register), _WORD), scratch)
        enabled.append(rare.load(at.SCRATCH))
    globally = build.icmp_unsigned("!=", build.and_(enabled[0], _LONG(_MSTATUS_MIE)), _LONG(0))
    singly = build.icmp_unsigned("!=", build.and_(enabled[1], rare.load(at.PENDING)), _LONG(0))
    build.cbranch(build.and_(globally, singly), stop, on)
    build.position_at_end(on)
    build.ret(ir.IntType(1)(0))

    build.position_at_end(stop)
    rare.store(at.STOPPED, at.STOP_DEADLINE)
    rare.call(at.STOP_FUNCTION, _WORD, engine)
    build.ret(ir.IntType(1)(1))


def _debug_function(module: ir.Module) -> None:
    """void debug_hook(engine, pc, size, ledger): stops at a breakpoint, or at anything when stepping."""
    hook = _Function(module, "debug_hook", ir.VoidType(), [_POINTER, _LONG, _WORD, _POINTER])
    build, (engine, pc, _, _) = hook.build, hook.arguments
    with build.if_then(build.icmp_unsigned("!=", hook.load(at.PASS_ONE), _LONG(0))):
        hook.store(at.PASS_ONE, 0)
        inside = hook.load(at.RESUME_FIRST)
        with build.if_then(build.icmp_unsigned("!=", inside, _LONG(0))):
            hook.store(at.OPEN_FIRST, inside)
            hook.store(at.RESUME_FIRST, 0)
        build.ret_void()
    with build.if_then(build.icmp_unsigned("!=", hook.load(at.STEP), _LONG(0))):
        _stop(hook, engine)
    offset = build.sub(pc, hook.load(at.CODE_BASE))
    with build.if_then(build.icmp_unsigned("<", offset, hook.load(at.CODE_BYTES))):
        record = build.add(hook.base, build.mul(offset, _LONG(at.RECORD_BYTES_PER_CODE_BYTE)))
        marked = hook.load(at.HEAD_WORDS + at.BREAKPOINT, record)
        with build.if_then(build.icmp_unsigned("!=", marked, _LONG(0))):
            _stop(hook, engine)
    build.ret_void()


def _stop(hook: _Function, engine: ir.Value) -> None:
    hook.store(at.STOPPED, at.STOP_DEBUG)
    hook.call(at.STOP_FUNCTION, _WORD, engine)
    hook.build.ret_void()


def _tlb_function(module: ir.Module) -> None:
    """bool tlb_hook(engine, address, access, entry, map): addresses are physical; who may do what.

    Pages of RAM are executable only once something was fetched from them: stores to executable pages
    take Unicorn's slow path, which looks for code to forget and is ten times slower. `map` holds RAM's
    base, its size, then a byte per page that says whether it was.
    """
    arguments = [_POINTER, _LONG, _WORD, _POINTER, _POINTER]
    hook = _Function(module, "tlb_hook", ir.IntType(8), arguments)
    build, (_, address, access, entry, table) = hook.build, hook.arguments
    entry_base = build.ptrtoint(entry, _LONG)
    hook.store(0, build.and_(address, _LONG(~0xFFF)), entry_base)
    rights = build.inttoptr(build.add(entry_base, _LONG(_LONG_BYTES)), _WORD.as_pointer())
    is_fetch = build.icmp_unsigned("==", access, _WORD(_FETCH))
    elsewhere = build.select(is_fetch, _WORD(_READ | _EXECUTE), _WORD(_READ | _WRITE | _EXECUTE))
    build.store(elsewhere, rights)
    offset = build.sub(address, hook.load(0))
    with build.if_then(build.icmp_unsigned("<", offset, hook.load(1))):
        page = build.lshr(offset, _LONG(12))
        flag = build.gep(table, [build.add(page, _LONG(2 * _LONG_BYTES))])
        fetched = build.or_(build.load(flag), build.zext(is_fetch, _BYTE))
        build.store(fetched, flag)
        executable = build.icmp_unsigned("!=", fetched, _BYTE(0))
        data = _WORD(_READ | _WRITE)
        build.store(build.select(executable, _WORD(_READ | _WRITE | _EXECUTE), data), rights)
    build.ret(_BYTE(1))
