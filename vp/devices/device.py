"""What a device on the board looks like: loads and stores at an offset, time, an interrupt line."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.vp.devices.memory_map import DeviceRegister


class Device:
    """Base of all devices: one that ignores stores, reads as zero and never interrupts.

    Time is the CPU's cycle count. The board calls `tick(now)` before each access and when an announced
    event is due, so a device never needs to look at a clock; `now` never goes back. A store may change
    `next_event()` and `interrupt()`: the board asks for both afterwards.
    """

    registers: Sequence[DeviceRegister] = ()
    """What traces call the registers by."""

    def load(self, offset: int, size: int) -> int:
        """The value of `size` (1, 2 or 4) bytes at `offset`; the bus cuts it to that size."""
        return 0

    def store(self, offset: int, size: int, value: int) -> None:
        """Writes `size` bytes at `offset`."""

    def describe(self, offset: int, value: int) -> tuple[str, str]:
        """For traces: the name of the register at `offset`, and what a value of it means; "" if unknown."""
        names = [register.name for register in self.registers if register.offset == offset]
        return (names[0] if names else "", "")

    def peek(self, offset: int) -> int | None:
        """The byte at `offset` as a debugger shows it, changing nothing; None where it cannot be shown."""
        return None

    def tick(self, now: int) -> None:
        """Does everything that is due by cycle `now`."""

    def next_event(self) -> int | None:
        """The next cycle at which the device does something unasked, if any."""
        return None

    def interrupt(self) -> bool:
        """The interrupt line: level-triggered, high until the guest has removed the cause."""
        return False

    def reset(self) -> None:
        """Back to the state after power-on."""
