"""Where the instructions went: a flat profile per firmware function from the block counters, and the
stack's high-water mark."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dlasim.vp.programs.elf import Firmware
from dlasim.vp.riscv.block_counters import BlockCounters
from dlasim.vp.riscv.decode import CodeTable
from dlasim.vp.system.board_result import FunctionProfile, FunctionSpan

STACK_PAINT = 0xA5
_Integers = npt.NDArray[np.int64]


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
