"""`program.bin`: what the file looks like, and that no damage to it ends in anything but one clear error."""

import struct
import zlib
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dlasim.errors import InputError
from dlasim.isa import codec, container
from dlasim.isa.assembly import assemble, disassemble
from dlasim.isa.container import read, read_file, write
from dlasim.isa.file_records import HEADER, SECTION, SECTION_RECORDS, Section
from dlasim.isa.program import Program, Stream

from .generate import random_program
from .mutate import fix_checksum, mutated

_TEXT = """
.program "tiny"
.config pes=8 grid=2x4 sram=64KiB arena=32
.tensor x, int8, input, INPUTS+4, shape=2x3, scale=0.5, zero_point=-1
.tensor y, int32, output, OUTPUTS, shape=4
.layer "relu", RELU, ACT, macs=7
.endlayer
.stream
    .layer 0
    NOP
    .debug tensor=9, start=(1, 2, 3), size=(4, 5, 6)
    OP_ACT_RELU
    .endlayer
    HALT
.host CAST, inputs=(x), outputs=(y), layer=0
.data
    .i8 1, 2, 3
"""


@pytest.fixture
def data() -> bytes:
    """The file of a program with something in every section."""
    return write(assemble(_TEXT))


def test_layout_read_by_hand(data: bytes) -> None:
    """The documented layout, taken apart with nothing of the product's."""
    magic, version, isa, size, checksum, name, sections, features = struct.unpack_from("<8s6IQ", data)
    assert (magic, version, isa, size, sections) == (b"DLAPROG\0", 1, 0x0001_0002, len(data), 12)
    assert checksum == zlib.crc32(data[:20] + bytes(4) + data[24:])
    assert features == 1 << 0x01 | 1 << 0x05 | 1 << 0x34
    table = {row[0]: row[1:] for row in struct.iter_unpack("<4I", data[40 : 40 + 16 * sections])}
    assert all(offset % 64 == 0 for offset, _, _ in table.values())
    strings = data[table[2][0] : table[2][0] + table[2][1]]
    assert strings[name : strings.index(0, name)] == b"tiny"
    config = struct.unpack_from("<8I", data, table[1][0])
    assert config[:4] == (8, 2, 4, 65536)
    assert config[4] == zlib.crc32(struct.pack("<5I", 1, 8, 2, 4, 65536))
    assert config[5:] == (32, 10, 16)
    tensor = struct.unpack_from("<7I6Ifi", data, table[3][0])
    assert tensor[1:] == (0, 1, 2, 4, 6, 2, 2, 3, 1, 1, 1, 1, 0.5, -1)
    assert struct.unpack_from("<2I", data, table[4][0]) == (0, 3)
    assert struct.unpack_from("<6I", data, table[5][0]) == (0, 0, 0, 1, 0, 1)
    assert struct.unpack_from("<7I", data, table[6][0]) == (21, 0, 1, 1, 0, 0, 0)
    assert struct.unpack_from("<2I", data, table[7][0]) == (0, 1)
    assert struct.unpack_from("<4IQ", data, table[9][0])[2:] == (5, 0, 7)
    assert struct.unpack_from("<3I", data, table[10][0]) == (0, 2, 0)
    assert data[table[11][0] : table[11][0] + table[11][1]] == b"\1\2\3"
    assert struct.unpack_from("<3Q", data, table[12][0]) == (0x01, 0x34, 0x05)
    assert struct.unpack_from("<8I", data, table[13][0]) == (1, 9, 1, 2, 3, 4, 5, 6)


def test_the_same_program_gives_the_same_bytes(data: bytes) -> None:
    assert write(read(data)) == data
    assert write(assemble(disassemble(read(data)))) == data


def test_is_program(data: bytes) -> None:
    assert container.is_program(data[:16])
    assert not container.is_program(b"\x7fELF" + bytes(60))
    assert not container.is_program(b"")


def _patched(data: bytes, kind: Section | None, row: int, member: str, value: int | float) -> bytes:
    """The file with one member of one record changed, and a checksum that fits."""
    image = bytearray(data)
    header = np.frombuffer(image, HEADER.dtype, 1)
    record, offset = HEADER, 0
    if kind is not None:
        table = np.frombuffer(image, SECTION.dtype, int(header[0]["section_count"]), HEADER.size_bytes)
        record = SECTION_RECORDS[kind]
        (offset,) = (int(entry["offset"]) for entry in table if entry["kind"] == kind)
    at = offset + row * record.size_bytes + int(record.dtype.fields[member][1])  # type: ignore[index]
    raw = np.array([value], record.dtype[member].base).tobytes()
    del header
    image[at : at + len(raw)] = raw
    fix_checksum(image)
    return bytes(image)


@pytest.mark.parametrize(
    ("kind", "row", "member", "value", "message"),
    [
        (None, 0, "magic", ord("X"), "it does not start with DLAPROG"),
        (None, 0, "format_version", 2, "it has format version 2, but this dlasim reads version 1"),
        (None, 0, "isa_version", 0x20000, "it is for ISA 2.0, but this dlasim has ISA 1.2"),
        (None, 0, "isa_version", 0x10003, "it is for ISA 1.3, but this dlasim has ISA 1.2"),
        (None, 0, "file_bytes", 99, "its header says 99 bytes, but the file has"),
        (None, 0, "section_count", 257, "its header says that it has 257 sections"),
        (None, 0, "features", 2, "its header has features 0x2, but its commands have 0x"),
        (None, 0, "name", 4096, "it names a string at 4096, beyond its strings"),
        (Section.CONFIG, 0, "pes", 9, "a grid of 2x4 lanes does not have 9 PEs"),
        (Section.CONFIG, 0, "input_lanes", 0, "a grid of 0x4 lanes does not have 8 PEs"),
        (Section.CONFIG, 0, "sram_bytes", 0, "its SRAM must have from 1 to 2147483648 bytes (it has 0)"),
        (Section.CONFIG, 0, "fingerprint", 5, "its config fingerprint does not match its config"),
        (Section.TENSORS, 0, "type", 7, "it has tensor x of unknown type 7"),
        (Section.TENSORS, 0, "role", 5, "it has tensor x of unknown role 5"),
        (Section.TENSORS, 0, "region", 7, "it has tensor x in unknown region 7"),
        (Section.TENSORS, 0, "region", 5, "its tensor x does not lie within region CURSOR0"),
        (Section.TENSORS, 0, "region", 4, "its tensor x does not lie within region COMMANDS"),
        (Section.TENSORS, 0, "offset", 5, "its tensor x does not lie within region INPUTS"),
        (Section.TENSORS, 0, "offset", 0xFFFFFFFF, "its tensor x does not lie within region INPUTS"),
        (Section.TENSORS, 1, "offset", 2, "its tensor y does not lie within region OUTPUTS"),
        (Section.TENSORS, 0, "size_bytes", 7, "its tensor x has 7 bytes, which do not fit its shape (2, 3)"),
        (Section.TENSORS, 0, "rank", 7, "its tensor x has 7 dimensions, more than 6"),
        (Section.TENSORS, 0, "rank", 1, "its tensor x has dimensions beyond its rank of 1"),
        (Section.TENSORS, 0, "scale", float("nan"), "its tensor x has scale nan"),
        (Section.TENSORS, 0, "scale", float("inf"), "its tensor x has scale inf"),
        (Section.TENSORS, 0, "scale", -1.0, "its tensor x has scale -1.0"),
        (Section.STREAMS, 0, "words", 2, "its streams have 2 words, but its commands have 3"),
        (
            Section.STREAMS,
            0,
            "first_word",
            1,
            "its stream 0 is empty or does not begin where the one before ends",
        ),
        (Section.STEPS, 0, "kind", 3, "it has step 0 of unknown kind 3"),
        (Section.STEPS, 0, "index", 1, "its step 0 runs stream 1, but stream 0 is next"),
        (Section.STEPS, 0, "after_streams", 1, "its step 0 waits for 1 streams, but fewer have started"),
        (Section.STEPS, 1, "after_streams", 2, "its step 1 waits for 2 streams, but fewer have started"),
        (Section.STEPS, 1, "index", 1, "its step 1 makes host call 1, but call 0 is next"),
        (Section.HOST_CALLS, 0, "code", 999, "its host call 0 has unknown operator 999"),
        (Section.HOST_CALLS, 0, "input_count", 3, "its host call 0 has operands beyond the table"),
        (Section.HOST_CALLS, 0, "input_count", 0, "in its host call 0, CAST takes 1 input (got 0)"),
        (Section.HOST_CALLS, 0, "output_count", 0, "in its host call 0, CAST gives 1 output (got 0)"),
        (Section.HOST_CALLS, 0, "attribute_count", 1, "its host call 0 has attributes beyond the table"),
        (Section.HOST_CALLS, 0, "layer", 1, "its host call 0 names layer 1 of 1"),
        (Section.OPERANDS, 1, "tensor", 2, "a host call names a tensor that does not exist"),
        (Section.LAYERS, 0, "kind", 9, "it has layer of unknown kind 9"),
        (Section.LAYERS, 0, "reserved", 1, "a layer uses what is reserved"),
        (Section.SPANS, 0, "words", 4, "its spans overlap or leave the commands"),
        (Section.SPANS, 0, "words", 0, "a span has no words"),
        (Section.SPANS, 0, "layer", 1, "a span names a layer that does not exist"),
        (Section.DEBUG, 0, "word", 3, "a debug slice names a word that does not exist"),
    ],
)
def test_messages(
    data: bytes, kind: Section | None, row: int, member: str, value: float, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(_patched(data, kind, row, member, value), "file.bin")
    text = str(caught.value)
    assert text.startswith(f"file.bin is not a valid program: {message}")
    assert "\n" not in text


def test_strings_that_share_bytes_are_read_once_and_bounded(data: bytes) -> None:
    (layer,) = (program := read(data)).layers
    long = replace(layer, name="A" * 100_000)
    layers = read(write(replace(program, layers=(long,) * 300))).layers
    assert layers == (long,) * 300
    assert len({id(each.name) for each in layers}) == 1
    image = write(replace(program, layers=(long,) * 300))
    at = image.index(long.name.encode()) - _strings_at(image)
    for row in range(300):  # another end of the same string for each
        image = _patched(image, Section.LAYERS, row, "name", at + row)
    with pytest.raises(InputError, match=r"valid program: its strings share more than 16,777,216 bytes"):
        read(image)


def _strings_at(image: bytes) -> int:
    count = int(np.frombuffer(image, HEADER.dtype, 1)[0]["section_count"])
    table = np.frombuffer(image, SECTION.dtype, count, HEADER.size_bytes)
    return int(table[table["kind"] == Section.STRINGS]["offset"][0])


def test_every_flipped_bit_is_noticed(data: bytes) -> None:
    """A checksum that is not repaired gives any damage away."""
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(InputError):
            read(bytes(damaged))


def test_every_length_is_noticed(data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(InputError):
            read(data[:length])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.bin: No such file or directory"):
        read_file(tmp_path / "none.bin")
    with pytest.raises(InputError, match="Is a directory"):
        read_file(tmp_path)


def _mutate(count: int, seed: int) -> int:
    """Read so many damaged files; those that still read must be whole programs. How many those were."""
    random = Random(seed)
    sources = [write(random_program(random)) for _ in range(200)]
    accepted, messages = 0, set()
    for _ in range(count):
        try:
            program = read(mutated(random, random.choice(sources)), "damaged.bin")
        except InputError as error:
            messages.add(str(error))
            continue
        accepted += 1
        if accepted % 10 == 0:
            _use(program)
    assert all(len(message.splitlines()) == 1 and len(message) < 300 for message in messages)
    return accepted


def _use(program: Program) -> None:
    """What the rest of the product does with any program that was accepted."""
    stored = write(program)
    assert write(read(stored)) == stored
    assert write(assemble(disassemble(program, annotate=True))) == stored
    assert len(program.layer_of_words()) == len(program.commands)
    assert len(program.inputs) + len(program.outputs) <= len(program.tensors)


def test_damaged_files_end_in_one_error() -> None:
    accepted = _mutate(5_000, seed=1)
    assert accepted > 250, "damage that is always noticed at the door tests nothing behind it"


@pytest.mark.slow
def test_a_hundred_thousand_damaged_files() -> None:
    _mutate(100_000, seed=2)


def test_a_program_of_too_many_operations_is_refused() -> None:
    """The limit is that of the manual, and a program that reaches it can be read."""
    manual = (Path(__file__).parents[2] / "docs" / "program-format.md").read_text(encoding="utf-8")
    limit = 2_097_152
    assert f"at most {limit:,} operations" in manual
    for operations in (limit, limit + 1):
        words = np.full(operations + 1, codec.encode("OP_FILL"), np.uint64)
        words[-1] = codec.encode("HALT")
        program = assemble(_TEXT)
        data = write(
            replace(program, commands=words, streams=(Stream(0, len(words)),), spans=program.spans[:0])
        )
        if operations <= limit:
            assert len(read(data).commands) == len(words)
            continue
        with pytest.raises(InputError, match="it has 2,097,153 operations, but may have at most 2,097,152"):
            read(data)
