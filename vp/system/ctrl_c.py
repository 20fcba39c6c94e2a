"""Ctrl-C while the guest runs: noted, and raised between two runs of the CPU, or at once within a device.

Python would raise it anywhere, for example while the counts of the CPU and the board are being updated.
Within a device it may be raised: a device can compute for minutes, and what it raises ends the run. If it
gets lost there (NumPy ignores what a look-up of an attribute raises), it is raised after that run of the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType

from dlasim.system.interrupts import deferred
from dlasim.vp.devices.bus import Bus

_DEVICE_CODE = frozenset(method.__code__ for method in (Bus.load, Bus.store, Bus.tick))


def deferred_interrupts() -> AbstractContextManager[Callable[[], None]]:
    """Holds Ctrl-C back, except within a device. It gives a function that raises an interrupt that has come;
    leaving the block raises it, too."""
    return deferred(_is_in_device)


def _is_in_device(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _DEVICE_CODE:
            return True
        frame = frame.f_back
    return False
