"""Bytes to programs. Every length and offset is checked before use."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError
from dlasim.isa import host_ops
from dlasim.isa import program as p
from dlasim.isa.instructions import WORD_BYTES
from dlasim.isa.records import (
    ELEMENT_BYTES,
    FORMAT_VERSION,
    HEADER,
    MAGIC,
    MAX_RANK,
    SECTION,
    SECTION_ALIGNMENT,
    SECTION_RECORDS,
    DataType,
    LayerKind,
    Record,
    Role,
    Section,
    StepKind,
)
from dlasim.isa.registers import Region

MAX_FILE_BYTES = 1 << 31
MAX_MESSAGE_CHARACTERS = 200
MAX_LANES = 0xFFFF  # what CAP_GRID has room for
MAX_SRAM_BYTES = 1 << 31  # what address registers reach
T = TypeVar("T")


def read_file(path: str | Path) -> p.Program:
    """The program in a file."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    return read(data, str(path))


def read(data: bytes, origin: str = "program") -> p.Program:
    """The program in these bytes; `origin` names them in errors."""
    return _Reader(data, origin).program()


def is_program(head: bytes) -> bool:
    """Whether a file that starts so claims to be a program."""
    return head[: len(MAGIC)] == MAGIC


@dataclass(frozen=True, slots=True)
class _Part:
    data: memoryview
    count: int


class _Reader:
    """Reads one file; whatever is wrong with it ends in `_fail`."""

    def __init__(self, data: bytes, origin: str) -> None:
        self._data = data
        self._origin = origin
        self._header = self._read_header()
        self._parts = self._read_table()
        self._strings = bytes(self._part(Section.STRINGS).data)

    def _fail(self, what: str) -> NoReturn:
        # A name from the file may hold anything; the message stays one line of a readable length.
        shown = "".join(letter if letter.isprintable() else "?" for letter in what[:MAX_MESSAGE_CHARACTERS])
        raise InputError(f"{self._origin} is not a valid program: {shown}")

    def _require(self, holds: bool | np.bool_, what: str) -> None:
        if not holds:
            self._fail(what)

    def _read_header(self) -> np.void:
        data = self._data
        self._require(is_program(data), f"it does not start with {MAGIC[:-1].decode()}")
        self._require(len(data) >= HEADER.size_bytes, f"it ends inside its {HEADER.size_bytes}-byte header")
        self._require(len(data) <= MAX_FILE_BYTES, f"it is larger than {MAX_FILE_BYTES} bytes")
        header: np.void = np.frombuffer(data, HEADER.dtype, count=1)[0]
        version, isa = int(header["format_version"]), int(header["isa_version"])
        self._require(
            version == FORMAT_VERSION,
            f"it has format version {version}, this dlasim reads version {FORMAT_VERSION}",
        )
        self._require(
            isa >> 16 == p.ISA_MAJOR and isa <= p.ISA_VERSION,
            f"it is for ISA {isa >> 16}.{isa & 0xFFFF}, this dlasim has ISA "
            f"{p.ISA_MAJOR}.{p.ISA_VERSION & 0xFFFF}",
        )
        size = int(header["file_bytes"])
        self._require(size == len(data), f"its header says {size} bytes, the file has {len(data)}")
        self._check_sum(int(header["checksum"]))
        return header

    def _check_sum(self, expected: int) -> None:
        offset = int(HEADER.dtype.fields["checksum"][1])  # type: ignore[index]
        view = memoryview(self._data)
        actual = zlib.crc32(view[offset + 4 :], zlib.crc32(bytes(4), zlib.crc32(view[:offset])))
        self._require(actual == expected, f"its checksum is {actual:#010x}, its header says {expected:#010x}")

    def _read_table(self) -> dict[Section, _Part]:
        count = int(self._header["section_count"])
        end = HEADER.size_bytes + count * SECTION.size_bytes
        self._require(count <= len(Section) and end <= len(self._data), f"it claims {count} sections")
        parts: dict[Section, _Part] = {}
        previous = 0
        for row in np.frombuffer(self._data, SECTION.dtype, count, HEADER.size_bytes):
            kind, offset, size, records = (int(row[name]) for name in SECTION.dtype.names or ())
            self._require(kind in set(Section), f"it has a section of unknown kind {kind}")
            self._require(kind > previous, f"its section {kind} is out of order")
            self._require(
                offset % SECTION_ALIGNMENT == 0 and end <= offset and offset + size <= len(self._data),
                f"its section {Section(kind).name} lies outside the file or on another",
            )
            unit = self._record_bytes(Section(kind))
            self._require(
                size == records * unit, f"its section {Section(kind).name} is no whole number of records"
            )
            parts[Section(kind)] = _Part(memoryview(self._data)[offset : offset + size], records)
            previous, end = kind, offset + size
        return parts

    @staticmethod
    def _record_bytes(kind: Section) -> int:
        if kind is Section.COMMANDS:
            return WORD_BYTES
        return SECTION_RECORDS[kind].size_bytes if kind in SECTION_RECORDS else 1

    def _part(self, kind: Section) -> _Part:
        return self._parts.get(kind, _Part(memoryview(b""), 0))

    def _rows(self, kind: Section) -> NDArray[np.void]:
        record: Record = SECTION_RECORDS[kind]
        return np.frombuffer(self._part(kind).data, record.dtype)

    def _string(self, offset: int) -> str:
        self._require(offset < len(self._strings), f"it names a string at {offset}, beyond its strings")
        end = self._strings.find(b"\0", offset)
        self._require(end >= 0, "its strings do not end")
        try:
            return self._strings[offset:end].decode()
        except UnicodeDecodeError:
            self._fail(f"its string at {offset} is not UTF-8")

    def _one_of(self, kind: Callable[[int], T], value: int, what: str) -> T:
        try:
            return kind(value)
        except ValueError:
            self._fail(f"it has {what} {value}")

    def program(self) -> p.Program:
        requirement = self._requirement()
        constants = np.frombuffer(self._part(Section.CONSTANTS).data, np.uint8)
        commands = np.frombuffer(self._part(Section.COMMANDS).data, "<u8").astype(np.uint64, copy=False)
        layers = self._layers()
        tensors = self._tensors(requirement, len(constants))
        streams = self._streams(len(commands))
        calls = self._host_calls(len(tensors), len(layers))
        program = p.Program(
            name=self._string(int(self._header["name"])),
            requirement=requirement,
            commands=commands,
            streams=streams,
            steps=self._steps(len(streams), len(calls)),
            constants=constants,
            tensors=tensors,
            host_calls=calls,
            layers=layers,
            spans=self._spans(len(commands), len(layers)),
            debug=self._slices(len(commands)),
        )
        features = int(self._header["features"])
        self._require(
            program.features == features, f"its features {features:#x} are not those of its commands"
        )
        return program

    def _requirement(self) -> p.Requirement:
        rows = self._rows(Section.CONFIG)
        self._require(len(rows) == 1, f"it has {len(rows)} config records instead of one")
        values = {name: int(rows[0][name]) for name in rows.dtype.names or ()}
        stored = values.pop("fingerprint")
        requirement = p.Requirement(**values)
        lanes = (requirement.input_lanes, requirement.output_lanes)
        self._require(
            all(1 <= count <= MAX_LANES for count in lanes) and requirement.pes == lanes[0] * lanes[1],
            f"its {requirement.pes} PEs are not a grid of {lanes[0]}x{lanes[1]}",
        )
        self._require(
            1 <= requirement.sram_bytes <= MAX_SRAM_BYTES, f"its SRAM has {requirement.sram_bytes} bytes"
        )
        self._require(
            requirement.sram_peak_bytes <= requirement.sram_bytes, "it uses more SRAM than its machine has"
        )
        self._require(stored == requirement.fingerprint, "its config fingerprint does not match its config")
        return requirement

    def _tensors(self, need: p.Requirement, constants: int) -> tuple[p.TensorDescriptor, ...]:
        room = {
            Region.CONSTANTS: constants,
            Region.ARENA: need.arena_bytes,
            Region.INPUTS: need.inputs_bytes,
            Region.OUTPUTS: need.outputs_bytes,
        }
        return tuple(self._tensor(row, room) for row in self._rows(Section.TENSORS))

    def _tensor(self, row: np.void, room: dict[Region, int]) -> p.TensorDescriptor:
        name = self._string(int(row["name"]))
        kind = self._one_of(DataType, int(row["type"]), f"tensor {name} of unknown type")
        region = self._one_of(Region, int(row["region"]), f"tensor {name} in unknown region")
        offset, size, rank = int(row["offset"]), int(row["size_bytes"]), int(row["rank"])
        self._require(
            rank <= MAX_RANK, f"its tensor {name} has {rank} dimensions, at most {MAX_RANK} are allowed"
        )
        shape = tuple(int(extent) for extent in row["shape"])
        elements = 1
        for extent in shape:
            elements *= extent
        self._require(all(extent == 1 for extent in shape[rank:]), f"its tensor {name} has stray dimensions")
        self._require(
            elements * ELEMENT_BYTES[kind] == size,
            f"its tensor {name} has {size} bytes for shape {shape[:rank]}",
        )
        self._require(
            region in room and offset + size <= room[region],
            f"its tensor {name} lies outside region {region.name}",
        )
        self._require(offset % ELEMENT_BYTES[kind] == 0, f"its tensor {name} is misaligned")
        scale = float(row["scale"])
        self._require(0.0 <= scale < math.inf, f"its tensor {name} has scale {scale}")
        return p.TensorDescriptor(
            name, kind, self._one_of(Role, int(row["role"]), f"tensor {name} of unknown role"),
            region, offset, size, shape[:rank], scale, int(row["zero_point"]),
        )  # fmt: skip

    def _streams(self, words: int) -> tuple[p.Stream, ...]:
        streams = tuple(p.Stream(int(r["first_word"]), int(r["words"])) for r in self._rows(Section.STREAMS))
        position = 0
        for i, stream in enumerate(streams):
            self._require(
                stream.first_word == position and stream.words > 0,
                f"its stream {i} does not follow the one before",
            )
            position += stream.words
        self._require(position == words, f"its streams have {position} words, its commands {words}")
        return streams

    def _steps(self, streams: int, calls: int) -> tuple[p.Step, ...]:
        steps = []
        rung = called = 0
        for i, row in enumerate(self._rows(Section.STEPS)):
            kind = self._one_of(StepKind, int(row["kind"]), f"step {i} of unknown kind")
            index, after = int(row["index"]), int(row["after_streams"])
            if kind is StepKind.STREAM:
                self._require(index == rung, f"its step {i} runs stream {index} where stream {rung} is next")
                rung += 1
            else:
                self._require(
                    index == called, f"its step {i} makes host call {index} where call {called} is next"
                )
                called += 1
            self._require(
                index < (streams if kind is StepKind.STREAM else calls), f"its step {i} names no {kind.name}"
            )
            self._require(
                after <= rung - (kind is StepKind.STREAM), f"its step {i} waits for streams not yet started"
            )
            steps.append(p.Step(kind, index, after))
        self._require(rung == streams, f"its steps run {rung} of {streams} streams")
        self._require(called == calls, f"its steps make {called} of {calls} host calls")
        return tuple(steps)

    def _host_calls(self, tensors: int, layers: int) -> tuple[p.HostCall, ...]:
        operands = self._rows(Section.OPERANDS)["tensor"].astype(np.int64)
        attributes = self._rows(Section.ATTRIBUTES)["word"].astype(np.int64)
        self._require((operands < tensors).all(), "a host call names a tensor that does not exist")
        numbers = [int(value) for value in operands]
        words = [int(value) for value in attributes]
        calls = []
        for i, row in enumerate(self._rows(Section.HOST_CALLS)):
            code, first, inputs, outputs, word, count, layer = (
                int(row[name]) for name in row.dtype.names or ()
            )
            self._require(code in host_ops.BY_CODE, f"its host call {i} has unknown operator {code}")
            self._require(
                first + inputs + outputs <= len(numbers), f"its host call {i} has operands beyond the table"
            )
            self._require(word + count <= len(words), f"its host call {i} has attributes beyond the table")
            self._require(layer < layers, f"its host call {i} names layer {layer} of {layers}")
            wrong = p.call_mismatch(host_ops.BY_CODE[code], inputs, outputs, count)
            self._require(wrong is None, f"its host call {i} is {wrong}")
            calls.append(
                p.HostCall(
                    code,
                    tuple(numbers[first : first + inputs]),
                    tuple(numbers[first + inputs : first + inputs + outputs]),
                    tuple(words[word : word + count]),
                    layer,
                )
            )
        return tuple(calls)

    def _layers(self) -> tuple[p.Layer, ...]:
        rows = self._rows(Section.LAYERS)
        self._require((rows["reserved"] == 0).all(), "a layer uses what is reserved")
        return tuple(
            p.Layer(
                self._string(int(row["name"])), self._string(int(row["operator"])),
                self._one_of(LayerKind, int(row["kind"]), "layer of unknown kind"), int(row["macs"]),
            )
            for row in rows
        )  # fmt: skip

    def _spans(self, words: int, layers: int) -> NDArray[np.void]:
        spans = self._rows(Section.SPANS)
        first = spans["first_word"].astype(np.int64)
        end = first + spans["words"]
        ordered = bool((end[:-1] <= first[1:]).all())
        self._require(
            ordered and (not len(end) or end[-1] <= words), "its spans overlap or leave the commands"
        )
        self._require((spans["words"] > 0).all(), "a span has no words")
        self._require((spans["layer"] < layers).all(), "a span names a layer that does not exist")
        return spans

    def _slices(self, words: int) -> NDArray[np.void]:
        slices = self._rows(Section.DEBUG)
        self._require((slices["word"] < words).all(), "a debug slice names a word that does not exist")
        return slices
