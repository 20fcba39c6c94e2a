"""What the issue stage's walk reads of a stream: its events, and the operations of each unit in order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.stream import DecodedStream
from dlasim.sim.timing import issue
from dlasim.sim.timing.contention import DEMAND_STEPS, TRANSFERRING
from dlasim.sim.timing.cost import Costs, dma_shares_ports, port_rate

UNIT_FIELD = BY_MNEMONIC["WAIT"].field("unit")
OUTSTANDING_FIELD = BY_MNEMONIC["WAIT"].field("max_outstanding")
NO_EVENT = 255
KINDS = np.full(256, NO_EVENT, np.uint8)  # of events, by opcode
for _row in INSTRUCTIONS:
    if _row.is_operation:
        KINDS[_row.opcode] = _row.unit
for _name, _kind in (("WAIT", issue.WAIT), ("IRQ", issue.IRQ), ("HALT", issue.HALT)):
    KINDS[BY_MNEMONIC[_name].opcode] = _kind

EVENT_COLUMNS = ("reached", "kinds", "arguments")
OPERATION_COLUMNS = ("totals", "heads", "actives", "tails", "demands", "memories")


@dataclass(frozen=True, slots=True)
class WalkColumns:
    """The columns of a stream, by event and by operation.

    For each event: the words issued until then (`reached`), its kind and its argument; the last event is the
    end of the stream. For each operation: its cycles alone (`totals`); its cycles before (`heads`), while
    (`actives`) and after (`tails`) it is active; its demand on the ports meanwhile, and its memory.
    Operations are sorted by unit; those of a unit begin at its entry of `first`. `cycles`: the sum of all
    operations, one after the other. `most_demand`: the most that operations of different units demand of the
    ports together.
    """

    first: Sequence[int]
    cycles: float
    most_demand: int
    reached: NDArray[np.int64]
    kinds: NDArray[np.int64]
    arguments: NDArray[np.int64]
    totals: NDArray[np.int64]
    heads: NDArray[np.int64]
    actives: NDArray[np.int64]
    tails: NDArray[np.int64]
    demands: NDArray[np.int64]
    memories: NDArray[np.int64]


class UnitOrder:
    """The operations in the order of their units, each unit's behind each other."""

    def __init__(self, unit: NDArray[np.int64]) -> None:
        self.numbers = np.argsort(unit.astype(np.uint8), kind="stable")
        self.of = np.empty_like(self.numbers)
        self.of[self.numbers] = np.arange(len(unit))
        counts = np.bincount(unit, minlength=len(UNITS))
        self.first = np.cumsum(counts) - counts


def list_columns(
    config: DlaConfig, stream: DecodedStream, costs: Costs, order: UnitOrder, stop: int
) -> WalkColumns:
    """The columns of a stream up to the word `stop`."""
    kinds = KINDS[stream.opcodes[:stop]]
    at = np.flatnonzero(kinds != NO_EVENT)
    kinds, words = kinds[at].astype(np.int64), stream.words[at]
    arguments = codec.extract(words, OUTSTANDING_FIELD)
    arguments[kinds < issue.WAIT] = order.of
    kinds += np.where(kinds == issue.WAIT, codec.extract(words, UNIT_FIELD), 0)
    demands, active = _demands(config, costs), costs.active
    numbers = order.numbers
    totals = costs.total[numbers]
    return WalkColumns(
        order.first.tolist(),
        totals.sum(dtype=np.float64),
        sum([int(demands[costs.unit == unit].max(initial=0)) for unit in UNITS]),
        np.append(at + 1, stop),
        np.append(kinds, issue.HALT),
        np.append(arguments, 0),
        totals,
        (costs.latency + costs.fill)[numbers],
        active[numbers],
        costs.drain[numbers],
        demands[numbers],
        costs.memory[numbers],
    )


def _demands(config: DlaConfig, costs: Costs) -> NDArray[np.int64]:
    """The demand of each operation on the ports in a cycle, in DEMAND_STEPS."""
    active = costs.active
    wanted = np.ceil(costs.sram_bytes * float(DEMAND_STEPS) / np.maximum(active, 1))
    demands = np.where(active > 0, np.minimum(wanted, port_capacity(config)), 0).astype(np.int64)
    if not dma_shares_ports(config):
        demands[costs.unit < TRANSFERRING] = 0
    return demands


def port_capacity(config: DlaConfig) -> int:
    """The most that the ports move in a cycle, in DEMAND_STEPS; 0 for no limit."""
    return port_rate(config) * DEMAND_STEPS if config.timing == "full" else 0
