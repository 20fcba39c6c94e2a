"""An inference that is done again: what its first run found out is kept, and its kernels are called at once.

An inference depends on the registers, on the words of its streams and on nothing else but data. Where all of
these are as they were when it ran, it has the same plans, runs, host calls and cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlasim.dataclass import dataclass
from dlasim.isa.registers import Region
from dlasim.sim.execution.machine import Dla, Run

if TYPE_CHECKING:
    from dlasim.sim.execution.runner import Inference


@dataclass(frozen=True, slots=True)
class MachineState:
    """What an inference of streams depends on, apart from data and from what the host writes."""

    file: list[int]
    commands: bytes

    @classmethod
    def of(cls, dla: Dla) -> MachineState:
        """The state that a machine is in."""
        return cls(list(dla.file), dla.region(Region.COMMANDS).tobytes())

    def is_of(self, dla: Dla) -> bool:
        """Whether the machine is in it."""
        return dla.file == self.file and dla.region(Region.COMMANDS).tobytes() == self.commands


@dataclass(frozen=True, slots=True)
class Repetition:
    """An inference that has run: from which state, what came of it, its streams and the numbers of its host
    calls in order, and what it adds to the performance counters."""

    state: MachineState
    writes: int
    inference: Inference
    work: Sequence[Run | int]
    counters: Sequence[int]

    def applies(self, dla: Dla) -> bool:
        """Whether the machine would do the same again, with nobody watching."""
        return self.writes == dla.writes and dla.observer is None and self.state.is_of(dla)
