"""Prints the commands' output through `say`, so that no name from a file can control the terminal."""

from __future__ import annotations

import click

from dlasim.errors import printable


def say(text: str = "", err: bool = False, newline: bool = True) -> None:
    """Print lines on standard output or standard error, with control characters replaced."""
    click.echo("\n".join(printable(line, also="\t") for line in text.split("\n")), nl=newline, err=err)
