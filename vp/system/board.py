"""The board: CPU, memories and devices put together, and the loop that gives each its turn.

Time is the CPU's cycle count. The CPU runs natively up to the next event of any device; then the devices
do what is due, and interrupts that the CPU accepts are entered. An event or interrupt takes effect at the
first basic block that starts at or after it, always the same one: runs are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.vp.devices import memory_map
from dlasim.vp.devices.bus import Bus
from dlasim.vp.devices.clint import Clint
from dlasim.vp.devices.device import Device
from dlasim.vp.devices.exit_device import ExitDevice
from dlasim.vp.devices.memories import Bytes, Memories
from dlasim.vp.devices.memory_map import AddressRange, MemoryMap
from dlasim.vp.devices.uart import Uart
from dlasim.vp.programs.elf import Firmware, executable_code, read_elf
from dlasim.vp.riscv import traps
from dlasim.vp.riscv.block_counters import NEVER, BlockCounters
from dlasim.vp.riscv.costs import load_costs
from dlasim.vp.riscv.cpu import Cpu, Stop, StopKind
from dlasim.vp.riscv.decode import CodeTable, decode
from dlasim.vp.riscv.disassembly import disassemble
from dlasim.vp.system import spare_parts
from dlasim.vp.system.board_result import (
    BoardResult,
    Crash,
    FunctionProfile,
    Reason,
    function_profiles,
    function_spans,
    paint_stack,
    stack_peak_bytes,
)
from dlasim.vp.system.ctrl_c import deferred_interrupts
from dlasim.vp.system.liveness import STUCK_AFTER_SECONDS, StuckWatch, regular_pauses
from dlasim.vp.system.spare_parts import BoardParts, PartsKind

Progress = Callable[[int, str], None]

_LOCKUP_REPEATS = 100  # the same trap at its own handler, so often: no guest comes out of it


@dataclass(frozen=True, slots=True)
class BoardConfig:
    """Sizes of the memories; the CPU's costs, as a preset's name or a TOML file's path; whether to note
    which function ran when, for a timeline; for how long the CPU waits for each word that it fetches from
    flash."""

    memory_map: MemoryMap = field(default_factory=MemoryMap)
    cpu: str = "ideal"
    log_functions: bool = False
    fetch_wait_cycles: int = 0


class Board:
    """Attach devices, load one ELF, run. A second `run` goes on where the first stopped."""

    def __init__(self, config: BoardConfig | None = None) -> None:
        self.config = config or BoardConfig()
        self.costs = load_costs(self.config.cpu)
        layout = self.config.memory_map
        self._kind = PartsKind(layout, self.costs, self.config.fetch_wait_cycles)
        self._spare = spare_parts.take(self._kind)
        self.memories = Memories(layout) if self._spare is None else self._spare.memories
        self._loaded: _Loaded | None = None
        self.bus = Bus()
        self.uart, self.clint = Uart(), Clint()
        self.exit = ExitDevice(layout.ram_bytes, self._counts)
        for device, region in (
            (self.exit, memory_map.EXIT),
            (self.uart, memory_map.UART),
            (self.clint, memory_map.CLINT),
        ):
            self.attach(device, region.base, region.size_bytes, name=region.name)
        self.bus.connect(memory_map.MACHINE_SOFTWARE_INTERRUPT, self.clint.software_interrupt)
        self.bus.connect(memory_map.MACHINE_TIMER_INTERRUPT, self.clint.timer_interrupt)
        self.idle_cycles = 0
        self._last_instruction: int | None = None
        self._last_cycle: int | None = None
        self._slice_end: int | None = None
        self._must_pause = False
        self._is_asleep = False
        self.last_stop = Stop(StopKind.DEADLINE)
        self._last_exception: Crash | None = None
        self._repeats = 0

    # --- putting it together ---

    def attach(
        self, device: Device, base: int, size_bytes: int, irq: int | None = None, name: str = ""
    ) -> None:
        """Puts a device on the bus, its interrupt line on bit `irq` of mip; before an ELF is loaded.

        Messages and traces call it `name`, or by its class.
        """
        assert self._loaded is None, "attach devices before loading an ELF"
        layout = self.config.memory_map
        name = name or type(device).__name__
        for memory in (layout.flash, layout.ram):
            if isinstance(base, int) and AddressRange(name, base, size_bytes, "").overlaps(memory):
                raise InputError(
                    f"{name} at 0x{base:08x} to 0x{base + size_bytes - 1:08x} overlaps {memory.name} at "
                    f"0x{memory.base:08x} to 0x{memory.end - 1:08x}; choose other addresses"
                )
        self.bus.attach(device, base, size_bytes, irq, name)

    def load_elf(self, path: str | Path) -> Firmware:
        """Puts an ELF's segments into memory and resets the CPU to its entry."""
        return self.load(read_elf(path))

    def load(self, firmware: Firmware) -> Firmware:
        """The same for one that was read already."""
        assert self._loaded is None, "a board is loaded once"
        self.bus.reset()
        self.memories.load(firmware)
        table, counts, cpu = self._take_parts(firmware) or self._make_parts(firmware)
        cpu.pc = firmware.entry
        cpu.on_device_access(self._plan)
        cpu.counters.time_source(self._time)
        stack = self.memories.stack(firmware)
        if stack is not None:
            paint_stack(stack)
        self._loaded = _Loaded(firmware, table, counts, cpu, stack)
        return firmware

    def _take_parts(self, firmware: Firmware) -> tuple[CodeTable, BlockCounters, Cpu] | None:
        """Those of a board before, as new, if they fit."""
        spare, self._spare = self._spare, None
        if spare is None or self.config.log_functions or not spare.fit(firmware, self.bus):
            return None
        spare.counts.reset()
        spare.cpu.reset(self.bus)
        return spare.code, spare.counts, spare.cpu

    def _make_parts(self, firmware: Firmware) -> tuple[CodeTable, BlockCounters, Cpu]:
        base, data = executable_code(firmware)
        table = self.costs.table(
            decode(base, data), self.config.memory_map.flash, self.config.fetch_wait_cycles
        )
        counts = BlockCounters(table)
        if self.config.log_functions:
            counts.log_functions(firmware.functions)
        place = AddressRange("code", base, len(data), "")
        memories = [self.memories.flash, self.memories.ram]
        return table, counts, Cpu(memories, self.bus, counts, place)

    def retire(self) -> None:
        """Leaves what it is made of to the next board of its kind; this one must not be used any more."""
        loaded, self._loaded = self._ready, None
        if not self.config.log_functions and loaded.cpu.fits(self.bus):
            parts = BoardParts(
                self._kind, self.memories, loaded.firmware, loaded.code, loaded.counts, loaded.cpu
            )
            spare_parts.leave(parts)

    # --- running ---

    @property
    def firmware(self) -> Firmware:
        """The ELF that was loaded."""
        return self._ready.firmware

    @property
    def cpu(self) -> Cpu:
        """The CPU, for debuggers and tests."""
        return self._ready.cpu

    @property
    def counts(self) -> BlockCounters:
        """Instructions and cycles, for debuggers and tests."""
        return self._ready.counts

    @property
    def _ready(self) -> _Loaded:
        assert self._loaded is not None, "load an ELF first"
        return self._loaded

    def run(
        self,
        max_instructions: int | None = None,
        max_cycles: int | None = None,
        trace_instructions: Callable[[str], None] | None = None,
        trace_mmio: Callable[[str], None] | None = None,
        stuck_after_seconds: float = STUCK_AFTER_SECONDS,
        on_progress: Progress | None = None,
    ) -> BoardResult:
        """Runs until the guest exits, or cannot go on, or a limit (counted from reset) is reached.

        A guest that only waits for what no device will ever do is ended after so many seconds (0: never).
        A trace gets one line per instruction or device access. Instructions must be traced from the
        first run on, and slow it down a few hundred times. `on_progress(instructions, place)` is called
        several times a second.
        """
        self.limit(max_instructions, max_cycles)
        if trace_mmio is not None:
            self.bus.trace = lambda text: trace_mmio(f"{self._ready.counts.cycles} {text}")
        if trace_instructions is not None:
            self.cpu.trace_instructions(self._instruction_tracer(trace_instructions))
        reason, hint = self.run_until(lambda: False, stuck_after_seconds, on_progress)
        assert reason is not None
        return self.result(reason, hint)

    def run_until(
        self, is_over: Callable[[], bool], stuck_after_seconds: float, on_progress: Progress | None = None
    ) -> tuple[Reason | None, str]:
        """Runs until the condition holds, which is looked at where the board pauses, or until the reason that
        is returned, with a hint."""
        reason: Reason | None = None
        watch = StuckWatch(self, stuck_after_seconds)
        with deferred_interrupts() as raise_interrupt, regular_pauses(self.pause):
            while reason is None and not is_over():
                reason = self.advance()
                raise_interrupt()
                if reason is None and self._must_pause:
                    reason = watch.look()
                    if on_progress is not None:
                        on_progress(self.counts.instructions, self.firmware.describe(self.cpu.pc))
        return reason, watch.hint

    def pause(self) -> None:
        """Makes `advance` return soon; from any thread. What the guest sees does not change."""
        self._must_pause = True
        self.counts.stop_soon()

    def limit(self, max_instructions: int | None, max_cycles: int | None) -> None:
        """Sets the limits for `advance`."""
        self._last_instruction, self._last_cycle = max_instructions, max_cycles

    def advance(self, *, step: bool = False, slice_cycles: int | None = None) -> Reason | None:
        """One turn: what is due, an interrupt if one is accepted, then the CPU up to its next stop.

        With `step` the CPU executes one instruction at most (debugging must be enabled); with
        `slice_cycles` it stops after so many cycles at the latest. Neither changes what the guest sees.
        """
        loaded = self._ready
        self._must_pause = False
        if not loaded.cpu.resumes_inside_block:
            self.bus.tick(loaded.counts.cycles)
            self.bus.event_after(loaded.counts.cycles)
            reason = self._finished()
            if reason is not None:
                return reason
            if self._is_asleep:
                return self._sleep()
            self._interrupt()
        self._slice_end = None if slice_cycles is None else loaded.counts.cycles + slice_cycles
        self._plan()
        self.last_stop = loaded.cpu.run(step=step)
        if self.last_stop.kind is StopKind.WAIT:
            return self._sleep()
        if self.last_stop.kind is StopKind.EXCEPTION:
            return self._exception(self.last_stop)
        return None

    def _interrupt(self) -> None:
        """Enters the interrupt that the CPU accepts now, if there is one."""
        loaded = self._ready
        cause = traps.accepted_interrupt(loaded.cpu, self.bus.pending())
        if cause is not None:
            traps.enter(loaded.cpu, cause, interrupt=True)
            loaded.counts.charge(self.costs.trap_entry_cycles)

    def poke(self, address: int, size: int, value: int) -> None:
        """Writes a device's register, as the CPU would; for debuggers, while the CPU is stopped."""
        self.bus.tick(self._ready.counts.device_cycles)
        self.bus.store(address, size, value)

    def _finished(self) -> Reason | None:
        counts = self._ready.counts
        if self.exit.exit_code is not None:
            return Reason.EXIT
        if self._last_instruction is not None and counts.instructions >= self._last_instruction:
            return Reason.MAX_INSTRUCTIONS
        if self._last_cycle is not None and counts.cycles >= self._last_cycle:
            return Reason.MAX_CYCLES
        return None

    def _plan(self) -> None:
        """Tells the CPU what to stop for; also after each access to a device."""
        if self.exit.exit_code is not None or self._must_pause:
            event: int | None = 0
        else:
            events = (self.bus.next_event(), self._last_cycle, self._slice_end)
            event = min([event for event in events if event is not None], default=None)
        self._ready.counts.plan(self.bus.pending(), event, self._last_instruction)

    def _sleep(self) -> Reason | None:
        """Jumps from event to event until one wakes the CPU."""
        loaded = self._ready
        self.bus.tick(loaded.counts.cycles)
        self._is_asleep = True
        while not self._finished() and not self._must_pause:
            if traps.wakes(loaded.cpu, self.bus.pending()):
                self._is_asleep = False
                return None
            event = self.bus.event_after(loaded.counts.cycles)
            if event is None or event >= NEVER:
                return Reason.DEADLOCK
            if self._last_cycle is not None and event > self._last_cycle:
                event = self._last_cycle
            idle = event - loaded.counts.cycles
            loaded.counts.charge(idle)
            self.idle_cycles += idle
            self.bus.tick(loaded.counts.cycles)
        return None

    def _exception(self, stop: Stop) -> Reason | None:
        cpu = self._ready.cpu
        cause = traps.MACHINE_CALL if stop.cause == traps.USER_CALL else stop.cause
        if cause != traps.MACHINE_CALL:
            self._last_exception = self._crash(cause, stop.value)
        if cpu.read_csr("mtvec") < 4:
            return Reason.UNHANDLED_EXCEPTION
        again = cpu.read_csr("mepc") == cpu.pc and cpu.read_csr("mcause") == cause
        self._repeats = self._repeats + 1 if again else 0
        if self._repeats >= _LOCKUP_REPEATS:
            return Reason.LOCKUP
        traps.enter(cpu, cause, stop.value)
        self._ready.counts.charge(self.costs.trap_entry_cycles)
        return None

    def _crash(self, cause: int, value: int) -> Crash:
        cpu = self._ready.cpu
        registers = tuple(cpu.read_register(number) for number in range(32))
        return Crash(cpu.pc, cause, value, registers, tuple(self._ready.counts.recent_blocks()))

    def _counts(self) -> tuple[int, int, int]:
        return self._ready.counts.instructions, self._ready.counts.cycles, self.idle_cycles

    def _time(self, cycles: int) -> int:
        self.clint.tick(cycles)
        return self.clint.time

    def _instruction_tracer(self, trace: Callable[[str], None]) -> Callable[[int, int], None]:
        loaded = self._ready

        def line(pc: int, _: int) -> None:
            cycles = loaded.counts.counts_at(pc)[1]
            word = loaded.cpu.fetch(pc)
            code = f"{word:08x}" if word & 3 == 3 else f"    {word:04x}"
            trace(f"{cycles} {loaded.firmware.describe(pc)} {code} {disassemble(word, pc)}")

        return line

    def profile(self) -> tuple[FunctionProfile, ...]:
        """Where the cycles went so far, most first."""
        loaded = self._ready
        return function_profiles(loaded.firmware, loaded.code, loaded.counts)

    def result(self, reason: Reason, hint: str = "") -> BoardResult:
        """What the run amounts to so far."""
        loaded = self._ready
        return BoardResult(
            reason=reason,
            hint=hint,
            exit_code=self.exit.exit_code,
            uart=bytes(self.uart.sent),
            instructions=loaded.counts.instructions,
            cycles=loaded.counts.cycles,
            idle_cycles=self.idle_cycles,
            pc=loaded.cpu.pc,
            marks=tuple(self.exit.marks),
            marks_lost=self.exit.marks_lost,
            profile=self.profile(),
            stack_peak_bytes=None if loaded.stack is None else stack_peak_bytes(loaded.stack),
            last_exception=self._last_exception,
            uncounted_blocks=loaded.counts.counts.outside_blocks,
            function_spans=function_spans(loaded.firmware, loaded.counts),
            function_spans_lost=loaded.counts.function_changes()[1],
        )


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What exists once an ELF is in memory."""

    firmware: Firmware
    code: CodeTable
    counts: BlockCounters
    cpu: Cpu
    stack: Bytes | None
