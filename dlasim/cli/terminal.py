"""Prints the commands' output through `say`, so that no name from a file can control the terminal."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from dlasim.errors import printable

_RULE = "─ "
_MESSAGES = {"dlasim: warning:": "yellow", "note:": "cyan", "wrote": "green"}


def stdout_width() -> int | None:
    """The columns of the terminal; None if standard output is a file or a pipe."""
    if not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size  # with all that packs and unpacks files

    return get_terminal_size().columns


def say(text: str = "", err: bool = False, newline: bool = True, is_error: bool = False) -> None:
    """Print lines on standard output or standard error, with control characters replaced.

    On a terminal heads of tables are bold, and what stands before an error, a warning or a file written
    has a colour.
    """
    lines = [printable(line, also="\t") for line in text.split("\n")]
    in_color = is_colored(sys.stderr if err else sys.stdout)
    if in_color:
        lines = _colored_messages(lines, is_error) if err else _with_bold_heads(lines)
    click.echo("\n".join(lines), nl=newline, err=err, color=in_color or None)


def say_table(rows: Sequence[Sequence[str]], alignment: str) -> None:
    """Print a table, on a terminal no wider than that."""
    from dlasim.rows.tables import fitted_table

    say(fitted_table(rows, alignment, stdout_width()))


def say_wrapped(text: str, indent: int = 4) -> None:
    """Print lines, which on a terminal go on below where they are wider, indented."""
    from dlasim.rows.tables import wrapped

    width = stdout_width()
    say("\n".join(wrapped(line, width, indent) for line in text.split("\n")))


def is_colored(stream: TextIO) -> bool:
    """Whether to use colours: on a terminal. NO_COLOR switches them off, FORCE_COLOR on."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def _with_bold_heads(lines: list[str]) -> list[str]:
    """Rules become faint, and the line above a rule, the head of a table, bold."""
    found = list(lines)
    for number, line in enumerate(lines):
        if line and not line.strip(_RULE):
            found[number] = click.style(line, dim=True)
            if number:
                found[number - 1] = click.style(lines[number - 1], bold=True)
    return found


def _colored_messages(lines: list[str], is_error: bool) -> list[str]:
    if is_error:
        command, sign, rest = lines[0].partition(": ")
        return [click.style(command + sign.strip(), fg="red", bold=True) + f" {rest}", *lines[1:]]
    for number, line in enumerate(lines):
        for start, color in _MESSAGES.items():
            if line.startswith(start):
                lines[number] = click.style(start, fg=color, bold=True) + line[len(start) :]
    return lines


def invocation() -> str:
    """What was typed, as a shell takes it."""
    return shlex.join(["dlasim", *sys.argv[1:]])
