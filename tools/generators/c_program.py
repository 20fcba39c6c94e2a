"""`dla_program.h`: the records of `program.bin` as C structs."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from dlasim.isa import file_records
from dlasim.isa.file_records import C_TYPES, ENUMS, RECORDS, FileRecord
from dlasim.isa.limits import MAX_RANK
from generators import c_text

FILE_NAME = "dla_program.h"


def render() -> str:
    """The header."""
    doc = "The records of program.bin, all of them little-endian."
    return c_text.header(FILE_NAME, doc, "dlasim/isa/file_records.py", _lines())


def _lines() -> Iterator[str]:
    letters = file_records.MAGIC.rstrip(b"\0").decode()
    assert letters.encode() + b"\0" == file_records.MAGIC, "C adds the zero byte to the string"
    yield c_text.define("DLA_PROGRAM_MAGIC", f'"{letters}"')
    yield c_text.define("DLA_PROGRAM_MAGIC_BYTES", f"{len(file_records.MAGIC)}u")
    yield c_text.define("DLA_PROGRAM_FORMAT_VERSION", f"{file_records.FORMAT_VERSION}u")
    yield from c_text.comment("Sections start at multiples of this.")
    yield c_text.define("DLA_PROGRAM_SECTION_ALIGNMENT", f"{file_records.SECTION_ALIGNMENT}u")
    yield c_text.define("DLA_PROGRAM_MAX_RANK", f"{MAX_RANK}u")
    yield ""
    for kind, doc in ENUMS:
        yield from _enumeration_lines(kind, doc)
    for record in RECORDS:
        yield from _record_lines(record)


def _enumeration_lines(kind: type[enum.IntEnum], doc: str) -> Iterator[str]:
    """One enumeration."""
    yield from c_text.plain_enumeration(kind, f"{doc[0].upper()}{doc[1:]}.")


def _record_lines(record: FileRecord) -> Iterator[str]:
    """One record."""
    yield from c_text.comment(record.doc)
    members = [(C_TYPES[one.type], one.name, one.count, one.doc) for one in record.members]
    yield from c_text.packed_struct(f"dla_program_{record.name}", members, str(record.size_bytes))
    yield ""
