"""A stream made ready: decoded and timed, and checked by `plan_stream`. The same words give the same plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.program import Program
from dlasim.isa.registers import COUNTERS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.checks import first_fault
from dlasim.sim.programs.stream import DecodedStream, FaultAt, decode_stream
from dlasim.sim.timing.accounting import Account, account_cycles
from dlasim.sim.timing.cost import check_cycles, word_cycles
from dlasim.sim.timing.issue import WAIT
from dlasim.sim.timing.read_columns import START
from dlasim.sim.timing.stream_columns import Costs
from dlasim.sim.timing.stream_timer import StreamTimer
from dlasim.sim.timing.timeline import Timeline

MAX_CACHED_PLANS = 1024  # then all are forgotten: bounds memory, not the result
MAX_CACHED_WORDS = 1 << 20  # of their streams, since a guest may submit any number of long ones


@dataclass(frozen=True, eq=False)
class Plan:
    """What a stream does and when, on a machine whose SRAM may have any size; `operations` of it run before
    the fault, if there is one. A key of what is kept for it: no plan equals another."""

    config: DlaConfig
    stream: DecodedStream
    costs: Costs
    timeline: Timeline
    operations: int
    fault: FaultAt | None = None

    @cached_property
    def account(self) -> Account:
        """Where its cycles went."""
        return account_cycles(self.timeline, self.costs).account

    @cached_property
    def counters(self) -> tuple[int, ...]:
        """What it adds to each counter, in table order."""
        account, moved, unit = self.account, self.costs.dma_bytes, self.costs.unit
        dma_in, dma_out, mac, vector = account.units
        values = {
            "CYCLES": account.total,
            "MACS": self.macs,
            "MACS_POSSIBLE": mac.busy * self.config.pes,
            "BYTES_READ": int(moved[unit == Unit.DMA_IN].sum()),
            "BYTES_WRITTEN": int(moved[unit == Unit.DMA_OUT].sum()),
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

    @cached_property
    def final_file(self) -> tuple[int, ...]:
        """The operand registers' patterns after the stream, or where it stopped."""
        stream, operations = self.stream, self.operations
        final = stream.file_at(operations) if operations < len(stream) else stream.final_file
        return tuple((final & 0xFFFF_FFFF).tolist())

    @cached_property
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
    walked = StreamTimer(config).walk(stream.words[:stop], stream.start, fault is not stream.fault)
    return Plan(config, stream, walked.columns.costs(), walked.timeline(), operations, fault)


def plan_program(program: Program, timer: StreamTimer) -> list[Plan]:
    """The plans of the streams of a program that the compiler has made, after a preload: they are legal, and
    write every register that they use."""
    plans = []
    for each in program.streams[program.preloads :]:
        words = program.commands[each.first_word : each.first_word + each.words]
        walked = timer.walk(words)
        columns = walked.columns
        stream = DecodedStream(words, columns.reached[columns.kinds < WAIT] - 1, START)
        plans.append(Plan(timer.config, stream, columns.costs(), walked.timeline(), len(stream)))
    return plans


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
