"""Ctrl-C while the guest runs: noted, and raised between two runs of the CPU.

Python would raise it wherever it happens to be: in a callback of Unicorn's, say, from where no exception
finds its way out; ctypes prints it and the guest runs on.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """Holds Ctrl-C back; what is given raises one that has come, as does the end."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: None
        return
    came = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came = True

    def check() -> None:
        nonlocal came
        if came:
            came = False
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    check()
