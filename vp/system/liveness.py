"""Watches a running guest by the host's clock: regular pauses, in which Python sees a Ctrl-C and shows
progress, and an end for a guest that only waits for what no device will ever do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from dlasim.vp.devices.bus import Bus
from dlasim.vp.programs.elf import Firmware
from dlasim.vp.riscv.block_counters import NEVER, BlockCounters
from dlasim.vp.riscv.cpu import Cpu
from dlasim.vp.system.board_result import Reason

STUCK_AFTER_SECONDS = 10.0  # of the host; a guest that waits for a slow device needs more
PAUSE_SECONDS = 0.1  # how long a Ctrl-C may wait

_MAX_INSTRUCTIONS = 128  # that a guest which only waits goes through
_FEWEST_SAMPLES = 8  # fewer could be alike by chance
_SHOWN_READS = 3  # that a message lists


@contextmanager
def regular_pauses(pause: Callable[[], None]) -> Iterator[None]:
    """Calls `pause` from a thread every tenth of a second."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(PAUSE_SECONDS):
            pause()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class WatchedBoard(Protocol):
    """The part of a board that a watch needs."""

    bus: Bus

    @property
    def cpu(self) -> Cpu:
        """The CPU, for its registers."""

    @property
    def counts(self) -> BlockCounters:
        """The counters that say which code ran."""

    @property
    def firmware(self) -> Firmware:
        """The firmware, for the names of its functions."""


class StuckWatch:
    """Tells from samples whether the guest is stuck.

    It is when, all the time, no device has an event to come, nothing was written to a device, and every
    read from one gave what the read before gave; when no more than a few instructions ran; and when either
    the registers are always the same wherever the guest is found, or it keeps reading devices. A guest that
    computes has other registers each time, however small its loop.
    """

    def __init__(self, board: WatchedBoard, after_seconds: float) -> None:
        self._board = board
        self._after_seconds = after_seconds
        self.hint = ""
        self._executed: dict[int, int] | None = None
        self._restart(time.monotonic())

    def look(self) -> Reason | None:
        """Takes a sample, while the CPU is stopped; the reason to end the run if it is stuck."""
        if not self._after_seconds:
            return None
        now = time.monotonic()
        self._samples += 1
        if not self._waits():
            self._restart(now)
        elif now - self._began >= self._after_seconds / 2 and self._executed is None:
            self._executed = self._times()
        elif now - self._began >= self._after_seconds and self._samples >= _FEWEST_SAMPLES:
            assert self._executed is not None, "taken half-way"
            loop = self._loop(self._executed)
            if len(loop) <= _MAX_INSTRUCTIONS:
                self.hint = self._describe(loop)
                return Reason.STUCK
            self._restart(now)
        return None

    def _restart(self, now: float) -> None:
        self._began = now
        self._samples = 0
        self._changes = self._board.bus.changes
        self._reads = self._board.bus.reads
        self._places: dict[int, tuple[int, ...]] = {}
        self._same_registers = self._keeps_reading = True
        self._executed = None
        self._board.bus.last_reads.clear()

    def _waits(self) -> bool:
        """Whether this sample, too, is one of a guest that only waits."""
        bus, cpu = self._board.bus, self._board.cpu
        event = bus.next_event()
        if event is not None and event < NEVER:
            return False
        changes = bus.changes - self._changes
        if changes and (self._places or changes != len(bus.last_reads)):  # at first every read is new
            return False
        self._changes = bus.changes
        self._keeps_reading &= bus.reads != self._reads
        self._reads = bus.reads
        registers = tuple(cpu.read_register(number) for number in range(1, 32))
        self._same_registers &= self._places.setdefault(cpu.pc, registers) == registers
        return self._same_registers or self._keeps_reading

    def _loop(self, executed: dict[int, int]) -> list[int]:
        """Addresses of the instructions that have run since."""
        counts = self._board.counts
        return [counts.address(slot) for slot, times in self._times().items() if executed.get(slot) != times]

    def _times(self) -> dict[int, int]:
        """How often each slot's instruction has run."""
        slots, times = self._board.counts.executed()
        return dict(zip(slots.tolist(), times.tolist(), strict=True))

    def _describe(self, loop: list[int]) -> str:
        board = self._board
        ends = sorted({loop[0], loop[-1]}) if loop else [board.cpu.pc]
        around = " to ".join(map(board.firmware.describe, ends))
        reads = [
            f"{board.bus.describe(address, value)[0]} (0x{address:08x}), always 0x{value:0{2 * size}x}"
            for (address, size), value in list(board.bus.last_reads.items())[:_SHOWN_READS]
        ]
        reading = f"reading {'; '.join(reads)}; " if reads else ""
        return (
            f"for {self._after_seconds:g} s it has executed only {around}, {reading}"
            "and no device has an event that could end the wait; --stuck-after SECONDS waits longer "
            "(0: for ever)"
        )
