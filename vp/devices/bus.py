"""The bus: a device that passes accesses on to the devices behind it, by address, and sums up their
events and interrupt lines."""

from __future__ import annotations

from collections.abc import Callable

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, RunError
from dlasim.vp.devices.device import Device
from dlasim.vp.devices.memory_map import PAGE_BYTES, AddressRange

_ADDRESS_SPACE_BYTES = 1 << 32
_INTERRUPT_LINES = 32
_MAX_WATCHED_READS = 64
_METHODS = tuple(name for name, what in vars(Device).items() if callable(what) and name[0] != "_")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A device and the addresses it answers."""

    name: str
    device: Device
    base: int
    size_bytes: int

    @property
    def place(self) -> AddressRange:
        """Where it lies."""
        return AddressRange(self.name, self.base, self.size_bytes, "")


class Bus(Device):
    """Offsets are bus addresses. A device owns whole pages; other addresses read as zero.

    `trace`, where set, is called for every access with its text. `reads` and `changes` tell a guest that
    waits from one that works: how often it read, and how often it wrote or read a new
    value.
    """

    def __init__(self) -> None:
        self.trace: Callable[[str], None] | None = None
        self.attachments: list[Attachment] = []
        self.reads = 0
        self.changes = 0
        self.last_reads: dict[tuple[int, int], int] = {}  # (address, size): the value it had
        self._pages: dict[int, Attachment] = {}
        self._lines: list[tuple[int, Callable[[], bool]]] = []

    def attach(
        self, device: Device, base: int, size_bytes: int, irq: int | None = None, name: str = ""
    ) -> None:
        """Puts a device at `base`; its interrupt line drives bit `irq` of mip, together with others."""
        attachment = Attachment(name or type(device).__name__, device, base, size_bytes)
        check_interface(attachment.name, device)
        _check_place(attachment)
        for other in self.attachments:
            if attachment.place.overlaps(other.place):
                raise InputError(f"{_where(attachment)} overlaps {_where(other)}; choose other addresses")
        for page in range(base // PAGE_BYTES, (base + size_bytes) // PAGE_BYTES):
            self._pages[page] = attachment
        self.attachments.append(attachment)
        if irq is not None:
            self.connect(irq, device.interrupt)

    def connect(self, irq: int, line: Callable[[], bool]) -> None:
        """Wires one more interrupt line; lines on one bit are or-ed."""
        if not isinstance(irq, int) or not 0 <= irq < _INTERRUPT_LINES:
            raise InputError(f"irq must be a bit of mip, 0 to {_INTERRUPT_LINES - 1} (got {irq!r})")
        self._lines.append((1 << irq, line))

    def load(self, offset: int, size: int) -> int:
        """Reads from the device at the address."""
        attachment = self._pages.get(offset // PAGE_BYTES)
        if attachment is None:
            return 0
        value = attachment.device.load(offset - attachment.base, size) & ((1 << 8 * size) - 1)
        self.reads += 1
        if self.last_reads.get((offset, size)) != value:
            self._note_change(offset, size, value)
        if self.trace:
            self.trace(self._line("load", "->", offset, size, value))
        return value

    def store(self, offset: int, size: int, value: int) -> None:
        """Writes to the device at the address."""
        if self.trace:
            self.trace(self._line("store", "<-", offset, size, value))
        attachment = self._pages.get(offset // PAGE_BYTES)
        if attachment is not None:
            self.changes += 1
            attachment.device.store(offset - attachment.base, size, value)

    def owns(self, offset: int) -> bool:
        """Whether a device answers at the address."""
        return offset // PAGE_BYTES in self._pages

    def peek(self, offset: int) -> int | None:
        """The byte as a debugger shows it; None if there is no device, or it does not allow that."""
        attachment = self._pages.get(offset // PAGE_BYTES)
        return None if attachment is None else attachment.device.peek(offset - attachment.base)

    def tick(self, now: int) -> None:
        """Lets every device do what is due."""
        for attachment in self.attachments:
            attachment.device.tick(now)

    def next_event(self) -> int | None:
        """The earliest event of any device."""
        earliest = None
        for attachment in self.attachments:
            event = attachment.device.next_event()
            if event is not None and (earliest is None or event < earliest):
                earliest = event
        return earliest

    def event_after(self, now: int) -> int | None:
        """The earliest event, when everything due by `now` was done: a RunError if one is still due."""
        event = self.next_event()
        if event is None or event > now:
            return event
        late = next(attachment for attachment in self.attachments if attachment.device.next_event() == event)
        raise RunError(
            f"device {_where(late)}: after tick({now}), next_event() is {event}; "
            "it must be a later cycle, or None"
        )

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

    def describe(self, offset: int, value: int) -> tuple[str, str]:
        """The device and register at an address, and what a value of it means."""
        attachment = self._pages.get(offset // PAGE_BYTES)
        if attachment is None:
            return "", ""
        register, fields = attachment.device.describe(offset - attachment.base, value)
        return f"{attachment.name} {register}".rstrip(), fields

    def _note_change(self, offset: int, size: int, value: int) -> None:
        self.changes += 1
        if len(self.last_reads) >= _MAX_WATCHED_READS:
            self.last_reads.clear()
        self.last_reads[offset, size] = value

    def _line(self, verb: str, arrow: str, offset: int, size: int, value: int) -> str:
        name, fields = self.describe(offset, value)
        text = f"{verb}{8 * size} 0x{offset:08x} {name}".rstrip() + f" {arrow} 0x{value:0{2 * size}x}"
        return text + (f" ({fields})" if fields else "")


def _where(attachment: Attachment) -> str:
    place = attachment.place
    return f"{attachment.name} at 0x{place.base:08x} to 0x{place.end - 1:08x}"


def check_interface(name: str, device: object) -> None:
    """An InputError unless the object has everything that the board calls."""
    if isinstance(device, type):
        raise InputError(f"device {device.__name__} is a class; attach an object of it")
    for method in _METHODS:
        if not callable(getattr(device, method, None)):
            raise InputError(
                f"device {name} has no method {method}(); "
                "derive its class from dlasim.vp.devices.device.Device"
            )
    if all(getattr(type(device), method, None) is vars(Device)[method] for method in ("load", "store")):
        raise InputError(f"device {name} defines neither load() nor store(): no guest could use it")


def _check_place(attachment: Attachment) -> None:
    base, size_bytes = attachment.base, attachment.size_bytes
    for what, number in (("address", base), ("size", size_bytes)):
        if not isinstance(number, int) or isinstance(number, bool):
            raise InputError(f"device {attachment.name}: its {what} must be an integer (got {number!r})")
        if number % PAGE_BYTES:
            raise InputError(
                f"device {attachment.name}: its {what} must be a multiple of 0x{PAGE_BYTES:x} "
                f"(got {number:#x})"
            )
    if size_bytes <= 0 or base < 0 or base + size_bytes > _ADDRESS_SPACE_BYTES:
        raise InputError(
            f"device {attachment.name}: {size_bytes} bytes at {base:#x} are not within "
            "the 32-bit address space"
        )
