"""The bus: a device that passes accesses on to the devices behind it, by address, and sums up their
events and interrupt lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlasim.vp.device import Device
from dlasim.vp.memory_map import PAGE_BYTES


@dataclass(frozen=True, slots=True)
class Attachment:
    """A device and the addresses it answers."""

    device: Device
    base: int
    size_bytes: int


class Bus(Device):
    """Offsets are bus addresses. A device owns whole pages; addresses that nobody owns read as zero.

    `trace`, where set, is told about every access in words.
    """

    def __init__(self) -> None:
        self.trace: Callable[[str], None] | None = None
        self.attachments: list[Attachment] = []
        self._pages: dict[int, Attachment] = {}
        self._lines: list[tuple[int, Callable[[], bool]]] = []

    def attach(self, device: Device, base: int, size_bytes: int, irq: int | None = None) -> None:
        """Puts a device at `base`; its interrupt line drives bit `irq` of mip, together with others."""
        assert (base | size_bytes) % PAGE_BYTES == 0, "devices own whole pages"
        attachment = Attachment(device, base, size_bytes)
        for page in range(base // PAGE_BYTES, (base + size_bytes) // PAGE_BYTES):
            assert page not in self._pages, f"page 0x{page * PAGE_BYTES:08x} is taken"
            self._pages[page] = attachment
        self.attachments.append(attachment)
        if irq is not None:
            self.connect(irq, device.interrupt)

    def connect(self, irq: int, line: Callable[[], bool]) -> None:
        """Wires one more interrupt line; lines on one bit are or-ed."""
        self._lines.append((1 << irq, line))

    def load(self, offset: int, size: int) -> int:
        """Reads from whoever owns the address."""
        attachment = self._pages.get(offset // PAGE_BYTES)
        if attachment is None:
            return 0
        value = attachment.device.load(offset - attachment.base, size) & ((1 << 8 * size) - 1)
        if self.trace:
            self.trace(f"load{8 * size} 0x{offset:08x} -> 0x{value:0{2 * size}x}")
        return value

    def store(self, offset: int, size: int, value: int) -> None:
        """Writes to whoever owns the address."""
        if self.trace:
            self.trace(f"store{8 * size} 0x{offset:08x} <- 0x{value:0{2 * size}x}")
        attachment = self._pages.get(offset // PAGE_BYTES)
        if attachment is not None:
            attachment.device.store(offset - attachment.base, size, value)

    def owns(self, offset: int) -> bool:
        """Whether a device answers at the address."""
        return offset // PAGE_BYTES in self._pages

    def peek(self, offset: int) -> int | None:
        """The byte there as a debugger shows it; None where nobody owns the address, or does not tell."""
        attachment = self._pages.get(offset // PAGE_BYTES)
        return None if attachment is None else attachment.device.peek(offset - attachment.base)

    def tick(self, now: int) -> None:
        """Lets every device do what is due."""
        for attachment in self.attachments:
            attachment.device.tick(now)

    def next_event(self) -> int | None:
        """The earliest event of any device."""
        events = [attachment.device.next_event() for attachment in self.attachments]
        return min((event for event in events if event is not None), default=None)

    def pending(self) -> int:
        """The interrupt lines as bits of mip."""
        bits = 0
        for bit, line in self._lines:
            if line():
                bits |= bit
        return bits

    def interrupt(self) -> bool:
        """Whether any line is high."""
        return self.pending() != 0

    def reset(self) -> None:
        """Resets every device."""
        for attachment in self.attachments:
            attachment.device.reset()
