"""Shows the progress of a sweep: a bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from dlasim.errors import printable

REFRESH_SECONDS = 0.1


class Progress:
    """Counts points; as a context manager it shows a bar while it is open."""

    def __init__(self, total: int, already: int, visible: bool | None = None) -> None:
        self._total, self._done, self._already = total, already, already
        self._best: tuple[int, str] | None = None
        self._status = ""
        self._visible = sys.stderr.isatty() if visible is None else visible
        self._bar: Any = None
        self._task: Any = None
        self._shown = 0.0
        self._began = time.perf_counter()

    def __enter__(self) -> Progress:
        if self._visible:
            self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    def skip(self) -> None:
        """Count a point that needs no work."""
        self._done += 1
        self._already += 1

    def add(self, cycles: int | None, label: str) -> None:
        """Count a finished point, with its cycles if it has any."""
        self._done += 1
        if cycles is not None and (self._best is None or cycles < self._best[0]):
            self._best = (cycles, label)
        if self._bar is not None and time.perf_counter() - self._shown > REFRESH_SECONDS:
            self._refresh()

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

    def _refresh(self) -> None:
        text = self._status
        if self._best is not None:
            text = f"best {self._best[0]:,} cycles: {printable(self._best[1])}"
        self._bar.update(self._task, completed=self._done, rate=self.rate, text=text)
        self._bar.refresh()
        self._shown = time.perf_counter()
