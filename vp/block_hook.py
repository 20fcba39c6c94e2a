"""The native hooks: called by the emulator at the start of every basic block (and, when debugging, of every
instruction). They count and find out when to stop; what the numbers mean stands in `ledger.py`.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dlasim.vp.ledger import (
    BLOCKS,
    BREAKPOINT,
    CODE_BASE,
    CODE_BYTES,
    CYCLE_SUM,
    CYCLES,
    DEADLINE_CYCLES,
    DEADLINE_INSTRUCTIONS,
    EDGES,
    EVENT_CYCLES,
    HEAD_WORDS,
    INSTRUCTION_SUM,
    INSTRUCTIONS,
    MIE_ID,
    MSTATUS_ID,
    OPEN_END,
    OPEN_FIRST,
    OPEN_LAST,
    OUTSIDE_BLOCKS,
    OWN_ADDRESS,
    PASS_ONE,
    PENDING,
    READ_FUNCTION,
    RECORD_WORDS,
    RING,
    RING_BLOCKS,
    SCRATCH,
    STEP,
    STOP_DEADLINE,
    STOP_DEBUG,
    STOP_FUNCTION,
    STOPPED,
    TAKEN,
    TAKEN_CYCLES,
)

# As unsigned numbers, for numba adds a test for negative indices to every signed one.
_INSTRUCTION_SUM = np.uint64(INSTRUCTION_SUM)
_CYCLE_SUM = np.uint64(CYCLE_SUM)
_EDGES = np.uint64(EDGES)
_TAKEN = np.uint64(TAKEN)
_TAKEN_CYCLES = np.uint64(TAKEN_CYCLES)
_BREAKPOINT = np.uint64(BREAKPOINT)
_HEAD_WORDS = np.uint64(HEAD_WORDS)
_WORDS_PER_BYTE = np.uint64(RECORD_WORDS // 2)
_RING = np.uint64(RING)

_MSTATUS_MIE = 8
# numba's types are partial; through Any it is left unchecked.
_numba: Any = numba
_types: Any = types

_LEDGER = _types.CPointer(types.int64)
_HOOK = types.void(types.voidptr, types.uint64, types.uint32, _LEDGER)
_HUGE = 1 << 40  # carray wants a shape; the hook never looks beyond the records


def _stop_code(typing_context: Any, function: Any, engine: Any) -> Any:
    """uc_emu_stop(engine), by address: a ctypes function would keep numba from caching this module."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(ir.IntType(32), [byte_pointer])
        function_pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        return builder.call(function_pointer, [builder.bitcast(arguments[1], byte_pointer)])

    return types.int32(types.int64, types.voidptr), codegen


_call_stop: Any = intrinsic(_stop_code)


def _read_code(typing_context: Any, function: Any, engine: Any, register: Any, target: Any) -> Any:
    """uc_reg_read(engine, register, target), all by address."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        function_type = ir.FunctionType(word, [byte_pointer, word, byte_pointer])
        function_pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        register_id = builder.trunc(arguments[2], word)
        target_pointer = builder.inttoptr(arguments[3], byte_pointer)
        return builder.call(function_pointer, [arguments[1], register_id, target_pointer])

    return types.int32(types.int64, types.voidptr, types.int64, types.int64), codegen


_call_read: Any = intrinsic(_read_code)


def _find_reason(engine: Any, ledger_pointer: Any) -> Any:
    """Whether a deadline is really due, or an interrupt pending that the CPU would take."""
    ledger = _numba.carray(ledger_pointer, (_HUGE,))
    if ledger[CYCLES] >= ledger[EVENT_CYCLES] or ledger[INSTRUCTIONS] >= ledger[DEADLINE_INSTRUCTIONS]:
        return True
    scratch = ledger[OWN_ADDRESS] + 8 * SCRATCH
    _call_read(ledger[READ_FUNCTION], engine, ledger[MSTATUS_ID], scratch)
    if ledger[SCRATCH] & _MSTATUS_MIE == 0:
        return False
    _call_read(ledger[READ_FUNCTION], engine, ledger[MIE_ID], scratch)
    return (ledger[SCRATCH] & ledger[PENDING]) != 0


_must_stop: Any = _numba.njit(types.boolean(types.voidptr, _LEDGER), cache=True)(_find_reason)


def _on_block(engine: Any, pc: Any, size: Any, ledger_pointer: Any) -> None:
    """Charges the block before, notes this one, and stops where a deadline or an interrupt asks for it."""
    ledger = _numba.carray(ledger_pointer, (_HUGE,))
    start = np.int64(pc)
    first = np.uint64(ledger[OPEN_FIRST])
    instructions = ledger[INSTRUCTIONS]
    cycles = ledger[CYCLES]
    if first != 0:
        last = np.uint64(ledger[OPEN_LAST])
        instructions += ledger[last + _INSTRUCTION_SUM] - ledger[first + _INSTRUCTION_SUM]
        cycles += ledger[last + _CYCLE_SUM] - ledger[first + _CYCLE_SUM]
        if start != ledger[OPEN_END]:
            cycles += ledger[last + _TAKEN_CYCLES]
            ledger[last + _TAKEN] += 1
        ledger[first + _EDGES] += 1
        ledger[last + _EDGES] -= 1
        ledger[INSTRUCTIONS] = instructions
        ledger[CYCLES] = cycles

    if cycles >= ledger[DEADLINE_CYCLES] or instructions >= ledger[DEADLINE_INSTRUCTIONS]:
        ledger[OPEN_FIRST] = 0
        if _must_stop(engine, ledger_pointer):
            ledger[STOPPED] = STOP_DEADLINE
            _call_stop(ledger[STOP_FUNCTION], engine)
            return

    blocks = ledger[BLOCKS]
    ledger[_RING + np.uint64(blocks & (RING_BLOCKS - 1))] = start
    ledger[BLOCKS] = blocks + 1
    offset = np.uint64(start - ledger[CODE_BASE])
    end = offset + np.uint64(size)
    if end <= np.uint64(ledger[CODE_BYTES]) and offset <= end:
        ledger[OPEN_FIRST] = np.int64(_HEAD_WORDS + offset * _WORDS_PER_BYTE)
        ledger[OPEN_LAST] = np.int64(_HEAD_WORDS + end * _WORDS_PER_BYTE)
        ledger[OPEN_END] = start + np.int64(size)
    else:
        # Unknown code: a guess, so that deadlines still come.
        ledger[OPEN_FIRST] = 0
        ledger[OUTSIDE_BLOCKS] += 1
        ledger[INSTRUCTIONS] += (np.int64(size) + 3) >> 2
        ledger[CYCLES] += (np.int64(size) + 3) >> 2


block_hook: Any = _numba.cfunc(_HOOK, cache=True)(_on_block)


def _on_instruction(engine: Any, pc: Any, size: Any, ledger_pointer: Any) -> None:
    """Stops before an instruction with a breakpoint, or before any when stepping."""
    ledger = _numba.carray(ledger_pointer, (_HUGE,))
    if ledger[PASS_ONE] != 0:
        ledger[PASS_ONE] = 0
        return
    offset = np.uint64(np.int64(pc) - ledger[CODE_BASE])
    stop = ledger[STEP] != 0
    if offset < np.uint64(ledger[CODE_BYTES]):
        stop = stop or ledger[_HEAD_WORDS + offset * _WORDS_PER_BYTE + _BREAKPOINT] != 0
    if stop:
        ledger[STOPPED] = STOP_DEBUG
        _call_stop(ledger[STOP_FUNCTION], engine)


debug_hook: Any = _numba.cfunc(_HOOK, cache=True)(_on_instruction)
