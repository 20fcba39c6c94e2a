"""The accelerator's RTL as a device of the board, in the place of the simulator's machine.

The RTL computes, writes memory, answers the CPU and interrupts it. A simulated machine without tensors gets
the same register accesses: its streams name the layers of a report, and say when to look at the RTL next.
"""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

from dlasim.errors import InputError, RunError
from dlasim.isa.registers import REGISTER_BYTES
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.machine import Run
from dlasim.vp.devices import memory_map
from dlasim.vp.devices.dla_device import BoardMemory, DlaDevice, RtlFigures
from dlasim.vp.system import rtl_library
from dlasim.vp.system.board import Board

_CYCLES_AT_ONCE = 500  # of one call, so that Ctrl-C need not wait for the end of a long stream
_MAX_EVENTS = 1024  # that one call tells of: a marker and an end in each cycle, and one after the last
_UNALIGNED = 1  # an address with this bit is of no register, so the RTL refuses to write it
_END = 1
_RTL, _SIMULATOR = 0, 1
_PICOSECONDS = 1_000_000  # in a microsecond


def check_waveform(path: str | None) -> str:
    """The suffix of a waveform's file; nothing without one."""
    if path is None:
        return ""
    suffix = Path(path).suffix
    if suffix not in rtl_library.WAVEFORMS:
        raise InputError(f"--vcd must name a file that ends in .vcd or .fst (got {path})")
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {folder}")
    return suffix


class RtlDevice(DlaDevice):
    """The RTL of a machine behind the bus; `dla` is the simulated machine that goes along."""

    def __init__(self, config: DlaConfig, board: Board, waveform: str | None = None) -> None:
        super().__init__(config, BoardMemory(board), None)
        self._library = _typed(rtl_library.load(config, check_waveform(waveform)))
        self._handle = self._library.dla_open()
        self._memories = [board.memories.flash, board.memories.ram]
        for memory in self._memories:
            self._library.dla_map(self._handle, memory.base, memory.data.ctypes.data, memory.data.nbytes)
        if waveform is not None:
            period = round(_PICOSECONDS / config.clock_mhz)
            if not self._library.dla_trace(self._handle, str(waveform).encode(), period):
                raise RunError(f"cannot write {waveform}")
        self._library.dla_reset(self._handle)
        self._events = (ctypes.c_uint64 * _MAX_EVENTS)()
        self._cycle = 0  # up to which the RTL has come
        self._started = 0  # when its running stream began
        self.rtl = self._figures = RtlFigures()
        # Cycles of streams in the RTL and in the simulator, not compared yet.
        self._lasted: list[list[int]] = [[], []]

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends the RTL, and its waveform's file."""
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            self._library.dla_close(handle)

    def load(self, offset: int, size: int) -> int:
        """A register; anything but a whole one reads as 0."""
        if size != REGISTER_BYTES or offset % REGISTER_BYTES:
            return 0
        return int(self._library.dla_read(self._handle, offset))

    def store(self, offset: int, size: int, value: int) -> None:
        """A register; a part of one is refused."""
        was_running = self._is_running
        self._library.dla_set_time(self._handle, self._cycle)
        whole = size == REGISTER_BYTES
        self._library.dla_write(self._handle, offset if whole else offset | _UNALIGNED, value & 0xFFFFFFFF)
        if was_running:
            self._cycle += 1  # the cycle of the write is one of the stream's
        else:
            self._started = self._cycle
        self.dla.store(offset, size, value)

    def tick(self, now: int) -> None:
        """The RTL's cycles up to now."""
        self.dla.tick(now)
        if self._is_running and self._cycle < now:
            self._advance(now - self._cycle)
        self._cycle = max(self._cycle, now)

    def _advance(self, cycles: int) -> None:
        count = ctypes.c_uint32()
        began = time.perf_counter()
        done = 0
        while done < cycles and self._is_running:
            some = min(cycles - done, _CYCLES_AT_ONCE)
            ran = self._library.dla_run(self._handle, some, self._events, _MAX_EVENTS, ctypes.byref(count))
            for event in self._events[: count.value]:
                if event & 1 == _END:
                    end = self._cycle + done + (event >> 1)
                    self._compare(_RTL, end - self._started)
                    self._started = end
            done += ran
        self._figures.seconds += time.perf_counter() - began

    def _completed(self, run: Run) -> None:
        super()._completed(run)
        self._compare(_SIMULATOR, run.plan.timeline.total)

    def _compare(self, side: int, cycles: int) -> None:
        """Notes what a stream took on one side."""
        self._lasted[side].append(cycles)
        if self._lasted[_RTL] and self._lasted[_SIMULATOR]:
            ours, theirs = (lasted.pop(0) for lasted in self._lasted)
            self._figures.streams += 1
            self._figures.cycles += ours
            self._figures.simulator_cycles += theirs
            self._figures.different_streams += ours != theirs

    def next_event(self) -> int | None:
        """While the RTL runs: when the simulator would interrupt, or, if the RTL is late, the next cycle."""
        if not self._is_running:
            return None
        expected = self.dla.next_event()
        return expected if expected is not None and expected > self._cycle else self._cycle + 1

    @property
    def _is_running(self) -> bool:
        return bool(self._library.dla_running(self._handle))

    def interrupt(self) -> bool:
        """The line."""
        return bool(self._library.dla_irq(self._handle))

    def reset(self) -> None:
        """As after power-on; a stream that this ends on one side only is not compared."""
        self.dla.reset()
        self._library.dla_reset(self._handle)
        self._started, self._lasted = self._cycle, [[], []]


def _typed(library: ctypes.CDLL) -> ctypes.CDLL:
    """The types of device.cpp."""
    handle, number, word = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
    for name, result, arguments in (
        ("open", handle, []),
        ("close", None, [handle]),
        ("map", None, [handle, word, handle, number]),
        ("trace", ctypes.c_int, [handle, ctypes.c_char_p, number]),
        ("reset", None, [handle]),
        ("set_time", None, [handle, number]),
        ("write", None, [handle, word, word]),
        ("read", word, [handle, word]),
        ("irq", ctypes.c_int, [handle]),
        ("running", ctypes.c_int, [handle]),
        ("run", number, [handle, number, ctypes.POINTER(number), word, ctypes.POINTER(word)]),
    ):
        function = getattr(library, f"dla_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def attach_rtl(board: Board, config: DlaConfig, waveform: str | None = None) -> RtlDevice:
    """Puts the RTL of an accelerator on the board."""
    device = RtlDevice(config, board, waveform)
    region = memory_map.DLA
    line = memory_map.MACHINE_EXTERNAL_INTERRUPT
    board.attach(device, region.base, region.size_bytes, irq=line, name=region.name)
    return device
