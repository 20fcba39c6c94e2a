"""Damage to program files: blind, and with knowledge of where the fields are."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from random import Random

import numpy as np

from dlasim.isa.file_records import HEADER, SECTION, SECTION_RECORDS, Section

_CHECKSUM = HEADER.offsets["checksum"]
_FILE_BYTES = HEADER.offsets["file_bytes"]
_INTERESTING = (0, 1, 2, 3, 4, 7, 8, 63, 64, 65, 127, 128, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
                0x7F800000, 0x7FC00000, 0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF)  # fmt: skip


def mutated(random: Random, data: bytes) -> bytes:
    """A damaged copy; mostly with a checksum that fits, so that the damage is met further in."""
    image = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        random.choice(_WAYS)(random, image)
    if random.randrange(20):
        if random.randrange(10) and len(image) >= HEADER.size_bytes:
            _put(image, _FILE_BYTES, len(image))
        fix_checksum(image)
    return bytes(image)


def fix_checksum(image: bytearray) -> None:
    """Make the checksum that of the file."""
    if len(image) >= HEADER.size_bytes:
        _put(image, _CHECKSUM, 0)
        _put(image, _CHECKSUM, zlib.crc32(image))


def _put(image: bytearray, offset: int, value: int) -> None:
    image[offset : offset + 4] = (value & 0xFFFF_FFFF).to_bytes(4, "little")


def _flip(random: Random, image: bytearray) -> None:
    if image:
        image[random.randrange(len(image))] ^= 1 << random.randrange(8)


def _truncate(random: Random, image: bytearray) -> None:
    del image[random.randrange(len(image) + 1) :]


def _extend(random: Random, image: bytearray) -> None:
    image += random.randbytes(random.choice((1, 4, 64, 100)))


def _overwrite_word(random: Random, image: bytearray) -> None:
    if len(image) >= 4:
        _replace(random, image, random.randrange(len(image) // 4) * 4)


def _replace(random: Random, image: bytearray, offset: int) -> None:
    """Another number in a word: a special one, or a neighbour of what is there."""
    old = int.from_bytes(image[offset : offset + 4], "little")
    _put(image, offset, random.choice((*_INTERESTING, old + 1, old - 1, old * 2, old + 64)))


def _header_field(random: Random, image: bytearray) -> None:
    if len(image) >= HEADER.size_bytes:
        _replace(random, image, random.randrange(8, HEADER.size_bytes, 4))


def _section_field(random: Random, image: bytearray) -> None:
    count = _section_count(image)
    if count:
        at = HEADER.size_bytes + random.randrange(count * SECTION.size_bytes // 4) * 4
        _replace(random, image, at)


def _record_field(random: Random, image: bytearray) -> None:
    """A member of a record in some section."""
    table = _table(image)
    rows = [row for row in table if int(row["kind"]) in set(SECTION_RECORDS) and row["size_bytes"]]
    if rows:
        row = random.choice(rows)
        at = int(row["offset"]) + random.randrange(max(1, int(row["size_bytes"]) // 4)) * 4
        if at + 4 <= len(image):
            _replace(random, image, at)


def _resize_section(random: Random, image: bytearray) -> None:
    """A section of another length that is still a whole number of records."""
    table = _table(image)
    if len(table):
        i = random.randrange(len(table))
        kind = int(table[i]["kind"])
        unit = SECTION_RECORDS[Section(kind)].size_bytes if kind in set(SECTION_RECORDS) else 8
        count = max(0, int(table[i]["count"]) + random.choice((-1, 1, 2, 1000)))
        if unit * count < 1 << 32:
            at = HEADER.size_bytes + i * SECTION.size_bytes
            _put(image, at + 8, unit * count)
            _put(image, at + 12, count)


def _drop_section(random: Random, image: bytearray) -> None:
    """Take a section's entry out of the table; the bytes stay where they are."""
    count = _section_count(image)
    if count:
        at = HEADER.size_bytes + random.randrange(count) * SECTION.size_bytes
        end = HEADER.size_bytes + count * SECTION.size_bytes
        image[at : end - SECTION.size_bytes] = image[at + SECTION.size_bytes : end]
        _put(image, int(HEADER.dtype.fields["section_count"][1]), count - 1)  # type: ignore[index]


def _section_count(image: bytearray) -> int:
    if len(image) < HEADER.size_bytes:
        return 0
    count = int(np.frombuffer(bytes(image[: HEADER.size_bytes]), HEADER.dtype)[0]["section_count"])
    return min(count, (len(image) - HEADER.size_bytes) // SECTION.size_bytes)


def _table(image: bytearray) -> np.ndarray:  # type: ignore[type-arg]
    end = HEADER.size_bytes + _section_count(image) * SECTION.size_bytes
    return np.frombuffer(bytes(image[HEADER.size_bytes : end]), SECTION.dtype)


_WAYS: tuple[Callable[[Random, bytearray], None], ...] = (
    _flip, _flip, _truncate, _extend, _overwrite_word, _overwrite_word, _header_field, _section_field,
    _record_field, _record_field, _record_field, _record_field, _resize_section, _drop_section,
)  # fmt: skip
