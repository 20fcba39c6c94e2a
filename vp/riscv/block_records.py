"""The memory that the native hooks and Python share: counts and deadlines, and what is known of the code."""

from __future__ import annotations

from dlasim.native.record import Numbers, Record, Records, array, member, pointer
from dlasim.vp.riscv.decode import CodeDecoder

RING_BLOCKS = 32  # that a debugger or a report of a fault can look back over; a power of two
NO_SLOT = -1
CODE_SLOT_BYTES = 2  # of code, the smallest instruction
PAGE_BITS = 12
MEMORIES = 2  # of the board: flash and RAM

STOP_NONE, STOP_DEADLINE, STOP_DEBUG = range(3)


class CodeSlot(Record):
    """Two bytes of code. The sums are over all code before them, so a block costs two subtractions."""

    instruction_sum: int = 0
    cycle_sum: int = 0
    taken_sum: int = 0  # of the extra cycles of branches, when they are taken: a block has one, at its end
    unused: int = 0  # no slot lies in two cache lines


class SlotNote(Record):
    """What debuggers and timelines ask of two bytes of code."""

    function: int = 0  # number of the function, 1 for the first; 0: none
    is_breakpoint: int = 0


class SlotTally(Record):
    """What was counted at two bytes of code."""

    edges: int = 0  # +1 where a block started, -1 where it ended: the running sum is how often it ran
    taken_cycles: int = 0  # what the branches that end here have cost in addition


class FunctionChange(Record):
    """The cycle in which another function began, and its number."""

    cycle: int = 0
    function: int = 0


class Counts(Record):
    """What the hooks count, and what makes them stop the CPU."""

    instructions: int = 0
    cycles: int = 0
    deadline_cycles: int = 0  # stop at the first block that starts at or after this
    deadline_instructions: int = 0
    open_first: int = 0  # slot where the running block starts; NO_SLOT: nothing is left to charge
    open_last: int = 0  # slot where it ends
    open_end: int = 0  # its end as an address
    code_base: int = 0
    code_bytes: int = 0
    blocks: int = 0  # blocks started; also the position in the ring of recent blocks
    pending: int = 0  # mip bits that devices raise; while any is set, the cycle deadline is 0 to check this
    event_cycles: int = 0  # the deadline proper
    stopped: int = 0  # why a hook ended the run: one of STOP_NONE, STOP_DEADLINE and STOP_DEBUG
    mstatus_id: int = 0  # the emulator's names of the registers
    mie_id: int = 0
    register: int = 0  # where the emulator writes a register's value
    register_address: int = 0
    stop_function: int = 0  # addresses of the emulator's functions that stop it and read a register
    read_function: int = 0
    passes_one: int = 0  # debugging: let the first instruction pass without looking at breakpoints
    is_stepping: int = 0  # debugging: stop at every instruction
    resume_first: int = 0  # debugging: slot where the block starts inside which the CPU goes on, or NO_SLOT
    outside_blocks: int = 0  # blocks outside the known code: cannot be charged
    function: int = 0  # number of the function that the last known block belongs to
    changes: int = 0  # entries in the log of function changes
    most_changes: int = 0
    lost_changes: int = 0  # changes that found the log full
    slots: Records[CodeSlot] = pointer(CodeSlot)
    tallies: Records[SlotTally] = pointer(SlotTally)
    notes: Records[SlotNote] = pointer(SlotNote)
    log: Records[FunctionChange] = pointer(FunctionChange)
    ring: list[int] = array(int, RING_BLOCKS)  # addresses of the last blocks


class TlbEntry(Record):
    """What the emulator takes for a page: where it is, and who may do what."""

    page: int = 0
    rights: int = 0


class PageMap(Record):
    """The pages of RAM: for each whether something was fetched from it."""

    base: int = 0
    size_bytes: int = 0
    fetched: Numbers = pointer(int)


class TranslatedBlock(Record):
    """Unicorn's uc_tb: where a block begins; its instructions and its bytes, in 16 bits each."""

    address: int = 0
    sizes: int = 0


class MemoryView(Record):
    """A memory that holds code."""

    base: int = 0
    size_bytes: int = 0
    data: Numbers = pointer(int)


class BlockWatch(Record):
    """What looking through a new block takes, and the address of Python's function for the few that need
    it."""

    told: int = 0
    decoder: CodeDecoder = member(CodeDecoder)
    memories: list[MemoryView] = array(MemoryView, MEMORIES)
