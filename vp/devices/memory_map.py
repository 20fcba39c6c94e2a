"""Where everything on the board lies: the one definition from which the bus, the linker script and the
C header are made.

Flash, RAM, UART, CLINT and the exit register sit where QEMU's `virt` machine has them, so that a program
that does not touch the DLA runs on either, and instruction counts can be compared on the same file.
"""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sim.configuration.sizes import KIB, MIB

PAGE_BYTES = 4 * KIB

FLASH_BASE = 0x2000_0000
RAM_BASE = 0x8000_0000

FIRMWARE_SLOT_BYTES = 1 * MIB
"""The first part of flash is the firmware's own; the program image follows it."""

MACHINE_SOFTWARE_INTERRUPT = 3
MACHINE_TIMER_INTERRUPT = 7
MACHINE_EXTERNAL_INTERRUPT = 11
"""Bit numbers in `mip` and `mie`, and cause codes in `mcause`; the DLA drives the external one."""


@dataclass(frozen=True, slots=True)
class AddressRange:
    """A range of addresses and what answers there."""

    name: str
    base: int
    size_bytes: int
    doc: str

    @property
    def end(self) -> int:
        """The first address behind the region."""
        return self.base + self.size_bytes

    def holds(self, address: int, size_bytes: int = 1) -> bool:
        """Whether all `size_bytes` from `address` lie inside."""
        return self.base <= address and address + size_bytes <= self.end

    def overlaps(self, other: AddressRange) -> bool:
        """Whether the two have an address in common."""
        return self.base < other.end and other.base < self.end


@dataclass(frozen=True, slots=True)
class DeviceRegister:
    """One register of a device, as the C header lists it."""

    name: str
    offset: int
    size_bytes: int
    doc: str


EXIT = AddressRange("EXIT", 0x0010_0000, PAGE_BYTES, "exit code, marks for the profiler, size of RAM")
CLINT = AddressRange("CLINT", 0x0200_0000, 64 * KIB, "timer and software interrupt")
UART = AddressRange("UART", 0x1000_0000, PAGE_BYTES, "console")
DLA = AddressRange("DLA", 0x1100_0000, PAGE_BYTES, "registers of the accelerator")
DEVICES = (EXIT, CLINT, UART, DLA)


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """The board's address space; only the two memory sizes are the user's to choose."""

    ram_bytes: int = 64 * MIB
    flash_bytes: int = 64 * MIB

    def __post_init__(self) -> None:
        _check_size("RAM", self.ram_bytes, minimum=64 * KIB, maximum=1024 * MIB)
        _check_size("flash", self.flash_bytes, minimum=2 * FIRMWARE_SLOT_BYTES, maximum=512 * MIB)

    @property
    def ram(self) -> AddressRange:
        """Read, write, execute; shared with the DLA."""
        return AddressRange("RAM", RAM_BASE, self.ram_bytes, "stack, data, heap")

    @property
    def flash(self) -> AddressRange:
        """Read and execute; the DLA may read it."""
        return AddressRange("FLASH", FLASH_BASE, self.flash_bytes, "firmware, then the program image")

    @property
    def program(self) -> AddressRange:
        """The part of flash behind the firmware, where the loader puts `program.bin`."""
        base = FLASH_BASE + FIRMWARE_SLOT_BYTES
        return AddressRange("PROGRAM", base, self.flash_bytes - FIRMWARE_SLOT_BYTES, "the program image")


def _check_size(name: str, size_bytes: int, minimum: int, maximum: int) -> None:
    if not minimum <= size_bytes <= maximum or size_bytes % PAGE_BYTES:
        raise InputError(
            f"the size of {name} must be a multiple of {PAGE_BYTES} from {minimum} to {maximum} bytes "
            f"(got {size_bytes})"
        )
