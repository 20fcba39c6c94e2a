"""Programs to bytes."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import program as p
from dlasim.isa.file_records import (
    FORMAT_VERSION,
    HEADER,
    MAGIC,
    SECTION,
    SECTION_ALIGNMENT,
    SECTION_RECORDS,
    Section,
)
from dlasim.isa.limits import MAX_RANK
from dlasim.isa.source_lines import SourceLines


def write(program: p.Program) -> bytes:
    """The file of a program; the same program gives the same bytes."""
    strings = _Strings()
    name = strings.add(program.name)
    sections = _sections(program, strings)
    sections[Section.STRINGS] = np.frombuffer(strings.data(), np.uint8)
    table = np.zeros(len(sections), SECTION.dtype)
    offset = HEADER.size_bytes + table.nbytes
    for row, kind in zip(table, sorted(sections), strict=True):
        offset += -offset % SECTION_ALIGNMENT
        row["kind"], row["offset"] = kind, offset
        row["size_bytes"], row["count"] = sections[kind].nbytes, len(sections[kind])
        offset += sections[kind].nbytes
    image = np.zeros(offset, np.uint8)
    header = np.zeros(1, HEADER.dtype)
    header["magic"] = np.frombuffer(MAGIC, np.uint8)
    header["format_version"], header["isa_version"] = FORMAT_VERSION, p.ISA_VERSION
    header["file_bytes"], header["section_count"] = offset, len(table)
    header["name"], header["features"] = name, program.features
    _put(image, HEADER.size_bytes, table)
    for row in table:
        _put(image, int(row["offset"]), sections[Section(row["kind"])])
    _put(image, 0, header)
    header["checksum"] = zlib.crc32(image.data)
    _put(image, 0, header)
    return image.tobytes()


def _put(image: NDArray[np.uint8], offset: int, array: NDArray[Any]) -> None:
    raw = array.view(np.uint8).reshape(-1) if array.size else np.zeros(0, np.uint8)
    image[offset : offset + raw.size] = raw


class _Strings:
    """The string table as it grows; equal strings share a place."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._size = 0

    def add(self, text: str) -> int:
        text = text.replace("\0", "")
        if text not in self._offsets:
            self._offsets[text] = self._size
            self._size += len(text.encode()) + 1
        return self._offsets[text]

    def data(self) -> bytes:
        return b"".join(text.encode() + b"\0" for text in self._offsets)


def _sections(program: p.Program, strings: _Strings) -> dict[Section, NDArray[Any]]:
    operands: list[int] = []
    attributes: list[int] = []
    calls = []
    for call in program.host_calls:
        calls.append(
            (call.code, len(operands), len(call.inputs), len(call.outputs),
             len(attributes), len(call.attributes), call.layer & 0xFFFF_FFFF)
        )  # fmt: skip
        operands += (*call.inputs, *call.outputs)
        attributes += call.attributes
    need = program.requirement
    config = (need.pes, need.input_lanes, need.output_lanes, need.sram_bytes, need.fingerprint,
              need.arena_bytes, need.inputs_bytes, need.outputs_bytes, need.sram_peak_bytes)  # fmt: skip
    tensors = [
        (strings.add(t.name), t.type, t.role, t.region, t.offset, t.size_bytes, len(t.shape),
         (*t.shape, *(1,) * (MAX_RANK - len(t.shape))), t.scale, t.zero_point)
        for t in program.tensors
    ]  # fmt: skip
    layers = [
        (strings.add(layer.name), strings.add(layer.operator), layer.kind, 0, layer.macs)
        for layer in program.layers
    ]
    rows: dict[Section, Sequence[Any] | NDArray[Any]] = {
        Section.CONFIG: [config],
        Section.TENSORS: tensors,
        Section.STREAMS: [(stream.first_word, stream.words) for stream in program.streams],
        Section.STEPS: [(step.kind, step.index, step.after_streams) for step in program.steps],
        Section.HOST_CALLS: calls,
        Section.OPERANDS: [(operand,) for operand in operands],
        Section.ATTRIBUTES: [(word,) for word in attributes],
        Section.LAYERS: layers,
        Section.SPANS: program.spans,
        Section.DEBUG: program.debug,
        Section.LINES: _lines(program.lines, strings),
        Section.WORK: program.work,
    }
    arrays: dict[Section, NDArray[Any]] = {
        kind: np.array(rows[kind], SECTION_RECORDS[kind].dtype) for kind in rows if len(rows[kind])
    }
    arrays[Section.CONSTANTS] = np.ascontiguousarray(program.constants, np.uint8)
    arrays[Section.COMMANDS] = np.ascontiguousarray(program.commands, "<u8")
    return arrays


def _lines(lines: SourceLines, strings: _Strings) -> NDArray[np.void]:
    """The runs with the names of their files as offsets."""
    runs = lines.runs.copy()
    if len(runs):
        runs["file"] = np.array([strings.add(file) for file in lines.files], "<u4")[runs["file"]]
    return runs
