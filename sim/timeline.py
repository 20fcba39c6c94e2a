"""When everything happens: one pass over a stream's instructions in program order.

Issue is in order and units are in-order queues, so each start follows from what came before; only two
transfers that share the bus change each other's end, and `dma_bus` works those out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import codec
from dlasim.isa.instructions import BY_MNEMONIC, UNITS, Unit
from dlasim.sim.config import DlaConfig
from dlasim.sim.cost import Costs, bus_share, word_cycles
from dlasim.sim.dma_bus import DmaBus
from dlasim.sim.stream import DecodedStream

_WAIT, _IRQ, _HALT = (BY_MNEMONIC[name].opcode for name in ("WAIT", "IRQ", "HALT"))
_UNIT_FIELD = BY_MNEMONIC["WAIT"].field("unit")
_OUTSTANDING_FIELD = BY_MNEMONIC["WAIT"].field("max_outstanding")
LAST_CYCLE = 1 << 62  # time ends here; only a program written to get there does


@dataclass(frozen=True, slots=True)
class Timeline:
    """Cycles from the doorbell. A row of `blocked` says when issue stood still, and why: from, to, by a full
    queue rather than a wait, and the word that was held up (the end of the stream, where a fault drains it).
    """

    issued: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    markers: tuple[int, ...]
    blocked: NDArray[np.int64]
    issue_busy: int
    total: int

    def reached(self, word: int, word_cycles: int) -> int:
        """The cycle in which the issue stage gets to a word: all before it are issued."""
        before = self.blocked[self.blocked[:, 3] < word]
        return word * word_cycles + int((before[:, 1] - before[:, 0]).sum())


def schedule(config: DlaConfig, stream: DecodedStream, costs: Costs, stop: int | None = None) -> Timeline:
    """The timeline of a stream, up to the word `stop` where a fault ends it."""
    return _Scheduler(config, costs).run(stream, len(stream.words) if stop is None else stop)


class _Scheduler:
    """The issue stage as it walks the stream."""

    def __init__(self, config: DlaConfig, costs: Costs) -> None:
        self._word_cycles = word_cycles(config)
        self._depth = config.queue_depth
        self._units: list[int] = costs.unit.tolist()
        self._totals: list[int] = costs.total.tolist()
        self._ends: list[list[int]] = [[] for _ in UNITS]
        self._blocked: list[tuple[int, int, int, int]] = []
        self._word = 0
        self._markers: list[int] = []
        self._now = 0
        share = bus_share(config)
        self._bus = DmaBus(*share, costs) if share else None

    def run(self, stream: DecodedStream, stop: int) -> Timeline:
        """Issue every word before `stop`, then let the units finish."""
        opcodes = stream.opcodes[:stop]
        control = np.flatnonzero((opcodes == _WAIT) | (opcodes == _IRQ) | (opcodes == _HALT))
        operations = stream.positions[: np.searchsorted(stream.positions, stop)]
        where = np.concatenate((operations, control))
        number = np.concatenate((np.arange(len(operations)), -1 - np.arange(len(control))))
        order = np.argsort(where, kind="stable")
        controls = self._controls(stream.words[control], opcodes[control])
        issued: list[int] = []
        position = 0
        for at, what in zip(where[order].tolist(), number[order].tolist(), strict=True):
            self._now += (at + 1 - position) * self._word_cycles
            position = at + 1
            self._word = at
            if what >= 0:
                self._issue(what)
                issued.append(self._now)
            else:
                self._control(*controls[-1 - what])
        self._now += (stop - position) * self._word_cycles
        self._word = stop
        self._drain()
        return self._timeline(issued, stop)

    @staticmethod
    def _controls(words: NDArray[np.uint64], opcodes: NDArray[np.uint8]) -> list[tuple[int, int, int]]:
        units = codec.extract(words, _UNIT_FIELD).tolist()
        return list(
            zip(opcodes.tolist(), units, codec.extract(words, _OUTSTANDING_FIELD).tolist(), strict=True)
        )

    def _issue(self, number: int) -> None:
        unit = self._units[number]
        ends = self._ends[unit]
        over = len(ends) - self._depth
        if over >= 0:
            self._block_until(unit, over, 1)
        if unit <= Unit.DMA_OUT and self._bus is not None:
            self._bus.push(unit, number, self._now)
            ends.append(-1)
            return
        start = self._now if not ends or ends[-1] < self._now else ends[-1]
        ends.append(start + self._totals[number])

    def _block_until(self, unit: int, index: int, by_queue: int) -> None:
        end = self._ends[unit][index]
        if end < 0:
            assert self._bus is not None
            end = self._bus.end_of(unit, index)
        if end > self._now:
            self._blocked.append((self._now, end, by_queue, self._word))
            self._now = end

    def _control(self, opcode: int, unit: int, outstanding: int) -> None:
        if opcode != _WAIT:
            self._drain()
            if opcode == _IRQ:
                self._markers.append(self._now)
            return
        over = len(self._ends[unit]) - outstanding - 1
        if over >= 0:
            self._block_until(unit, over, 0)

    def _drain(self) -> None:
        for unit in UNITS:
            if self._ends[unit]:
                self._block_until(unit, len(self._ends[unit]) - 1, 0)

    def _timeline(self, issued: list[int], stop: int) -> Timeline:
        units = np.array(self._units[: len(issued)], np.int64)
        end = np.zeros(len(issued), np.int64)
        for unit in UNITS:
            known = self._ends[unit]
            if self._bus is not None and unit <= Unit.DMA_OUT:
                known = [self._bus.end_of(unit, index) for index in range(len(known))]
            end[units == unit] = _cycles(known)
        issue = _cycles(issued)
        start = issue.copy()
        for unit in UNITS:
            chosen = np.flatnonzero(units == unit)
            start[chosen[1:]] = np.maximum(issue[chosen[1:]], end[chosen[:-1]])
        return Timeline(
            issue, start, end, tuple(self._markers), self._blocked_rows(), stop * self._word_cycles,
            min(self._now, LAST_CYCLE),
        )  # fmt: skip

    def _blocked_rows(self) -> NDArray[np.int64]:
        columns = [_cycles(list(column)) for column in zip(*self._blocked, strict=True)]
        return np.stack(columns, axis=1) if columns else np.zeros((0, 4), np.int64)


def _cycles(values: list[int]) -> NDArray[np.int64]:
    """The cycles as an array; those that no counter can hold become LAST_CYCLE."""
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return np.array([min(value, LAST_CYCLE) for value in values], np.int64)
