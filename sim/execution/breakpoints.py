"""A debugger's positions, breakpoints and watchpoints, and why it stopped."""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import InputError

Array = NDArray[np.uint8]


class StopReason(enum.Enum):
    """Why the debugger handed control back."""

    STEP = "step"
    BREAKPOINT = "breakpoint"
    WATCHPOINT = "watchpoint"
    FAULT = "fault"
    END = "end"


@dataclass(frozen=True, slots=True)
class Position:
    """What comes next: a command word, or a host call (`word` is None).

    `cycle` counts from the stream's doorbell, `dla_cycle` adds the streams before; a host call takes none.
    """

    step: int
    word: int | None
    text: str
    layer: str | None
    cycle: int
    dla_cycle: int

    def __str__(self) -> str:
        where = f"step {self.step}" if self.word is None else f"word {self.word}, cycle {self.cycle}"
        return f"{where}{f', layer {self.layer}' if self.layer else ''}: {self.text}"


@dataclass(frozen=True, slots=True)
class DebuggerStop:
    """Why execution stopped, and which breakpoint or watchpoint it was."""

    reason: StopReason
    number: int | None = None

    def __str__(self) -> str:
        return self.reason.value if self.number is None else f"{self.reason.value} {self.number}"


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Stops before a position that matches all the given values."""

    word: int | None = None
    mnemonic: str | None = None
    layer: str | None = None


@dataclass(frozen=True, slots=True)
class Watchpoint:
    """Stops after a word that changed a byte of SRAM in this range."""

    address: int
    size_bytes: int


class StopPoints:
    """The breakpoints and watchpoints that are set, by number."""

    def __init__(self) -> None:
        self._breakpoints: dict[int, Breakpoint] = {}
        self._watchpoints: dict[int, Watchpoint] = {}

    def add(self, stop: Breakpoint | Watchpoint) -> int:
        """The number it gets."""
        number = max((0, *self._breakpoints, *self._watchpoints)) + 1
        if isinstance(stop, Breakpoint):
            self._breakpoints[number] = stop
        else:
            self._watchpoints[number] = stop
        return number

    def remove(self, number: int) -> None:
        """Remove one."""
        if self._breakpoints.pop(number, None) is None and self._watchpoints.pop(number, None) is None:
            raise InputError(f"unknown breakpoint or watchpoint {number}")

    @property
    def has_breakpoints(self) -> bool:
        """Whether a position can match at all."""
        return bool(self._breakpoints)

    def breakpoint_at(self, here: Position) -> int | None:
        """The number of the first breakpoint that matches."""
        mnemonic = here.text.split(" ", 1)[0] if here.word is not None else None
        for number, stop in self._breakpoints.items():
            wanted = ((stop.word, here.word), (stop.mnemonic, mnemonic), (stop.layer, here.layer))
            if all(value is None or value == found for value, found in wanted):
                return number
        return None

    def watched(self, sram: Array) -> dict[int, bytes]:
        """What the watched bytes hold, by watchpoint."""
        return {
            number: sram[stop.address : stop.address + stop.size_bytes].tobytes()
            for number, stop in self._watchpoints.items()
        }
