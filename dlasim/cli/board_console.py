"""Shows the guest's console output and the progress of a run while the board runs."""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder

from dlasim.errors import printable
from dlasim.system.status_line import StatusLine


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
        self._line = StatusLine()
        self._in_line = False

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
        if not self._in_line:
            self._line.show(f"{instructions:,} instructions in {self._line.seconds:.0f} s, in {function}")

    def clear(self) -> None:
        """Erase the line of progress."""
        self._line.clear()
