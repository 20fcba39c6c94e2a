"""What a row of the instruction table says: units, fields' values, operands, and what follows from them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.isa import registers
from dlasim.isa.bits import Field
from dlasim.isa.faults import Fault

WORD_BYTES = 8
WORD_BITS = 64
OPCODE = Field("opcode", 0, 8, "operation")
FEATURE_BITS = 64  # of a program's header: one for each opcode that it may have
RECORD_BYTES = 12  # {i32 bias, i32 multiplier, i32 shift}
TABLE_BYTES = 256
INT8_BYTES = 1
INT16_BYTES = 2
INT32_BYTES = 4
PACKED_BYTES = 2  # that OP_DMA_UNPACK reads for each 1 in its field `packed`, and writes twice as many of
COPIED_BYTES = 4  # that OP_DMA_DECODE copies for each 1 in its field `copied`
EXPONENTIALS_BYTES = 256 * INT32_BYTES
CURVE_ENTRIES = 512  # of a table of 16 bits whose entries are interpolated
CURVE_BYTES = CURVE_ENTRIES * INT32_BYTES
SEGMENTS_BYTES = 256 * INT32_BYTES
SUM_LEFT_SHIFT = 20  # of both parts of a sum in the output stage of MAC
SOFTMAX_PASSES = 3  # over a row: its greatest element, the sum, the results


class Unit(enum.IntEnum):
    """The in-order units that run in parallel, and the issue stage that feeds them."""

    DMA_IN = 0
    DMA_OUT = 1
    MAC = 2
    VECTOR = 3
    ISSUE = 4


UNITS = (Unit.DMA_IN, Unit.DMA_OUT, Unit.MAC, Unit.VECTOR)


class Init(enum.IntEnum):
    """What an accumulator starts from."""

    ZERO = 0
    BIAS = 1
    PARTIAL = 2


class Out(enum.IntEnum):
    """What leaves the MAC pipeline."""

    INT8 = 0
    INT32 = 1


class Quant(enum.IntEnum):
    """Where multiplier and shift come from."""

    TENSOR = 0
    CHANNEL = 1


class PoolMode(enum.IntEnum):
    """What a pooling window computes."""

    MAX = 0
    AVERAGE = 1
    MEAN = 2
    AVERAGE_UP = 3


class ShiftMode(enum.IntEnum):
    """How E32_SHIFT shifts."""

    LEFT = 0
    RIGHT = 1
    RIGHT_ROUND = 2


class SigmoidMode(enum.IntEnum):
    """Which function OP_E16_SIGMOID computes."""

    LOGISTIC = 0
    TANH = 1


class Sum(enum.IntEnum):
    """What the output stage of the MAC unit adds to its results."""

    NONE = 0
    TENSOR = 1


class Elements(enum.IntEnum):
    """What inputs and output hold, weights and tables apart."""

    INT8 = 0
    INT16 = 1


class Weights(enum.IntEnum):
    """What a matrix holds."""

    INT8 = 0
    INT16 = 1


class Extent(enum.Enum):
    """Which bytes an operand covers; each in terms of the geometry registers."""

    INPUT = "IN_SIZE pixels of IN_CHANNELS elements"
    OUTPUT = "OUT_SIZE pixels of OUT_CHANNELS elements"
    ROWS_OF_INPUT = "OUT_SIZE pixels of IN_CHANNELS elements"
    CONV_WEIGHTS = "OUT_CHANNELS x KERNEL x IN_CHANNELS bytes"
    DEPTH_WEIGHTS = "KERNEL x OUT_CHANNELS bytes"
    MATRIX = "OUT_CHANNELS x IN_CHANNELS elements"
    RECORDS = "OUT_CHANNELS records"
    TABLE = "256 bytes"
    EXPONENTIALS = "256 elements"
    CURVE = "512 words: a value in 16 bits, and above it the difference to the next one in 16 bits"
    CURVES = "2 x 512 such words"
    SEGMENTS = "256 words: a value in 16 bits, and above it the difference to the next one in 10 bits"
    TRANSFER = "PLANES x RUNS x RUN_BYTES"

    @property
    def is_view(self) -> bool:
        """Whether it is laid out by pixel and row strides."""
        return self in (Extent.INPUT, Extent.OUTPUT, Extent.ROWS_OF_INPUT)

    @property
    def table_bytes(self) -> int:
        """Bytes of a table that an operation looks up; 0 of what is none."""
        sizes = {
            Extent.TABLE: TABLE_BYTES,
            Extent.EXPONENTIALS: EXPONENTIALS_BYTES,
            Extent.CURVE: CURVE_BYTES,
            Extent.CURVES: 2 * CURVE_BYTES,
            Extent.SEGMENTS: SEGMENTS_BYTES,
        }
        return sizes.get(self, 0)


class Channels(enum.Enum):
    """How OUT_CHANNELS goes with IN_CHANNELS."""

    NONE = "IN_CHANNELS is not read"
    REDUCED = "every output channel sums over all input channels"
    GROUPED = "an output channel reads one input channel; OUT_CHANNELS must be a multiple of IN_CHANNELS"
    EQUAL = "an output channel reads the input channel of its number; OUT_CHANNELS must equal IN_CHANNELS"


@dataclass(frozen=True, slots=True)
class When:
    """A condition on a field of the instruction: it holds one of these values."""

    field: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """SRAM that an operation touches: `register` is the prefix of a view, or holds the address."""

    register: str
    extent: Extent
    writes: bool = False
    element_bytes: int = INT8_BYTES
    int32_when: When | None = None  # int32 elements where this holds
    int16_when: When | None = None  # int16 elements where this does
    int8_when: When | None = None  # int8 elements where this does, of what else is wider
    present_when: tuple[When, ...] = ()  # any of these; empty: always

    @property
    def other_widths(self) -> tuple[tuple[int, When], ...]:
        """Bytes of elements that are wider or narrower, and where they are."""
        widths = (
            (INT32_BYTES, self.int32_when), (INT16_BYTES, self.int16_when), (INT8_BYTES, self.int8_when),
        )  # fmt: skip
        return tuple((size, when) for size, when in widths if when)

    @property
    def address_register(self) -> str:
        """The register that holds its address."""
        return self.register if self.register.endswith("_ADDR") else f"{self.register}_ADDR"

    @property
    def registers(self) -> tuple[str, ...]:
        """The registers that place it in SRAM."""
        if self.extent.is_view:
            return (self.address_register, f"{self.register}_PIXEL_STRIDE", f"{self.register}_ROW_STRIDE")
        return (self.address_register,)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One row of the table."""

    mnemonic: str
    opcode: int
    unit: Unit
    summary: str
    doc: str
    fields: tuple[Field, ...] = ()
    operands: tuple[Operand, ...] = ()
    parameters: tuple[str, ...] = ()  # registers read besides those that place the operands
    sum_parameters: tuple[str, ...] = ()  # and besides these with sum=tensor
    own_errors: tuple[Fault, ...] = ()  # besides those of operands that are computed with
    channels: Channels = Channels.NONE
    sums: str = ""  # the instruction that stores its accumulators as they are, where that is another one

    @property
    def registers(self) -> tuple[str, ...]:
        """Every register that the operation may read, in table order."""
        named = {name for operand in self.operands for name in operand.registers}
        named |= {*self.parameters, *self.sum_parameters}
        return tuple(register.name for register in registers.OPERANDS if register.name in named)

    @property
    def errors(self) -> tuple[Fault, ...]:
        """The faults that it may raise."""
        if not self.is_compute:
            return self.own_errors
        is_wide = any(each.element_bytes > INT8_BYTES or each.other_widths for each in self.operands)
        aligned = (Fault.MISALIGNED,) if is_wide else ()
        return (Fault.BAD_OPERANDS, *aligned, Fault.SRAM_RANGE, Fault.OVERLAP, *self.own_errors)

    @property
    def is_operation(self) -> bool:
        """Whether it runs on a unit rather than in the issue stage."""
        return self.unit is not Unit.ISSUE

    @property
    def is_transfer(self) -> bool:
        """Whether it moves bytes between SRAM and system memory."""
        return self.unit in (Unit.DMA_IN, Unit.DMA_OUT)

    @property
    def is_compute(self) -> bool:
        """Whether it computes an output of OUT_SIZE pixels in SRAM."""
        return self.unit in (Unit.MAC, Unit.VECTOR)

    @property
    def reduces_channels(self) -> bool:
        """Whether every output channel sums over all input channels."""
        return self.channels is Channels.REDUCED

    @property
    def is_depthwise(self) -> bool:
        """Whether it multiplies each input channel with weights of its own."""
        return self.channels is Channels.GROUPED

    @property
    def reads_weights(self) -> bool:
        """Whether it multiplies its input with weights."""
        return self.channels in (Channels.REDUCED, Channels.GROUPED)

    @property
    def has_window(self) -> bool:
        """Whether an output pixel depends on a kernel window of input pixels."""
        return "KERNEL" in self.parameters

    @property
    def pools(self) -> bool:
        """Whether it combines the elements of a window, without weights."""
        return self.has_window and not self.reads_weights

    @property
    def normalizes_rows(self) -> bool:
        """Whether an output element depends on all channels of its pixel, as a share of their sum."""
        return any(operand.extent in (Extent.EXPONENTIALS, Extent.CURVES) for operand in self.operands)

    @property
    def needs_int16(self) -> bool:
        """Whether it has elements of int16 alone, which a machine may lack."""
        return any(operand.element_bytes == INT16_BYTES for operand in self.operands)

    @property
    def table_bytes(self) -> int:
        """Bytes of the table that it looks up, if any."""
        return sum(operand.extent.table_bytes for operand in self.operands)

    @property
    def pads_window(self) -> bool:
        """Whether taps of the window outside the input read PAD_VALUE, rather than being left out."""
        return "PAD_VALUE" in self.parameters

    @property
    def clamps(self) -> bool:
        """Whether it limits its output to ACT_MIN to ACT_MAX."""
        return "ACT_MIN" in self.parameters

    def field(self, name: str) -> Field:
        """The field of that name."""
        return next(field for field in self.fields if field.name == name)


def adds_tensor(fields: Mapping[str, Any]) -> Any:
    """Whether an operation of MAC adds a tensor to its results; of many, for each."""
    return fields.get("sum", Sum.NONE) == Sum.TENSOR


def is_one_pass(fields: Mapping[str, Any]) -> Any:
    """Whether an operation of MAC makes complete results, likewise."""
    return (fields.get("out", Out.INT8) == Out.INT8) & (fields.get("init", Init.ZERO) != Init.PARTIAL)


def has_channel_scales(fields: Mapping[str, Any]) -> Any:
    """Whether multiplier and shift come from the records of channels, likewise."""
    return fields.get("quant", Quant.TENSOR) == Quant.CHANNEL
