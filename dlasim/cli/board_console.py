"""What the terminal shows while a board runs: the guest's console, and how far the run is."""

from __future__ import annotations

import sys
import time
from codecs import getincrementaldecoder

from dlasim.errors import printable

_QUIET_SECONDS = 1.0
_CLEAR = "\r\x1b[K"
_WIDTH = 79


class BoardConsole:
    """The board's UART goes to stdout, to stderr where stdout is for JSON alone.

    It goes there as it comes (`is_raw`) from firmware of the user's own, which may steer the terminal; ours
    prints names from files.
    On a terminal, the last line of stderr tells instructions and function once a run takes longer than a
    second; it makes way for whatever else is written.
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
        """One byte from the UART."""
        self.clear()
        self._in_line = byte != ord("\n")
        raw = bytes((byte,))
        text = raw if self._is_raw else printable(self._decoder.decode(raw), also="\n\r\t").encode()
        self._stream.write(text)
        if not self._in_line:
            self._stream.flush()

    def progress(self, instructions: int, place: str) -> None:
        """How far the run is, unless the guest is in the middle of a line."""
        seconds = time.monotonic() - self._began
        if not self._visible or self._in_line or seconds < _QUIET_SECONDS:
            return
        text = f"{instructions:,} instructions in {seconds:.0f} s, now at {place}"
        sys.stderr.write(_CLEAR + printable(text)[:_WIDTH])
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        """Takes the line of progress away."""
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._shown = False
