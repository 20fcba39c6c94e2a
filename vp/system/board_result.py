"""What a run of the board leaves behind: why it ended, what it took, where the time went, and, if the
guest got into trouble, a report of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

from dlasim.dataclass import dataclass
from dlasim.vp.devices.exit_device import RegionMark, RegionSpan, region_spans
from dlasim.vp.programs.elf import COMPILE, CPU, Firmware
from dlasim.vp.riscv.block_counters import BlockCounters
from dlasim.vp.riscv.decode import CodeTable, classify
from dlasim.vp.riscv.disassembly import REGISTER_NAMES
from dlasim.vp.riscv.instruction_table import InstructionClass
from dlasim.vp.riscv.traps import ILLEGAL_INSTRUCTION

_MAX_CYCLE_BLOCKS = 8  # blocks of a loop that a crash dump folds

_NO_INSTRUCTION = (0, 0xFFFF, 0xFFFF_FFFF)  # cleared and erased memory

_CAUSES = {
    0: "misaligned instruction address",
    1: "instruction access fault",
    2: "illegal instruction",
    3: "breakpoint",
    4: "misaligned load",
    5: "load access fault",
    6: "misaligned store",
    7: "store access fault",
    11: "environment call",
}
STACK_PAINT = 0xA5
_Integers = npt.NDArray[np.int64]


def fold(blocks: Sequence[int]) -> Iterator[tuple[Sequence[int], int]]:
    """Groups of blocks and how often in a row each group came: loops, the longest repetition first."""
    at = 0
    while at < len(blocks):
        lengths = range(1, _MAX_CYCLE_BLOCKS + 1)
        length = max(lengths, key=lambda length: (_repeats(blocks, at, length) - 1) * length)
        times = _repeats(blocks, at, length)
        length = length if times > 1 else 1
        yield blocks[at : at + length], times
        at += length * times


def _repeats(blocks: Sequence[int], at: int, length: int) -> int:
    """How often the `length` blocks from `at` stand there in a row."""
    times = 1
    while blocks[at + times * length : at + (times + 1) * length] == blocks[at : at + length]:
        times += 1
    return times


class Reason(Enum):
    """Why a run ended."""

    EXIT = "the program ended the run"
    MAX_INSTRUCTIONS = "the limit of instructions was reached"
    MAX_CYCLES = "the limit of cycles was reached"
    DEADLOCK = "the CPU sleeps and nothing will wake it"
    UNHANDLED_EXCEPTION = "an exception without a trap handler (mtvec is 0)"
    KILLED = "the debugger ended the run"
    LOCKUP = "the same exception repeats at one instruction"
    PAUSED = "it stands still between two inferences"
    STUCK = "the program waits for something that will not happen"


@dataclass(frozen=True, slots=True)
class Crash:
    """The state at an exception."""

    pc: int
    cause: int
    value: int
    registers: tuple[int, ...]
    recent_blocks: tuple[int, ...]

    def text(self, firmware: Firmware) -> str:
        """The report a person reads."""
        cause = _CAUSES.get(self.cause, "unknown cause")
        lines = [f"{cause} (mcause {self.cause}, mtval 0x{self.value:08x}) at {firmware.locate(self.pc)}"]
        if self._lacks_extension:
            lines[0] += f"; the CPU is {CPU}: {COMPILE}"
        values = [
            f"{name:>4} {value:08x}" for name, value in zip(REGISTER_NAMES, self.registers, strict=True)
        ]
        lines += ["  " + "  ".join(values[row : row + 4]) for row in range(0, len(values), 4)]
        lines.append("last basic blocks, oldest first:")
        for blocks, times in fold(self.recent_blocks):
            lines += [f"  {firmware.locate(address)}" for address in blocks]
            if times > 1:
                what = "this one" if len(blocks) == 1 else f"these {len(blocks)}"
                lines.append(f"    {what}, {times} times")
        return "\n".join(lines)

    @property
    def _lacks_extension(self) -> bool:
        """Whether it is an instruction that another CPU may have, rather than a word that stands for none."""
        is_unknown = self.cause == ILLEGAL_INSTRUCTION and classify(self.value) is InstructionClass.ILLEGAL
        return is_unknown and self.value not in _NO_INSTRUCTION


@dataclass(frozen=True, slots=True)
class FunctionProfile:
    """What one firmware function took, without the functions it called."""

    name: str
    address: int
    entries: int  # how often its first instruction ran
    instructions: int
    cycles: int


@dataclass(frozen=True, slots=True)
class FunctionSpan:
    """Consecutive cycles in one firmware function."""

    name: str
    start_cycles: int
    end_cycles: int


@dataclass(frozen=True, slots=True)
class BoardResult:
    """The outcome of `Board.run`; counts are since reset."""

    reason: Reason
    hint: str  # more on the reason; may be empty
    exit_code: int | None
    uart: bytes
    instructions: int
    cycles: int
    idle_cycles: int  # of them, asleep in wfi
    pc: int
    marks: tuple[RegionMark, ...]
    profile: tuple[FunctionProfile, ...]  # most cycles first
    stack_peak_bytes: int | None  # None where the ELF does not say where its stack lies
    last_exception: Crash | None
    uncounted_blocks: int  # blocks outside the ELF's code: their counts are a guess
    function_spans: tuple[FunctionSpan, ...] = ()  # in order; only if the config asks for them
    function_spans_lost: int = 0
    marks_lost: int = 0

    @property
    def regions(self) -> tuple[RegionSpan, ...]:
        """The passes through regions that the program marked."""
        return region_spans(self.marks)

    def summary(self, firmware: Firmware) -> str:
        """One line on how it ended; a crash's report below it."""
        ending = f"exit code {self.exit_code}" if self.reason is Reason.EXIT else self.reason.value
        text = f"{ending} after {self.instructions} instructions, {self.cycles} cycles"
        if self.reason is not Reason.EXIT:
            text += f", at {firmware.locate(self.pc)}"
        if self.hint:
            text += f": {self.hint}"
        if self.last_exception is not None and self.exit_code != 0:
            text += "\n" + self.last_exception.text(firmware)
        return text


def function_profiles(
    firmware: Firmware, code: CodeTable, counts: BlockCounters
) -> tuple[FunctionProfile, ...]:
    """All functions that ran, most cycles first."""
    functions = firmware.functions
    addresses = np.array([function.address for function in functions], np.int64) - code.base
    sizes = np.array([function.size_bytes for function in functions], np.int64)
    slots, times = counts.executed()
    of_slot = dict(zip(slots.tolist(), times.tolist(), strict=True))
    taken = counts.taken_cycles()
    (ends,) = taken.nonzero()
    first = addresses >> 1
    last = addresses + sizes + 1 >> 1
    instructions = _between(first, last, slots, times)
    cycles = _between(first, last, slots, times * code.costs[slots]) + _between(
        first, last, ends, taken[ends]
    )
    profiles = [
        FunctionProfile(
            functions[number].name,
            functions[number].address,
            of_slot.get(int(first[number]), 0),
            int(instructions[number]),
            int(cycles[number]),
        )
        for number in np.flatnonzero(instructions)
    ]
    return tuple(sorted(profiles, key=lambda profile: (-profile.cycles, profile.address)))


def _between(first: _Integers, last: _Integers, places: _Integers, values: _Integers) -> _Integers:
    """The sums of the values whose places are from a `first` up to its `last`."""
    sums = np.concatenate([[0], np.cumsum(values)])
    difference: _Integers = sums[np.searchsorted(places, last)] - sums[np.searchsorted(places, first)]
    return difference


def function_spans(firmware: Firmware, counts: BlockCounters) -> tuple[FunctionSpan, ...]:
    """Who ran when, from the log of function changes; what a function calls interrupts its span."""
    changes, _ = counts.function_changes()
    if not len(changes):
        return ()
    names = ["", *(function.name for function in firmware.functions)]
    ends = [*changes[:, 0].tolist(), counts.cycles][1:]
    return tuple(
        FunctionSpan(names[number], start, end)
        for (start, number), end in zip(changes.tolist(), ends, strict=True)
        if number and end > start
    )


def paint_stack(stack: npt.NDArray[np.uint8]) -> None:
    """Fills an unused stack, so that what was used shows."""
    stack[:] = STACK_PAINT


def stack_peak_bytes(stack: npt.NDArray[np.uint8]) -> int:
    """How much of a painted stack, which grows down, was ever written."""
    used = np.flatnonzero(stack != STACK_PAINT)
    return len(stack) - int(used[0]) if len(used) else 0
