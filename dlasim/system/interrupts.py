"""Ctrl-C for a command: raised as KeyboardInterrupt, and again if something has lost it.

Python ignores what a finalizer raises, and NumPy what the look-up of an operand's attribute raises.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dlasim.errors import is_interrupt

AGAIN_SECONDS = 0.1
_ended_by = signal.SIGINT


def listen() -> None:
    """Let Ctrl-C end the command, unless who started it has it ignored."""
    sys.unraisablehook = _report_unraisable
    signal.signal(signal.SIGALRM, interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def interrupt(number: int, frame: FrameType | None) -> None:
    """The handler of SIGINT, and of the alarm after it: raises it again unless it is on its way already."""
    _set_alarm(AGAIN_SECONDS)
    if number == signal.SIGALRM:
        if _is_on_its_way(sys.exc_info()[1]):
            return
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and handler is not interrupt:
            handler(number, frame)  # it defers interrupts
            return
    raise KeyboardInterrupt


@contextmanager
def terminations() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end what runs here as Ctrl-C does, unless they are handled or ignored."""
    numbers = [
        number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in numbers:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> None:
    global _ended_by
    _ended_by = signal.Signals(number)
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else interrupt)(signal.SIGINT, frame)  # which may defer it


def ending() -> tuple[str, int]:
    """How the command ended, as a word, and its exit code: 128 and the signal's number, as in a shell."""
    return "interrupted" if _ended_by == signal.SIGINT else "terminated", 128 + _ended_by


def end() -> None:
    """The interrupt has been reported."""
    _set_alarm(0)


def close() -> None:
    """The command has ended: no alarm may kill Python while it ends, when it has no handlers any more."""
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    end()


@contextmanager
def deferred(
    may_raise: Callable[[FrameType | None], bool] = lambda _frame: False,
) -> Iterator[Callable[[], None]]:
    """Holds Ctrl-C back, unless it comes where it `may_raise`. It gives a function that raises an interrupt
    that has come; leaving the block raises it, too.

    A mask of signals would not do: another thread, such as one of NumPy's, would receive what this one masks,
    and Python raises what any of them receives in the main thread.
    """
    import threading  # only long work needs it

    before = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread()
    if not ours or before not in (signal.default_int_handler, interrupt):
        yield lambda: None
        return
    came = False

    def note(_number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        if may_raise(frame):
            check()

    def check() -> None:
        if came and before is interrupt:
            _set_alarm(AGAIN_SECONDS)
        if came:
            raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGINT, note)
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
        check()


def _set_alarm(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _is_on_its_way(error: BaseException | None) -> bool:
    """Whether what is being handled is an interrupt, or was raised while one was handled."""
    while error is not None:
        if is_interrupt(error):
            return True
        error = error.__context__
    return False


def _report_unraisable(ignored: sys.UnraisableHookArgs) -> None:
    if ignored.exc_type is KeyboardInterrupt:
        _set_alarm(AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(ignored)
