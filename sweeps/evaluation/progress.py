"""Shows the progress of a sweep: a bar on a terminal, a line a minute in a pipe or a file."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from dlasim.errors import printable

REFRESH_SECONDS = 0.1
LINE_SECONDS = 60.0


class Progress:
    """Counts points; as a context manager it shows a bar or lines while it is open, unless `visible` is
    False."""

    def __init__(self, total: int, already: int, visible: bool | None = None) -> None:
        self._total, self._done, self._already = total, already, already
        self._best: tuple[int, str] | None = None
        self._status = ""
        self._bar_visible = sys.stderr.isatty() if visible is None else visible
        self._lines_visible = visible is None and not self._bar_visible
        self._closed = threading.Event()
        self._bar: Any = None
        self._task: Any = None
        self._shown = 0.0
        self._began = time.perf_counter()

    def __enter__(self) -> Progress:
        if self._bar_visible:
            self._show()
        if self._lines_visible:
            threading.Thread(target=self._write_lines, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        if self._bar is not None:
            self._refresh()
            self._bar.stop()

    @property
    def rate(self) -> float:
        """Points per second, without those that were already finished."""
        return (self._done - self._already) / max(time.perf_counter() - self._began, 1e-9)

    @contextmanager
    def status(self, text: str) -> Iterator[None]:
        """Shows what is being done before the first point; the pace counts from its end."""
        self._status = text
        if self._bar is not None:
            self._refresh()
        yield
        self._status = ""
        self._began = time.perf_counter()

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
        if self._bar is not None and time.perf_counter() - self._shown > REFRESH_SECONDS:
            self._refresh()

    def note(self, cycles: int, label: str) -> None:
        """Keep it as the best, if it is."""
        if self._best is None or cycles < self._best[0]:
            self._best = (cycles, label)

    def _show(self) -> None:
        # rich is imported only if the bar is visible
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]:.0f} points/s"),
            TimeRemainingColumn(), TextColumn("{task.fields[text]}", markup=False),
            console=Console(stderr=True), auto_refresh=False, transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=self._total, completed=self._done, rate=0.0, text="")
        self._bar.start()

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
        return ", ".join([*parts, *([text] if (text := self._text()) else [])])

    def _text(self) -> str:
        """What is being done, or the best point so far."""
        if self._best is None:
            return self._status
        return f"best {self._best[0]:,} cycles: {printable(self._best[1])}"

    def _refresh(self) -> None:
        self._bar.update(
            self._task, total=self._total, completed=self._done, rate=self.rate, text=self._text()
        )
        self._bar.refresh()
        self._shown = time.perf_counter()
