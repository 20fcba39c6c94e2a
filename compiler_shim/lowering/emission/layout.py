"""What lies where in the memories of emission, and the words that it writes.

`desk` holds what emission knows between calls, a few operations in the making, and the nodes at hand;
`flying` the operations that no WAIT has shown to be complete; `words`, `spans`, `slices` what is written;
`offsets` where the pieces of a node's constants are.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.stripes import MAX_CHAIN
from dlasim.isa import codec, registers
from dlasim.isa.instructions import BY_MNEMONIC, UNITS
from dlasim.isa.records import SLICE, SPAN

SRAM = -1  # the space of SRAM addresses; regions are spaces 0 and up
NONE = -1

# The desk. STORE is the operation that was put off, FIXED the node whose fixed registers are set, SPARE the
# first of the free places in `flying`, USED how much of it was ever used.
(
    WORDS, SPANS, SLICES, POOL_BYTES, IS_OPEN, STORE, FIXED, IS_WITNESSED, FINGERPRINT, SPARE, USED,
) = range(11)  # fmt: skip
NEWEST = USED + 1  # for each unit its newest operation in flight
ISSUED = NEWEST + len(UNITS)  # for each unit how many operations it got
FILE = ISSUED + len(UNITS)  # what every operand register holds
BOXES = FILE + len(registers.OPERANDS)

# A box of a tensor: first row, column and channel, and how many of each. A tile of the output, what it reads
# of the two inputs, and the first channels of its constants, which are no box, but told apart like one.
R_ROW, R_COLUMN, R_CHANNEL, R_ROWS, R_COLUMNS, R_CHANNELS = range(6)
BOX_LENGTH = 6
TILE, PATCH, SECOND, PIECE = (BOXES + number * BOX_LENGTH for number in range(4))
OPERATIONS = BOXES + 4 * BOX_LENGTH

# An operation: MOVES is how many times it is repeated, each with its addresses moved by the steps.
(
    O_UNIT, O_WORD, O_LAYER, O_NODE, O_TENSOR, O_BOX, O_MOVES, O_REGISTERS, O_TOUCHES,
) = (*range(6), *range(5 + BOX_LENGTH, 8 + BOX_LENGTH))  # fmt: skip
MOST_REGISTERS, MOST_TOUCHES = 24, 6
O_PAIRS = O_TOUCHES + 1
O_TOUCH = O_PAIRS + 2 * MOST_REGISTERS

# A touch: bytes [start, end) of a space; of those, within every stride, only a run from the phase on.
T_SPACE, T_START, T_END, T_WRITES, T_STRIDE, T_PHASE, T_RUN = range(7)
TOUCH_LENGTH = 7
OPERATION_LENGTH = O_TOUCH + MOST_TOUCHES * TOUCH_LENGTH

LOAD = OPERATIONS
STORES = (LOAD + OPERATION_LENGTH, LOAD + 2 * OPERATION_LENGTH)
COMPUTES = LOAD + 3 * OPERATION_LENGTH
NODES = COMPUTES + 2 * MAX_CHAIN * OPERATION_LENGTH

# A node.
(
    N_HEIGHT, N_WIDTH, N_CHANNELS, N_DEPTH, N_ROWS, N_COLUMNS, N_GROUP, N_PASS, N_CHANNELS_OUTER,
    N_TALL, N_WIDE, N_STRIDE, N_SIDE_STRIDE, N_PAD, N_SIDE_PAD, N_REACH, N_SIDE_REACH,
    N_IS_DENSE, N_MULTIPLIER, N_ONE_BY_ONE, N_INPUTS, N_SECOND_TALL, N_SECOND_WIDE,
    N_HAS_TABLE, N_HAS_WEIGHTS, N_RECORD_BYTES, N_UNIT_WEIGHTS, N_READS_CHANNELS, N_READS_SIZE,
    N_UNIT, N_WORD, N_FIRST_WORD, N_MIDDLE_WORD, N_LAST_WORD, N_LAYER, N_TENSOR, N_OFFSETS, N_FIXED,
) = range(38)  # fmt: skip
MOST_FIXED = 16
N_PAIRS = N_FIXED + 1
N_HOMES = N_PAIRS + 2 * MOST_FIXED
H_SPACE, H_OFFSET, H_WIDTH, H_CHANNELS, H_BYTES = range(5)
HOME_LENGTH = 5
OUTPUT_HOME = 2  # after two inputs
N_BUFFERS = N_HOMES + 3 * HOME_LENGTH
B_COPIES, B_ADDRESSES, B_TURN, B_IS_HELD, B_HELD = 0, 1, 3, 4, 5
BUFFER_LENGTH = B_HELD + BOX_LENGTH
CONSTANTS, ACCUMULATOR, OUTPUT = 2, 3, 4  # buffers after those of two inputs
NODE_LENGTH = N_BUFFERS + 5 * BUFFER_LENGTH

# The stripes of a chain follow its nodes: the address of the buffer behind each; then, for each stripe and
# node, the rows to compute, first and end, the row with which its buffer begins, before and from now on, and
# how many rows are moved to its start.
INNER = NODES + MAX_CHAIN * NODE_LENGTH
SCHEDULE = INNER + MAX_CHAIN
STRIPE_LENGTH = 5

# An operation in flight: the next older one, its number on its unit, its touches.
F_OLDER, F_NUMBER, F_TOUCHES, F_TOUCH = range(4)
FLYING_LENGTH = F_TOUCH + MOST_TOUCHES * TOUCH_LENGTH

SPAN_LENGTH, SLICE_LENGTH = 3, 8
assert (SPAN.dtype.itemsize, SLICE.dtype.itemsize) == (4 * SPAN_LENGTH, 4 * SLICE_LENGTH)

_CFG, _WAIT = BY_MNEMONIC["CFG"], BY_MNEMONIC["WAIT"]
CFG_WORD = codec.encode_cfg(registers.OPERANDS[0].name, 0)
CFG_REGISTER = codec.encode_cfg(registers.OPERANDS[1].name, 0) - CFG_WORD
CFG_VALUE = _CFG.field("value").low
WAIT_WORD = codec.encode("WAIT", unit=0, max_outstanding=0)
WAIT_UNIT, WAIT_OUTSTANDING = _WAIT.field("unit").low, _WAIT.field("max_outstanding").low
MOST_OUTSTANDING = _WAIT.field("max_outstanding").highest
HALT_WORD = codec.encode("HALT")
READ_WORD, WRITE_WORD, COPY_WORD = (
    codec.encode(mnemonic) for mnemonic in ("OP_DMA_READ", "OP_DMA_WRITE", "OP_C_MAX")
)
UNSET = -(1 << 62)  # what no register holds


def register(name: str) -> int:
    """The number of an operand register."""
    return registers.BY_NAME[name].index - registers.OPERANDS[0].index


REQUIRE_CONFIG = register("REQUIRE_CONFIG")
