"""Bytes to programs. Every length and offset is checked before use."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import host_ops
from dlasim.isa import program as p
from dlasim.isa.codec import count_operations
from dlasim.isa.container.sections import Sections
from dlasim.isa.file_records import ELEMENT_BYTES, DataType, LayerKind, Role, Section, StepKind
from dlasim.isa.limits import MAX_LANES, MAX_RANK, MAX_SRAM_BYTES
from dlasim.isa.registers import REGION_COUNT, Region
from dlasim.isa.source_lines import SourceLines
from dlasim.system.fileio import read_file as read_bytes

MAX_LINE = 0xFFFF_FFFF


def read_file(path: str | Path) -> p.Program:
    """The program in a file."""
    return read(read_bytes(path), str(path))


def read(data: bytes, origin: str = "program") -> p.Program:
    """The program in these bytes; `origin` names them in errors."""
    return _ProgramReader(Sections(data, origin)).program()


class _ProgramReader:
    """Makes a program of a file's sections."""

    def __init__(self, file: Sections) -> None:
        self._file, self._require = file, file.require

    def program(self) -> p.Program:
        requirement = self._requirement()
        constants = np.frombuffer(self._file.part(Section.CONSTANTS).data, np.uint8)
        commands = np.frombuffer(self._file.part(Section.COMMANDS).data, "<u8").astype(np.uint64, copy=False)
        operations = count_operations(commands)
        self._require(
            operations <= p.MAX_OPERATIONS,
            f"it has {operations:,} operations, but may have at most {p.MAX_OPERATIONS:,}",
        )
        layers = self._layers()
        tensors = self._tensors(requirement, len(constants))
        streams = self._streams(len(commands))
        calls = self._host_calls(len(tensors), len(layers))
        program = p.Program(
            name=self._file.string(int(self._file.header["name"])),
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
            lines=self._lines(len(commands)),
            work=self._work(len(layers)),
        )
        claimed, actual = int(self._file.header["features"]), program.features
        self._require(
            claimed == actual, f"its header has features {claimed:#x}, but its commands have {actual:#x}"
        )
        return program

    def _requirement(self) -> p.Requirement:
        rows = self._file.rows(Section.CONFIG)
        self._require(len(rows) == 1, f"it must have one config record (it has {len(rows)})")
        values = {name: int(rows[0][name]) for name in rows.dtype.names or ()}
        stored = values.pop("fingerprint")
        requirement = p.Requirement(**values)
        lanes = (requirement.input_lanes, requirement.output_lanes)
        self._require(
            all(1 <= count <= MAX_LANES for count in lanes) and requirement.fills_grid,
            f"a grid of {lanes[0]}x{lanes[1]} lanes does not have {requirement.pes} PEs",
        )
        self._require(
            1 <= requirement.sram_bytes <= MAX_SRAM_BYTES,
            f"its SRAM must have from 1 to {MAX_SRAM_BYTES} bytes (it has {requirement.sram_bytes})",
        )
        self._require(
            requirement.sram_peak_bytes <= requirement.sram_bytes,
            f"it uses {requirement.sram_peak_bytes} bytes of SRAM of {requirement.sram_bytes}",
        )
        self._require(stored == requirement.fingerprint, "its config fingerprint does not match its config")
        return requirement

    def _tensors(self, need: p.Requirement, constants: int) -> tuple[p.TensorDescriptor, ...]:
        room = {Region.CONSTANTS: constants, **need.region_bytes}
        return tuple(self._tensor(row, room) for row in self._file.rows(Section.TENSORS))

    def _tensor(self, row: np.void, room: dict[Region, int]) -> p.TensorDescriptor:
        name = self._file.string(int(row["name"]))
        kind = self._file.one_of(DataType, int(row["type"]), f"tensor {name} of unknown type")
        region = self._file.one_of(Region, int(row["region"]), f"tensor {name} in unknown region")
        offset, size, rank = int(row["offset"]), int(row["size_bytes"]), int(row["rank"])
        self._require(rank <= MAX_RANK, f"its tensor {name} has {rank} dimensions, more than {MAX_RANK}")
        shape = tuple(int(extent) for extent in row["shape"])
        elements = 1
        for extent in shape:
            elements *= extent
        self._require(
            all(extent == 1 for extent in shape[rank:]),
            f"its tensor {name} has dimensions beyond its rank of {rank}",
        )
        self._require(
            elements * ELEMENT_BYTES[kind] == size,
            f"its tensor {name} has {size} bytes, which do not fit its shape {shape[:rank]}",
        )
        self._require(
            region in room and offset + size <= room[region],
            f"its tensor {name} does not lie within region {region.name}",
        )
        self._require(
            offset % ELEMENT_BYTES[kind] == 0,
            f"its tensor {name} must be at a multiple of {ELEMENT_BYTES[kind]} (it is at {offset})",
        )
        scale = float(row["scale"])
        self._require(
            0.0 <= scale < math.inf,
            f"its tensor {name} has scale {scale}, which must be finite and not negative",
        )
        role, zero_point = int(row["role"]), int(row["zero_point"])
        self._require(
            role != Role.VARIABLE or kind is not DataType.int8 or -128 <= zero_point <= 127,
            f"its variable {name} is int8, so its zero point must be from -128 to 127 (it is {zero_point})",
        )
        return p.TensorDescriptor(
            name, kind, self._file.one_of(Role, role, f"tensor {name} of unknown role"),
            region, offset, size, shape[:rank], scale, zero_point,
        )  # fmt: skip

    def _streams(self, words: int) -> tuple[p.Stream, ...]:
        streams = tuple(
            p.Stream(int(r["first_word"]), int(r["words"])) for r in self._file.rows(Section.STREAMS)
        )
        position = 0
        for i, stream in enumerate(streams):
            self._require(
                stream.first_word == position and stream.words > 0,
                f"its stream {i} is empty or does not begin where the one before ends",
            )
            position += stream.words
        self._require(position == words, f"its streams have {position} words, but its commands have {words}")
        return streams

    def _steps(self, streams: int, calls: int) -> tuple[p.Step, ...]:
        steps = []
        rung = called = 0
        for i, row in enumerate(self._file.rows(Section.STEPS)):
            kind = self._file.one_of(StepKind, int(row["kind"]), f"step {i} of unknown kind")
            index, after = int(row["index"]), int(row["after_streams"])
            self._require(
                i == 0 or kind is not StepKind.PRELOAD,
                f"its step {i} is a preload, which only the first may be",
            )
            if kind.is_stream:
                self._require(index == rung, f"its step {i} runs stream {index}, but stream {rung} is next")
                rung += 1
            else:
                self._require(
                    index == called, f"its step {i} makes host call {index}, but call {called} is next"
                )
                called += 1
            self._require(
                index < (streams if kind.is_stream else calls),
                f"its step {i} names {kind.name} {index}, which does not exist",
            )
            self._require(
                after <= rung - kind.is_stream,
                f"its step {i} waits for {after} streams, but fewer have started",
            )
            steps.append(p.Step(kind, index, after))
        self._require(rung == streams, f"its steps run {rung} of {streams} streams")
        self._require(called == calls, f"its steps make {called} of {calls} host calls")
        return tuple(steps)

    def _host_calls(self, tensors: int, layers: int) -> tuple[p.HostCall, ...]:
        operands = self._file.rows(Section.OPERANDS)["tensor"].astype(np.int64)
        attributes = self._file.rows(Section.ATTRIBUTES)["word"].astype(np.int64)
        self._require((operands < tensors).all(), "a host call names a tensor that does not exist")
        numbers = [int(value) for value in operands]
        words = [int(value) for value in attributes]
        calls = []
        for i, row in enumerate(self._file.rows(Section.HOST_CALLS)):
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
            self._require(wrong is None, f"in its host call {i}, {wrong}")
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
        rows = self._file.rows(Section.LAYERS)
        self._require((rows["reserved"] == 0).all(), "a layer uses what is reserved")
        return tuple(
            p.Layer(
                self._file.string(int(row["name"])), self._file.string(int(row["operator"])),
                self._file.one_of(LayerKind, int(row["kind"]), "layer of unknown kind"), int(row["macs"]),
            )
            for row in rows
        )  # fmt: skip

    def _spans(self, words: int, layers: int) -> NDArray[np.void]:
        spans = self._file.rows(Section.SPANS)
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
        slices = self._file.rows(Section.DEBUG)
        self._require((slices["word"] < words).all(), "a debug slice names a word that does not exist")
        return slices

    def _work(self, layers: int) -> NDArray[np.void]:
        work = self._file.rows(Section.WORK)
        self._require((work["layer"] < layers).all(), "its section WORK names a layer that does not exist")
        known = np.isin(work["opcode"], list(p.WORK_OPCODES))
        self._require(known.all(), "its section WORK has the opcode of no operation")
        moved = np.isin(work["opcode"], list(p.TRANSFER_OPCODES))
        regions = work["taps"][moved]
        self._require((regions < REGION_COUNT).all(), "its section WORK has a transfer of no region")
        return work

    def _lines(self, words: int) -> SourceLines:
        runs = self._file.rows(Section.LINES).copy()
        first, length, line = (runs[name].astype(np.int64) for name in ("first_word", "words", "line"))
        end = first + length
        self._require(
            (end[:-1] <= first[1:]).all() and (end <= words).all(),
            "runs of section LINES overlap or reach beyond the commands",
        )
        self._require((length > 0).all(), "a run of section LINES has no words")
        self._require(
            ((line > 0) & (line + length <= MAX_LINE + 1)).all(),
            f"a run of section LINES has lines outside 1 to {MAX_LINE}",
        )
        offsets, first_run, numbers = np.unique(runs["file"], return_index=True, return_inverse=True)
        order = np.argsort(first_run)  # files are numbered as they first appear
        runs["file"] = np.argsort(order)[numbers]
        return SourceLines(tuple(self._file.string(int(offsets[i])) for i in order), runs)
