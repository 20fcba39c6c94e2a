"""The board's memories: flash and RAM as arrays, which the CPU, devices and debuggers share."""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, RunError
from dlasim.vp.devices.memory_map import AddressRange, MemoryMap
from dlasim.vp.programs.elf import Firmware

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Memory:
    """An array that the CPU sees at `base`."""

    base: int
    data: Bytes
    writable: bool


class Memories:
    """Flash and RAM of one board."""

    def __init__(self, layout: MemoryMap) -> None:
        self._layout = layout
        self._maps = _reserve(layout.flash_bytes), _reserve(layout.ram_bytes)
        flash, ram = (np.frombuffer(each, np.uint8) for each in self._maps)
        self.flash = Memory(layout.flash.base, flash, writable=False)
        self.ram = Memory(layout.ram.base, ram, writable=True)

    def clear(self) -> None:
        """Makes both zero again, and gives what they took back to the host."""
        for each in self._maps:
            each.madvise(mmap.MADV_DONTNEED)

    def load(self, firmware: Firmware) -> None:
        """Put an ELF's segments where they belong."""
        for segment in firmware.segments:
            self._check_place(segment.address, segment.size_bytes, firmware.origin)
            self._check_place(segment.load_address, len(segment.data), firmware.origin)
            self.write(segment.load_address, segment.data)

    def view(self, address: int, size_bytes: int) -> Bytes | None:
        """RAM or flash itself, as an array; None where there is neither. Devices' DMA goes through it."""
        for memory in (self.ram, self.flash):
            offset = address - memory.base
            if offset >= 0 and size_bytes >= 0 and offset + size_bytes <= memory.data.nbytes:
                return memory.data[offset : offset + size_bytes]
        return None

    def read(self, address: int, size_bytes: int) -> bytes:
        """A copy of RAM or flash."""
        return self._existing(address, size_bytes).tobytes()

    def read_up_to(self, address: int, most_bytes: int) -> bytes | None:
        """The same up to where the memory ends; None where there is none."""
        for memory in (self.ram, self.flash):
            offset = address - memory.base
            if 0 <= offset < memory.data.nbytes:
                return memory.data[offset : offset + most_bytes].tobytes()
        return None

    def write(self, address: int, data: bytes) -> None:
        """Writes RAM, or (as a programmer would, not the guest) flash."""
        self._existing(address, len(data))[:] = np.frombuffer(data, np.uint8)

    def stack(self, firmware: Firmware) -> Bytes | None:
        """The part of RAM that the firmware's symbols call its stack; None where they do not."""
        bottom, top = (firmware.symbols.get(name) for name in ("__stack_bottom", "__stack_top"))
        if bottom is None or top is None or not self._layout.ram.holds(bottom, top - bottom):
            return None
        return self.ram.data[bottom - self.ram.base : top - self.ram.base]

    def _existing(self, address: int, size_bytes: int) -> Bytes:
        view = self.view(address, size_bytes)
        if view is None:
            raise InputError(f"{size_bytes} bytes at 0x{address:08x} are neither RAM nor flash")
        return view

    def _check_place(self, address: int, size_bytes: int, origin: str) -> None:
        if not any(region.holds(address, size_bytes) for region in (self._layout.flash, self._layout.ram)):
            raise InputError(
                f"{origin}: {size_bytes} bytes at 0x{address:08x} are outside the board's memory: "
                f"{_range(self._layout.flash)}, {_range(self._layout.ram)}"
            )


def _reserve(size_bytes: int) -> mmap.mmap:
    """Zeroed memory that starts on a page of the host and takes none until it is written."""
    try:
        return mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise RunError(
            f"cannot reserve {size_bytes >> 20} MiB of address space for a memory of the board; "
            "raise the limit (`ulimit -v` shows it in KiB)"
        ) from error


def _range(region: AddressRange) -> str:
    return f"{region.name} 0x{region.base:08x} to 0x{region.end - 1:08x}"
