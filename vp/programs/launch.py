"""The launch block: how a loader tells the firmware what to run. The one definition from which the loader
and the firmware's header are made.

The block is constant data of the firmware under the symbol `launch`. A loader overwrites it in flash, as
the programmer of a chip would, before the board leaves reset.
"""

from __future__ import annotations

import struct
from enum import IntEnum

from dlasim.dataclass import dataclass

SYMBOL = "launch"


class Completion(IntEnum):
    """How the firmware learns that a stream has completed."""

    INTERRUPT = 0  # asleep in wfi until then
    POLLING = 1


class Submission(IntEnum):
    """How the firmware gives work to the accelerator."""

    QUEUE = 0
    REGISTERS = 1  # operand registers and commands, one at a time


MEMBERS = (
    ("completion", "0: interrupts, 1: polling"),
    ("submission", "0: command queue, 1: register by register"),
    ("inferences", "how many to run, on the same inputs"),
    ("arena", "address of region ARENA"),
    ("inputs", "address of region INPUTS"),
    ("outputs", "address of region OUTPUTS"),
)
SIZE_BYTES = 4 * len(MEMBERS)


@dataclass(frozen=True, slots=True)
class Launch:
    """The block's values."""

    arena: int
    inputs: int
    outputs: int
    completion: Completion = Completion.INTERRUPT
    submission: Submission = Submission.QUEUE
    inferences: int = 1

    def to_bytes(self) -> bytes:
        """The block as it lies in flash."""
        return struct.pack(f"<{len(MEMBERS)}I", *(int(getattr(self, name)) for name, _ in MEMBERS))


def parse(data: bytes) -> Launch:
    """The block from flash."""
    values = dict(zip((name for name, _ in MEMBERS), struct.unpack(f"<{len(MEMBERS)}I", data), strict=True))
    completion, submission = Completion(values.pop("completion")), Submission(values.pop("submission"))
    return Launch(completion=completion, submission=submission, **values)
