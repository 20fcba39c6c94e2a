"""The ledger: one int64 array through which the native block hook and Python share counts and deadlines.

First a head of counters and controls, then one record per two bytes of code. A record holds, at index i,
how many instructions and cycles the code before i takes (prefix sums), so a block costs two
subtractions; and how often a block began (+1) or ended (-1) at i, whose running sum is how often each
instruction ran.

A block is charged when the next one starts. So counters read inside a block, by a device or a counter
register, are those of its start, and a block left early is charged for just the part that ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlasim.vp.decode import CodeTable
from dlasim.vp.elf import Function

# The head.
INSTRUCTIONS = 0
CYCLES = 1
DEADLINE_CYCLES = 2  # stop at the first block that starts at or after this
DEADLINE_INSTRUCTIONS = 3
OPEN_FIRST = 4  # address of the record where the running block starts; 0: nothing is left to charge
OPEN_LAST = 5  # address of the record where it ends
OPEN_END = 6  # its end as an address
CODE_BASE = 7
CODE_BYTES = 8
BLOCKS = 9  # blocks started; also the position in the ring of recent blocks
PENDING = 10  # mip bits raised by devices; while any is, the cycle deadline is 0 to have this looked at
EVENT_CYCLES = 11  # the deadline proper
STOPPED = 12  # why the hook ended the run: one of the STOP_ values
STOP_FUNCTION = 13  # uc_emu_stop
READ_FUNCTION = 14  # uc_reg_read
MSTATUS_ID = 15  # the emulator's names of the registers
MIE_ID = 16
OWN_ADDRESS = 17
SCRATCH = 18
PASS_ONE = 19  # debugging: let the first instruction pass without looking at breakpoints
STEP = 20  # debugging: stop at every instruction
OUTSIDE_BLOCKS = 21  # blocks outside the known code: cannot be charged
FUNCTION_NOW = 22  # number of the function that the last known block belongs to
LOG_AT = 23  # address of the next entry of the log of function changes: (cycle, number)
LOG_END = 24
LOG_LOST = 25  # changes that found the log full
RESUME_FIRST = 58  # debugging: where the block starts inside which the CPU goes on; 0: at a start
RING = 26
RING_BLOCKS = 32
HEAD_WORDS = 64

# A record: one cache line.
RECORD_WORDS = 8
RECORD_BYTES_PER_CODE_BYTE = 32
INSTRUCTION_SUM = 0
CYCLE_SUM = 1
EDGES = 2  # +1 where a block started, -1 where it ended
TAKEN = 3  # how often the branch that ends here was taken
TAKEN_CYCLES = 4  # extra cycles when it is
BREAKPOINT = 5
FUNCTION = 6  # number of the function, 1 for the first; 0: none

STOP_NONE = 0
STOP_DEADLINE = 1
STOP_DEBUG = 2

NEVER = 1 << 62

# A block can run on behind the end of the code, but not over more than a page and an instruction.
_SLOTS_BEYOND = 4100 // 2
_LOG_ENTRIES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Left:
    """A block that the CPU left inside: where, its first record's address, and the counts at its start."""

    pc: int
    first: int
    instructions: int
    cycles: int


class Ledger:
    """Owns the array; the emulator must be stopped, or inside a callback, when it is used."""

    def __init__(self, code: CodeTable) -> None:
        slots = len(code.costs) + 1 + _SLOTS_BEYOND
        self.words: npt.NDArray[np.int64] = np.zeros(HEAD_WORDS + slots * RECORD_WORDS, np.int64)
        self._records = self.words[HEAD_WORDS:].reshape(slots, RECORD_WORDS)
        self._slots = len(code.costs)
        self._left: _Left | None = None
        self._log: npt.NDArray[np.int64] | None = None
        for word, values in ((INSTRUCTION_SUM, code.starts), (CYCLE_SUM, code.costs)):
            self._records[1:, word] = np.cumsum(np.append(values, np.zeros(_SLOTS_BEYOND, np.int64)))
        self._records[1 : self._slots + 1, TAKEN_CYCLES] = code.taken_costs
        self.taken_branches_cost = bool(code.taken_costs.any())
        self._base = code.base
        self.words[CODE_BASE] = code.base
        self.words[CODE_BYTES] = 2 * len(code.costs)
        self.words[OWN_ADDRESS] = self.words.ctypes.data
        self.plan(0, None, None)

    def plan(self, pending: int, event_cycles: int | None, last_instruction: int | None) -> None:
        """Sets what will stop the CPU: a pending interrupt it accepts, a cycle, an instruction count."""
        event = NEVER if event_cycles is None else min(event_cycles, NEVER)
        words = self.words
        words[PENDING] = pending
        words[EVENT_CYCLES] = event
        words[DEADLINE_CYCLES] = 0 if pending else event
        words[DEADLINE_INSTRUCTIONS] = NEVER if last_instruction is None else last_instruction

    def stop_soon(self) -> None:
        """Makes the CPU stop at the next block; from any thread."""
        self.words[EVENT_CYCLES] = 0
        self.words[DEADLINE_CYCLES] = 0

    @property
    def cycles(self) -> int:
        """Cycles up to the start of the running block; when stopped, all of them."""
        return int(self.words[CYCLES])

    @property
    def instructions(self) -> int:
        """Instructions up to the start of the running block; when stopped, all of them."""
        return int(self.words[INSTRUCTIONS])

    def counts_at(self, pc: int) -> tuple[int, int]:
        """(instructions, cycles) before the instruction at `pc` in the running block."""
        first = int(self.words[OPEN_FIRST])
        if not first:
            return self.instructions, self.cycles
        record, start = self._records[self._slot(pc)], self._record_at(first)
        instructions = record[INSTRUCTION_SUM] - start[INSTRUCTION_SUM]
        cycles = record[CYCLE_SUM] - start[CYCLE_SUM]
        return self.instructions + int(instructions), self.cycles + int(cycles)

    def close(self, pc: int, *, may_reopen: bool = False) -> None:
        """Charges the running block up to `pc`, where it was left; all of it if it jumped away to there."""
        self._left = None
        first = int(self.words[RESUME_FIRST] or self.words[OPEN_FIRST])
        self.words[RESUME_FIRST] = 0
        if not first:
            return
        self.words[OPEN_FIRST] = first
        start_record = self._record_at(first)
        start = self._base + (first - int(self._records.ctypes.data)) // RECORD_BYTES_PER_CODE_BYTE
        end = int(self.words[OPEN_END])
        left_at = pc if start <= pc <= end else end
        last = self._records[self._slot(left_at)]
        if may_reopen and start < pc < end:
            self._left = _Left(pc, first, self.instructions, self.cycles)
        self.words[INSTRUCTIONS], self.words[CYCLES] = self.counts_at(left_at)
        if left_at != pc:
            self.words[CYCLES] += last[TAKEN_CYCLES]
            last[TAKEN] += 1
        start_record[EDGES] += 1
        last[EDGES] -= 1
        self.words[OPEN_FIRST] = 0

    def was_left_inside(self, pc: int) -> bool:
        """Whether the CPU stopped at `pc` in the middle of a block, and could go on there."""
        return self._left is not None and self._left.pc == pc

    @property
    def device_cycles(self) -> int:
        """What devices take for now: the start of the running block, also if it was left inside."""
        return self.cycles if self._left is None else self._left.cycles

    def reopen(self) -> None:
        """Takes back the charge of the block that was left, so that going on inside it changes nothing."""
        left = self._left
        assert left is not None
        self._record_at(left.first)[EDGES] -= 1
        self._records[self._slot(left.pc)][EDGES] += 1
        self.words[INSTRUCTIONS], self.words[CYCLES] = left.instructions, left.cycles
        self.words[RESUME_FIRST] = left.first
        self._left = None

    def charge_instruction(self, pc: int, size_bytes: int) -> None:
        """Charges one instruction by itself: one that trapped."""
        first, last = self._slot(pc), self._slot(pc + size_bytes)
        if not 0 <= first < last <= self._slots:
            return
        self.words[INSTRUCTIONS] += 1
        self.words[CYCLES] += self._records[last, CYCLE_SUM] - self._records[first, CYCLE_SUM]
        self._records[first, EDGES] += 1
        self._records[last, EDGES] -= 1

    def charge(self, cycles: int) -> None:
        """Adds time in which no instruction ran: a trap's entry, sleep."""
        self.words[CYCLES] += cycles

    def executed(self) -> npt.NDArray[np.int64]:
        """How often each two-byte slot of the code was run through."""
        return np.cumsum(self._records[: self._slots, EDGES])

    def addresses(self, slots: npt.NDArray[np.bool_]) -> list[int]:
        """Addresses of the instructions that start at the slots marked."""
        starts = np.diff(self._records[: self._slots + 1, INSTRUCTION_SUM]) > 0
        return [self._base + 2 * int(slot) for slot in np.flatnonzero(slots & starts)]

    def taken(self) -> npt.NDArray[np.int64]:
        """How often the branch ending just before each slot's end was taken."""
        return self._records[1 : self._slots + 1, TAKEN].copy()

    def recent_blocks(self) -> list[int]:
        """Addresses of the last blocks that started, oldest first."""
        started = int(self.words[BLOCKS])
        first = max(0, started - RING_BLOCKS)
        return [int(self.words[RING + index % RING_BLOCKS]) for index in range(first, started)]

    def log_functions(self, functions: Sequence[Function]) -> None:
        """From now on notes every change from one function to another."""
        self._log = np.zeros((_LOG_ENTRIES, 2), np.int64)
        self.words[LOG_AT] = self._log.ctypes.data
        self.words[LOG_END] = self._log.ctypes.data + self._log.nbytes
        for number, function in enumerate(functions, 1):
            first = max(0, self._slot(function.address))
            last = min(self._slots, self._slot(function.address + function.size_bytes + 1))
            self._records[first:last, FUNCTION] = number

    @property
    def logs_functions(self) -> bool:
        """Whether `log_functions` was asked for."""
        return self._log is not None

    def function_changes(self) -> tuple[npt.NDArray[np.int64], int]:
        """Rows of (cycle, number of the function that began), and how many were lost."""
        if self._log is None:
            return np.zeros((0, 2), np.int64), 0
        entries = (int(self.words[LOG_AT]) - self._log.ctypes.data) // self._log.strides[0]
        return self._log[:entries], int(self.words[LOG_LOST])

    def set_breakpoint(self, pc: int, enabled: bool) -> bool:
        """Marks an address for the debug hook; False if it is not code."""
        slot = self._slot(pc)
        if not 0 <= slot < self._slots:
            return False
        self._records[slot, BREAKPOINT] = enabled
        return True

    def clear_breakpoints(self) -> None:
        """Takes all marks away."""
        self._records[:, BREAKPOINT] = 0

    def _record_at(self, address: int) -> npt.NDArray[np.int64]:
        index = (address - int(self._records.ctypes.data)) // (8 * RECORD_WORDS)
        record: npt.NDArray[np.int64] = self._records[index]
        return record

    def _slot(self, pc: int) -> int:
        return (pc - self._base) >> 1
