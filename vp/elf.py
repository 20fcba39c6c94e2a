"""Reads ELF files for the board: what goes where in memory, the code, the symbols. Nothing in a file may
crash it: every mistake in it is an InputError."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable
from dlasim.fileio import read_file

CPU, COMPILE = "RV32IMAC", "compile with -march=rv32imac -mabi=ilp32"  # as messages have it
_IDENT_BYTES = 16
_HEADER_BYTES = 52
_EXECUTABLE = 1
_FLAGS_AT, _FLOAT_ABI = 36, 0x6  # of the ELF header: e_flags, and in it EF_RISCV_FLOAT_ABI
_FLOAT_ABIS = {0: "", 2: "ilp32f", 4: "ilp32d", 6: "ilp32q"}
_MAX_CODE_BYTES = 4 << 20
_MAX_FILE_BYTES = 1 << 30
_MAX_DEBUG_BYTES = 1 << 24  # of a section; reading more takes too long for what it gives


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
    return parse_elf(read_file(path, _MAX_FILE_BYTES), str(path))


def parse_elf(data: bytes, origin: str) -> Firmware:
    """The same from bytes; `origin` names them in messages."""
    _check_header(data, origin)
    try:
        elf = ELFFile(BytesIO(data))
        segments = tuple(_segment(header, data, origin) for header in _loadable(elf))
        symbols = _symbols(elf)
        entry = int(elf["e_entry"])
    except InputError:
        raise
    except Exception as error:  # pyelftools raises nearly anything on a damaged file
        raise InputError(f"{origin}: damaged ELF file: {error}") from error
    if not any(segment.executable for segment in segments):
        raise InputError(f"{origin}: no executable segment; link it with the board's linker script")
    functions = _functions(symbols)
    addresses = {name: address for name, address, _, _ in symbols}
    return Firmware(origin, entry, segments, addresses, functions, data)


def _check_header(data: bytes, origin: str) -> None:
    if data[:4] != b"\x7fELF":
        raise InputError(f"{origin}: not an ELF file")
    if len(data) < _HEADER_BYTES:
        raise InputError(f"{origin}: ELF file of {len(data)} bytes is truncated")
    if data[4] != 1 or data[5] != 1:
        raise InputError(f"{origin}: not a 32-bit little-endian ELF file")
    kind = int.from_bytes(data[_IDENT_BYTES : _IDENT_BYTES + 2], "little")
    machine = int.from_bytes(data[_IDENT_BYTES + 2 : _IDENT_BYTES + 4], "little")
    if machine != 243:
        raise InputError(f"{origin}: ELF for machine {machine}, not RISC-V (243)")
    if kind != 2:
        raise InputError(f"{origin}: ELF of type {kind}, not a linked executable (2)")
    abi = _FLOAT_ABIS[data[_FLAGS_AT] & _FLOAT_ABI]
    if abi:
        raise InputError(
            f"{origin} is built for floating point in hardware (ABI {abi}), but the CPU is {CPU}: {COMPILE}"
        )


def _loadable(elf: Any) -> list[Any]:
    return [s.header for s in elf.iter_segments() if s["p_type"] == "PT_LOAD" and s["p_memsz"]]


def _segment(header: Any, data: bytes, origin: str) -> Segment:
    offset, file_bytes = header["p_offset"], header["p_filesz"]
    if offset + file_bytes > len(data):
        end = offset + file_bytes
        raise InputError(f"{origin}: truncated: a segment ends at byte {end} of {len(data)}")
    if file_bytes > header["p_memsz"]:
        raise InputError(
            f"{origin}: segment at 0x{header['p_vaddr']:08x} is larger in the file than in memory"
        )
    return Segment(
        header["p_vaddr"],
        header["p_paddr"],
        data[offset : offset + file_bytes],
        header["p_memsz"],
        bool(header["p_flags"] & _EXECUTABLE),
    )


def _symbols(elf: Any) -> list[tuple[str, int, int, str]]:
    """(name, address, size, type) of all defined symbols."""
    table = elf.get_section_by_name(".symtab")
    if table is None:
        return []
    return [
        (symbol.name, symbol["st_value"], symbol["st_size"], symbol["st_info"]["type"])
        for symbol in table.iter_symbols()
        if symbol.name and symbol["st_shndx"] != "SHN_UNDEF"
    ]


@lru_cache(maxsize=2)
def _source_lines(data: bytes) -> list[tuple[int, str]]:
    """(address, file:line) where each stretch of code begins; the text is empty where none is known."""
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


def _functions(symbols: list[tuple[str, int, int, str]]) -> tuple[Function, ...]:
    """Function symbols in order; one without a size, or too long a one, ends where the next begins."""
    by_address = {address: (name, size) for name, address, size, kind in symbols if kind == "STT_FUNC"}
    addresses = sorted(by_address)
    functions = []
    for address, following in zip(addresses, [*addresses, 1 << 32][1:], strict=True):
        name, size_bytes = by_address[address]
        functions.append(
            Function(printable(name), address, min(size_bytes or following - address, following - address))
        )
    return tuple(functions)
