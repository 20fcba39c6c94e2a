"""The text being assembled, and the errors found in it, each with its place.

A line with an error does not end the work: `fail` leaves the line, `collect` keeps the error and goes on with
the next, and `check` raises all of them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable

UNNAMED = "<text>"
MAX_SHOWN_ERRORS = 20
MAX_ERRORS = 200  # the assembler stops after this many
_SHOWN_COLUMNS = 100  # of a longer line, only this much is shown around the caret


@dataclass(frozen=True, slots=True, order=True)
class TextPosition:
    """A position in the text; both numbers count from 1."""

    line: int
    column: int


class Refused(Exception):  # noqa: N818 (never leaves the assembler)
    """The statement being read has an error. An error that follows from another one has no message."""

    def __init__(self, place: TextPosition | None = None, what: str = "") -> None:
        super().__init__(what)
        self.place, self.what = place, what


class ErrorLimitError(Exception):
    """The text has MAX_ERRORS errors; the assembler stops."""


class SourceText:
    """The lines of one text, and its errors; `name` is that of its file, if it has one."""

    def __init__(self, text: str, name: str | None) -> None:
        self.name = name
        self.lines = text.split("\n")
        self._errors: list[tuple[TextPosition, str]] = []

    def fail(self, place: TextPosition, what: str) -> NoReturn:
        """Stop reading this statement: `what` is wrong at `place`."""
        raise Refused(place, what)

    def note(self, place: TextPosition, what: str) -> None:
        """Keep an error and go on."""
        self._errors.append((place, what))
        if len(self._errors) >= MAX_ERRORS:
            raise ErrorLimitError

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Keep the error that ends this block, if one does."""
        try:
            yield
        except Refused as refused:
            if refused.place is not None:
                self.note(refused.place, refused.what)

    def check(self) -> None:
        """Raise everything that was found, in the order of the text, if anything was."""
        if not self._errors:
            return
        found = sorted(dict.fromkeys(self._errors))
        shown = [self._text(place, what) for place, what in found[:MAX_SHOWN_ERRORS]]
        if len(found) > 1:
            shown.insert(0, f"{self.name or UNNAMED}: {self._count(len(found))} errors")
        if len(found) > MAX_SHOWN_ERRORS:
            shown.append(f"… and {self._count(len(found) - MAX_SHOWN_ERRORS)} more")
        raise InputError("\n".join(shown))

    def _count(self, number: int) -> str:
        return f"at least {number}" if len(self._errors) >= MAX_ERRORS else str(number)

    def _text(self, place: TextPosition, what: str) -> str:
        return f"{self.name or UNNAMED}:{place.line}:{place.column}: {what}\n{self._picture(place)}"

    def _picture(self, place: TextPosition) -> str:
        """The line, and a caret below its column."""
        line = self.lines[place.line - 1].rstrip("\r")
        column = place.column - 1
        start = max(0, column - _SHOWN_COLUMNS * 2 // 3) if len(line) > _SHOWN_COLUMNS else 0
        shown = printable(line[start : start + _SHOWN_COLUMNS], also="\t")
        # Tabs are kept before the caret, so that it lands below its character.
        blank = "".join("\t" if letter == "\t" else " " for letter in shown[: column - start])
        return f"    {shown}\n    {blank}^"
