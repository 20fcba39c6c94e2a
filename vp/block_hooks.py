"""What the emulator calls at the start of every basic block, and before every instruction when debugging: the
hooks count, and find out when to stop. `native_hooks` compiles these routines.

They run tens of millions of times a second, so all that is rare is a function of its own (`must_stop`).
"""

from __future__ import annotations

from dlasim.native.routine import foreign, routine
from dlasim.vp.block_records import NO_SLOT, RING_BLOCKS, STOP_DEADLINE, STOP_DEBUG, Counts

MSTATUS_MIE = 8
_ONLY_COMPILED = "a function of Unicorn, which only the compiled hooks call"


@foreign("uc_emu_stop")
def stop_emulator(engine: int) -> int:
    """Make the emulator stop before the next instruction."""
    raise AssertionError(_ONLY_COMPILED)


@foreign("uc_reg_read")
def read_register(engine: int, register: int, address: int) -> int:
    """Write a register's value to an address."""
    raise AssertionError(_ONLY_COMPILED)


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
    if logs_functions and counts.slots[counts.open_first].function != counts.function:
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
    counts.function = counts.slots[counts.open_first].function
    if counts.changes < counts.most_changes:
        change = counts.log[counts.changes]
        change.cycle, change.function = counts.cycles, counts.function
        counts.changes += 1
    else:
        counts.lost_changes += 1


@routine
def must_stop(engine: int, counts: Counts) -> int:
    """Stop if a deadline has really come, or an interrupt is pending that the CPU accepts."""
    counts.open_first = NO_SLOT
    if counts.resume_first != NO_SLOT:
        return 0  # the CPU goes on inside a block: events wait for the next start of one
    is_due = counts.cycles >= counts.event_cycles or counts.instructions >= counts.deadline_instructions
    if is_due or _accepts_interrupt(engine, counts):
        counts.stopped = STOP_DEADLINE
        stop_emulator(engine)
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
    read_register(engine, register, counts.register_address)
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
    if counts.is_stepping or (is_known and counts.slots[offset >> 1].is_breakpoint):
        counts.stopped = STOP_DEBUG
        stop_emulator(engine)
