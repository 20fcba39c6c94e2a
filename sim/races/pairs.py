"""Pairs of accesses that nothing orders and whose address ranges overlap: the input of the exact test.

Where WAITs keep few operations in flight, pairs are listed by time: for each access those of other units
still in flight. Otherwise they are listed by address: a join of sorted address ranges. Units work in order,
so only the latest access of each kind to the same box matters.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.sim.programs.stream import DecodedStream
from dlasim.sim.races.accesses import AccessTable
from dlasim.sim.races.boxes import Ints, expand, may_overlap

_WAIT, _IRQ = (BY_MNEMONIC[name].opcode for name in ("WAIT", "IRQ"))
_UNIT_FIELD = BY_MNEMONIC["WAIT"].field("unit")
_OUTSTANDING_FIELD = BY_MNEMONIC["WAIT"].field("max_outstanding")
PAIRS_AT_ONCE = 1 << 20  # bounds memory; a sixteenth takes as long
MAX_BY_TIME = 1 << 17  # pairs of one block; more are listed by address. 1 << 20 take 11 ms more
SMALLEST_BLOCK = 512  # operations, whatever is in flight; 64 take 4 ms more for MobileNetV1, 4096 no less


@dataclass(frozen=True, slots=True)
class Order:
    """For each operation its unit and its number within that unit; and for each unit (first index) and
    operation (second) how many of the unit's operations came before it, and how many of these are complete
    for certain when it issues."""

    unit: Ints
    rank: Ints
    issued: Ints
    complete: Ints


def order_of(stream: DecodedStream, operations: int) -> Order:
    """The order among the first `operations` of a stream."""
    positions = stream.positions[:operations]
    unit = stream.units[:operations]
    counts = np.zeros((len(UNITS), operations + 1), np.int64)
    for number in UNITS:
        np.cumsum(unit == number, out=counts[number, 1:])
    issued = counts[:, :-1]
    barriers = np.flatnonzero(stream.opcodes == _IRQ)
    complete = np.stack([_complete(stream, number, positions, counts, barriers) for number in UNITS])
    return Order(unit, issued[unit, np.arange(operations)], issued, complete)


def _complete(stream: DecodedStream, unit: int, positions: Ints, counts: Ints, barriers: Ints) -> Ints:
    """How many operations of a unit are complete when each operation issues."""
    words = np.flatnonzero(stream.opcodes == _WAIT)
    waited: NDArray[np.uint64] = stream.words[words]
    chosen = codec.extract(waited, _UNIT_FIELD) == unit
    where = np.concatenate((words[chosen], barriers))
    allowed = np.append(codec.extract(waited[chosen], _OUTSTANDING_FIELD), np.zeros(len(barriers), np.int64))
    done = counts[unit, np.searchsorted(positions, where)] - allowed
    ordered = np.argsort(where, kind="stable")
    known = np.maximum.accumulate(np.append(0, done[ordered]))
    return known[np.searchsorted(where[ordered], positions)]


class _Side:
    """The reads or the writes of one unit, in program order, as the earlier accesses of pairs."""

    def __init__(self, table: AccessTable, order: Order, accesses: Ints) -> None:
        self.accesses = accesses
        self.operation = table.operation[accesses]
        self.rank = order.rank[self.operation]
        self._table = table
        self._seen = 0
        self._latest: Ints | None = None
        self._box_number: Ints = accesses

    def latest(self, end: int) -> Ints:
        """The latest of the first `end` of them to each box, by box number; `end` never falls."""
        if self._latest is None:
            numbers = self._table.box_number[self.accesses]
            order = np.argsort(numbers, kind="stable")
            self._box_number = np.empty_like(numbers)
            self._box_number[order] = np.cumsum(np.diff(numbers[order], prepend=numbers[order[0]]) != 0)
            self._latest = np.full(int(self._box_number.max()) + 1, -1, np.int64)
        fresh = np.arange(self._seen, end)
        self._latest[self._box_number[fresh]] = fresh
        self._seen = max(self._seen, end)
        return self._latest


@dataclass(frozen=True, slots=True)
class _Window:
    """For each of `later` the accesses of `side` from `first` up to `last` it is not ordered after."""

    side: _Side
    later: Ints
    first: Ints
    last: Ints


class PairFinder:
    """The candidates of one stream, a block of operations at a time."""

    def __init__(self, table: AccessTable, order: Order) -> None:
        self._table = table
        self._order = order
        self._unit = order.unit[table.operation]
        # For each unit its reads and its writes.
        self._sides = {
            (int(unit), writes): _Side(
                table, order, np.flatnonzero((self._unit == unit) & (table.writes == writes))
            )
            for unit in UNITS
            for writes in (False, True)
        }

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of operations, each with few pairs in flight or as short as it makes sense to go."""
        order, table = self._order, self._table
        operations = len(order.unit)
        accesses = np.bincount(table.operation, minlength=operations)
        in_flight = (order.issued - order.complete).sum(axis=0)
        # Three accesses is about what an operation has.
        pairs = np.cumsum(3 * accesses * in_flight)
        first = 0
        while first < operations:
            done = int(pairs[first - 1]) if first else 0
            last = int(np.searchsorted(pairs, done + MAX_BY_TIME, side="right"))
            last = min(max(last, first + SMALLEST_BLOCK), operations)
            yield first, last
            first = last

    def candidates(self, first: int, last: int, complete: Ints) -> tuple[Ints, Ints]:
        """(earlier, later) accesses, the later one of an operation in the range, in program order.

        `complete` counts for each unit the operations to be taken as complete for all of the range,
        whatever the WAITs say. Of several earlier accesses to the same box perhaps only the latest is given.
        """
        found: list[tuple[Ints, Ints]] = []
        begin, end = np.searchsorted(self._table.operation, (first, last))
        later = np.arange(begin, end)
        for (unit, writes), side in self._sides.items():
            if len(side.accesses):
                others = later[(self._unit[later] != unit) & (writes | self._table.writes[later])]
                found.extend(self._overlapping(self._window(unit, side, others, int(complete[unit])), begin))
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        pairs = np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])
        order = np.lexsort((pairs[1], pairs[0], self._table.operation[pairs[1]]))
        return pairs[0][order], pairs[1][order]

    def _window(self, unit: int, side: _Side, later: Ints, complete: int) -> _Window:
        operation = self._table.operation[later]
        known = np.maximum(self._order.complete[unit, operation], complete)
        first = np.searchsorted(side.rank, known)
        last = np.searchsorted(side.operation, operation)
        waiting = first < last
        return _Window(side, later[waiting], first[waiting], last[waiting])

    def _overlapping(self, window: _Window, begin: int) -> Iterator[tuple[Ints, Ints]]:
        if not len(window.later):
            return
        if int((window.last - window.first).sum()) <= MAX_BY_TIME:
            pairs = self._by_time(window)
        else:
            pairs = self._by_address(window, begin)
        for earlier, later in pairs:
            table, runs = self._table, self._table.boxes.run_bytes
            distance = table.low[later] - table.low[earlier]
            divisor = np.gcd(table.gap[earlier], table.gap[later])
            kept = may_overlap(distance, divisor, runs[earlier], runs[later])
            yield earlier[kept], later[kept]

    def _by_time(self, window: _Window) -> Iterator[tuple[Ints, Ints]]:
        low, high = self._table.low, self._table.high
        for rows, position in expand(window.last - window.first, PAIRS_AT_ONCE):
            earlier = window.side.accesses[window.first[rows] + position]
            later = window.later[rows]
            overlap = (low[earlier] < high[later]) & (low[later] < high[earlier])
            yield earlier[overlap], later[overlap]

    def _by_address(self, window: _Window, begin: int) -> Iterator[tuple[Ints, Ints]]:
        low, high = self._table.low, self._table.high
        index = self._representatives(window, begin)
        index = index[np.argsort(low[window.side.accesses[index]], kind="stable")]
        rows = np.argsort(low[window.later], kind="stable")
        early_low, late_low = low[window.side.accesses[index]], low[window.later[rows]]
        # Two ranges overlap if the one that starts later (on a tie, the earlier access) starts in the other.
        inside = np.searchsorted(early_low, late_low), np.searchsorted(early_low, high[window.later[rows]])
        for row, position in expand(inside[1] - inside[0], PAIRS_AT_ONCE):
            yield self._in_window(window, index[inside[0][row] + position], rows[row])
        inside = (
            np.searchsorted(late_low, early_low, side="right"),
            np.searchsorted(late_low, high[window.side.accesses[index]]),
        )
        for row, position in expand(np.maximum(inside[1] - inside[0], 0), PAIRS_AT_ONCE):
            yield self._in_window(window, index[row], rows[inside[0][row] + position])

    def _representatives(self, window: _Window, begin: int) -> Ints:
        """Of the accesses in any window: the latest to each box before the block, and all inside it."""
        first, last = int(window.first.min()), int(window.last.max())
        before = int(np.searchsorted(window.side.accesses, begin))
        latest = window.side.latest(before)
        return np.concatenate((latest[latest >= first], np.arange(max(before, first), last)))

    @staticmethod
    def _in_window(window: _Window, index: Ints, row: Ints) -> tuple[Ints, Ints]:
        kept: NDArray[np.bool_] = (window.first[row] <= index) & (index < window.last[row])
        return window.side.accesses[index[kept]], window.later[row[kept]]
