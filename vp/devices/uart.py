"""The console: the transmit, receive and line-status registers of a 16550, polled."""

from __future__ import annotations

from collections.abc import Callable

from dlasim.vp.devices.device import Device
from dlasim.vp.devices.memory_map import DeviceRegister

DATA = DeviceRegister("DATA", 0, 1, "write: send a byte; read: the next received byte, 0 if none")
LINE_STATUS = DeviceRegister("LINE_STATUS", 5, 1, "bit 0: a byte was received; bit 5: ready to send")
REGISTERS = (DATA, LINE_STATUS)

RECEIVED = 0x01
READY_TO_SEND = 0x20
_IDLE = 0x40
MAX_BYTES = 1 << 20  # kept of what was sent, at least


class Uart(Device):
    """Collects what the guest sends in `sent`, of which the end is kept; the guest receives what `receive`
    was given.

    `listener`, where set, gets each byte at once.
    """

    registers = REGISTERS

    def __init__(self) -> None:
        self.sent = bytearray()
        self.listener: Callable[[int], None] | None = None
        self._to_guest = bytearray()

    def receive(self, data: bytes) -> None:
        """Queues bytes for the guest to read."""
        self._to_guest += data

    def load(self, offset: int, size: int) -> int:
        """Received bytes and the line status; sending never has to wait."""
        if offset == LINE_STATUS.offset:
            return READY_TO_SEND | _IDLE | (RECEIVED if self._to_guest else 0)
        if offset == DATA.offset and self._to_guest:
            return self._to_guest.pop(0)
        return 0

    def peek(self, offset: int) -> int:
        """As `load`; a received byte stays where it is."""
        if offset == DATA.offset:
            return self._to_guest[0] if self._to_guest else 0
        return self.load(offset, 1)

    def store(self, offset: int, size: int, value: int) -> None:
        """Sends the low byte."""
        if offset == DATA.offset:
            self.sent.append(value & 0xFF)
            if len(self.sent) >= 2 * MAX_BYTES:
                del self.sent[:-MAX_BYTES]
            if self.listener:
                self.listener(value & 0xFF)

    def reset(self) -> None:
        """Forgets what was sent and what waits."""
        self.sent.clear()
        self._to_guest.clear()
