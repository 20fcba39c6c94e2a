"""Shows the progress of a sweep: the last line on a terminal, a line a minute in a pipe or a file."""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType

from dlasim.errors import printable
from dlasim.system.status_line import StatusLine

LINE_SECONDS = 60.0


class Progress:
    """Counts points; as a context manager it shows how far they are while it is open, unless `visible` is
    False."""

    def __init__(self, total: int, already: int, visible: bool = True) -> None:
        self._total, self._done, self._already = total, already, already
        self._best: tuple[int, str] | None = None
        self._status_line = StatusLine() if visible else None
        self._lines_visible = visible and not sys.stderr.isatty()
        self._closed = threading.Event()
        self._began = time.perf_counter()

    def __enter__(self) -> Progress:
        if self._lines_visible:
            threading.Thread(target=self._write_lines, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        if self._status_line is not None:
            self._status_line.clear()

    @property
    def rate(self) -> float:
        """Points per second, without those that were already finished."""
        return (self._done - self._already) / max(time.perf_counter() - self._began, 1e-9)

    def expect(self, more: int) -> None:
        """There are so many points more to come, perhaps beyond the total."""
        self._total = max(self._total, self._done + more)

    def skip(self) -> None:
        """Count a point that needs no work."""
        self._done += 1
        self._already += 1

    def add(self, cycles: int | None, label: str) -> None:
        """Count a finished point, with its cycles if it has any."""
        self._done += 1
        if cycles is not None:
            self.note(cycles, label)
        if self._status_line is not None:
            self._status_line.show(self._line())

    def note(self, cycles: int, label: str) -> None:
        """Keep it as the best, if it is."""
        if self._best is None or cycles < self._best[0]:
            self._best = (cycles, label)

    def _write_lines(self) -> None:
        """A line now and then, however long a point takes. Signals are for the main thread."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while not self._closed.wait(LINE_SECONDS):
            with suppress(OSError, ValueError):  # nobody reads it any more
                sys.stderr.write(f"{self._line()}\n")
                sys.stderr.flush()

    def _line(self) -> str:
        rate, left = self.rate, max(self._total - self._done, 0)
        parts = [f"{self._done:,} of {self._total:,} points"]
        if rate:
            parts += [f"{rate:,.1f} points/s", f"{left / rate / 60:,.0f} min left"]
        if self._best is not None:
            parts.append(f"best {self._best[0]:,} cycles: {printable(self._best[1])}")
        return ", ".join(parts)
