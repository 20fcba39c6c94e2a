"""Which operations are known to be complete when another one issues: from WAIT, IRQ and unit order alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.sim.programs.stream import DecodedStream
from dlasim.sim.races.boxes import Ints

_WAIT, _IRQ = (BY_MNEMONIC[name].opcode for name in ("WAIT", "IRQ"))
_UNIT_FIELD = BY_MNEMONIC["WAIT"].field("unit")
_OUTSTANDING_FIELD = BY_MNEMONIC["WAIT"].field("max_outstanding")


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
