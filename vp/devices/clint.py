"""The core-local interruptor: a 64-bit timer that counts CPU cycles, and the software interrupt."""

from __future__ import annotations

from dlasim.vp.devices.device import Device
from dlasim.vp.devices.memory_map import DeviceRegister
from dlasim.vp.riscv.block_counters import NEVER

SOFTWARE_INTERRUPT = DeviceRegister("SOFTWARE_INTERRUPT", 0x0, 4, "bit 0 is the software interrupt's line")
COMPARE_LOW = DeviceRegister("COMPARE_LOW", 0x4000, 4, "the timer interrupts while time >= compare")
COMPARE_HIGH = DeviceRegister("COMPARE_HIGH", 0x4004, 4, "upper half of compare")
TIME_LOW = DeviceRegister("TIME_LOW", 0xBFF8, 4, "CPU cycles since reset")
TIME_HIGH = DeviceRegister("TIME_HIGH", 0xBFFC, 4, "upper half of time")
REGISTERS = (SOFTWARE_INTERRUPT, COMPARE_LOW, COMPARE_HIGH, TIME_LOW, TIME_HIGH)

_WRAP = 1 << 64  # `mtime` has 64 bits
_MAX_TIME = _WRAP - 1
_WORD = 0xFFFF_FFFF


class Clint(Device):
    """The registers of a SiFive CLINT with one hart; `time` is the cycle count plus what was written."""

    registers = REGISTERS

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Time starts at zero; the timer is quiet until compare is written."""
        self._now = 0
        self._time_offset = 0
        self._compare = _MAX_TIME
        self._software = 0

    @property
    def time(self) -> int:
        """What the guest reads as `mtime`."""
        return (self._now + self._time_offset) & _MAX_TIME

    def tick(self, now: int) -> None:
        """Takes note of the time; the lines follow from it."""
        self._now = now

    def next_event(self) -> int | None:
        """When the line changes next, if ever: time reaches compare, or wraps at 2^64 and falls below it."""
        due = _WRAP if self.timer_interrupt() else self._compare
        event = self._now + due - self.time
        return event if event < NEVER else None

    def timer_interrupt(self) -> bool:
        """The line MTIP."""
        return self.time >= self._compare

    def software_interrupt(self) -> bool:
        """The line MSIP."""
        return bool(self._software)

    def load(self, offset: int, size: int) -> int:
        """Any aligned part of the three registers."""
        value = {
            SOFTWARE_INTERRUPT.offset: self._software,
            COMPARE_LOW.offset: self._compare,
            TIME_LOW.offset: self.time,
        }.get(offset & ~7, 0)
        return value >> 8 * (offset & 7)

    def peek(self, offset: int) -> int:
        """A byte of them."""
        return self.load(offset, 1) & 0xFF

    def store(self, offset: int, size: int, value: int) -> None:
        """Words only, as on the real device; other sizes are ignored."""
        if size != 4:
            return
        if offset == SOFTWARE_INTERRUPT.offset:
            self._software = value & 1
        elif offset == COMPARE_LOW.offset:
            self._compare = self._compare & ~_WORD | value
        elif offset == COMPARE_HIGH.offset:
            self._compare = self._compare & _WORD | value << 32
        elif offset == TIME_LOW.offset:
            self._set_time(self.time & ~_WORD | value)
        elif offset == TIME_HIGH.offset:
            self._set_time(self.time & _WORD | value << 32)

    def _set_time(self, value: int) -> None:
        self._time_offset = value - self._now
