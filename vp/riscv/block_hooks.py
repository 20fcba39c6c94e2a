"""What the emulator calls: at the start of every basic block, before every instruction when debugging, and
where it looks up a page. The hooks count, and find out when to stop. `native_hooks` finds their machine code.

They run tens of millions of times a second, so all that is rare is a function of its own (`must_stop`).
"""

from __future__ import annotations

import ctypes

from dlasim.native.routine import foreign, rare, routine
from dlasim.vp.riscv import interceptions
from dlasim.vp.riscv.block_records import (
    MEMORIES,
    NO_SLOT,
    PAGE_BITS,
    RING_BLOCKS,
    STOP_DEADLINE,
    STOP_DEBUG,
    BlockWatch,
    Counts,
    PageMap,
    TlbEntry,
    TranslatedBlock,
)

MSTATUS_MIE = 8
_WORD = 0xFFFF_FFFF  # sizes and kinds of access come in 32 bits, with anything above
_PAGE = -1 << PAGE_BITS

# Of the emulator's interface.
_FETCH = 18  # UC_MEM_FETCH
_READ, _WRITE, _EXECUTE = 1, 2, 4
_SIZE_LOW, _SIZE_MASK = 16, 0xFFFF  # of a block, behind the number of its instructions


@foreign
def stop_emulator(function: int, engine: int) -> int:
    """Make the emulator stop before the next instruction, by its function at an address."""
    return int(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(function)(engine))


@foreign
def read_register(function: int, engine: int, register: int, address: int) -> int:
    """Write a register's value to an address, by the emulator's function."""
    kinds = [ctypes.c_int64] * 4
    return int(ctypes.CFUNCTYPE(*kinds)(function)(engine, register, address))


@foreign
def tell(function: int, address: int, size_bytes: int) -> int:
    """Tell Python of a block, by the address of its function."""
    return int(ctypes.CFUNCTYPE(*[ctypes.c_int64] * 3)(function)(address, size_bytes))


@routine
def block_hook(engine: int, pc: int, size_bytes: int, counts: Counts) -> None:
    """At the start of a basic block."""
    begin_block(engine, pc, size_bytes & _WORD, counts, 0, 0)


@routine
def costly_block_hook(engine: int, pc: int, size_bytes: int, counts: Counts) -> None:
    """Where taken branches cost something."""
    begin_block(engine, pc, size_bytes & _WORD, counts, 1, 0)


@routine
def logged_block_hook(engine: int, pc: int, size_bytes: int, counts: Counts) -> None:
    """Where changes of the function are noted."""
    begin_block(engine, pc, size_bytes & _WORD, counts, 0, 1)


@routine
def costly_logged_block_hook(engine: int, pc: int, size_bytes: int, counts: Counts) -> None:
    """Both."""
    begin_block(engine, pc, size_bytes & _WORD, counts, 1, 1)


@routine
def fill_tlb(engine: int, address: int, access: int, entry: TlbEntry, pages: PageMap) -> int:
    """Addresses are physical; who may do what. Returns 1, for a page that is there.

    Pages of RAM are executable only once something was fetched from them: stores to executable pages take
    Unicorn's slow path, which looks for code to forget and is ten times slower.
    """
    is_fetch = access & _WORD == _FETCH
    entry.page = address & _PAGE
    entry.rights = _READ | _EXECUTE if is_fetch else _READ | _WRITE | _EXECUTE
    offset = address - pages.base
    if 0 <= offset < pages.size_bytes:
        if is_fetch:
            pages.fetched[offset >> PAGE_BITS] = 1
        is_code = pages.fetched[offset >> PAGE_BITS]
        entry.rights = _READ | _WRITE | _EXECUTE if is_code else _READ | _WRITE
    return 1


@routine
def look_through(engine: int, block: TranslatedBlock, before: int, watch: BlockWatch) -> None:
    """Before a new block runs: tell Python of one that holds an instruction which needs a hook."""
    size_bytes = block.sizes >> _SIZE_LOW & _SIZE_MASK
    at, end = block.address, block.address + size_bytes
    while at < end:
        word = _half_word(watch, at)
        is_wide = word & 3 == 3
        if is_wide:
            word |= _half_word(watch, at + 2) << 16
        if interceptions.needs_hook(watch.decoder, word):
            tell(watch.told, block.address, size_bytes)
            return
        at += 4 if is_wide else 2


@routine
def _half_word(watch: BlockWatch, address: int) -> int:
    """Two bytes of memory; 0 where there is none."""
    for number in range(MEMORIES):
        memory = watch.memories[number]
        offset = address - memory.base
        if 0 <= offset < memory.size_bytes:
            return memory.data[offset >> 3] >> 8 * (offset & 6) & 0xFFFF
    return 0


@routine
def begin_block(
    engine: int, pc: int, size_bytes: int, counts: Counts, taken_branches_cost: int, logs_functions: int
) -> None:
    """Charge the block before, stop where a deadline has come, and open the block at `pc`."""
    if counts.open_first != NO_SLOT:
        _charge(counts)
        if taken_branches_cost and pc != counts.open_end:
            _charge_taken_branch(counts)
    if (
        counts.cycles >= counts.deadline_cycles or counts.instructions >= counts.deadline_instructions
    ) and must_stop(engine, counts):
        return
    counts.ring[counts.blocks & (RING_BLOCKS - 1)] = pc
    counts.blocks += 1
    offset = pc - counts.code_base
    if offset < 0 or offset >= counts.code_bytes:
        _count_unknown(counts, size_bytes)
        return
    counts.open_first = offset >> 1
    counts.open_last = (offset + size_bytes) >> 1
    counts.open_end = pc + size_bytes
    if logs_functions and counts.notes[counts.open_first].function != counts.function:
        _log_function(counts)


@routine
def _charge(counts: Counts) -> None:
    """Charge the running block as a whole."""
    first, last = counts.slots[counts.open_first], counts.slots[counts.open_last]
    counts.instructions += last.instruction_sum - first.instruction_sum
    counts.cycles += last.cycle_sum - first.cycle_sum
    counts.tallies[counts.open_first].edges += 1
    counts.tallies[counts.open_last].edges -= 1


@routine
def _charge_taken_branch(counts: Counts) -> None:
    """Charge the branch that ended the running block, which was taken: another block follows."""
    first, last = counts.slots[counts.open_first], counts.slots[counts.open_last]
    cycles = last.taken_sum - first.taken_sum
    counts.tallies[counts.open_last].taken_cycles += cycles
    counts.cycles += cycles


@routine
def _count_unknown(counts: Counts, size_bytes: int) -> None:
    """Count a block outside the known code: a guess, so that deadlines still come."""
    instructions = (size_bytes + 3) >> 2
    counts.outside_blocks += 1
    counts.instructions += instructions
    counts.cycles += instructions
    counts.open_first = NO_SLOT


@routine
def _log_function(counts: Counts) -> None:
    """Note that another function than before runs from this cycle on."""
    counts.function = counts.notes[counts.open_first].function
    if counts.changes < counts.most_changes:
        change = counts.log[counts.changes]
        change.cycle, change.function = counts.cycles, counts.function
        counts.changes += 1
    else:
        counts.lost_changes += 1


@rare
def must_stop(engine: int, counts: Counts) -> int:
    """Stop if a deadline has really come, or an interrupt is pending that the CPU accepts."""
    counts.open_first = NO_SLOT
    if counts.resume_first != NO_SLOT:
        return 0  # the CPU goes on inside a block: events wait for the next start of one
    is_due = counts.cycles >= counts.event_cycles or counts.instructions >= counts.deadline_instructions
    if is_due or _accepts_interrupt(engine, counts):
        counts.stopped = STOP_DEADLINE
        stop_emulator(counts.stop_function, engine)
        return 1
    return 0


@routine
def _accepts_interrupt(engine: int, counts: Counts) -> int:
    """Whether interrupts are enabled, and one of those that are pending is."""
    enabled = _register(engine, counts, counts.mie_id)
    return _register(engine, counts, counts.mstatus_id) & MSTATUS_MIE and enabled & counts.pending


@routine
def _register(engine: int, counts: Counts, register: int) -> int:
    counts.register = 0
    read_register(counts.read_function, engine, register, counts.register_address)
    return counts.register


@routine
def begin_instruction(engine: int, pc: int, size_bytes: int, counts: Counts) -> None:
    """When debugging, stop at a breakpoint, or at any instruction when stepping."""
    if counts.passes_one:
        counts.passes_one = 0
        if counts.resume_first != NO_SLOT:
            counts.open_first = counts.resume_first
            counts.resume_first = NO_SLOT
        return
    offset = pc - counts.code_base
    is_known = 0 <= offset < counts.code_bytes
    if counts.is_stepping or (is_known and counts.notes[offset >> 1].is_breakpoint):
        counts.stopped = STOP_DEBUG
        stop_emulator(counts.stop_function, engine)
