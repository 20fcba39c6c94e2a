"""Ctrl-C while the guest runs: noted, and raised between two runs of the CPU, or at once within a device.

Python would raise it anywhere, for example while the counts of the CPU and the board are being updated.
Within a device it may be raised: a device can compute for minutes, and what it raises ends the run. If it
gets lost there (NumPy ignores what a look-up of an attribute raises), it is raised after that run of the CPU.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dlasim.interrupts import interrupt
from dlasim.vp.bus import Bus

_RAISING = (signal.default_int_handler, interrupt)  # handlers
_DEVICE_CODE = frozenset(method.__code__ for method in (Bus.load, Bus.store, Bus.tick))


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """Holds Ctrl-C back; what is given raises one that has come, each time, as does the end."""
    ours = threading.current_thread() is threading.main_thread()
    raising = {
        number: handler
        for number in (signal.SIGINT, signal.SIGALRM)
        if (handler := signal.getsignal(number)) in _RAISING
    }
    if not ours or signal.SIGINT not in raising:
        yield lambda: None
        return
    came = False

    def note(_number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        if _is_in_device(frame):
            raise KeyboardInterrupt

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    for number in raising:
        signal.signal(number, note)
    try:
        yield check
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)
    check()


def _is_in_device(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _DEVICE_CODE:
            return True
        frame = frame.f_back
    return False
