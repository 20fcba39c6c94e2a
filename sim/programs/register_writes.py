"""The writes to operand registers between the operations of a stream, for routines that go through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlasim.native.record import Numbers, Record, pointer
from dlasim.native.routine import routine
from dlasim.native.storage import pointer_to

if TYPE_CHECKING:
    from dlasim.sim.programs.stream import RegisterFiles


class RegisterWrites(Record):
    """Of so many writes, those that are done. Before write number w there are `before[w]` operations."""

    count: int = 0
    done: int = 0
    before: Numbers = pointer(int)
    registers: Numbers = pointer(int)
    values: Numbers = pointer(int)


@routine
def follow_writes(writes: RegisterWrites, file: Numbers, operation: int) -> None:
    """Bring the registers up to an operation, none after which was looked at."""
    while writes.done < writes.count and writes.before[writes.done] <= operation:
        file[writes.registers[writes.done]] = writes.values[writes.done]
        writes.done += 1


def writes_of(files: RegisterFiles) -> RegisterWrites:
    """Those of a stream, none of them done."""
    before, targets, values = files.writes
    return RegisterWrites(len(before), 0, pointer_to(before), pointer_to(targets), pointer_to(values))
