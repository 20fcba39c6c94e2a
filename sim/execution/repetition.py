"""An inference that is done again: what its first run found out is kept, and its kernels are called at once.

An inference depends on the operand registers, on what the host writes to registers, on the words of its
streams, and on nothing else but data. One that has left the operand registers as it found them has the same
plans, runs, host calls and cycles again, as long as the others stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dlasim.dataclass import dataclass
from dlasim.sim.execution.machine import Dla

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dlasim.sim.execution.runner import Inference


@dataclass(frozen=True, slots=True)
class Repetition:
    """An inference that has run: how often the host had written registers, the words in system memory, and a
    copy of them; what came of it, what computes it again, and what it adds to the performance counters."""

    writes: int
    words: NDArray[np.uint8]
    commands: bytes
    inference: Inference
    work: Sequence[Callable[[], None]]
    counters: Sequence[int]

    def applies(self, dla: Dla) -> bool:
        """Whether the machine would do the same again, with nobody watching."""
        return self.writes == dla.writes and dla.observer is None and self.words.tobytes() == self.commands
