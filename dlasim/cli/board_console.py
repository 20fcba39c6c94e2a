"""Shows the guest's console output and the progress of a run while the board runs."""

from __future__ import annotations

import sys
import time
from codecs import getincrementaldecoder

from dlasim.errors import printable

_QUIET_SECONDS = 1.0
_CLEAR = "\r\x1b[K"
_WIDTH = 79


class BoardConsole:
    """Writes the board's UART output to stdout, or to stderr if stdout is for JSON.

    With `is_raw` it is written unchanged: the user's own firmware may control the terminal. The shipped
    firmware prints names from files, so its control characters are replaced.
    On a terminal, the last line of stderr shows the instruction count and the current function once a run
    takes longer than a second; any other output erases it first.
    """

    def __init__(self, as_json: bool, is_raw: bool) -> None:
        self._is_raw = is_raw
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._stream = (sys.stderr if as_json else sys.stdout).buffer
        self._visible = sys.stderr.isatty()
        self._shown = False
        self._in_line = False
        self._began = time.monotonic()

    def put(self, byte: int) -> None:
        """Write one byte from the UART."""
        self.clear()
        self._in_line = byte != ord("\n")
        raw = bytes((byte,))
        text = raw if self._is_raw else printable(self._decoder.decode(raw), also="\n\r\t").encode()
        self._stream.write(text)
        if not self._in_line:
            self._stream.flush()

    def progress(self, instructions: int, function: str) -> None:
        """Show the progress, unless the guest is in the middle of a line."""
        seconds = time.monotonic() - self._began
        if not self._visible or self._in_line or seconds < _QUIET_SECONDS:
            return
        text = f"{instructions:,} instructions in {seconds:.0f} s, in {function}"
        sys.stderr.write(_CLEAR + printable(text)[:_WIDTH])
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        """Erase the line of progress."""
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._shown = False
