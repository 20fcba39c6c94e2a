"""Prints the commands' output through `say`, so that no name from a file can control the terminal."""

from __future__ import annotations

import shutil
import sys
import time

import click

from dlasim.errors import printable

_QUIET_SECONDS = 1.0
_CLEAR = "\r\x1b[K"
_WIDTH = 79


class StatusLine:
    """The last line of stderr, on a terminal: what a command is doing, once it takes longer than a second."""

    def __init__(self) -> None:
        self._visible = sys.stderr.isatty()
        self._shown = False
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.monotonic() - self._began

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._visible and self.seconds >= _QUIET_SECONDS:
            sys.stderr.write(_CLEAR + printable(text)[:_WIDTH])
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """Erase the line."""
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._shown = False


def stdout_width() -> int | None:
    """The columns of the terminal; None if standard output is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(text: str = "", err: bool = False, newline: bool = True) -> None:
    """Print lines on standard output or standard error, with control characters replaced."""
    click.echo("\n".join(printable(line, also="\t") for line in text.split("\n")), nl=newline, err=err)
