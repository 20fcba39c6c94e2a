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
    ("inferences", "how many to run"),
    ("slots", "places of inputs and outputs: inference n has number n % slots"),
    ("arena", "address of region ARENA"),
    ("inputs", "address of region INPUTS, in the first place"),
    ("outputs", "address of region OUTPUTS, in the first place"),
    ("inputs_stride", "bytes from one place of INPUTS to the next"),
    ("outputs_stride", "bytes from one place of OUTPUTS to the next"),
    ("carried", "address of struct dlasim_carried[carried_count]"),
    ("carried_count", "how many outputs become inputs of the next inference"),
)
CARRIED_MEMBERS = (
    ("output", "offset in region OUTPUTS"),
    ("input", "offset in region INPUTS of the next inference"),
    ("size_bytes", "of both"),
)
SIZE_BYTES = 4 * len(MEMBERS)
CARRIED_BYTES = 4 * len(CARRIED_MEMBERS)


@dataclass(frozen=True, slots=True)
class Launch:
    """The block's values."""

    arena: int
    inputs: int
    outputs: int
    inputs_stride: int = 0
    outputs_stride: int = 0
    carried: int = 0
    carried_count: int = 0
    completion: Completion = Completion.INTERRUPT
    submission: Submission = Submission.QUEUE
    inferences: int = 1
    slots: int = 1

    def to_bytes(self) -> bytes:
        """The block as it lies in flash."""
        return struct.pack(f"<{len(MEMBERS)}I", *(int(getattr(self, name)) for name, _ in MEMBERS))
