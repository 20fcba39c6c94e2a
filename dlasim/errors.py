"""The errors a user can meet: one base class, each message a single clear line."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST_LINE = 1000


class DlasimError(Exception):
    """Anything a user can cause; the command prints it as one line and leaves with `exit_code`."""

    exit_code = 2

    def __str__(self) -> str:
        """The message, safe to show: what a file put into it neither steers a terminal nor floods it."""
        return "\n".join(map(_shown, super().__str__().split("\n")))


class InputError(DlasimError):
    """A file, flag or value handed in is wrong; the message says what is allowed."""


class RunError(DlasimError):
    """A program or check failed while running."""

    exit_code = 1


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?` where one of the known names is close, else nothing."""
    import difflib  # only errors need it

    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name[:64].casefold(), by_folded, n=1, cutoff=0.6)
    return f"; did you mean {by_folded[close[0]]}?" if close else ""


def printable(text: str, also: str = "") -> str:
    """The text fit for one line of a terminal: a character that steers one, or ends the line, becomes `?`.

    Names from files go through this wherever they are shown; `also` are characters that may stay.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() or c in also else "?" for c in text)


def _shown(line: str) -> str:
    return printable(line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…", also="\t")
