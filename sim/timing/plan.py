"""A stream made ready: decoded, checked, timed. The same words in the same state give the same plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import COUNTERS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.checks import first_fault
from dlasim.sim.programs.stream import DecodedStream, FaultAt, decode_stream
from dlasim.sim.timing.accounting import Account, account
from dlasim.sim.timing.cost import check_cycles, word_cycles
from dlasim.sim.timing.stream_columns import Costs
from dlasim.sim.timing.stream_timer import StreamTimer
from dlasim.sim.timing.timeline import Timeline

MAX_CACHED_PLANS = 1024  # then all are forgotten: bounds memory, not the result
MAX_CACHED_WORDS = 1 << 20  # of their streams, since a guest may submit any number of long ones


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a stream does and when; `operations` of it run before the fault, if there is one. A key of what is
    kept for it: no plan equals another."""

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
    timer = StreamTimer(config)
    walked = timer.walk(stream.words[:stop], stream.files.start, fault is not stream.fault)
    costs, timeline = walked.columns.costs(), walked.timeline()
    accounted = account(timeline, costs)
    counters = counter_values(config, costs, accounted)
    final = stream.file_at(operations) if operations < len(stream) else stream.final_file
    final_file = tuple((final & 0xFFFF_FFFF).tolist())
    return Plan(stream, costs, timeline, accounted, fault, operations, counters, final_file)


def counter_values(config: DlaConfig, costs: Costs, account: Account) -> tuple[int, ...]:
    """What a stream adds to each counter, in table order; `costs` are those of the operations that run."""
    dma_in, dma_out, mac, vector = account.units
    moved = costs.dma_bytes
    values = {
        "CYCLES": account.total,
        "MACS": int(costs.macs.sum()),
        "MACS_POSSIBLE": mac.busy * config.pes,
        "BYTES_READ": int(moved[costs.unit == Unit.DMA_IN].sum()),
        "BYTES_WRITTEN": int(moved[costs.unit == Unit.DMA_OUT].sum()),
        "DMA_IN_BUSY": dma_in.busy,
        "DMA_OUT_BUSY": dma_out.busy,
        "MAC_BUSY": mac.busy,
        "VECTOR_BUSY": vector.busy,
        "ISSUE_BUSY": account.issue_busy,
        "STALL_WAIT": account.stall_wait,
        "STALL_QUEUE": account.stall_queue,
        "STALL_CONTENTION": sum(unit.contention for unit in account.units),
        "STALL_SRAM": mac.sram + vector.sram,
        "ONLY_COMPUTE": account.only_compute,
        "ONLY_DMA": account.only_dma,
        "BOTH": account.both,
        "NEITHER": account.neither,
    }
    assert tuple(values) == tuple(name for name, _ in COUNTERS)
    return tuple(values.values())


@lru_cache(maxsize=1)
def plans_of(config: DlaConfig) -> PlanCache:
    """Those of all machines of a configuration, here and on boards; of the last one asked for."""
    return PlanCache(config)


class PlanCache:
    """Plans streams of machines of one configuration."""

    def __init__(self, config: DlaConfig) -> None:
        self._config = config
        self._plans: dict[tuple[object, ...], Plan] = {}
        self._planned_words = 0

    def plan(self, words: NDArray[np.uint64], file: Sequence[int], region_bytes: Mapping[int, int]) -> Plan:
        """The plan of the stream that starts at the first of `words`, with these operand registers."""
        halt = np.flatnonzero(words == np.uint64(codec.encode("HALT")))
        words = words[: halt[0] + 1] if len(halt) else words
        key = (words.tobytes(), tuple(file), tuple(region_bytes.values()))
        if key not in self._plans:
            if len(self._plans) >= MAX_CACHED_PLANS or self._planned_words >= MAX_CACHED_WORDS:
                self._plans.clear()
                self._planned_words = 0
            self._planned_words += len(words)
            self._plans[key] = plan_stream(self._config, words.copy(), file, region_bytes)
        return self._plans[key]
