"""What a board leaves to the next one: its memories, its CPU with what that has translated, its counters.

To make them takes most of the time of a short run. What the next run finds is as new: memories are zero,
registers as after power-on, and nothing is translated but the firmware's own code.
"""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.vp.devices.bus import Bus
from dlasim.vp.devices.memories import Memories
from dlasim.vp.devices.memory_map import MemoryMap
from dlasim.vp.programs.elf import Firmware
from dlasim.vp.riscv.block_counters import BlockCounters
from dlasim.vp.riscv.costs import CpuCosts
from dlasim.vp.riscv.cpu import Cpu
from dlasim.vp.riscv.decode import CodeTable


@dataclass(frozen=True, slots=True)
class PartsKind:
    """What boards must have in common."""

    memory_map: MemoryMap
    costs: CpuCosts
    fetch_wait_cycles: int


@dataclass(frozen=True, slots=True)
class BoardParts:
    """The parts, and the firmware that they are for."""

    kind: PartsKind
    memories: Memories
    firmware: Firmware
    code: CodeTable
    counts: BlockCounters
    cpu: Cpu

    def fit(self, firmware: Firmware, bus: Bus) -> bool:
        """Whether a board with this firmware and these devices can use CPU and counters."""
        return self.firmware == firmware and self.cpu.fits(bus)


_SPARE: list[BoardParts] = []  # at most one: it holds address space, and what Unicorn has translated


def take(kind: PartsKind) -> BoardParts | None:
    """The parts that a board of this kind left; nobody else gets them."""
    try:
        parts = _SPARE.pop()
    except IndexError:
        return None
    return parts if parts.kind == kind else None


def leave(parts: BoardParts) -> None:
    """Keeps parts for the next board, in place of those kept so far; nobody may use them any more."""
    parts.memories.clear()
    _SPARE[:] = [parts]


def kept() -> BoardParts | None:
    """The parts that the next board may get."""
    return _SPARE[0] if _SPARE else None


def clear() -> None:
    """Keeps nothing."""
    _SPARE.clear()
