"""The records of `program.bin`: one definition for reader, writer, manual and the firmware's header."""

from __future__ import annotations

import enum
import itertools
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING

from dlasim.dataclass import dataclass
from dlasim.isa.limits import MAX_RANK

if TYPE_CHECKING:
    import numpy as np

MAGIC = b"DLAPROG\0"
FORMAT_VERSION = 1
SECTION_ALIGNMENT = 64
FIRST_OPTIONAL_SECTION = 64  # a reader skips sections of this kind and above that it does not know

_NUMPY = {"u8": "u1", "u32": "<u4", "i32": "<i4", "u64": "<u8", "f32": "<f4"}
C_TYPES = {"u8": "uint8_t", "u32": "uint32_t", "i32": "int32_t", "u64": "uint64_t", "f32": "float"}


class Section(enum.IntEnum):
    """What a section of the file holds."""

    CONFIG = 1
    STRINGS = 2
    TENSORS = 3
    STREAMS = 4
    STEPS = 5
    HOST_CALLS = 6
    OPERANDS = 7
    ATTRIBUTES = 8
    LAYERS = 9
    SPANS = 10
    CONSTANTS = 11
    COMMANDS = 12
    DEBUG = 13
    LINES = 64
    WORK = 65


class DataType(enum.IntEnum):
    """Element types of tensors; the names are NumPy's."""

    int8 = 0
    int32 = 1
    float32 = 2
    bool = 3
    int64 = 4
    uint8 = 5
    int16 = 6


class Role(enum.IntEnum):
    """What a tensor is to the program."""

    INTERNAL = 0
    INPUT = 1
    OUTPUT = 2
    CONSTANT = 3
    VARIABLE = 4  # keeps what one inference leaves for the next; see TensorDescriptor.initial_value


class StepKind(enum.IntEnum):
    """What the CPU does at a step."""

    STREAM = 0
    HOST = 1
    PRELOAD = 2  # a stream that only the first inference runs: it loads what stays in SRAM

    @property
    def is_stream(self) -> bool:
        """Whether the DLA does it."""
        return self is not StepKind.HOST


class LayerKind(enum.IntEnum):
    """The kinds that reports add cycles up by."""

    CONV = 0
    DEPTH = 1
    FC = 2
    POOL = 3
    ELTWISE = 4
    ACT = 5
    REQUANT = 6
    HOST = 7
    OTHER = 8


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a record; `count` above 1 makes it an array."""

    name: str
    type: str
    doc: str
    count: int = 1

    @property
    def size_bytes(self) -> int:
        """Its length, all of its elements together."""
        return int(_NUMPY[self.type][-1]) * self.count


@dataclass(frozen=True, slots=True, eq=False)
class FileRecord:
    """A packed little-endian struct."""

    name: str
    doc: str
    members: tuple[Member, ...]
    size_bytes: int = field(init=False)  # its length in the file

    def __post_init__(self) -> None:
        object.__setattr__(self, "size_bytes", sum(member.size_bytes for member in self.members))

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The same layout as a NumPy type."""
        return _dtype(self)

    @property
    def offsets(self) -> dict[str, int]:
        """Where each member begins, in bytes."""
        ends = itertools.accumulate((member.size_bytes for member in self.members), initial=0)
        return {member.name: begin for member, begin in zip(self.members, ends, strict=False)}


@cache
def _dtype(record: FileRecord) -> np.dtype[np.void]:
    import numpy as np

    parts = [
        (member.name, _NUMPY[member.type]) + (((member.count,),) if member.count > 1 else ())
        for member in record.members
    ]
    return np.dtype(parts)


def _record(name: str, doc: str, *members: str) -> FileRecord:
    """A record with members as `name type[count]: meaning`, without a type for those of 32 bits."""
    return FileRecord(name, doc, tuple(map(_member, members)))


def _member(text: str) -> Member:
    head, _, doc = text.partition(": ")
    name, _, form = head.partition(" ")
    kind, _, count = form.removesuffix("]").partition("[")
    return Member(name, kind or "u32", doc, int(count or 1))


HEADER = _record(
    "header",
    "The first bytes of the file.",
    f"magic u8[{len(MAGIC)}]: the letters DLAPROG and a zero byte",
    "format_version: version of this format",
    "isa_version: ISA_VERSION of the machine it was written for: major << 16 | minor",
    "file_bytes: length of the whole file",
    "checksum: CRC-32 (zlib) of the whole file with this member zero",
    "name: name of the model: offset in STRINGS",
    "section_count: entries of the section table that follows",
    "features u64: bit n: some command word has opcode n",
)
SECTION = _record(
    "section",
    "An entry of the section table. Kinds ascend; sections do not overlap; each starts at a multiple of 64.",
    "kind: what it holds",
    "offset: where it starts in the file",
    "size_bytes: its length",
    "count: its records; bytes for STRINGS and CONSTANTS, words for COMMANDS",
)
CONFIG = _record(
    "config",
    "Requirements of the program: the machine and system memory.",
    "pes: processing elements",
    "input_lanes: input channels in parallel",
    "output_lanes: output channels in parallel",
    "sram_bytes: size of the SRAM",
    "fingerprint: from the four members above and the ISA's major version; REQUIRE_CONFIG checks it",
    "arena_bytes: size of region ARENA",
    "inputs_bytes: size of region INPUTS",
    "outputs_bytes: size of region OUTPUTS",
    "sram_peak_bytes: maximum SRAM in use at once, according to the compiler; 0 if unknown",
)
TENSOR = _record(
    "tensor",
    "An array in a region of system memory, dense and row-major.",
    "name: offset in STRINGS",
    "type: element type",
    "role: internal, input, output, constant or variable. A variable keeps its value from one inference to "
    "the next; initially, int8 variables hold their zero point, others zeros",
    "region: region that holds it",
    "offset: byte offset in the region",
    "size_bytes: its length",
    "rank: number of dimensions used",
    f"shape u32[{MAX_RANK}]: dimensions, the rest 1",
    "scale f32: real value of one step; 0 if not quantized",
    "zero_point i32: the integer that means 0",
)
STREAM = _record(
    "stream",
    "A command stream: consecutive words of COMMANDS that end with HALT. Streams follow each other.",
    "first_word: index of its first word in COMMANDS",
    "words: its length in words",
)
STEP = _record(
    "step",
    "What the CPU does next, once the first `after_streams` streams have completed. Steps name streams and "
    "host calls in their order, each once.",
    "kind: stream, host call or preload; only the first step may be a preload",
    "index: which stream or host call",
    "after_streams: streams, from the first, that must have completed before",
)
HOST_CALL = _record(
    "host_call",
    "An operator that the CPU computes.",
    "code: operator, from the table of host operators",
    "first_operand: index in OPERANDS of its first input; outputs follow the inputs",
    "input_count: number of inputs",
    "output_count: number of outputs",
    "first_attribute: index in ATTRIBUTES of its first attribute word",
    "attribute_count: number of attribute words",
    "layer: layer it belongs to",
)
LAYER = _record(
    "layer",
    "A layer of the model, for reports.",
    "name: offset in STRINGS",
    "operator: its TFLite operator: offset in STRINGS",
    "kind: kind to which its cycles are added in reports",
    "reserved: zero",
    "macs u64: multiply-accumulates of one inference",
)
SPAN = _record(
    "span",
    "Consecutive command words that belong to one layer. Spans ascend and do not overlap.",
    "first_word: index of its first word in COMMANDS",
    "words: its length",
    "layer: the layer",
)
SLICE = _record(
    "slice",
    "Debug information: a compute instruction writes this box of a model tensor.",
    "word: index of the instruction in COMMANDS",
    "tensor: index of the tensor in the model's graph",
    "start u32[3]: first row, column and channel",
    "size u32[3]: rows, columns and channels",
)
LINES = _record(
    "lines",
    "Debug information: command words assembled from consecutive lines of a text, one word per line. "
    "Records ascend and do not overlap. The line of all other words is unknown.",
    "first_word: index of its first word in COMMANDS",
    "words: its length",
    "file: name of the text: offset in STRINGS",
    "line: line of the first word, counted from 1; each later word is on the following line",
)
WORK = _record(
    "work",
    "What a layer must do however it is cut: one compute instruction on whole tensors, or bytes that must "
    "cross the bus. From these, reports work out a lower bound of the cycles.",
    "layer: the layer",
    "opcode: of the instruction: a compute instruction, OP_DMA_READ or OP_DMA_WRITE",
    "count u64: pixels of the output; for a transfer bytes",
    "taps: steps for each pixel and group of channels; for a transfer its region",
    "in_channels: input channels that each output channel reads; 0 for a transfer",
    "out_channels: output channels; 0 for a transfer",
)
OPERAND = _record(
    "operand",
    "A tensor by number.",
    "tensor: index in TENSORS",
)
ATTRIBUTE = _record(
    "attribute",
    "An attribute word of a host call.",
    "word i32: its value",
)

RECORDS = (
    HEADER, SECTION, CONFIG, TENSOR, STREAM, STEP, HOST_CALL, OPERAND, ATTRIBUTE, LAYER, SPAN, SLICE, LINES,
    WORK,
)  # fmt: skip
SECTION_RECORDS = {
    Section.CONFIG: CONFIG,
    Section.TENSORS: TENSOR,
    Section.STREAMS: STREAM,
    Section.STEPS: STEP,
    Section.HOST_CALLS: HOST_CALL,
    Section.OPERANDS: OPERAND,
    Section.ATTRIBUTES: ATTRIBUTE,
    Section.LAYERS: LAYER,
    Section.SPANS: SPAN,
    Section.DEBUG: SLICE,
    Section.LINES: LINES,
    Section.WORK: WORK,
}
ENUMS: tuple[tuple[type[enum.IntEnum], str], ...] = (
    (Section, "section kinds"),
    (DataType, "element types"),
    (Role, "tensor roles"),
    (StepKind, "step kinds"),
    (LayerKind, "layer kinds"),
)
ELEMENT_BYTES = {
    DataType.int8: 1,
    DataType.int32: 4,
    DataType.float32: 4,
    DataType.bool: 1,
    DataType.int64: 8,
    DataType.uint8: 1,
    DataType.int16: 2,
}
