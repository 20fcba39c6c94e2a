"""Program images inside ELF files: put into the firmware to make an application, and found again."""

from __future__ import annotations

import struct

from dlasim.errors import InputError
from dlasim.isa import container
from dlasim.isa.file_records import HEADER, MAGIC
from dlasim.isa.program import Program
from dlasim.vp.devices.memory_map import FLASH_BASE, PAGE_BYTES, MemoryMap
from dlasim.vp.programs import launch
from dlasim.vp.programs.elf import (
    PROGRAM_HEADER,
    PROGRAM_HEADER_COUNT_AT,
    PROGRAM_HEADERS_AT,
    Firmware,
    Segment,
)

_LOAD, _READ = 1, 4


def embed(elf: bytes, firmware: Firmware, image: bytes, block: launch.Launch) -> bytes:
    """The firmware's ELF with the image in flash behind it and the launch block filled in."""
    patched = bytearray(elf)
    at = _file_offset(elf, firmware.symbols[launch.SYMBOL])
    patched[at : at + launch.SIZE_BYTES] = block.to_bytes()
    patched += bytes(-len(patched) % PAGE_BYTES)
    image_at = len(patched)
    patched += image + bytes(-len(image) % 4)
    place = MemoryMap().program.base
    headers = _program_headers(elf)
    headers.append((_LOAD, image_at, place, place, len(image), len(image), _READ, PAGE_BYTES))
    struct.pack_into("<I", patched, PROGRAM_HEADERS_AT, len(patched))
    struct.pack_into("<H", patched, PROGRAM_HEADER_COUNT_AT, len(headers))
    for header in headers:
        patched += PROGRAM_HEADER.pack(*header)
    return bytes(patched)


def _program_headers(elf: bytes) -> list[tuple[int, ...]]:
    (start,) = struct.unpack_from("<I", elf, PROGRAM_HEADERS_AT)
    (count,) = struct.unpack_from("<H", elf, PROGRAM_HEADER_COUNT_AT)
    return [PROGRAM_HEADER.unpack_from(elf, start + n * PROGRAM_HEADER.size) for n in range(count)]


def _file_offset(elf: bytes, address: int) -> int:
    for kind, offset, _, load_address, file_bytes, *_ in _program_headers(elf):
        if kind == _LOAD and load_address <= address < load_address + file_bytes:
            return offset + address - load_address
    raise InputError(f"the launch block at 0x{address:08x} is not in the firmware's file")


def find_program(firmware: Firmware) -> Program | None:
    """The first program image among an ELF's constants, if there is one."""
    for segment in firmware.segments:
        image = _image_in(segment)
        if image is not None:
            return container.read(image, f"the program in {firmware.origin}")
    return None


def _image_in(segment: Segment) -> bytes | None:
    at = segment.data.find(MAGIC)
    while at >= 0:
        end = at + _file_bytes(segment.data, at)
        if at + HEADER.size_bytes <= end <= len(segment.data):
            return segment.data[at:end]
        at = segment.data.find(MAGIC, at + 1)  # the firmware's own copy of the magic, for comparison
    return None


def _file_bytes(data: bytes, at: int) -> int:
    offset = at + int(HEADER.dtype.fields["file_bytes"][1])  # type: ignore[index]
    return int.from_bytes(data[offset : offset + 4], "little")


def is_application(firmware: Firmware) -> bool:
    """Whether it is this package's firmware with a program, of which everything is known."""
    place = MemoryMap().program.base
    has_image = any(segment.load_address == place for segment in firmware.segments)
    return launch.SYMBOL in firmware.symbols and has_image and firmware.entry >= FLASH_BASE
