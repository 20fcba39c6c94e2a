"""Source lines in a program: from text to file, back to text, and in files that later versions write."""

import zlib

import numpy as np
import pytest

from dlasim.errors import InputError
from dlasim.isa.assembly import assemble, disassemble
from dlasim.isa.container import read, write
from dlasim.isa.file_records import HEADER, SECTION, Section
from dlasim.isa.program import Program

from .mutate import fix_checksum

_TEXT = """; a comment
.stream

    NOP ; line 4
    WAIT mac, 0

again: CFG IN_ADDR, 5
    HALT
.data
    .i8 1
.stream
    .word 5
"""
_LINES = [4, 5, 7, 8, 12]


def _places(program: Program) -> list[str]:
    return [program.lines.place(word) for word in range(len(program.commands) + 1)]


def test_each_word_knows_its_line() -> None:
    program = assemble(_TEXT, "dir/a.s")
    assert _places(program) == [f"dir/a.s:{line}" for line in _LINES] + [""]
    assert program.lines.runs[["first_word", "words", "line"]].tolist() == [(0, 2, 4), (2, 2, 7), (4, 1, 12)]
    assert _places(read(write(program))) == _places(program)


def test_a_text_without_a_name_leaves_none() -> None:
    program = assemble(_TEXT)
    assert _places(program) == [""] * 6
    assert write(program) == write(read(write(program)))


@pytest.mark.parametrize("name", ["a.s", None])
def test_a_disassembly_keeps_the_lines_of_the_source(name: str | None) -> None:
    data = write(assemble(_TEXT, name))
    text = disassemble(read(data))
    assert write(assemble(text, "other.s")) == data
    assert write(assemble(text)) == data


def test_directives_take_over_from_where_they_stand() -> None:
    program = assemble(
        '.stream\nNOP\n.line 100, "gen.c"\nNOP\n\nNOP\n.line none\nNOP\n.line 7\nNOP\n.line 3, "a.s"\nHALT\n',
        "a.s",
    )
    places = ["a.s:2", "gen.c:100", "gen.c:101", "", "gen.c:7", "a.s:3"]
    assert _places(program) == [*places, ""]
    data = write(program)
    assert _places(read(data)) == [*places, ""]
    assert write(assemble(disassemble(read(data)), "b.s")) == data


def _with_section(data: bytes, kind: int, content: bytes, count: int) -> bytes:
    """The file with a section more, as a later version would write it."""
    header = np.frombuffer(data, HEADER.dtype, 1).copy()
    sections = int(header["section_count"][0])
    table = np.frombuffer(data, SECTION.dtype, sections, HEADER.size_bytes).copy()
    begin = HEADER.size_bytes + table.nbytes
    assert begin // 64 == (begin + SECTION.size_bytes - 1) // 64, "the table has room"
    image = bytearray(data) + bytes(-len(data) % 64)
    row = np.array([(kind, len(image), len(content), count)], SECTION.dtype)
    image[begin : begin + row.nbytes] = row.tobytes()
    image += content
    header["section_count"], header["file_bytes"] = sections + 1, len(image)
    image[: header.nbytes] = header.tobytes()
    fix_checksum(image)
    return bytes(image)


def _plain() -> bytes:
    return write(assemble(".stream\nNOP\nHALT\n.tensor x, int8, input, INPUTS, shape=1\n"))


def test_an_unknown_debug_section_is_skipped_any_other_refused() -> None:
    assert read(_with_section(_plain(), 99, b"whatever", 3)).commands.tolist() == [0x01, 0x05]
    with pytest.raises(InputError, match="unknown kind 63"):
        read(_with_section(_plain(), 63, b"whatever", 3))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 3, 5, 1)], "overlap or reach beyond the commands"),
        ([(0, 2, 5, 1), (1, 1, 5, 1)], "overlap or reach beyond the commands"),
        ([(0, 0, 5, 1)], "has no words"),
        ([(0, 1, 5, 0)], "lines outside 1 to 4294967295"),
        ([(0, 2, 5, 0xFFFF_FFFF)], "lines outside 1 to 4294967295"),
        ([(0, 1, 5000, 1)], "names a string at 5000"),
    ],
)
def test_damaged_lines(rows: list[tuple[int, ...]], message: str) -> None:
    content = np.array(rows, "<u4").tobytes()
    with pytest.raises(InputError, match=message):
        read(_with_section(_plain(), Section.LINES, content, len(rows)))


def test_the_record_by_hand() -> None:
    data = write(assemble(_TEXT, "a.s"))
    table = np.frombuffer(data, "<u4", 4 * int.from_bytes(data[28:32], "little"), 40).reshape(-1, 4)
    strings, lines = ({int(row[0]): row for row in table}[kind] for kind in (2, 64))
    name = data[int(strings[1]) :].index(b"a.s\0")
    assert lines[2:].tolist() == [48, 3]
    assert np.frombuffer(data, "<u4", 12, int(lines[1])).tolist() == [
        0,
        2,
        name,
        4,
        2,
        2,
        name,
        7,
        4,
        1,
        name,
        12,
    ]
    assert zlib.crc32(data[:20] + bytes(4) + data[24:]) == int.from_bytes(data[20:24], "little")
