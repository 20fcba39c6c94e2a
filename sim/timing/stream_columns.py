"""What a stream is for the timing model: its events, and its operations with all terms of their costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.sim.timing.issue import WAIT

EVENT_COLUMNS = ("reached", "kinds", "arguments")
WALK_COLUMNS = ("totals", "heads", "actives", "tails", "demands", "memories")
TERM_COLUMNS = ("work", "latencies", "output_stalls", "sram_stalls", "macs", "dma_bytes", "sram_bytes")


@dataclass(frozen=True, slots=True)
class Costs:
    """The terms of each operation of a stream, in cycles; `total` is how long it holds its unit alone.

    For a transfer `work` is its time on the bus. `latency` is what passes before its first byte. `sram_bytes`
    cross the SRAM's ports. `memory` is the number of the memory that a transfer reads or writes.
    """

    unit: NDArray[np.int64]
    work: NDArray[np.int64]
    latency: NDArray[np.int64]
    fill: NDArray[np.int64]
    drain: NDArray[np.int64]
    output_stall: NDArray[np.int64]
    sram_stall: NDArray[np.int64]
    macs: NDArray[np.int64]
    dma_bytes: NDArray[np.int64]
    sram_bytes: NDArray[np.int64]
    memory: NDArray[np.int64]

    @property
    def active(self) -> NDArray[np.int64]:
        """Cycles in which bytes cross the ports, when nothing contends."""
        return self.work + self.output_stall + self.sram_stall

    @property
    def total(self) -> NDArray[np.int64]:
        """Cycles from start to end when nothing contends."""
        return self.latency + self.fill + self.active + self.drain


@dataclass(frozen=True, slots=True)
class StreamColumns:
    """The columns of a stream, by event and by operation.

    For each event: the words issued until then (`reached`), its kind and its argument; the last event is the
    end of the stream. For each operation: its cycles alone (`totals`); its cycles before (`heads`), while
    (`actives`) and after (`tails`) it is active; its demand on the ports meanwhile, and its memory; and the
    terms of `Costs`. Operations are sorted by unit; those of a unit begin at its entry of `first`.
    """

    first: Sequence[int]
    reached: NDArray[np.int64]
    kinds: NDArray[np.int64]
    arguments: NDArray[np.int64]
    totals: NDArray[np.int64]
    heads: NDArray[np.int64]
    actives: NDArray[np.int64]
    tails: NDArray[np.int64]
    demands: NDArray[np.int64]
    memories: NDArray[np.int64]
    work: NDArray[np.int64]
    latencies: NDArray[np.int64]
    output_stalls: NDArray[np.int64]
    sram_stalls: NDArray[np.int64]
    macs: NDArray[np.int64]
    dma_bytes: NDArray[np.int64]
    sram_bytes: NDArray[np.int64]

    @property
    def places(self) -> NDArray[np.int64]:
        """Where the operations are in the columns, in program order."""
        return self.arguments[self.kinds < WAIT]

    def costs(self) -> Costs:
        """The terms of each operation, in program order."""
        columns = (
            self.work, self.latencies, self.heads - self.latencies, self.tails, self.output_stalls,
            self.sram_stalls, self.macs, self.dma_bytes, self.sram_bytes, self.memories,
        )  # fmt: skip
        places = self.places
        return Costs(self.kinds[self.kinds < WAIT], *[column[places] for column in columns])
