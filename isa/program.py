"""A program: one model for one machine, as everything that makes, runs or shows it sees it."""

from __future__ import annotations

import zlib
from dataclasses import field
from struct import pack

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import counted, printable
from dlasim.isa import codec
from dlasim.isa.file_records import SLICE, SPAN, WORK, DataType, LayerKind, Role, StepKind
from dlasim.isa.host_op_rows import PLACE_CURSOR, HostOperator
from dlasim.isa.instruction_rows import WORD_BYTES
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import BY_NAME, CURSORS, Region
from dlasim.isa.source_lines import SourceLines

ISA_VERSION = BY_NAME["ISA_VERSION"].reset
ISA_MAJOR = ISA_VERSION >> 16
WORK_OPCODES = frozenset(row.opcode for row in INSTRUCTIONS if row.is_operation)
TRANSFER_OPCODES = frozenset(row.opcode for row in INSTRUCTIONS if row.is_transfer)
MAX_OPERATIONS = 1 << 21  # keeps what analyses a program within about 2 GiB


def fingerprint(pes: int, input_lanes: int, output_lanes: int, sram_bytes: int) -> int:
    """The number that ties a program to what it was lowered for; never 0."""
    return zlib.crc32(pack("<5I", ISA_MAJOR, pes, input_lanes, output_lanes, sram_bytes)) or 1


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a program needs of the machine and of system memory."""

    pes: int
    input_lanes: int
    output_lanes: int
    sram_bytes: int
    arena_bytes: int = 0
    inputs_bytes: int = 0
    outputs_bytes: int = 0
    sram_peak_bytes: int = 0

    @property
    def pixels(self) -> int:
        """Output pixels processed in parallel, each on a grid of its own."""
        return self.pes // (self.input_lanes * self.output_lanes)

    @property
    def fills_grid(self) -> bool:
        """Whether the PEs are one grid or several."""
        return self.pes == self.input_lanes * self.output_lanes * self.pixels > 0

    @property
    def grid_text(self) -> str:
        """`8x16`, or `8x8x4` with 4 pixels in parallel."""
        return f"{self.input_lanes}x{self.output_lanes}" + (f"x{self.pixels}" if self.pixels > 1 else "")

    @property
    def fingerprint(self) -> int:
        """What REQUIRE_CONFIG checks."""
        return fingerprint(self.pes, self.input_lanes, self.output_lanes, self.sram_bytes)

    @property
    def region_bytes(self) -> dict[Region, int]:
        """The sizes of the regions that hold tensors only."""
        return {
            Region.ARENA: self.arena_bytes,
            Region.INPUTS: self.inputs_bytes,
            Region.OUTPUTS: self.outputs_bytes,
        }


@dataclass(frozen=True, slots=True)
class TensorDescriptor:
    """An array in a region of system memory, dense and row-major."""

    name: str
    type: DataType
    role: Role
    region: Region
    offset: int
    size_bytes: int
    shape: tuple[int, ...]
    scale: float = 0.0
    zero_point: int = 0

    @property
    def initial_value(self) -> int:
        """What a variable's elements hold before the first inference: as in TFLite, int8 its zero point."""
        return self.zero_point if self.type is DataType.int8 else 0


@dataclass(frozen=True, slots=True)
class Stream:
    """Consecutive command words that end with HALT."""

    first_word: int
    words: int


@dataclass(frozen=True, slots=True)
class Step:
    """What the CPU does next, once the first `after_streams` streams have completed."""

    kind: StepKind
    index: int
    after_streams: int = 0

    @property
    def is_stream(self) -> bool:
        """Whether the DLA does it."""
        return self.kind.is_stream


@dataclass(frozen=True, slots=True)
class HostCall:
    """An operator for the CPU; tensors by number."""

    code: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attributes: tuple[int, ...]
    layer: int


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of the model, for reports."""

    name: str
    operator: str
    kind: LayerKind
    macs: int = 0


def call_mismatch(operator: HostOperator, inputs: int, outputs: int, attributes: int) -> str | None:
    """What is wrong with these numbers of operands and attribute words, None if they are right."""
    name = operator.name
    repeated = any(operand.repeated for operand in operator.inputs)
    if inputs < len(operator.inputs) or (inputs > len(operator.inputs) and not repeated):
        least = "at least " if repeated else ""
        return f"{name} takes {least}{counted(len(operator.inputs), 'input')} (got {inputs})"
    if outputs != len(operator.outputs):
        return f"{name} gives {counted(len(operator.outputs), 'output')} (got {outputs})"
    if attributes != operator.words:
        return f"{name} takes {counted(operator.words, 'attribute word')} (got {attributes})"
    return None


def _no_spans() -> NDArray[np.void]:
    return np.zeros(0, SPAN.dtype)


def _no_slices() -> NDArray[np.void]:
    return np.zeros(0, SLICE.dtype)


def _no_work() -> NDArray[np.void]:
    return np.zeros(0, WORK.dtype)


def _no_bytes() -> NDArray[np.uint8]:
    return np.zeros(0, np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Everything in `program.bin`."""

    name: str
    requirement: Requirement
    commands: NDArray[np.uint64]
    streams: tuple[Stream, ...]
    steps: tuple[Step, ...]
    constants: NDArray[np.uint8] = field(default_factory=_no_bytes)
    tensors: tuple[TensorDescriptor, ...] = ()
    host_calls: tuple[HostCall, ...] = ()
    layers: tuple[Layer, ...] = ()
    spans: NDArray[np.void] = field(default_factory=_no_spans)
    debug: NDArray[np.void] = field(default_factory=_no_slices)
    lines: SourceLines = field(default_factory=SourceLines)
    work: NDArray[np.void] = field(default_factory=_no_work)

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"program {printable(self.name)}" if self.name else "the program"

    @property
    def preloads(self) -> bool:
        """Whether the first stream loads what stays in SRAM, so that only the first inference runs it."""
        return bool(self.steps) and self.steps[0].kind is StepKind.PRELOAD

    @property
    def inputs(self) -> tuple[TensorDescriptor, ...]:
        """The model's inputs, in its order."""
        return tuple(tensor for tensor in self.tensors if tensor.role is Role.INPUT)

    @property
    def outputs(self) -> tuple[TensorDescriptor, ...]:
        """The model's outputs, in its order."""
        return tuple(tensor for tensor in self.tensors if tensor.role is Role.OUTPUT)

    @property
    def features(self) -> int:
        """Bit n is set when some command word has opcode n."""
        opcodes = np.flatnonzero(np.bincount(codec.decode_opcodes(self.commands)))
        return sum(1 << int(opcode) for opcode in opcodes if opcode != codec.ILLEGAL)

    @property
    def region_bytes(self) -> dict[Region, int]:
        """The size of each region of system memory."""
        arena = self.requirement.arena_bytes
        return {
            Region.CONSTANTS: len(self.constants),
            **self.requirement.region_bytes,
            Region.COMMANDS: len(self.commands) * WORD_BYTES,
            **{cursor: max(arena - reach, 0) for cursor, reach in self._reaches().items()},
        }

    def _reaches(self) -> dict[Region, int]:
        """The cursors that its calls move, and by how many bytes at most."""
        found: dict[Region, int] = {}
        for call in self.host_calls:
            if call.code == PLACE_CURSOR and call.attributes[0] in range(len(CURSORS)):
                cursor, reach = CURSORS[call.attributes[0]], call.attributes[1]
                found[cursor] = max(found.get(cursor, reach), reach)
        return found

    def layer_of_words(self) -> NDArray[np.int64]:
        """For each command word the layer it belongs to, -1 for none."""
        layers = np.full(len(self.commands), -1, np.int64)
        first, words = (self.spans[name].astype(np.int64) for name in ("first_word", "words"))
        before = np.cumsum(words) - words  # of all spans before
        layers[np.arange(words.sum()) + np.repeat(first - before, words)] = np.repeat(
            self.spans["layer"], words
        )
        return layers
