"""Where the instructions went: a flat profile per firmware function from the block counters, and the
stack's high-water mark."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dlasim.vp.block_counters import BlockCounters
from dlasim.vp.board_result import FunctionProfile, FunctionSpan
from dlasim.vp.decode import CodeTable
from dlasim.vp.elf import Firmware

STACK_PAINT = 0xA5


def function_profiles(
    firmware: Firmware, code: CodeTable, counts: BlockCounters
) -> tuple[FunctionProfile, ...]:
    """All functions that ran, most cycles first."""
    executed = counts.executed()
    instructions = _sums(executed)
    cycles = _sums(executed * code.costs + counts.taken_cycles())
    profiles = []
    for function in firmware.functions:
        first = (function.address - code.base) >> 1
        last = min((function.address + function.size_bytes - code.base + 1) >> 1, len(executed))
        if 0 <= first < last and instructions[last] > instructions[first]:
            profiles.append(
                FunctionProfile(
                    function.name,
                    function.address,
                    int(executed[first]),
                    int(instructions[last] - instructions[first]),
                    int(cycles[last] - cycles[first]),
                )
            )
    return tuple(sorted(profiles, key=lambda profile: (-profile.cycles, profile.address)))


def _sums(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of what lies before each slot."""
    return np.concatenate([[0], np.cumsum(values)])


def function_spans(firmware: Firmware, counts: BlockCounters) -> tuple[FunctionSpan, ...]:
    """Who ran when, from the log of function changes; what a function calls interrupts its span."""
    changes, _ = counts.function_changes()
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
