"""The frame of `program.bin`: header, checksum, sections and strings, checked before anything is read."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable
from dlasim.isa import program as p
from dlasim.isa.file_records import (
    FIRST_OPTIONAL_SECTION,
    FORMAT_VERSION,
    HEADER,
    MAGIC,
    SECTION,
    SECTION_ALIGNMENT,
    SECTION_RECORDS,
    FileRecord,
    Section,
)
from dlasim.isa.instruction_rows import WORD_BYTES
from dlasim.system.fileio import MAX_FILE_BYTES

MAX_MESSAGE_CHARACTERS = 200
MAX_SECTIONS = 256
MAX_SHARED_BYTES = 1 << 24  # of strings that lie in others
_KNOWN_SECTIONS = frozenset(int(section) for section in Section)
T = TypeVar("T")


def is_program(head: bytes) -> bool:
    """Whether a file that starts so claims to be a program."""
    return head[: len(MAGIC)] == MAGIC


@dataclass(frozen=True, slots=True)
class SectionBytes:
    """The bytes of a section, and how many records they are."""

    data: memoryview
    count: int


class Sections:
    """The sections of one file; whatever is wrong with it ends in `fail`."""

    def __init__(self, data: bytes, origin: str) -> None:
        self._data = data
        self._origin = origin
        self.header = self._read_header()
        self._parts = self._read_table()
        self._strings = bytes(self.part(Section.STRINGS).data)
        self._known: dict[int, str] = {}
        self._left_bytes = len(self._strings) + MAX_SHARED_BYTES

    def fail(self, what: str) -> NoReturn:
        """Reject the file."""
        # A name from the file may hold anything; the message stays one line of a readable length.
        shown = printable(what[:MAX_MESSAGE_CHARACTERS])
        raise InputError(f"{self._origin} is not a valid program: {shown}")

    def require(self, holds: bool | np.bool_, what: str) -> None:
        """Reject the file unless this holds."""
        if not holds:
            self.fail(what)

    def _read_header(self) -> np.void:
        data = self._data
        self.require(is_program(data), f"it does not start with {MAGIC[:-1].decode()}")
        self.require(len(data) >= HEADER.size_bytes, f"it ends inside its {HEADER.size_bytes}-byte header")
        self.require(len(data) <= MAX_FILE_BYTES, f"it is larger than {MAX_FILE_BYTES} bytes")
        header: np.void = np.frombuffer(data, HEADER.dtype, count=1)[0]
        version, isa = int(header["format_version"]), int(header["isa_version"])
        self.require(
            version == FORMAT_VERSION,
            f"it has format version {version}, but this dlasim reads version {FORMAT_VERSION}",
        )
        self.require(
            isa >> 16 == p.ISA_MAJOR and isa <= p.ISA_VERSION,
            f"it is for ISA {isa >> 16}.{isa & 0xFFFF}, but this dlasim has ISA "
            f"{p.ISA_MAJOR}.{p.ISA_VERSION & 0xFFFF}",
        )
        size = int(header["file_bytes"])
        self.require(size == len(data), f"its header says {size} bytes, but the file has {len(data)}")
        self._check_sum(int(header["checksum"]))
        return header

    def _check_sum(self, expected: int) -> None:
        offset = HEADER.offsets["checksum"]
        view = memoryview(self._data)
        actual = zlib.crc32(view[offset + 4 :], zlib.crc32(bytes(4), zlib.crc32(view[:offset])))
        self.require(
            actual == expected, f"its checksum is {actual:#010x}, but its header says {expected:#010x}"
        )

    def _read_table(self) -> dict[Section, SectionBytes]:
        count = int(self.header["section_count"])
        end = HEADER.size_bytes + count * SECTION.size_bytes
        self.require(
            count <= MAX_SECTIONS and end <= len(self._data),
            f"its header says that it has {count} sections, which do not fit",
        )
        parts: dict[Section, SectionBytes] = {}
        previous = 0
        for row in np.frombuffer(self._data, SECTION.dtype, count, HEADER.size_bytes):
            kind, offset, size, records = (int(row[name]) for name in SECTION.dtype.names or ())
            self._check_place(kind, previous, offset, size, end)
            if kind in _KNOWN_SECTIONS:
                section = Section(kind)
                self.require(
                    size == records * self._record_bytes(section),
                    f"its section {section.name} has {size} bytes, which is not {records} records of "
                    f"{self._record_bytes(section)}",
                )
                parts[section] = SectionBytes(memoryview(self._data)[offset : offset + size], records)
            previous, end = kind, offset + size
        return parts

    def _check_place(self, kind: int, previous: int, offset: int, size: int, end: int) -> None:
        """A section that this version does not know may be skipped if it is optional, and is in its place."""
        is_known = kind in _KNOWN_SECTIONS
        name = Section(kind).name if is_known else str(kind)
        self.require(is_known or kind >= FIRST_OPTIONAL_SECTION, f"it has a section of unknown kind {kind}")
        self.require(kind > previous, f"its section {name} is out of order")
        self.require(
            offset % SECTION_ALIGNMENT == 0 and end <= offset and offset + size <= len(self._data),
            f"its section {name} is misaligned, overlaps another section or reaches beyond the file",
        )

    @staticmethod
    def _record_bytes(kind: Section) -> int:
        if kind is Section.COMMANDS:
            return WORD_BYTES
        return SECTION_RECORDS[kind].size_bytes if kind in SECTION_RECORDS else 1

    def part(self, kind: Section) -> SectionBytes:
        """A section; one that is not there is empty."""
        return self._parts.get(kind, SectionBytes(memoryview(b""), 0))

    def rows(self, kind: Section) -> NDArray[np.void]:
        """The records of a section."""
        record: FileRecord = SECTION_RECORDS[kind]
        return np.frombuffer(self.part(kind).data, record.dtype)

    def string(self, offset: int) -> str:
        """The string at an offset of the strings."""
        if offset not in self._known:
            self._known[offset] = self._read_string(offset)
        return self._known[offset]

    def _read_string(self, offset: int) -> str:
        self.require(offset < len(self._strings), f"it names a string at {offset}, beyond its strings")
        end = self._strings.find(b"\0", offset)
        self.require(end >= 0, "its strings do not end")
        self._left_bytes -= end - offset
        self.require(self._left_bytes >= 0, f"its strings share more than {MAX_SHARED_BYTES:,} bytes")
        try:
            return self._strings[offset:end].decode()
        except UnicodeDecodeError:
            self.fail(f"its string at {offset} is not UTF-8")

    def one_of(self, kind: Callable[[int], T], value: int, what: str) -> T:
        """The value as a member of an enumeration."""
        try:
            return kind(value)
        except ValueError:
            self.fail(f"it has {what} {value}")
