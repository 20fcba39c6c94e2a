"""The DLA as a whole: registers, queue, SRAM, faults and interrupts, in the host's time.

The standalone simulator and the virtual prototype drive this same object. A stream is executed functionally
when it starts, and completes at the cycle that its timeline gives. (The race checker finds streams for which
this differs from executing while the host runs.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec, registers
from dlasim.isa.faults import Fault
from dlasim.isa.instruction_rows import WORD_BYTES
from dlasim.isa.registers import REGION_COUNT, REGISTER_BYTES, Access, Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.control import ControlRegisters, find, may_write
from dlasim.sim.execution.executor import Executor, Observer
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import FaultAt
from dlasim.sim.programs.system_memory import DmaMemory, zeroed_bytes
from dlasim.sim.timing.plan import Plan, plans_of

NO_MEMORY = np.zeros(0, np.uint8)
_REGION_REGISTERS = [(f"REGION{number}_BASE", f"REGION{number}_SIZE") for number in range(REGION_COUNT)]
_PLACES_REGIONS = frozenset(name for names in _REGION_REGISTERS for name in names)
_MOVES_CURSORS = frozenset(f"REGION{cursor}_BASE" for cursor in map(int, registers.CURSORS))


@dataclass(frozen=True, slots=True)
class Run:
    """A stream in flight or completed: when it started, and what it does."""

    start: int
    first_word: int
    plan: Plan
    from_queue: bool

    @property
    def end(self) -> int:
        """The cycle in which it completes."""
        return self.start + self.plan.timeline.total


class Dla:
    """An accelerator on a bus: `load`, `store`, `tick`, `next_event`, `interrupt`, `reset`."""

    def __init__(
        self,
        config: DlaConfig,
        memory: DmaMemory,
        executor: Executor | None = None,
        on_complete: Callable[[Run], None] | None = None,
    ) -> None:
        """Without an executor no tensor is computed: time only."""
        self.config = config
        self.sram: NDArray[np.uint8] = zeroed_bytes(config.sram_bytes if executor else 0)
        self.registers = ControlRegisters(config)
        self.file: list[int] = reset_file()
        self.observer: Observer | None = None
        # Of registers by the host, and resets: whoever has seen this number has seen them. Places of cursors
        # do not count: streams do the same, elsewhere.
        self.writes = 0
        self._memory = memory
        self._executor = executor
        self._on_complete = on_complete
        self._plans = plans_of(config)
        self._now = 0
        self._run: Run | None = None
        self._fault: FaultAt | None = None
        self._markers: list[int] = []
        self._tail = 0
        self._rung = False
        self._regions: list[NDArray[np.uint8]] | None = None

    # The host's side

    def reset(self) -> None:
        """Stop at once and return to the state after power-on; SRAM reads as zero."""
        self.writes += 1
        self.sram = zeroed_bytes(len(self.sram))
        self._restart()

    def load(self, offset: int, size: int) -> int:
        """Read a register; anything but a whole one reads as 0."""
        register = find(offset)
        if register is None or size != REGISTER_BYTES or register.access is Access.WRITE_ONLY:
            return 0
        if register.is_operand:
            return int(self.file[register.index - registers.OPERANDS[0].index])
        return self.registers[register.name]

    def store(self, offset: int, size: int, value: int) -> None:
        """Write a register; a write that is not allowed is refused and leaves STATUS.refused set."""
        register = find(offset)
        self.writes += register is None or register.name not in _MOVES_CURSORS
        if register is None or size != REGISTER_BYTES or not may_write(register, value):
            return self.registers.flags("STATUS", refused=True)
        if (self.is_busy or self.has_faulted) and not register.while_busy:
            return self.registers.flags("STATUS", refused=True)
        if register.is_operand:
            return self._write_operand(register, value)
        action = _ACTIONS.get(register.name)
        if action is not None:
            return action(self, value)
        self.registers[register.name] = value
        if register.name in _PLACES_REGIONS:
            self._regions = None
        return None

    def tick(self, now: int) -> None:
        """Process all events up to cycle `now`."""
        assert now >= self._now, "time goes forward"
        while (due := self.next_event()) is not None and due <= now:
            self._now = due
            if self._markers:
                self._markers.pop(0)
                self.registers.flags("IRQ_STATUS", marker=True)
            else:
                self._complete()
        self._now = now

    def computing(self, run: Run) -> Callable[[], None]:
        """What computes a stream of the queue once more, as long as `writes` stays the same; nothing else
        changes."""
        assert self._executor is not None
        execute = self._executor.run
        return lambda: execute(run.plan, self.sram, self._windows(), None, 0)

    def skip(self, cycles: int, streams: int, counters: Sequence[int]) -> None:
        """Let time pass in which so many streams of the queue have completed."""
        if streams:
            self.registers.count(counters)
            self.registers["STREAMS_DONE"] += streams
        self._now += cycles

    def next_event(self) -> int | None:
        """The next cycle at which the DLA interrupts or completes, if it runs."""
        if self._run is None:
            return None
        return self._markers[0] if self._markers else self._run.end

    def interrupt(self) -> bool:
        """The interrupt line."""
        return bool(self.registers["IRQ_STATUS"] & self.registers["IRQ_ENABLE"])

    @property
    def now(self) -> int:
        """The cycle up to which everything has been done."""
        return self._now

    @property
    def is_busy(self) -> bool:
        """Whether a stream is running."""
        return self._run is not None

    @property
    def has_faulted(self) -> bool:
        """Whether a fault has stopped the machine."""
        return self.registers.flag("STATUS", "fault")

    @property
    def fault(self) -> FaultAt | None:
        """The fault that stopped the machine."""
        if not self.has_faulted:
            return None
        return self._fault

    def region(self, number: int) -> NDArray[np.uint8]:
        """The bytes of a region, none where its registers name memory that does not exist."""
        return self._windows()[number]

    def _windows(self) -> list[NDArray[np.uint8]]:
        """All regions; the same list for as long as their registers stay the same."""
        if self._regions is None:
            self._regions = [self._window(*registers) for registers in _REGION_REGISTERS]
        return self._regions

    def _window(self, base: str, size: str) -> NDArray[np.uint8]:
        window = self._memory.window(self.registers[base], self.registers[size])
        return NO_MEMORY if window is None else window

    # What the registers do

    def _write_operand(self, register: registers.Register, value: int) -> None:
        if register.name == "REQUIRE_CONFIG" and value not in (0, self.config.fingerprint):
            return self.registers.flags("STATUS", refused=True)
        self.file[register.index - registers.OPERANDS[0].index] = value
        return None

    def _restart(self) -> None:
        self.registers.reset()
        self._regions = None
        self.file = reset_file()
        self._run = self._fault = None
        self._markers = []
        self._tail = 0
        self._rung = False

    def _control(self, value: int) -> None:
        if value & 1:
            self.reset()

    def _acknowledge(self, value: int) -> None:
        self.registers["IRQ_STATUS"] &= ~value

    def _doorbell(self, value: int) -> None:
        if value > self.registers["QUEUE_SIZE"] or self.has_faulted:
            return self.registers.flags("STATUS", refused=True)
        self._tail = value
        self._rung = True
        if not self.is_busy:
            self._start_next(self._now)
        return None

    def _command(self, value: int) -> None:
        word = self.registers["COMMAND_LOW"] | value << 32
        words = np.array([word, codec.encode("HALT")], np.uint64)
        self._start(self._now, words, 0, from_queue=False)

    def _start_next(self, now: int) -> None:
        """Start the queue's next stream, if a doorbell has been rung for it."""
        first = self.registers["QUEUE_READ"]
        self._rung = self._rung and first < self._tail
        if not self._rung:
            return
        words = self._queue_words(first)
        if words is None:
            base, end = self.registers["QUEUE_BASE"], self._tail * WORD_BYTES
            room = len(self.region(Region.COMMANDS))
            detail = f"{end} bytes of queue at offset {base:#x} do not lie in region COMMANDS ({room} bytes)"
            if base % WORD_BYTES:
                detail = f"QUEUE_BASE = {base:#x} must be a multiple of {WORD_BYTES}"
            self._stop(FaultAt(Fault.QUEUE, first, base, detail))
            return
        self._start(now, words, first, from_queue=True)

    def _queue_words(self, first: int) -> NDArray[np.uint64] | None:
        base = self.registers["QUEUE_BASE"]
        commands = self.region(Region.COMMANDS)
        if base % WORD_BYTES or base + self._tail * WORD_BYTES > len(commands):
            return None
        raw = commands[base + first * WORD_BYTES : base + self._tail * WORD_BYTES]
        return np.ascontiguousarray(raw).view("<u8").astype(np.uint64, copy=False)

    def _start(self, now: int, words: NDArray[np.uint64], first: int, from_queue: bool) -> None:
        regions = self._windows()
        plan = self._plans.plan(
            words, self.file, {number: len(array) for number, array in enumerate(regions)}
        )
        if self._executor is not None:
            self._executor.run(plan, self.sram, regions, self.observer, first)
        self._run = Run(now, first, plan, from_queue)
        self._markers = [now + cycle for cycle in plan.timeline.markers]
        self.registers.flags("STATUS", busy=True)

    def _complete(self) -> None:
        run = self._run
        assert run is not None
        self._run = None
        plan = run.plan
        self.file = list(plan.final_file)
        self.registers.count(plan.counters)
        self.registers.flags("STATUS", busy=False)
        if self._on_complete is not None:
            self._on_complete(run)
        if plan.fault is not None:
            position = run.first_word + plan.fault.position
            return self._stop(replace(plan.fault, position=position))
        self.registers.flags("IRQ_STATUS", done=True)
        if run.from_queue:
            self.registers["QUEUE_READ"] = run.first_word + len(plan.stream.words)
            self.registers["STREAMS_DONE"] += 1
        return self._start_next(run.end)

    def _stop(self, fault: FaultAt) -> None:
        self._fault = fault
        self.registers.flags("STATUS", fault=True)
        self.registers.flags("IRQ_STATUS", fault=True)
        self.registers["ERROR_CODE"] = fault.code
        self.registers["ERROR_POSITION"] = fault.position
        self.registers["ERROR_ADDRESS"] = fault.address


def _command_low(dla: Dla, value: int) -> None:
    dla.registers["COMMAND_LOW"] = value


_ACTIONS: dict[str, Callable[[Dla, int], None]] = {
    "CONTROL": Dla._control,
    "IRQ_ACK": Dla._acknowledge,
    "DOORBELL": Dla._doorbell,
    "COMMAND_LOW": _command_low,
    "COMMAND_HIGH": Dla._command,
}
