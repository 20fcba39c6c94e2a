"""A stream made ready: decoded, checked, timed. The same words in the same state give the same plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.checks import first_fault
from dlasim.sim.programs.stream import DecodedStream, FaultAt, decode_stream
from dlasim.sim.timing.accounting import Account, account
from dlasim.sim.timing.cost import Costs, check_cycles, stream_costs, word_cycles
from dlasim.sim.timing.counter_values import counter_values
from dlasim.sim.timing.timeline import Timeline, schedule


@dataclass(frozen=True, slots=True)
class Plan:
    """What a stream does and when; `operations` of it run before the fault, if there is one."""

    stream: DecodedStream
    costs: Costs
    timeline: Timeline
    account: Account
    fault: FaultAt | None
    operations: int
    counters: tuple[int, ...]
    final_file: tuple[int, ...]  # the operand registers' patterns after the stream, or where it stopped

    @property
    def macs(self) -> int:
        """Multiply-accumulates done."""
        return int(self.costs.macs[: self.operations].sum())

    def reached(self, config: DlaConfig, word: int) -> int:
        """The cycle in which the issue stage gets to a word."""
        operations = int(np.searchsorted(self.stream.positions, word))
        before = word * word_cycles(config) + operations * check_cycles(config)
        return self.timeline.reached(word, before)


def plan_stream(
    config: DlaConfig,
    words: NDArray[np.uint64],
    file: Sequence[int],
    region_bytes: Mapping[int, int] | None = None,
) -> Plan:
    """The plan of the stream that starts at the first of `words`, with these operand registers."""
    stream = decode_stream(words, file, config.fingerprint, absent=config.absent_opcodes)
    fault = first_fault(stream, config.sram_bytes, region_bytes, config.int16 == 1, config.mac_sums == 1)
    stop = fault.position if fault else len(stream.words)
    operations = int(np.searchsorted(stream.positions, stop))
    costs = stream_costs(config, stream, operations, stream.batches(operations))
    timeline = schedule(config, stream, costs, stop, fault is not stream.fault)
    accounted = account(timeline, costs)
    counters = counter_values(config, costs, accounted)
    final = stream.file_at(operations) if operations < len(stream) else stream.final_file
    final_file = tuple((final & 0xFFFF_FFFF).tolist())
    return Plan(stream, costs, timeline, accounted, fault, operations, counters, final_file)
