"""The text being assembled, and errors that point into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from dlasim.errors import InputError, printable

_SHOWN_COLUMNS = 100  # of a longer line, only this much is shown around the caret


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the text; both numbers count from 1."""

    line: int
    column: int


class Source:
    """The lines of one text; `origin` names it in errors."""

    def __init__(self, text: str, origin: str) -> None:
        self.origin = origin
        self.lines = text.split("\n")

    def fail(self, place: Place, what: str) -> NoReturn:
        """Raise the error that `what` is wrong at `place`, with the line and a caret below."""
        raise InputError(f"{self.origin}:{place.line}:{place.column}: {what}\n{self._picture(place)}")

    def _picture(self, place: Place) -> str:
        line = self.lines[place.line - 1].rstrip("\r")
        column = place.column - 1
        start = max(0, column - _SHOWN_COLUMNS * 2 // 3) if len(line) > _SHOWN_COLUMNS else 0
        shown = printable(line[start : start + _SHOWN_COLUMNS], also="\t")
        # Tabs are kept before the caret, so that it lands below its character.
        blank = "".join("\t" if letter == "\t" else " " for letter in shown[: column - start])
        return f"    {shown}\n    {blank}^"
