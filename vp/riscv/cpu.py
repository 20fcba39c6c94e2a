"""The CPU: RV32IMAC in machine mode on Unicorn, with exact counts; the only file that knows Unicorn.

Unicorn runs the instructions, and stops where it leaves something open: at a trap, which `traps` enters, in
`wfi`, and at the counter registers, which in Unicorn show the host's time.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from typing import Any

import numpy as np
import unicorn
from unicorn import riscv_const
from unicorn.unicorn_py3.unicorn import uclib

from dlasim.dataclass import dataclass
from dlasim.errors import RunError
from dlasim.native.storage import pointer_to
from dlasim.vp.devices.bus import Bus
from dlasim.vp.devices.memories import Memory
from dlasim.vp.devices.memory_map import PAGE_BYTES, AddressRange
from dlasim.vp.riscv import decode
from dlasim.vp.riscv.block_counters import BlockCounters
from dlasim.vp.riscv.block_records import PAGE_BITS, STOP_DEADLINE, STOP_DEBUG, STOP_NONE, PageMap
from dlasim.vp.riscv.counters import Counters
from dlasim.vp.riscv.instruction_table import InstructionClass
from dlasim.vp.riscv.interceptions import Interceptions, is_intercepted
from dlasim.vp.riscv.native_hooks import find_hooks, watch_blocks
from dlasim.vp.riscv.traps import (
    BREAKPOINT,
    FETCH_FAULT,
    ILLEGAL_INSTRUCTION,
    LOAD_FAULT,
    STORE_FAULT,
    is_counted,
    trap_value,
)

_unicorn: Any = unicorn  # partly typed; through Any it is left unchecked

REGISTERS = 32
_TRANSLATIONS_BYTES = (1 << 30) + (64 << 20)  # Unicorn's buffer of 1 GiB and what else it allocates
_MAX_ACCESS_BYTES = 4
_MAX_KEPT_INTERCEPTIONS = 256  # each costs time in every translation
_TOLD = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 3)
_X0 = riscv_const.UC_RISCV_REG_X0
_PC = riscv_const.UC_RISCV_REG_PC

_MEMORY_FAULTS = {
    _unicorn.UC_ERR_READ_UNMAPPED: LOAD_FAULT,
    _unicorn.UC_ERR_READ_PROT: LOAD_FAULT,
    _unicorn.UC_ERR_WRITE_UNMAPPED: STORE_FAULT,
    _unicorn.UC_ERR_WRITE_PROT: STORE_FAULT,
    _unicorn.UC_ERR_FETCH_UNMAPPED: FETCH_FAULT,
    _unicorn.UC_ERR_FETCH_PROT: FETCH_FAULT,
}


class StopKind(Enum):
    """Why the CPU stopped."""

    DEADLINE = auto()  # or an interrupt it accepts is pending
    WAIT = auto()  # it executed wfi
    EXCEPTION = auto()
    DEBUG = auto()  # a breakpoint, or a step done


@dataclass(frozen=True, slots=True)
class Stop:
    """Why, and for an exception its cause and mtval."""

    kind: StopKind
    cause: int = 0
    value: int = 0


class Cpu:
    """One hart. `run` goes on until something needs attention; the caller decides what follows."""

    def __init__(self, memories: list[Memory], bus: Bus, counts: BlockCounters, code: AddressRange) -> None:
        """`code` is where the firmware's code lies."""
        _check_address_space()
        self._engine: Any = _unicorn.Uc(_unicorn.UC_ARCH_RISCV, _unicorn.UC_MODE_RISCV32)
        # The one model that is RV32IMAC: without F, D and supervisor mode.
        self._engine.ctl_set_cpu_model(riscv_const.UC_CPU_RISCV32_SIFIVE_E31)
        # Addresses are physical. This mode lets the TLB hook decide on rights, which makes stores fast.
        self._engine.ctl_set_tlb_mode(_unicorn.UC_TLB_VIRTUAL)
        self._memories = memories  # the engine keeps only addresses
        self._counts = counts
        self._code = code
        self._code_as_translated: bytes | None = None
        for memory in memories:
            self._map_memory(memory)
        ram = next(memory for memory in memories if memory.writable)
        self._fetched = np.zeros(-(-ram.data.nbytes >> PAGE_BITS), np.int64)
        self._pages = PageMap(ram.base, ram.data.nbytes, pointer_to(self._fetched))
        self._places = _places(bus)
        for base, size_bytes in self._places:
            self._map_device(base, size_bytes)
        self._interceptions = Interceptions(self._read)
        self._told = _TOLD(self._translated)  # which keeps its code alive
        self._watch = watch_blocks(_address(self._told), memories)
        self._unhooked: list[int] = []
        self._has_extra_hooks = False
        self._install_hooks()
        self._after_power_on = self._engine.context_save()
        self._connect(bus)

    def _connect(self, bus: Bus) -> None:
        """Begins with the devices on this bus."""
        self._bus = bus
        self._devices = {attachment.base: attachment.device for attachment in bus.attachments}
        self._changed: Callable[[], None] = lambda: None
        self._exception: tuple[int, int] | None = None
        self._failure: BaseException | None = None
        self._passing: int | None = None
        self._has_run = False
        self._name_for_hooks()
        self.counters = Counters(self, self._counts, bus)

    def fits(self, bus: Bus) -> bool:
        """Whether `reset` can make this the CPU of a board with another bus."""
        is_plain = not self._has_extra_hooks and len(self._interceptions) <= _MAX_KEPT_INTERCEPTIONS
        return is_plain and _places(bus) == self._places

    def reset(self, bus: Bus) -> None:
        """As after power-on, on a board with this bus; keeps the translations of the firmware's code."""
        self._engine.context_restore(self._after_power_on)
        for memory in self._memories:
            first, last = memory.base, memory.base + memory.data.nbytes
            if not memory.writable and first <= self._code.base < last:
                self._forget(first, self._code.base)
                first = self._code.end
            self._forget(first, last)
        # Last, since Unicorn fetches from what it forgets.
        self._fetched[:] = 0
        self._engine.ctl(_unicorn.UC_CTL_TLB_FLUSH, _unicorn.UC_CTL_IO_WRITE)
        self._connect(bus)

    def on_device_access(self, changed: Callable[[], None]) -> None:
        """`changed` is called when an access to a device may have changed its events or interrupt line."""
        self._changed = changed

    def _map_memory(self, memory: Memory) -> None:
        rights = _unicorn.UC_PROT_READ | _unicorn.UC_PROT_EXEC
        if memory.writable:
            rights |= _unicorn.UC_PROT_WRITE
        self._engine.mem_map_ptr(memory.base, memory.data.nbytes, rights, memory.data.ctypes.data)

    def _map_device(self, base: int, size_bytes: int) -> None:
        def load(_: Any, offset: int, size: int, __: Any) -> int:
            device = self._devices[base]
            try:
                device.tick(self._counts.cycles)
                before = device.interrupt(), device.next_event()
                value = self._bus.load(base + offset, size)
                if (device.interrupt(), device.next_event()) != before:
                    self._changed()
            except BaseException as failure:
                self._fail(failure)
                return 0
            return value

        def store(_: Any, offset: int, size: int, value: int, __: Any) -> None:
            try:
                self._devices[base].tick(self._counts.cycles)
                self._bus.store(base + offset, size, value & ((1 << 8 * size) - 1))
                self._changed()
            except BaseException as failure:
                self._fail(failure)

        self._engine.mmio_map(base, size_bytes, load, None, store, None)

    def _fail(self, failure: BaseException) -> None:
        """Keeps what a device raised, for `run` to raise: no exception finds its way through Unicorn."""
        self._failure = self._failure or failure
        self._engine.emu_stop()

    def _name_for_hooks(self) -> None:
        """Tells the hooks the emulator's names of registers, and where its functions are."""
        counts = self._counts.counts
        counts.mstatus_id = riscv_const.UC_RISCV_REG_MSTATUS
        counts.mie_id = riscv_const.UC_RISCV_REG_MIE
        counts.stop_function = _address(uclib.uc_emu_stop)
        counts.read_function = _address(uclib.uc_reg_read)

    def _install_hooks(self) -> None:
        self._hooks = find_hooks(
            taken_branches_cost=self._counts.taken_branches_cost, log_functions=self._counts.logs_functions
        )
        self._native_hook(_unicorn.UC_HOOK_BLOCK, self._hooks.block, self._counts.record_address)
        self._native_hook(_unicorn.UC_HOOK_TLB_FILL, self._hooks.fill_tlb, ctypes.addressof(self._pages))
        self._engine.hook_add(_unicorn.UC_HOOK_INTR, self._on_exception)
        self._native_hook(
            _unicorn.UC_HOOK_EDGE_GENERATED, self._hooks.look_through, ctypes.addressof(self._watch)
        )
        # No hook on memory, not even on faults: any makes all stores slow.

    def _native_hook(self, kind: int, address: int, data_address: int) -> None:
        handle = ctypes.c_size_t()
        error = uclib.uc_hook_add(
            self._engine._uch,
            ctypes.byref(handle),
            kind,
            ctypes.c_void_p(address),
            ctypes.c_void_p(data_address),
            ctypes.c_uint64(1),
            ctypes.c_uint64(0),
        )
        assert error == _unicorn.UC_ERR_OK, f"uc_hook_add: {error}"

    def enable_debugging(self) -> None:
        """Breakpoints and steps from now on; must come before the first run, and costs speed."""
        self._has_extra_hooks = True
        self._native_hook(_unicorn.UC_HOOK_CODE, self._hooks.debug, self._counts.record_address)

    def forget_translations(self) -> None:
        """Must follow a change of code in memory that the guest did not make itself."""
        for memory in self._memories:
            self._forget(memory.base, memory.base + memory.data.nbytes)

    def _forget(self, first: int, last: int) -> None:
        if first < last:
            self._engine.ctl_remove_cache(first, last)

    def trace_instructions(self, trace: Callable[[int, int], None]) -> None:
        """`trace(pc, size)` before each instruction; slow, and must come before the first run."""
        self._has_extra_hooks = True
        self._engine.hook_add(_unicorn.UC_HOOK_CODE, lambda _, pc, size, __: trace(pc, size))

    def _translated(self, pc: int, size_bytes: int) -> int:
        """Before a new block runs that holds instructions to intercept: stops if hooks are missing in it."""
        self._unhooked = self._interceptions.find(pc, size_bytes)
        if self._unhooked:
            self._engine.emu_stop()
        return 0

    def _hook_interceptions(self) -> None:
        """Adds the hooks that are missing; the emulator then has to translate these places again."""
        for address in self._unhooked:
            self._engine.hook_add(_unicorn.UC_HOOK_CODE, self._intercept, begin=address, end=address)
            self._forget(address, address + 1)
        self._unhooked = []

    def _intercept(self, engine: Any, address: int, *_: Any) -> None:
        """In place of an instruction, if it is still one that the emulator gets wrong."""
        word = self.fetch(address)
        if not is_intercepted(word):
            return
        if decode.classify(word) is InstructionClass.ILLEGAL:
            self._exception = (ILLEGAL_INSTRUCTION, address)
            engine.emu_stop()
        else:
            self.counters.carry_out(address, word)

    def break_at(self, address: int) -> Callable[[], None]:
        """Stops before the instruction at `address`, for code that the block counters do not know; what is
        given ends that."""

        def stop(engine: Any, pc: int, _: int, __: Any) -> None:
            if pc != self._passing:
                self._counts.counts.stopped = STOP_DEBUG
                engine.emu_stop()
            self._passing = None

        return self._debug_hook(_unicorn.UC_HOOK_CODE, stop, address, address)

    def watch(
        self, address: int, size_bytes: int, hit: Callable[[int], None], *, loads: bool, stores: bool
    ) -> Callable[[], None]:
        """Stops behind each access of the CPU to some bytes, having called `hit` with the first of them that
        it touched; what is given ends that. Until then all accesses to memory are slow."""

        def touched(_: Any, __: int, first: int, size: int, ___: int, ____: Any) -> None:
            if first < address + size_bytes and address < first + size:
                hit(max(first, address))
                self._counts.counts.is_stepping = 1

        kinds = loads * _unicorn.UC_HOOK_MEM_READ | stores * _unicorn.UC_HOOK_MEM_WRITE
        lowest = max(0, address - _MAX_ACCESS_BYTES + 1)
        return self._debug_hook(kinds, touched, lowest, address + size_bytes - 1)

    def pass_breakpoint(self) -> None:
        """Lets the instruction at pc run once without stopping before it; the debugger resumes there."""
        self._passing = self.pc

    @property
    def resumes_inside_block(self) -> bool:
        """Whether the next run goes on where the debugger stopped inside a block: nothing is due there."""
        return self._passing == self.pc and self._counts.was_left_inside(self.pc)

    def _debug_hook(self, kinds: int, action: Any, first: int, last: int) -> Callable[[], None]:
        self._has_extra_hooks = True
        handle = self._engine.hook_add(kinds, action, begin=first, end=last)
        self.forget_translations()

        def remove() -> None:
            self._engine.hook_del(handle)
            self.forget_translations()

        return remove

    def _on_exception(self, engine: Any, cause: int, _: Any) -> None:
        # Unicorn has moved pc on by 4, also after a compressed instruction.
        self._exception = (cause, engine.reg_read(_PC) - 4)
        engine.emu_stop()

    # --- registers ---

    @property
    def pc(self) -> int:
        """The next instruction, while stopped."""
        return int(self._engine.reg_read(_PC))

    @pc.setter
    def pc(self, value: int) -> None:
        self._engine.reg_write(_PC, value)

    def read_register(self, number: int) -> int:
        """x0 to x31."""
        return int(self._engine.reg_read(_X0 + number)) if number else 0

    def write_register(self, number: int, value: int) -> None:
        """x1 to x31; x0 ignores it."""
        if number:
            self._engine.reg_write(_X0 + number, value & 0xFFFF_FFFF)

    def read_csr(self, name: str) -> int:
        """A control register by its lower-case name."""
        return int(self._engine.reg_read(_csr_id(name)))

    def write_csr(self, name: str, value: int) -> None:
        """The same, writing."""
        self._engine.reg_write(_csr_id(name), value & 0xFFFF_FFFF)

    def fetch(self, address: int) -> int:
        """The instruction word at an address of memory; 0 where there is none."""
        word = int.from_bytes(self._read(address, 4), "little")
        return word if word & 3 == 3 else word & 0xFFFF

    def _read(self, address: int, size_bytes: int) -> bytes:
        """So many bytes, as far as there is memory."""
        for memory in self._memories:
            offset = address - memory.base
            if 0 <= offset < memory.data.nbytes:
                return memory.data[offset : offset + size_bytes].tobytes()
        return b""

    # --- running ---

    def run(self, *, step: bool = False) -> Stop:
        """Runs until a deadline, `wfi`, an exception or (when debugging) a breakpoint."""
        counts = self._counts.counts
        counts.stopped = STOP_NONE
        if self._passing != self.pc:
            self._passing = None
        counts.passes_one = int(self._passing is not None)
        if self.resumes_inside_block:
            self._counts.reopen()
        counts.is_stepping = int(step)
        self._exception = None
        error = self._emulate()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if not counts.passes_one:
            self._passing = None
        stop = self._why(error)
        self._counts.close(self.pc, may_reopen=stop.kind is StopKind.DEBUG)
        if stop.kind is StopKind.EXCEPTION and is_counted(stop.cause, stop.value):
            self._counts.charge_instruction(self.pc, 4 if self.fetch(self.pc) & 3 == 3 else 2)
        return stop

    def _emulate(self) -> int:
        """Lets the emulator go on until it stops; its error code."""
        if not self._has_run:
            self._prepare_first_run()
        while True:
            try:
                self._engine.emu_start(self.pc, 0)
            except _unicorn.UcError as problem:
                return int(problem.errno)
            if not self._unhooked:
                return int(_unicorn.UC_ERR_OK)
            self._hook_interceptions()

    def _prepare_first_run(self) -> None:
        """Looks at the first block of all, which the emulator does not announce. Later, forgets what was
        translated if the code has changed since."""
        code = self._read(self._code.base, self._code.size_bytes)
        if self._code_as_translated is None:
            self._unhooked = self._interceptions.find_from(self.pc, PAGE_BYTES)
            self._hook_interceptions()
        elif self._code_as_translated != code:
            self.forget_translations()
        self._code_as_translated = code
        self._has_run = True

    def _why(self, error: int) -> Stop:
        stopped = self._counts.counts.stopped
        if self._exception is not None:
            cause, self.pc = self._exception
            return Stop(StopKind.EXCEPTION, cause, trap_value(self, cause))
        if error in _MEMORY_FAULTS:
            cause = _MEMORY_FAULTS[error]
            if cause == LOAD_FAULT and decode.is_read_modify_write(self.fetch(self.pc)):
                cause = STORE_FAULT
            return Stop(StopKind.EXCEPTION, cause, trap_value(self, cause))
        if error == _unicorn.UC_ERR_INSN_INVALID:
            if self.fetch(self.pc) in (decode.BREAK, decode.NARROW_BREAK):
                return Stop(StopKind.EXCEPTION, BREAKPOINT, self.pc)
            return Stop(StopKind.EXCEPTION, ILLEGAL_INSTRUCTION, trap_value(self, ILLEGAL_INSTRUCTION))
        assert error == _unicorn.UC_ERR_OK, f"Unicorn error {error} at 0x{self.pc:08x}"
        if stopped == STOP_DEADLINE:
            return Stop(StopKind.DEADLINE)
        if stopped == STOP_DEBUG:
            return Stop(StopKind.DEBUG)
        return Stop(StopKind.WAIT)


def _check_address_space() -> None:
    """A RunError where Unicorn would find no room for its translations: it prints a line and exits."""
    try:
        mmap.mmap(-1, _TRANSLATIONS_BYTES).close()
    except OSError as error:
        raise RunError(
            f"cannot reserve {_TRANSLATIONS_BYTES >> 20} MiB of address space for the emulated CPU; raise "
            "the limit (`ulimit -v` shows it in KiB)"
        ) from error


def _places(bus: Bus) -> list[tuple[int, int]]:
    """Where devices lie: address and size of each."""
    return [(attachment.base, attachment.size_bytes) for attachment in bus.attachments]


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _csr_id(name: str) -> int:
    return int(getattr(riscv_const, f"UC_RISCV_REG_{name.upper()}"))
