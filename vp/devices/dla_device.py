"""The accelerator as a device of the board: the simulator's own, with the board's memories before it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.registers import REGISTER_BYTES
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.control import find
from dlasim.sim.execution.executor import Executor
from dlasim.sim.execution.machine import Dla, Run
from dlasim.vp.devices import memory_map
from dlasim.vp.devices.device import Device
from dlasim.vp.system.board import Board


class BoardMemory:
    """RAM and flash by the addresses that the CPU uses, without copies."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def window(self, address: int, size_bytes: int) -> NDArray[np.uint8] | None:
        """The bytes from `address`, or None where the board has no memory."""
        return self._board.memories.view(address, size_bytes)


@dataclass(slots=True)
class RtlFigures:
    """The figures of the RTL over all streams since reset."""

    streams: int = 0
    cycles: int = 0
    simulator_cycles: int = 0
    different_streams: int = 0  # that took other cycles than the simulator says
    seconds: float = 0.0  # of this computer, in the RTL


MAX_RUNS = 1 << 16  # further streams are only counted


class DlaDevice(Device):
    """A `Dla` behind the bus, in the CPU's clock; `runs` lists the streams that completed."""

    def __init__(self, config: DlaConfig, memory: BoardMemory, executor: Executor | None) -> None:
        self.dla = Dla(config, memory, executor, self._completed)
        self.runs: list[Run] = []
        self.runs_lost = 0
        self.most_runs = MAX_RUNS
        self.rtl: RtlFigures | None = None  # where the RTL is behind the bus

    def _completed(self, run: Run) -> None:
        if len(self.runs) < self.most_runs:
            self.runs.append(run)
        else:
            self.runs_lost += 1

    def describe(self, offset: int, value: int) -> tuple[str, str]:
        """The register of the table, and its fields."""
        register = find(offset)
        if register is None:
            return "", ""
        fields = (
            ""
            if register.is_plain
            else " ".join(f"{field.name}={field.extract(value)}" for field in register.fields)
        )
        return register.name, fields

    def load(self, offset: int, size: int) -> int:
        """A register."""
        return self.dla.load(offset, size)

    def peek(self, offset: int) -> int:
        """A byte of a register; reading one changes nothing."""
        word = self.load(offset & ~(REGISTER_BYTES - 1), REGISTER_BYTES)
        return word >> 8 * (offset % REGISTER_BYTES) & 0xFF

    def store(self, offset: int, size: int, value: int) -> None:
        """A register."""
        self.dla.store(offset, size, value)

    def tick(self, now: int) -> None:
        """Completes what is due."""
        self.dla.tick(now)

    def next_event(self) -> int | None:
        """When the running stream interrupts or completes."""
        return self.dla.next_event()

    def interrupt(self) -> bool:
        """The line."""
        return self.dla.interrupt()

    def reset(self) -> None:
        """As after power-on."""
        self.dla.reset()

    def close(self) -> None:
        """Called after the run."""


def attach_dla(board: Board, config: DlaConfig, executor: Executor | None) -> DlaDevice:
    """Puts an accelerator on the board; without an executor it keeps time but computes nothing."""
    device = DlaDevice(config, BoardMemory(board), executor)
    region = memory_map.DLA
    line = memory_map.MACHINE_EXTERNAL_INTERRUPT
    board.attach(device, region.base, region.size_bytes, irq=line, name=region.name)
    return device
