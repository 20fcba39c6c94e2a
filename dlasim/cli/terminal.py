"""What commands say: all of it goes through `say`, so that no name from a file steers the terminal."""

from __future__ import annotations

import click

from dlasim.errors import printable


def say(text: str = "", err: bool = False, newline: bool = True) -> None:
    """Print lines on standard output, or on standard error; of control characters, line ends alone stay."""
    click.echo("\n".join(printable(line, also="\t") for line in text.split("\n")), nl=newline, err=err)
