"""Reads ELF files for the board: what goes where in memory, the code, the symbols. Nothing in a file may
crash it: every mistake in it is an InputError."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable
from dlasim.named_tuple import NamedTuple
from dlasim.system.fileio import read_file

CPU, COMPILE = "RV32IMAC", "compile with -march=rv32imac -mabi=ilp32"  # as messages have it
# Of the file's header: where its fields lie.
_HEADER_BYTES = 52
_TYPE_AT, _ENTRY_AT, PROGRAM_HEADERS_AT, _SECTIONS_AT, _FLAGS_AT = 16, 24, 28, 32, 36
PROGRAM_HEADER_COUNT_AT, _SECTION_COUNT_AT = 44, 48
_FLOAT_ABI = 0x6  # of the flags: EF_RISCV_FLOAT_ABI
_FLOAT_ABIS = {0: "", 2: "ilp32f", 4: "ilp32d", 6: "ilp32q"}

PROGRAM_HEADER = struct.Struct("<8I")
_LOAD, _EXECUTABLE = 1, 1
_SECTION, _SECTION_TYPE, _SECTION_OFFSET, _SYMBOL_TABLE = struct.Struct("<10I"), 1, 4, 2
_SYMBOL, _FUNCTION = struct.Struct("<3I2BH"), 2
_MAPPING = b"$"  # begins the names of marks between code and data ($x, $d), half of all symbols

_MAX_SYMBOLS = 1 << 20
_MAX_NAME_BYTES = 1 << 12
_MAX_NAMES_BYTES = 1 << 24  # of all symbols, which may share bytes of the file
_MAX_CODE_BYTES = 4 << 20
_MAX_FILE_BYTES = 1 << 30
_MOST_TIMES_THE_FILE = 2  # segments; linkers let them share a page
_MAX_DEBUG_BYTES = 1 << 24  # of a section; reading more takes too long for what it gives


class _ProgramHeader(NamedTuple):
    type: int
    offset: int
    address: int
    load_address: int
    file_bytes: int
    memory_bytes: int
    flags: int
    alignment: int


class _Symbol(NamedTuple):
    name: str
    address: int
    size_bytes: int
    is_function: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A loadable part: its bytes go to `load_address`, the program sees them at `address`."""

    address: int
    load_address: int
    data: bytes
    size_bytes: int  # with the zeroed part
    executable: bool

    def holds_code(self, address: int) -> bool:
        """Whether instructions may lie there."""
        return self.executable and 0 <= address - self.address < len(self.data)


@dataclass(frozen=True, slots=True)
class Function:
    """A function symbol."""

    name: str
    address: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Firmware:
    """An ELF file as the board uses it."""

    origin: str
    entry: int
    segments: tuple[Segment, ...]
    symbols: dict[str, int]
    functions: tuple[Function, ...]  # by address, without overlaps
    file: bytes = b""  # all of it, for its debugging information

    def function_at(self, address: int) -> Function | None:
        """The function that holds `address`."""
        index = bisect_right(self.functions, address, key=lambda function: function.address) - 1
        if index < 0:
            return None
        function = self.functions[index]
        return function if address < function.address + function.size_bytes else None

    def describe(self, address: int) -> str:
        """`0x20000123 main+0x23`, or just the address."""
        function = self.function_at(address)
        return f"0x{address:08x}" + (f" {function.name}+0x{address - function.address:x}" if function else "")

    def source_line(self, address: int) -> str:
        """`main.c:12`, if the file was built with -g; else nothing."""
        if not any(segment.holds_code(address) for segment in self.segments):
            return ""
        rows = _source_lines(self.file)
        index = bisect_right(rows, address, key=lambda row: row[0]) - 1
        return rows[index][1] if index >= 0 else ""

    def locate(self, address: int) -> str:
        """As `describe`, with the source line; slow the first time."""
        line = self.source_line(address)
        return self.describe(address) + (f" ({line})" if line else "")


def executable_code(firmware: Firmware) -> tuple[int, bytes]:
    """The executable segments as one stretch; the counts need it contiguous and of sane size."""
    segments: list[Segment] = [segment for segment in firmware.segments if segment.executable]
    base = min(segment.address for segment in segments) & ~1
    end = max(segment.address + len(segment.data) for segment in segments)
    if end - base > _MAX_CODE_BYTES:
        raise InputError(
            f"{firmware.origin}: its code spans {end - base:,} bytes; the limit is {_MAX_CODE_BYTES:,}"
        )
    code = bytearray(end - base)
    for segment in segments:
        code[segment.address - base : segment.address - base + len(segment.data)] = segment.data
    return base, bytes(code)


def read_elf(path: str | Path) -> Firmware:
    """Reads a 32-bit little-endian RISC-V executable."""
    return parse_elf(read_file(path), str(path))


def parse_elf(data: bytes, origin: str) -> Firmware:
    """The same from bytes; `origin` names them in messages."""
    _check_header(data, origin)
    try:
        headers = list(_program_headers(data))
        inside = [header for header in headers if header.offset + header.file_bytes <= len(data)]
        size_bytes = sum(header.file_bytes for header in inside)
        if size_bytes > _MOST_TIMES_THE_FILE * len(data):
            raise InputError(f"{origin}: its segments take {size_bytes:,} bytes of a file of {len(data):,}")
        segments = tuple(_segment(header, data, origin) for header in headers)
        symbols = _symbols(data, origin)
    except struct.error as error:  # a table reaches beyond the file's end
        raise InputError(f"{origin}: damaged ELF file: {error}") from error
    if not any(segment.executable for segment in segments):
        raise InputError(f"{origin}: no executable segment; link it with the board's linker script")
    (entry,) = struct.unpack_from("<I", data, _ENTRY_AT)
    addresses = {symbol.name: symbol.address for symbol in symbols}
    return Firmware(origin, entry, segments, addresses, _functions(symbols), data)


def _check_header(data: bytes, origin: str) -> None:
    if data[:4] != b"\x7fELF":
        raise InputError(f"{origin}: not an ELF file")
    if len(data) > _MAX_FILE_BYTES:
        raise InputError(f"{origin}: it is larger than {_MAX_FILE_BYTES:,} bytes, the limit")
    if len(data) < _HEADER_BYTES:
        raise InputError(f"{origin}: ELF file of {len(data)} bytes is truncated")
    if data[4] != 1 or data[5] != 1:
        raise InputError(f"{origin}: not a 32-bit little-endian ELF file")
    kind, machine = struct.unpack_from("<HH", data, _TYPE_AT)
    if machine != 243:
        raise InputError(f"{origin}: ELF for machine {machine}, not RISC-V (243)")
    if kind != 2:
        raise InputError(f"{origin}: ELF of type {kind}, not a linked executable (2)")
    abi = _FLOAT_ABIS[data[_FLAGS_AT] & _FLOAT_ABI]
    if abi:
        raise InputError(
            f"{origin} is built for floating point in hardware (ABI {abi}), but the CPU is {CPU}: {COMPILE}"
        )


def _program_headers(data: bytes) -> Iterator[_ProgramHeader]:
    """Those of parts that are loaded."""
    (first,), (count,) = (
        struct.unpack_from("<I", data, PROGRAM_HEADERS_AT),
        struct.unpack_from("<H", data, PROGRAM_HEADER_COUNT_AT),
    )
    for number in range(count):
        header = _ProgramHeader(*PROGRAM_HEADER.unpack_from(data, first + number * PROGRAM_HEADER.size))
        if header.type == _LOAD and header.memory_bytes:
            yield header


def _segment(header: _ProgramHeader, data: bytes, origin: str) -> Segment:
    end = header.offset + header.file_bytes
    if end > len(data):
        raise InputError(f"{origin}: truncated: a segment ends at byte {end} of {len(data)}")
    if header.file_bytes > header.memory_bytes:
        raise InputError(f"{origin}: segment at 0x{header.address:08x} is larger in the file than in memory")
    return Segment(
        header.address,
        header.load_address,
        data[header.offset : end],
        header.memory_bytes,
        bool(header.flags & _EXECUTABLE),
    )


def _symbols(data: bytes, origin: str) -> list[_Symbol]:
    """All defined symbols that have a name."""
    (first,), (count,) = (
        struct.unpack_from("<I", data, _SECTIONS_AT),
        struct.unpack_from("<H", data, _SECTION_COUNT_AT),
    )
    sections = [_SECTION.unpack_from(data, first + number * _SECTION.size) for number in range(count)]
    tables = [section for section in sections if section[_SECTION_TYPE] == _SYMBOL_TABLE]
    if not tables:
        return []
    _, _, _, _, offset, size_bytes, names, *_ = tables[0]
    number = size_bytes // _SYMBOL.size
    if number > _MAX_SYMBOLS:
        raise InputError(f"{origin}: it has {number:,} symbols; the limit is {_MAX_SYMBOLS:,}")
    if names >= count:
        raise InputError(f"{origin}: damaged ELF file: its symbols have no names")
    names_offset, left_bytes = sections[names][_SECTION_OFFSET], _MAX_NAMES_BYTES
    found = []
    for name, address, size, info, _, section in _SYMBOL.iter_unpack(_part(data, offset, number)):
        if name and section and data[names_offset + name : names_offset + name + 1] != _MAPPING:
            found.append(_Symbol(_text(data, names_offset + name), address, size, info & 0xF == _FUNCTION))
            left_bytes -= len(found[-1].name)
        if left_bytes < 0:
            raise InputError(f"{origin}: the names of its symbols take more than {_MAX_NAMES_BYTES:,} bytes")
    return found


def _part(data: bytes, offset: int, symbols: int) -> bytes:
    """The table of so many symbols."""
    end = offset + symbols * _SYMBOL.size
    if end > len(data):
        raise struct.error(f"its symbols end at byte {end} of {len(data)}")
    return data[offset:end]


def _text(data: bytes, start: int) -> str:
    """A text that ends with a zero."""
    end = data.find(0, start, start + _MAX_NAME_BYTES)
    return data[start : end if end >= 0 else start + _MAX_NAME_BYTES].decode("utf-8", "replace")


@lru_cache(maxsize=2)
def _source_lines(data: bytes) -> list[tuple[int, str]]:
    """(address, file:line) where each stretch of code begins; the text is empty where none is known."""
    from elftools.elf.elffile import ELFFile  # 50 ms

    try:
        elf = ELFFile(BytesIO(data))
        debug = [section for section in elf.iter_sections() if section.name.startswith(".debug_")]
        if any(section.compressed or section.data_size > _MAX_DEBUG_BYTES for section in debug):
            return []
        dwarf = elf.get_dwarf_info()
        rows = [row for unit in dwarf.iter_CUs() for row in _unit_lines(dwarf.line_program_for_CU(unit))]
    except Exception:  # pyelftools raises nearly anything on damaged information; a dump does without it
        return []
    return sorted(rows, key=lambda row: row[0])


def _unit_lines(program: Any) -> Iterator[tuple[int, str]]:
    """The same of one compilation unit's line program."""
    if program is None:
        return
    first = 0 if program["version"] >= 5 else 1
    paths = [bytes(entry.name).decode("utf-8", "replace") for entry in program["file_entry"]]
    names = [path.rpartition("/")[2] for path in paths]
    for entry in program.get_entries():
        state = entry.state
        if state is not None:
            known = not state.end_sequence and 0 <= state.file - first < len(names)
            yield state.address, f"{names[state.file - first]}:{state.line}" if known else ""


def _functions(symbols: list[_Symbol]) -> tuple[Function, ...]:
    """Function symbols in order; one without a size, or too long a one, ends where the next begins."""
    by_address = {symbol.address: symbol for symbol in symbols if symbol.is_function}
    addresses = sorted(by_address)
    functions = []
    for address, following in zip(addresses, [*addresses, 1 << 32][1:], strict=True):
        symbol, room = by_address[address], following - address
        functions.append(Function(printable(symbol.name), address, min(symbol.size_bytes or room, room)))
    return tuple(functions)
