"""What a command is doing, in the last line of stderr."""

from __future__ import annotations

import sys
import time

from dlasim.errors import printable

_QUIET_SECONDS = 1.0  # shorter runs show no progress, which would only flicker
REFRESH_SECONDS = 0.1
_CLEAR = "\r\x1b[K"
_WIDTH = 79


class StatusLine:
    """The last line of stderr, on a terminal: what a command is doing, once it takes longer than a second."""

    def __init__(self) -> None:
        self._visible = sys.stderr.isatty()
        self._shown = False
        self._began = time.monotonic()
        self._last = 0.0

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.monotonic() - self._began

    def show(self, text: str) -> None:
        """Replace the line."""
        now = time.monotonic()
        if self._visible and now - self._began >= _QUIET_SECONDS and now - self._last >= REFRESH_SECONDS:
            sys.stderr.write(_CLEAR + printable(text)[:_WIDTH])
            sys.stderr.flush()
            self._shown, self._last = True, now

    def clear(self) -> None:
        """Erase the line."""
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._shown = False
