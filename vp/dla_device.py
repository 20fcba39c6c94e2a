"""The accelerator as a device of the board: the simulator's own, with the board's memories before it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.registers import REGISTER_BYTES
from dlasim.sim.config import DlaConfig
from dlasim.sim.executor import Executor
from dlasim.sim.machine import Dla, Run
from dlasim.vp import memory_map
from dlasim.vp.board import Board
from dlasim.vp.device import Device


class _BoardMemory:
    """RAM and flash by the addresses that the CPU uses, without copies."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def window(self, address: int, size_bytes: int) -> NDArray[np.uint8] | None:
        """The bytes from `address`, or None where the board has no memory."""
        return self._board.memories.view(address, size_bytes)


class DlaDevice(Device):
    """A `Dla` behind the bus, in the CPU's clock; `runs` lists the streams that completed."""

    def __init__(self, dla: Dla, runs: list[Run]) -> None:
        self.dla = dla
        self.runs = runs

    def load(self, offset: int, size: int) -> int:
        """A register."""
        return self.dla.load(offset, size)

    def peek(self, offset: int) -> int:
        """A byte of a register; reading one changes nothing."""
        word = self.dla.load(offset & ~(REGISTER_BYTES - 1), REGISTER_BYTES)
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


def attach_dla(board: Board, config: DlaConfig, executor: Executor | None) -> DlaDevice:
    """Puts an accelerator on the board; without an executor it keeps time but computes nothing."""
    runs: list[Run] = []
    device = DlaDevice(Dla(config, _BoardMemory(board), executor, runs.append), runs)
    region = memory_map.DLA
    board.attach(device, region.base, region.size_bytes, irq=memory_map.MACHINE_EXTERNAL_INTERRUPT)
    return device
