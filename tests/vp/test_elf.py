"""ELF files, good and bad: nothing in a file may end in a traceback."""

import contextlib
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlasim.errors import InputError
from dlasim.vp.devices import memory_map
from dlasim.vp.programs.elf import parse_elf, read_elf
from dlasim.vp.system.board import Board


@pytest.fixture(scope="module")
def image(toolchain):
    from tests.vp.conftest import PROGRAMS

    return toolchain.link([PROGRAMS / "calls.c"], (), True).read_bytes()


def test_segments_and_symbols(image):
    firmware = parse_elf(image, "calls.elf")
    assert firmware.entry == memory_map.FLASH_BASE
    code = next(segment for segment in firmware.segments if segment.executable)
    assert code.address == code.load_address == memory_map.FLASH_BASE
    data = next(s for s in firmware.segments if s.address >= memory_map.RAM_BASE and s.data)
    assert memory_map.FLASH_BASE < data.load_address < memory_map.RAM_BASE  # .data starts out in flash
    main = firmware.symbols["main"]
    assert firmware.function_at(main).name == firmware.function_at(main + 2).name == "main"
    assert firmware.function_at(memory_map.RAM_BASE) is None
    assert firmware.describe(main + 4) == f"0x{main + 4:08x} main+0x4"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "not an ELF"),
        (lambda data: b"#!/bin/sh\n" * 10, "not an ELF"),
        (lambda data: data[:40], "truncated"),
        (lambda data: data[:3000], "truncated|damaged"),
        (lambda data: data[:44] + b"\2\0" + data[46:300], "truncated"),
        (lambda data: data[:4] + b"\2" + data[5:], "32-bit"),
        (lambda data: data[:5] + b"\2" + data[6:], "little-endian"),
        (lambda data: data[:18] + b"\x3e\0" + data[20:], "machine 62, not RISC-V"),
        (lambda data: data[:16] + b"\1\0" + data[18:], "type 1, not a linked executable"),
        (lambda data: data[:36] + b"\5" + data[37:], "ABI ilp32d.* -march=rv32imac -mabi=ilp32$"),
        (lambda data: data[:44] + b"\0\0" + data[46:], "no executable segment"),
    ],
)
def test_bad_files_are_refused_in_one_line(image, change, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_elf(change(image), "bad.elf")
    assert "bad.elf" in str(caught.value)
    assert "\n" not in str(caught.value)


def with_symbols(image, count, name):
    """The file with so many symbols, all with the same bytes for a name."""
    symbols_at = len(image)
    symbols = struct.pack("<3I2BH", 1, memory_map.FLASH_BASE, 2, 2, 0, 1) * count
    names_at = symbols_at + len(symbols)
    sections_at = names_at + 1 + len(name)
    sections = bytes(40) + struct.pack("<10I", 0, 2, 0, 0, symbols_at, len(symbols), 2, 0, 4, 16)
    sections += struct.pack("<10I", 0, 3, 0, 0, names_at, 1 + len(name), 0, 0, 1, 0)
    header = bytearray(image[:52])
    struct.pack_into("<I", header, 32, sections_at)
    struct.pack_into("<H", header, 48, 3)
    return bytes(header) + image[52:] + symbols + b"\0" + name + sections


def test_symbols_that_take_too_much_are_refused(image):
    assert parse_elf(with_symbols(image, 3, b"A" * 5000), "some.elf").symbols.keys() == {"A" * 4096}
    with pytest.raises(InputError, match=r"names of its symbols take more than 16,777,216 bytes"):
        parse_elf(with_symbols(image, 5000, b"A" * 5000), "names.elf")  # 20 MB in a file of 100 KB
    with pytest.raises(InputError, match=r"it has 1,048,577 symbols; the limit is 1,048,576"):
        parse_elf(with_symbols(image, (1 << 20) + 1, b"A"), "many.elf")


def test_segments_that_share_the_file_are_refused(image):
    header = struct.pack("<8I", 1, 0, memory_map.FLASH_BASE, memory_map.FLASH_BASE, 4096, 4096, 5, 4)
    changed = bytearray(image) + header * 1000
    struct.pack_into("<I", changed, 28, len(image))
    struct.pack_into("<H", changed, 44, 1000)
    with pytest.raises(InputError, match=r"its segments take 4,096,000 bytes of a file of [\d,]+$"):
        parse_elf(bytes(changed), "shared.elf")


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        read_elf(tmp_path / "none.elf")
    with pytest.raises(InputError, match="cannot read"):
        read_elf(tmp_path)


def test_segments_outside_memory_are_refused(image):
    offset = int.from_bytes(image[28:32], "little")  # e_phoff; p_vaddr is 8 further, p_paddr 12
    moved = bytearray(image)
    moved[offset + 8 : offset + 12] = (0x5000_0000).to_bytes(4, "little")
    with pytest.raises(InputError, match="outside the board's memory"):
        Board().load(parse_elf(bytes(moved), "moved.elf"))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_files_never_crash_the_reader(image, data):
    length = data.draw(st.integers(0, len(image))) if data.draw(st.booleans()) else len(image)
    damaged = bytearray(image[:length])
    headers = st.integers(0, min(max(length - 1, 0), 212))
    anywhere = st.integers(0, max(length - 1, 0))
    for _ in range(data.draw(st.integers(1, 8)) if damaged else 0):
        damaged[data.draw(headers | anywhere)] = data.draw(st.integers(0, 255))
    # InputError or a run, nothing else.
    with contextlib.suppress(InputError):
        board = Board()
        board.load(parse_elf(bytes(damaged), "damaged.elf"))
        board.run(max_instructions=2000)
