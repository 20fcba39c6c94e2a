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


def _u32(name: str, doc: str, count: int = 1) -> Member:
    return Member(name, "u32", doc, count)


HEADER = FileRecord(
    "header",
    "The first bytes of the file.",
    (
        Member("magic", "u8", "the letters DLAPROG and a zero byte", len(MAGIC)),
        _u32("format_version", "version of this format"),
        _u32("isa_version", "ISA_VERSION of the machine it was written for: major << 16 | minor"),
        _u32("file_bytes", "length of the whole file"),
        _u32("checksum", "CRC-32 (zlib) of the whole file with this member zero"),
        _u32("name", "name of the model: offset in STRINGS"),
        _u32("section_count", "entries of the section table that follows"),
        Member("features", "u64", "bit n: some command word has opcode n"),
    ),
)
SECTION = FileRecord(
    "section",
    "An entry of the section table. Kinds ascend; sections do not overlap; each starts at a multiple of 64.",
    (
        _u32("kind", "what it holds"),
        _u32("offset", "where it starts in the file"),
        _u32("size_bytes", "its length"),
        _u32("count", "its records; bytes for STRINGS and CONSTANTS, words for COMMANDS"),
    ),
)
CONFIG = FileRecord(
    "config",
    "Requirements of the program: the machine and system memory.",
    (
        _u32("pes", "processing elements"),
        _u32("input_lanes", "input channels in parallel"),
        _u32("output_lanes", "output channels in parallel"),
        _u32("sram_bytes", "size of the SRAM"),
        _u32(
            "fingerprint",
            "from the four members above and the ISA's major version; REQUIRE_CONFIG checks it",
        ),
        _u32("arena_bytes", "size of region ARENA"),
        _u32("inputs_bytes", "size of region INPUTS"),
        _u32("outputs_bytes", "size of region OUTPUTS"),
        _u32("sram_peak_bytes", "maximum SRAM in use at once, according to the compiler; 0 if unknown"),
    ),
)
TENSOR = FileRecord(
    "tensor",
    "An array in a region of system memory, dense and row-major.",
    (
        _u32("name", "offset in STRINGS"),
        _u32("type", "element type"),
        _u32(
            "role",
            "internal, input, output, constant or variable. A variable keeps its value from one inference to "
            "the next; initially, int8 variables hold their zero point, others zeros",
        ),
        _u32("region", "region that holds it"),
        _u32("offset", "byte offset in the region"),
        _u32("size_bytes", "its length"),
        _u32("rank", "number of dimensions used"),
        _u32("shape", "dimensions, the rest 1", MAX_RANK),
        Member("scale", "f32", "real value of one step; 0 if not quantized"),
        Member("zero_point", "i32", "the integer that means 0"),
    ),
)
STREAM = FileRecord(
    "stream",
    "A command stream: consecutive words of COMMANDS that end with HALT. Streams follow each other.",
    (_u32("first_word", "index of its first word in COMMANDS"), _u32("words", "its length in words")),
)
STEP = FileRecord(
    "step",
    "What the CPU does next, once the first `after_streams` streams have completed. Steps name streams and "
    "host calls in their order, each once.",
    (
        _u32("kind", "stream, host call or preload; only the first step may be a preload"),
        _u32("index", "which stream or host call"),
        _u32("after_streams", "streams, from the first, that must have completed before"),
    ),
)
HOST_CALL = FileRecord(
    "host_call",
    "An operator that the CPU computes.",
    (
        _u32("code", "operator, from the table of host operators"),
        _u32("first_operand", "index in OPERANDS of its first input; outputs follow the inputs"),
        _u32("input_count", "number of inputs"),
        _u32("output_count", "number of outputs"),
        _u32("first_attribute", "index in ATTRIBUTES of its first attribute word"),
        _u32("attribute_count", "number of attribute words"),
        _u32("layer", "layer it belongs to"),
    ),
)
LAYER = FileRecord(
    "layer",
    "A layer of the model, for reports.",
    (
        _u32("name", "offset in STRINGS"),
        _u32("operator", "its TFLite operator: offset in STRINGS"),
        _u32("kind", "kind to which its cycles are added in reports"),
        _u32("reserved", "zero"),
        Member("macs", "u64", "multiply-accumulates of one inference"),
    ),
)
SPAN = FileRecord(
    "span",
    "Consecutive command words that belong to one layer. Spans ascend and do not overlap.",
    (
        _u32("first_word", "index of its first word in COMMANDS"),
        _u32("words", "its length"),
        _u32("layer", "the layer"),
    ),
)
SLICE = FileRecord(
    "slice",
    "Debug information: a compute instruction writes this box of a model tensor.",
    (
        _u32("word", "index of the instruction in COMMANDS"),
        _u32("tensor", "index of the tensor in the model's graph"),
        _u32("start", "first row, column and channel", 3),
        _u32("size", "rows, columns and channels", 3),
    ),
)
LINES = FileRecord(
    "lines",
    "Debug information: command words assembled from consecutive lines of a text, one word per line. "
    "Records ascend and do not overlap. The line of all other words is unknown.",
    (
        _u32("first_word", "index of its first word in COMMANDS"),
        _u32("words", "its length"),
        _u32("file", "name of the text: offset in STRINGS"),
        _u32("line", "line of the first word, counted from 1; each later word is on the following line"),
    ),
)
WORK = FileRecord(
    "work",
    "What a layer must do however it is cut: one compute instruction on whole tensors, or bytes that must "
    "cross the bus. From these, reports work out a lower bound of the cycles.",
    (
        _u32("layer", "the layer"),
        _u32("opcode", "of the instruction: a compute instruction, OP_DMA_READ or OP_DMA_WRITE"),
        Member("count", "u64", "pixels of the output; for a transfer bytes"),
        _u32("taps", "steps for each pixel and group of channels; for a transfer its region"),
        _u32("in_channels", "input channels that each output channel reads; 0 for a transfer"),
        _u32("out_channels", "output channels; 0 for a transfer"),
    ),
)
OPERAND = FileRecord("operand", "A tensor by number.", (_u32("tensor", "index in TENSORS"),))
ATTRIBUTE = FileRecord(
    "attribute", "An attribute word of a host call.", (Member("word", "i32", "its value"),)
)

RECORDS = (
    HEADER,
    SECTION,
    CONFIG,
    TENSOR,
    STREAM,
    STEP,
    HOST_CALL,
    OPERAND,
    ATTRIBUTE,
    LAYER,
    SPAN,
    SLICE,
    LINES,
    WORK,
)
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
