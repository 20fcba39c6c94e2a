"""The register table: every register of the DLA, read by everything that names one."""

from __future__ import annotations

import enum

from dlasim.dataclass import dataclass
from dlasim.isa.bits import Field

REGISTER_BYTES = 4
REGISTER_BITS = 32
WINDOW_BYTES = 0x1000
OPERAND_BASE = 0x400  # from here on: the sticky operand registers, which CFG may write
REGION_COUNT = 7


class Access(enum.Enum):
    """What the host may do with a register."""

    READ_ONLY = "RO"
    WRITE_ONLY = "WO"
    READ_WRITE = "RW"


class Region(enum.IntEnum):
    """The windows of system memory that a program names."""

    CONSTANTS = 0
    ARENA = 1
    INPUTS = 2
    OUTPUTS = 3
    COMMANDS = 4
    CURSOR0 = 5
    CURSOR1 = 6

    @property
    def home(self) -> Region:
        """The region whose bytes it has: a cursor is a place in the arena, which the CPU moves."""
        return Region.ARENA if self in CURSORS else self


CURSORS = (Region.CURSOR0, Region.CURSOR1)
HOMES = tuple(region for region in Region if region.home is region)


@dataclass(frozen=True, slots=True)
class Register:
    """A register; one without sub-fields is a single field named `value`."""

    name: str
    address: int
    access: Access
    doc: str
    fields: tuple[Field, ...]
    group: str
    while_busy: bool = False  # the host may write it while the DLA runs

    @property
    def reset(self) -> int:
        """The value after reset, as the 32-bit pattern."""
        word = 0
        for field in self.fields:
            word |= field.insert(field.default)
        return word

    @property
    def index(self) -> int:
        """Its number in the window, which CFG encodes."""
        return self.address // REGISTER_BYTES

    @property
    def is_operand(self) -> bool:
        """Whether it belongs to the sticky operand file."""
        return self.address >= OPERAND_BASE

    @property
    def is_plain(self) -> bool:
        """Whether it is one number rather than several packed ones."""
        return len(self.fields) == 1 and self.fields[0].name == "value"

    def pack(self, **values: int) -> int:
        """The 32-bit pattern of these field values; fields left out take their reset value."""
        word = 0
        for field in self.fields:
            word |= field.insert(field.check(values.pop(field.name, field.default), self.name))
        assert not values, f"{self.name} has no field {', '.join(values)}"
        return word

    def is_legal(self, word: int) -> bool:
        """Whether every field is in range and no unclaimed bit is set."""
        claimed = 0
        for field in self.fields:
            claimed |= field.mask
        return not word & ~claimed and all(field.holds(field.extract(word)) for field in self.fields)


def _number(doc: str, **range_: int | bool) -> tuple[Field, ...]:
    return (Field("value", 0, REGISTER_BITS, doc, **range_),)  # type: ignore[arg-type]


def _control(
    name: str, address: int, access: Access, doc: str, *fields: Field, busy: bool = False
) -> Register:
    return Register(name, address, access, doc, fields or _number(doc), "control", busy)


def _flag(name: str, bit: int, doc: str) -> Field:
    return Field(name, bit, 1, doc)


_RO, _WO, _RW = Access.READ_ONLY, Access.WRITE_ONLY, Access.READ_WRITE

_IRQ_FLAGS = (
    _flag("done", 0, "a stream reached HALT"),
    _flag("marker", 1, "an IRQ instruction was executed"),
    _flag("fault", 2, "the DLA stopped on a fault"),
)

_CONTROL = (
    _control("ID", 0x000, _RO, "identification",
        Field("value", 0, 32, "the letters DLA1", default=0x31414C44)),
    _control("ISA_VERSION", 0x004, _RO, "version of the instruction set",
        Field("minor", 0, 16, "additions that old programs do not notice", default=2),
        Field("major", 16, 16, "changes that break old programs", default=1)),
    _control("CAP_PES", 0x008, _RO, "number of processing elements of this machine"),
    _control("CAP_GRID", 0x00C, _RO, "how the processing elements spread over channels",
        Field("input_lanes", 0, 16, "input channels worked on in parallel"),
        Field("output_lanes", 16, 16, "output channels worked on in parallel")),
    _control("CAP_SRAM_BYTES", 0x010, _RO, "size of the accelerator's memory in bytes"),
    _control("CAP_CONFIG", 0x014, _RO, "fingerprint of what a program is lowered for (PEs, grid, SRAM size)"),
    _control("CONTROL", 0x020, _WO, "commands to the whole DLA",
        _flag("reset", 0, "stop at once and reset every register, queue and unit"), busy=True),
    _control("STATUS", 0x024, _RO, "state of the DLA", _flag("busy", 0, "a stream is running"),
        _flag("fault", 1, "stopped on a fault; sticky until reset"),
        _flag("refused", 2, "a write was refused (busy, read-only, illegal value); sticky until reset")),
    _control("IRQ_STATUS", 0x028, _RO, "interrupts pending", *_IRQ_FLAGS),
    _control("IRQ_ENABLE", 0x02C, _RW, "interrupts that raise the line", *_IRQ_FLAGS, busy=True),
    _control("IRQ_ACK", 0x030, _WO, "write ones to clear pending interrupts", *_IRQ_FLAGS, busy=True),
    _control("STREAMS_DONE", 0x034, _RO, "streams completed since reset; wraps at 2^32"),
    _control("QUEUE_BASE", 0x040, _RW,
        "byte offset of the command queue in region COMMANDS; a multiple of 8"),
    _control("QUEUE_SIZE", 0x044, _RW, "length of the command queue in instruction words"),
    _control("QUEUE_READ", 0x048, _RW, "index of the next instruction word to fetch"),
    _control("DOORBELL", 0x04C, _WO,
        "instruction words below this index may be fetched; starts the DLA, or extends its current queue",
        busy=True),
    _control("COMMAND_LOW", 0x050, _WO, "low half of a single instruction from the host"),
    _control("COMMAND_HIGH", 0x054, _WO, "high half; writing it executes the instruction"),
    _control("ERROR_CODE", 0x060, _RO, "what went wrong; see the table of faults"),
    _control("ERROR_POSITION", 0x064, _RO, "index of the instruction word that faulted"),
    _control("ERROR_ADDRESS", 0x068, _RO, "the SRAM address, region offset or register address at fault"),
    *(
        _control(f"REGION{i}_BASE", 0x080 + 8 * i, _RW, f"system address of region {Region(i).name}")
        for i in range(REGION_COUNT)
    ),
    *(
        _control(f"REGION{i}_SIZE", 0x084 + 8 * i, _RW, f"size of region {Region(i).name} in bytes")
        for i in range(REGION_COUNT)
    ),
)  # fmt: skip

COUNTER_BITS = 48  # of each; then it begins again from 0, after 6.5 days at 500 MHz
COUNTERS = (
    ("CYCLES", "cycles from doorbell to HALT, summed over streams"),
    ("MACS", "multiply-accumulates done"),
    ("MACS_POSSIBLE", "multiply-accumulates that the PEs could have done while the MAC unit was busy"),
    ("BYTES_READ", "bytes moved from system memory into SRAM"),
    ("BYTES_WRITTEN", "bytes moved from SRAM to system memory"),
    ("DMA_IN_BUSY", "cycles in which DMA_IN worked"),
    ("DMA_OUT_BUSY", "cycles in which DMA_OUT worked"),
    ("MAC_BUSY", "cycles in which MAC worked"),
    ("VECTOR_BUSY", "cycles in which VECTOR worked"),
    ("ISSUE_BUSY", "cycles in which the issue stage worked"),
    ("STALL_WAIT", "cycles in which issue was blocked by WAIT, IRQ or HALT"),
    ("STALL_QUEUE", "cycles in which issue was blocked by a full unit queue"),
    ("STALL_CONTENTION", "cycles that operations lost to others on the DMA bus or at the SRAM's ports"),
    ("STALL_SRAM", "cycles that compute operations lost to SRAM bandwidth, alone"),
    ("ONLY_COMPUTE", "cycles with MAC or VECTOR busy and no DMA"),
    ("ONLY_DMA", "cycles with DMA busy and neither MAC nor VECTOR"),
    ("BOTH", "cycles with compute and DMA busy"),
    ("NEITHER", "cycles with neither; these four add up to CYCLES"),
)

_COUNTER_REGISTERS = tuple(
    Register(f"COUNT_{name}_{half}", 0x100 + 8 * i + 4 * high, _RO, f"{doc}, {word}", _number(doc), "counter")
    for i, (name, doc) in enumerate(COUNTERS)
    for high, (half, word) in enumerate((("LOW", "bits 0 to 31"), ("HIGH", f"bits 32 to {COUNTER_BITS - 1}")))
)

EXTENT_BITS = 16  # of a height or width, which share a register
MAX_EXTENT = (1 << EXTENT_BITS) - 1
_ADDRESS_MAX = 0x7FFF_FFFF
_COUNT_MAX = 0x00FF_FFFF

_SPECS: list[tuple[str, str, str, tuple[Field, ...]]] = []


def _operand(group: str, name: str, doc: str, *fields: Field) -> None:
    _SPECS.append((group, name, doc, fields))


def _address(group: str, name: str, doc: str) -> None:
    _operand(group, name, doc, *_number(doc, maximum=_ADDRESS_MAX))


def _count(group: str, name: str, doc: str) -> None:
    _operand(group, name, doc, *_number(doc, minimum=1, maximum=_COUNT_MAX, default=1))


def _int8(group: str, name: str, doc: str, default: int = 0) -> None:
    _operand(group, name, doc, *_number(doc, signed=True, minimum=-128, maximum=127, default=default))


def _multiplier(group: str, name: str, doc: str) -> None:
    _operand(group, name, doc, *_number(doc, maximum=0x7FFF_FFFF, default=1 << 30))


def _shift(group: str, name: str, doc: str, default: int = 1) -> None:
    _operand(group, name, doc, *_number(doc, signed=True, minimum=-31, maximum=31, default=default))


def _pair(group: str, name: str, doc: str, first: str, second: str, minimum: int) -> None:
    _operand(
        group,
        name,
        doc,
        Field(first, 0, EXTENT_BITS, first, minimum=minimum, default=minimum),
        Field(second, EXTENT_BITS, EXTENT_BITS, second, minimum=minimum, default=minimum),
    )


def _view(prefix: str, what: str) -> None:
    _address("views", f"{prefix}_ADDR", f"SRAM address of {what}")
    _address("views", f"{prefix}_PIXEL_STRIDE", f"bytes from pixel to pixel of {what}")
    _address("views", f"{prefix}_ROW_STRIDE", f"bytes from row to row of {what}")


def _dma(prefix: str, source: str, target: str) -> None:
    group = f"DMA {source} to {target}"
    _operand(
        group,
        f"{prefix}_REGION",
        "region of system memory",
        Field("value", 0, 32, "region", maximum=REGION_COUNT - 1),
    )
    _address(group, f"{prefix}_OFFSET", "byte offset in the region")
    _address(group, f"{prefix}_SRAM_ADDR", "SRAM address")
    _operand(
        group,
        f"{prefix}_RUN_BYTES",
        "contiguous bytes of one run",
        *_number("contiguous bytes of one run", minimum=1, maximum=_ADDRESS_MAX, default=1),
    )
    _count(group, f"{prefix}_RUNS", "runs in a plane")
    _address(group, f"{prefix}_RUN_STRIDE", "bytes from run to run in system memory")
    _address(group, f"{prefix}_RUN_SRAM_STRIDE", "bytes from run to run in SRAM")
    _count(group, f"{prefix}_PLANES", "planes")
    _address(group, f"{prefix}_PLANE_STRIDE", "bytes from plane to plane in system memory")
    _address(group, f"{prefix}_PLANE_SRAM_STRIDE", "bytes from plane to plane in SRAM")


# fmt: off
_operand("configuration", "REQUIRE_CONFIG",
    "fingerprint the program was lowered for; writing another one than CAP_CONFIG faults, 0 always passes",
    *_number("fingerprint"))
_dma("DMA_IN", "system memory", "SRAM")
_dma("DMA_OUT", "SRAM", "system memory")
_view("IN", "the input")
_view("IN2", "the second input of an element-wise operation; strides of 0 broadcast")
_view("OUT", "the output")
_view("ACC", "the int32 partial result that init=partial starts from, or the int8 tensor of sum=tensor")
_address("views", "WEIGHT_ADDR", "SRAM address of the weights")
_address("views", "PARAM_ADDR",
    "SRAM address of the per-channel records {i32 bias, i32 multiplier, i32 shift}; a multiple of 4")
_address("views", "LUT_ADDR",
    "SRAM address of the table: of 256 bytes, indexed by q + 128, or of 256 words, a multiple of 4")
_pair("geometry", "IN_SIZE", "size of the input in pixels", "height", "width", 1)
_count("geometry", "IN_CHANNELS", "channels of the input")
_pair("geometry", "OUT_SIZE", "size of the output in pixels", "height", "width", 1)
_count("geometry", "OUT_CHANNELS", "channels of the output")
_pair("geometry", "KERNEL", "size of the window", "height", "width", 1)
_pair("geometry", "STRIDE", "step of the window in input pixels", "height", "width", 1)
_pair("geometry", "DILATION", "distance of the window's taps in input pixels", "height", "width", 1)
_pair("geometry", "PAD", "pixels before the first row and column; those at the end follow from OUT_SIZE",
    "top", "left", 0)
_int8("quantization", "PAD_VALUE", "value of the pixels outside the input")
_int8("quantization", "IN_ZP", "zero point of the input")
_int8("quantization", "IN2_ZP", "zero point of the second input")
_int8("quantization", "OUT_ZP", "zero point of the output")
_int8("quantization", "ACT_MIN", "smallest output value", -128)
_int8("quantization", "ACT_MAX", "largest output value", 127)
_multiplier("quantization", "IN_MULT",
    "multiplier of the input (E_ADD, E_SUB, E_SQDIFF, E16_ADD, E16_SIGMOID), of the result (sum=tensor), of "
    "negative values (ACT_LRELU)")
_shift("quantization", "IN_SHIFT", "its shift")
_multiplier("quantization", "IN2_MULT",
    "multiplier of the second input (E_ADD, E_SUB, E_SQDIFF, E16_ADD) or of the tensor of sum=tensor")
_shift("quantization", "IN2_SHIFT", "its shift")
_multiplier("quantization", "OUT_MULT", "multiplier of the output")
_shift("quantization", "OUT_SHIFT",
    "its shift: left before the multiplication if positive, right after it if negative")
_operand("quantization", "LEFT_SHIFT", "shift of both inputs before rescaling (E_ADD, E_SUB, E_SQDIFF)",
    *_number("bits", maximum=31, default=0))
_operand("quantization", "SHIFT_AMOUNT", "number of bits by which E32_SHIFT and E16_SIGMOID shift",
    *_number("bits", maximum=31, default=0))
_int8("quantization", "FILL_VALUE", "byte that FILL writes")
_int8("quantization", "WEIGHT_ZP", "zero point of the weights or of the matrix")
_operand("quantization", "LIMIT", "greatest magnitude of a result of E16_ADD",
    *_number("limit", maximum=1 << 15, default=1 << 15))
_int8("quantization", "SUM_ZP", "zero point of the output of sum=tensor")
_int8("quantization", "SUM_MIN", "smallest output value of sum=tensor", -128)
_int8("quantization", "SUM_MAX", "largest output value of sum=tensor", 127)
# fmt: on

_OPERANDS = tuple(
    Register(name, OPERAND_BASE + REGISTER_BYTES * i, _RW, doc, fields, group)
    for i, (group, name, doc, fields) in enumerate(_SPECS)
)

REGISTERS: tuple[Register, ...] = (*_CONTROL, *_COUNTER_REGISTERS, *_OPERANDS)
OPERANDS: tuple[Register, ...] = _OPERANDS
OPERAND_COLUMN = {register.name: number for number, register in enumerate(OPERANDS)}
BY_NAME = {register.name: register for register in REGISTERS}
BY_ADDRESS = {register.address: register for register in REGISTERS}
