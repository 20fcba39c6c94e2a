"""The counters of basic blocks: what the native hooks count, as Python sets it up and reads it
(`block_records`).

A block is charged when the next one starts. So counters read inside a block, by a device or a counter
register, are those of its start, and a block left early is charged for just the part that ran.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dlasim.dataclass import dataclass
from dlasim.native.record import SLOT_BYTES, Numbers, Record, Records, layout, pointer
from dlasim.native.routine import Routine, routine
from dlasim.native.storage import pointer_to
from dlasim.vp.programs.elf import Function
from dlasim.vp.riscv.block_records import (
    CODE_SLOT_BYTES,
    NO_SLOT,
    RING_BLOCKS,
    CodeSlot,
    Counts,
    FunctionChange,
    SlotNote,
    SlotTally,
)
from dlasim.vp.riscv.decode import CodeTable

NEVER = 1 << 62

_COLUMNS = {
    name: field.slot
    for kind in (CodeSlot, SlotTally, SlotNote)
    for name, field in layout(kind).fields.items()
}
_INSTRUCTION_SUM, _CYCLE_SUM = _COLUMNS["instruction_sum"], _COLUMNS["cycle_sum"]
_EDGES, _TAKEN_SUM, _TAKEN_CYCLES = _COLUMNS["edges"], _COLUMNS["taken_sum"], _COLUMNS["taken_cycles"]
_BREAKPOINT, _FUNCTION = _COLUMNS["is_breakpoint"], _COLUMNS["function"]

# A block can run on behind the end of the code, but not over more than a page and an instruction.
_SLOTS_BEYOND = 4100 // 2
_LOG_ENTRIES = 1 << 20  # 16 MiB; what is beyond is counted as lost


class CodeCosts(Record):
    """What the instructions cost that start at the slots of some code, and the records of so many slots."""

    slots: int = 0
    records: int = 0
    is_wide: Numbers = pointer(int)
    costs: Numbers = pointer(int)
    taken_costs: Numbers = pointer(int)
    sums: Records[CodeSlot] = pointer(CodeSlot)


class Executions(Record):
    """The slots where instructions start that ran, and how often each did."""

    slots: int = 0
    is_wide: Numbers = pointer(int)
    tallies: Records[SlotTally] = pointer(SlotTally)
    places: Numbers = pointer(int)
    times: Numbers = pointer(int)


@routine
def sum_costs(code: CodeCosts) -> int:
    """Fill in sums whose differences are what is executed between two slots, wherever the CPU enters: of a
    wide instruction's two slots, the second has what an instruction there would have, and the first the
    rest."""
    for number in range(code.slots):
        slot = code.slots - number
        one, following = code.sums[slot], code.sums[slot + 1]
        one.instruction_sum, one.cycle_sum = 1, code.costs[slot - 1]
        one.taken_sum = code.taken_costs[slot - 1]
        if code.is_wide[slot - 1]:
            one.instruction_sum -= following.instruction_sum
            one.cycle_sum -= following.cycle_sum
            one.taken_sum -= following.taken_sum
    for slot in range(1, code.records):
        one, before = code.sums[slot], code.sums[slot - 1]
        one.instruction_sum += before.instruction_sum
        one.cycle_sum += before.cycle_sum
        one.taken_sum += before.taken_sum
    return code.records


@routine
def list_executed(code: Executions) -> int:
    """Fill in the slots, in order, and return how many there are. What runs through a slot starts there, or
    one slot before if that is a wide instruction."""
    found = through = before = 0
    for slot in range(code.slots):
        through += code.tallies[slot].edges
        times = through - before
        if times:
            code.places[found], code.times[found] = slot, times
            found += 1
        before = times if code.is_wide[slot] else 0
    return found


SUMS = Routine(sum_costs, "code-sums")
EXECUTIONS = Routine(list_executed, "executions")


@dataclass(frozen=True, slots=True)
class _InterruptedBlock:
    """A block that the CPU left inside: where, its first slot, and the counts at its start."""

    pc: int
    first: int
    instructions: int
    cycles: int


class BlockCounters:
    """Owns the counts; the emulator must be stopped, or inside a callback, when it is used."""

    def __init__(self, code: CodeTable) -> None:
        slots = len(code.costs) + 1 + _SLOTS_BEYOND
        self._records: npt.NDArray[np.int64] = np.zeros((slots, layout(CodeSlot).slots), np.int64)
        self._tallies: npt.NDArray[np.int64] = np.zeros((slots, layout(SlotTally).slots), np.int64)
        self._notes: npt.NDArray[np.int64] = np.zeros((slots, layout(SlotNote).slots), np.int64)
        self.counts = counts = Counts()
        counts.slots = pointer_to(self._records, CodeSlot)
        counts.tallies = pointer_to(self._tallies, SlotTally)
        counts.notes = pointer_to(self._notes, SlotNote)
        self._slots = len(code.costs)
        self._log: npt.NDArray[np.int64] | None = None
        self._is_wide = code.is_wide.astype(np.int64)
        SUMS(
            CodeCosts(
                self._slots, slots, pointer_to(self._is_wide), pointer_to(code.costs),
                pointer_to(code.taken_costs), counts.slots,
            )
        )  # fmt: skip
        self.taken_branches_cost = bool(code.taken_costs.any())
        self._base = code.base
        self._restart()

    def reset(self) -> None:
        """Begins to count anew; what is known of the code stays."""
        self._tallies[:] = 0
        self._restart()

    def _restart(self) -> None:
        self._interrupted: _InterruptedBlock | None = None
        counts = self.counts
        fresh = Counts()
        for name in layout(Counts).fields:
            value = getattr(fresh, name)
            if isinstance(value, int):
                setattr(counts, name, value)
        counts.code_base, counts.code_bytes = self._base, CODE_SLOT_BYTES * self._slots
        counts.open_first = counts.resume_first = NO_SLOT
        counts.register_address = self.record_address + SLOT_BYTES * layout(Counts).fields["register"].slot
        self.plan(0, None, None)

    @property
    def record_address(self) -> int:
        """Where the hooks find the counts."""
        return ctypes.addressof(self.counts)

    def plan(self, pending: int, event_cycles: int | None, last_instruction: int | None) -> None:
        """Sets what will stop the CPU: a pending interrupt it accepts, a cycle, an instruction count."""
        event = NEVER if event_cycles is None else min(event_cycles, NEVER)
        counts = self.counts
        counts.pending = pending
        counts.event_cycles = event
        counts.deadline_cycles = 0 if pending else event
        counts.deadline_instructions = NEVER if last_instruction is None else min(last_instruction, NEVER)

    def stop_soon(self) -> None:
        """Makes the CPU stop at the next block; from any thread."""
        self.counts.event_cycles = 0
        self.counts.deadline_cycles = 0

    @property
    def cycles(self) -> int:
        """Cycles up to the start of the running block; when stopped, all of them."""
        return self.counts.cycles

    @property
    def instructions(self) -> int:
        """Instructions up to the start of the running block; when stopped, all of them."""
        return self.counts.instructions

    def counts_at(self, pc: int) -> tuple[int, int]:
        """(instructions, cycles) before the instruction at `pc` in the running block."""
        first = self.counts.open_first
        if first == NO_SLOT:
            return self.instructions, self.cycles
        record, start = self._records[self._slot(pc)], self._records[first]
        instructions = record[_INSTRUCTION_SUM] - start[_INSTRUCTION_SUM]
        cycles = record[_CYCLE_SUM] - start[_CYCLE_SUM]
        return self.instructions + int(instructions), self.cycles + int(cycles)

    def close(self, pc: int, *, may_reopen: bool = False) -> None:
        """Charges the running block up to `pc`, where it was left; all of it if it jumped away to there."""
        self._interrupted = None
        counts = self.counts
        first = counts.open_first if counts.resume_first == NO_SLOT else counts.resume_first
        counts.resume_first = NO_SLOT
        if first == NO_SLOT:
            return
        self.counts.open_first = first
        start = self._base + CODE_SLOT_BYTES * first
        end = self.counts.open_end
        left_at = pc if start <= pc <= end else end
        last = self._records[self._slot(left_at)]
        if may_reopen and start < pc < end:
            self._interrupted = _InterruptedBlock(pc, first, self.instructions, self.cycles)
        self.counts.instructions, self.counts.cycles = self.counts_at(left_at)
        if left_at != pc:
            cycles = int(last[_TAKEN_SUM] - self._records[first, _TAKEN_SUM])
            self.counts.cycles += cycles
            self._tallies[self._slot(left_at), _TAKEN_CYCLES] += cycles
        self._tallies[first, _EDGES] += 1
        self._tallies[self._slot(left_at), _EDGES] -= 1
        self.counts.open_first = NO_SLOT

    def was_left_inside(self, pc: int) -> bool:
        """Whether the CPU stopped at `pc` in the middle of a block, and could go on there."""
        return self._interrupted is not None and self._interrupted.pc == pc

    @property
    def device_cycles(self) -> int:
        """What devices take for now: the start of the running block, also if it was left inside."""
        return self.cycles if self._interrupted is None else self._interrupted.cycles

    def reopen(self) -> None:
        """Takes back the charge of the block that was left, so that going on inside it changes nothing."""
        left = self._interrupted
        assert left is not None
        self._tallies[left.first, _EDGES] -= 1
        self._tallies[self._slot(left.pc), _EDGES] += 1
        self.counts.instructions, self.counts.cycles = left.instructions, left.cycles
        self.counts.resume_first = left.first
        self._interrupted = None

    def charge_instruction(self, pc: int, size_bytes: int) -> None:
        """Charges one instruction by itself: one that trapped."""
        first, last = self._slot(pc), self._slot(pc + size_bytes)
        if not 0 <= first < last <= self._slots:
            return
        self.counts.instructions += 1
        self.counts.cycles += int(self._records[last, _CYCLE_SUM] - self._records[first, _CYCLE_SUM])
        self._tallies[first, _EDGES] += 1
        self._tallies[last, _EDGES] -= 1

    def charge(self, cycles: int) -> None:
        """Adds time in which no instruction ran: a trap's entry, sleep."""
        self.counts.cycles += cycles

    def executed(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The slots where an instruction that ran starts, in order, and how often each ran."""
        places, times = np.empty(self._slots, np.int64), np.empty(self._slots, np.int64)
        found = EXECUTIONS(
            Executions(
                self._slots, pointer_to(self._is_wide), self.counts.tallies, pointer_to(places),
                pointer_to(times),
            )
        )  # fmt: skip
        return places[:found], times[:found]

    def address(self, slot: int) -> int:
        """Where a slot is."""
        return self._base + CODE_SLOT_BYTES * slot

    def taken_cycles(self) -> npt.NDArray[np.int64]:
        """What taken branches have cost in addition, by the last slot of each."""
        return self._tallies[1 : self._slots + 1, _TAKEN_CYCLES]

    def recent_blocks(self) -> list[int]:
        """Addresses of the last blocks that started, oldest first."""
        started = self.counts.blocks
        first = max(0, started - RING_BLOCKS)
        return [self.counts.ring[index % RING_BLOCKS] for index in range(first, started)]

    def log_functions(self, functions: Sequence[Function]) -> None:
        """From now on notes every change from one function to another."""
        self._log = np.zeros((_LOG_ENTRIES, 2), np.int64)
        self.counts.log = pointer_to(self._log, FunctionChange)
        self.counts.most_changes = _LOG_ENTRIES
        for number, function in enumerate(functions, 1):
            first = max(0, self._slot(function.address))
            last = min(self._slots, self._slot(function.address + function.size_bytes + 1))
            self._notes[first:last, _FUNCTION] = number

    @property
    def logs_functions(self) -> bool:
        """Whether `log_functions` was asked for."""
        return self._log is not None

    def function_changes(self) -> tuple[npt.NDArray[np.int64], int]:
        """Rows of (cycle, number of the function that began), and how many were lost."""
        if self._log is None:
            return np.zeros((0, 2), np.int64), 0
        return self._log[: self.counts.changes], self.counts.lost_changes

    def set_breakpoint(self, pc: int, enabled: bool) -> bool:
        """Marks an address for the debug hook; False if it is not code."""
        slot = self._slot(pc)
        if not 0 <= slot < self._slots:
            return False
        self._notes[slot, _BREAKPOINT] = enabled
        return True

    def clear_breakpoints(self) -> None:
        """Takes all marks away."""
        self._notes[:, _BREAKPOINT] = 0

    def _slot(self, pc: int) -> int:
        return (pc - self._base) >> 1
